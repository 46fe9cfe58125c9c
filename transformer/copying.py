"""What it takes to copy Hugging Face's weights into our classes, whatever the family: names, settings, a refusal."""

import re
from collections.abc import Callable, Mapping
from typing import Any, TypeVar

from torch import Tensor, nn
from torch.overrides import TorchFunctionMode

from transformer.config import ActivationKind
from transformer.errors import ModelError

# Their word for an activation, and ours. "gelu_pytorch_tanh" and "gelu_new" are one formula.
ACTIVATIONS: dict[str, ActivationKind] = {
    "gelu": "gelu",
    "gelu_new": "gelu_tanh",
    "gelu_pytorch_tanh": "gelu_tanh",
    "relu": "relu",
}
_M = TypeVar("_M", bound=nn.Module)


class CannotCopy(ModelError):
    """A model of Hugging Face has something that our classes do not have."""


def require(theirs: nn.Module, setting: str, got: object, *possible: object) -> None:
    """Raise CannotCopy unless the value of a setting is one that our classes can be given."""
    if got not in possible:
        known = f"{{{', '.join(str(one) for one in possible)}}}"
        raise CannotCopy(name=type(theirs).__name__, what=setting, got=str(got)[:80], known=known)


def setting(theirs: Any, name: str, *possible: object) -> Any:
    """A setting of their configuration; raises CannotCopy unless it is one of the `possible` ones."""
    got = getattr(theirs.config, name)
    require(theirs, name, got, *possible)
    return got


def activation(theirs: Any, name: str) -> ActivationKind:
    """The activation that their configuration names, in our words. Raises CannotCopy."""
    return ACTIVATIONS[setting(theirs, name, *ACTIVATIONS)]


def renamed(theirs: nn.Module, weights: Mapping[str, Tensor], names: Mapping[str, str]) -> dict[str, Tensor]:
    """Their tensors under our names. `names` maps modules; N stands for the number of a layer in both: "h.N.ln_1" is
    "blocks.N.norm1". Raises CannotCopy for a tensor that `names` does not know (adapters, parts of another class)."""
    ours = {}
    for name, tensor in weights.items():
        module, _, kind = name.rpartition(".")
        number = re.search(r"(?<=\.)\d+(?=\.)", module)
        general = module if number is None else f"{module[: number.start()]}N{module[number.end() :]}"
        require(theirs, name, general, *names)
        words = names[general].split(".")
        ours[".".join(number[0] if word == "N" and number else word for word in (*words, kind))] = tensor
    return ours


def filled(make: Callable[[], _M], weights: Mapping[str, Tensor]) -> _M:
    """A model of ours, in evaluation mode, whose every parameter is a copy of the weight of its name.

    No initial weights are drawn: they would all be overwritten, after seconds for a model of a few hundred megabytes.
    """
    with _NothingIsDrawn():
        ours = make()
    ours.load_state_dict(dict(weights))  # strict: it raises if one is missing, one too many, or one of another shape
    return ours.eval()


class _NothingIsDrawn(TorchFunctionMode):
    """What fills a tensor with first values leaves it as it is."""

    def __torch_function__(self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: Any = None) -> Any:
        if getattr(func, "__module__", "") == "torch.nn.init" or func in (Tensor.normal_, Tensor.uniform_):
            return args[0] if args else kwargs["tensor"]
        return func(*args, **(kwargs or {}))
