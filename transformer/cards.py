"""Cards and weights of the models that we trained ourselves: `assets/weights/NAME.json` and `NAME.safetensors`.

The card says how a model was made and how good it is; a model is built from its card alone. Weights are stored as
float16, half the bytes, and used as float32; everything that the card tells was measured with the rounded weights.
"""

import hashlib
import json
from dataclasses import asdict, dataclass, replace
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError
from safetensors.torch import load as read_tensors
from safetensors.torch import save as tensors_as_bytes
from torch import Tensor, nn

from transformer.checkpoint import write_whole
from transformer.config import ModelConfig
from transformer.errors import ModelError, ShapesDoNotFit
from transformer.piece_tokenizer import PieceTokenizer

WEIGHTS = Path(__file__).parent.parent / "assets" / "weights"
NAMES = ("mini-gpt", "mini-translator", "rule-classifier", "digit-vit", "copycat")  # what this project ships
CLASSES = {  # class -> the module it stands in
    "DecoderLM": "transformer.decoder_lm",
    "EncoderDecoder": "transformer.encoder_decoder",
    "EncoderClassifier": "transformer.encoder_classifier",
    "VisionTransformer": "transformer.vision",
}
FORMAT = 1  # counts up when a card says something else


class NoCard(ModelError): ...


class CardDamaged(ModelError): ...


class CodeChanged(ModelError): ...


@dataclass(frozen=True)
class Card:
    """What is told of a model. The words of `data` and `limits` are in every language of the messages."""

    name: str
    system: str  # which system of the tutorials it is, S1 … S8
    class_name: str  # one of CLASSES
    config: dict[str, Any]  # the fields of its ModelConfig
    arguments: dict[str, Any]  # what the class takes besides
    parameters: int
    tokenizer: dict[str, Any] | None  # {"kind": "pieces", "pieces": [...]}; None: it reads no text
    longest: int  # tokens of the longest row of training; 0 where pictures are read
    task: str
    data: dict[str, str]  # language -> what it was trained on
    limits: dict[str, str]  # language -> what it cannot do
    settings: dict[str, Any]
    seed: int
    steps: int
    seconds: float  # of training
    threads: int
    versions: dict[str, str]
    command: str  # makes it again
    quality: dict[str, float]  # measured on held-out rows with the rounded weights
    curve: dict[str, list[list[float]]]  # see curve.py
    code: list[float]  # some logits of a fixed input: other numbers mean that the code now computes something else
    sha256: str = ""  # of the weights file
    format: int = FORMAT

    def build(self) -> nn.Module:
        """The model with weights that are not trained yet."""
        made = getattr(import_module(CLASSES[self.class_name]), self.class_name)
        module: nn.Module = made(ModelConfig(**self.config), **self.arguments)
        return module

    def make_tokenizer(self) -> PieceTokenizer | None:
        """The tokenizer it was trained with."""
        return None if self.tokenizer is None else PieceTokenizer(tuple(self.tokenizer["pieces"]))


@dataclass(frozen=True, eq=False)
class Shipped:
    """A model as it is shipped, ready to be run or wrapped."""

    module: nn.Module  # in evaluation mode, float32
    tokenizer: PieceTokenizer | None
    card: Card


def is_shipped(name: str, folder: Path = WEIGHTS) -> bool:
    """Whether its card and its weights are there."""
    return all(path.exists() for path in _paths(name, folder))


def read_card(name: str, folder: Path = WEIGHTS) -> Card:
    """What is told of a model. Raises NoCard, CardDamaged."""
    path, _ = _paths(name, folder)
    try:
        told = json.loads(path.read_text(encoding="utf-8"))
        card = Card(**told)
    except FileNotFoundError:
        raise NoCard(name=name, known=", ".join(NAMES)) from None
    except (ValueError, TypeError) as problem:
        raise CardDamaged(file=path.name) from problem
    if (card.name, card.format) != (name, FORMAT) or card.class_name not in CLASSES:
        raise CardDamaged(file=path.name)
    return card


def load_shipped(name: str, folder: Path = WEIGHTS) -> Shipped:
    """A model with its trained weights. Raises NoCard, CardDamaged (also where the weights are not the card's)."""
    card, weights = read_card(name, folder), _paths(name, folder)[1]
    if not weights.exists():
        raise NoCard(name=name, known=", ".join(NAMES))
    content = weights.read_bytes()
    if hashlib.sha256(content).hexdigest() != card.sha256:
        raise CardDamaged(file=weights.name)
    try:
        module, tensors = card.build(), read_tensors(content)
        fill(module, tensors)
    except (SafetensorError, ShapesDoNotFit, TypeError, KeyError) as problem:
        raise CardDamaged(file=weights.name) from problem
    return Shipped(module.eval(), card.make_tokenizer(), card)


def save_shipped(module: nn.Module, card: Card, folder: Path = WEIGHTS) -> Card:
    """Writes weights and card; gives the card with what only the written weights can tell.

    The module keeps the rounded weights, so that what is measured with it afterwards holds for the file.
    """
    content = tensors_as_bytes(round_weights(module))
    card = replace(card, code=fixed_logits(module), sha256=hashlib.sha256(content).hexdigest())
    write_whole(_paths(card.name, folder)[1], content)
    save_card(card, folder)
    return card


def save_card(card: Card, folder: Path = WEIGHTS) -> None:
    """Writes what is told of a model, and leaves its weights alone."""
    write_whole(_paths(card.name, folder)[0], (json.dumps(asdict(card), ensure_ascii=False, indent=1) + "\n").encode())


def round_weights(module: nn.Module) -> dict[str, Tensor]:
    """Every parameter as float16, by name, a shared one once; the module's own become what these are as float32."""
    rounded = {name: one.detach().to(torch.float16) for name, one in module.named_parameters()}
    assert all(bool(one.isfinite().all()) for one in rounded.values()), "a weight is too large for float16"
    fill(module, rounded)
    return {name: one.contiguous() for name, one in rounded.items()}


def fill(module: nn.Module, tensors: dict[str, Tensor]) -> None:
    """Copies weights into a module. Raises ShapesDoNotFit where a name or a shape is not the module's."""
    own = dict(module.named_parameters())
    missing, surplus = sorted(own.keys() - tensors.keys()), sorted(tensors.keys() - own.keys())
    if missing or surplus:
        raise ShapesDoNotFit(what="weights", expected=missing, got=surplus)
    with torch.no_grad():
        for name, parameter in own.items():
            if parameter.shape != tensors[name].shape:
                raise ShapesDoNotFit(what=name, expected=tuple(parameter.shape), got=tuple(tensors[name].shape))
            parameter.copy_(tensors[name])


def check_code(shipped: Shipped, tolerance: float = 1e-3) -> None:
    """Raises CodeChanged where the code no longer computes with these weights what it computed when they were made."""
    furthest = max(abs(now - then) for now, then in zip(fixed_logits(shipped.module), shipped.card.code, strict=True))
    if not furthest <= tolerance:
        raise CodeChanged(name=shipped.card.name, difference=f"{furthest:.2g}")


@torch.no_grad()
def fixed_logits(module: nn.Module, count: int = 8) -> list[float]:
    """Some logits, spread over all of them, of an input that depends on nothing but the model's sizes."""
    module.eval()
    flat = module(**_fixed_input(module)).logits.flatten()
    return [round(one, 6) for one in flat[:: max(1, len(flat) // count)][:count].tolist()]


def _fixed_input(module: Any) -> dict[str, Tensor]:
    if getattr(module, "main_input_name", "input_ids") == "pixel_values":
        shape = (1, module.channels, module.image_size, module.image_size)
        return {"pixel_values": torch.linspace(0, 1, shape[1] * shape[2] * shape[3]).reshape(shape)}
    ids = partial(_fixed_ids, module.config.vocab_size)
    two_texts = getattr(module, "is_encoder_decoder", False)
    return {"input_ids": ids(7), **({"decoder_input_ids": ids(5)} if two_texts else {})}


def _fixed_ids(vocab_size: int, length: int) -> Tensor:
    """BOS and then ids from all over the vocabulary: (1, length)."""
    return torch.tensor([[1, *((vocab_size * place) // length for place in range(1, length))]])


def _paths(name: str, folder: Path) -> tuple[Path, Path]:
    return folder / f"{name}.json", folder / f"{name}.safetensors"
