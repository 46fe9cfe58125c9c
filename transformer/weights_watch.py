"""Whether a model's weights are still those that a run had: asked for every array that is computed with them."""

from collections.abc import Callable

from torch import nn


def weights_watch(module: nn.Module, weights: tuple[object, ...]) -> Callable[[], bool]:
    """A function that says whether the parameters of `module` are no longer as `wrapped.weights_of` told.

    It walks through the modules once: afterwards it only looks where each parameter stands, also when another one has
    been put there. (A model of 30 layers: 0.1 ms instead of 0.6.)
    """
    places, seen = list[tuple[dict[str, nn.Parameter | None], str]](), set[int]()
    for one in module.modules():
        for name, parameter in one._parameters.items():
            if parameter is not None and id(parameter) not in seen:  # a shared one counts once
                seen.add(id(parameter))
                places.append((one._parameters, name))

    def has_changed() -> bool:
        now = (owned.get(name) for owned, name in places)
        return weights != tuple(None if one is None else (one.data_ptr(), one._version, one.shape) for one in now)

    return has_changed
