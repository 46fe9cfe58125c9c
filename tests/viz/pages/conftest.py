"""Engines for the tests of the pages: the catalog's untrained model, and tiny models of other families."""

import json
from base64 import b64decode
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import settings

from transformer.engine import Engine
from transformer.errors import UnknownModel
from transformer.tokenizer import ByteTokenizer
from transformer.wrapped import LoadedModel, wrap
from viz.pages import selection as move
from viz.pages.blocks import Block, Piece
from viz.pages.explore import open_engine
from viz.pages.links import View
from viz.pages.panels.registry import panel_of
from viz.pages.plot_view import figure_json
from viz.pages.scene import Scene
from viz.pages.selection import Selection

settings.register_profile("patient", deadline=None)  # a busy machine is slow, not wrong
settings.load_profile("patient")

TEXT = "the cat\n the"  # a repeated word, a space, a newline
NO_WISH = View()


class ShelfEngine(Engine):
    """An engine that has only the models it was given: a double of the catalog, everything else is real."""

    def __init__(self, models: dict[str, LoadedModel], **options: Any) -> None:
        super().__init__(next(iter(models)), packs=False, **options)
        self.models = models

    def load(self, name: str) -> LoadedModel:
        if name not in self.models:
            raise UnknownModel(name=name, known=", ".join(self.models))
        return self.models[name]

    def is_loaded(self, name: str) -> bool:
        return name in self.models

    def bring(self, name: str) -> Iterator[Any]:
        self.load(name)
        yield from ()


def _t5() -> torch.nn.Module:
    from transformers import T5Config, T5ForConditionalGeneration

    sizes = {"d_model": 28, "d_kv": 5, "d_ff": 31, "num_layers": 3, "num_decoder_layers": 2, "num_heads": 7}
    special = {"pad_token_id": 0, "eos_token_id": 2, "decoder_start_token_id": 0}
    return T5ForConditionalGeneration(T5Config(vocab_size=ByteTokenizer.vocab_size, **sizes, **special))


def _bert() -> torch.nn.Module:
    from transformers import BertConfig, BertModel

    sizes = {"hidden_size": 28, "num_hidden_layers": 3, "num_attention_heads": 7, "intermediate_size": 31}
    return BertModel(BertConfig(vocab_size=ByteTokenizer.vocab_size, max_position_embeddings=64, **sizes))


def _bloom() -> torch.nn.Module:
    from transformers import BloomConfig, BloomForCausalLM

    return BloomForCausalLM(BloomConfig(vocab_size=ByteTokenizer.vocab_size, hidden_size=28, n_layer=3, n_head=7))


def _grouped() -> torch.nn.Module:
    from transformer.config import ModelConfig
    from transformer.decoder_lm import DecoderLM

    sizes = {"d_model": 36, "n_layers": 3, "n_heads": 6, "n_kv_heads": 2, "max_positions": 331}
    config = ModelConfig(vocab_size=ByteTokenizer.vocab_size, positions="rotary", **sizes)
    return DecoderLM(config, generator=torch.Generator().manual_seed(3))


@pytest.fixture(scope="session")
def shelf() -> ShelfEngine:
    """Random models of a few layers: "grouped" (ours, two KV heads), "t5", "bert" (no head), "bloom" (weights only)."""
    torch.manual_seed(5)
    made = {"grouped": _grouped, "t5": _t5, "bert": _bert, "bloom": _bloom}
    return ShelfEngine({name: wrap(make(), ByteTokenizer(), name) for name, make in made.items()})


@pytest.fixture(scope="session")
def engine() -> Engine:
    """The engine as `app.py` opens it on a computer without packs."""
    return open_engine(model="untrained", packs=False)


@pytest.fixture
def scene_of(shelf: ShelfEngine) -> Callable[..., Scene]:
    """`scene_of("t5", View(site="decoder.1.cross"), language="zh")`: a run of `TEXT`, and what is chosen in it."""

    def make(name: str, view: View = NO_WISH, *, text: str = TEXT, language: str = "en") -> Scene:
        target = "a tac" if shelf.load(name).encoder_decoder else None
        trace = shelf.trace(name, text, target)
        return Scene(shelf, trace, move.first_look(trace, Selection(name, text, target), view), language)

    return make


def blocks_of(scene: Scene) -> dict[str, Block]:
    """The blocks of the chosen panel, by name."""
    return {one.name: one for column in panel_of(scene.selection).columns(scene) for one in column}


def made(scene: Scene, name: str) -> Any:
    """A block of the chosen panel as the browser gets it: HTML, or a figure whose arrays are NumPy arrays."""
    block = blocks_of(scene)[name]
    return block.make() if isinstance(block, Piece) else figure(figure_json(block.draw()))


def figure(value: str | None) -> dict[str, Any]:
    """A figure as the browser gets it, its arrays as NumPy arrays."""
    assert value is not None, "the panel shows no figure"
    return _decoded(json.loads(value))


def _decoded(part: Any) -> Any:
    if isinstance(part, dict) and "bdata" in part:
        shape = [int(size) for size in str(part.get("shape", -1)).split(",")]
        return np.frombuffer(b64decode(part["bdata"]), part["dtype"]).reshape(shape)
    if isinstance(part, dict):
        return {name: _decoded(one) for name, one in part.items()}
    return [_decoded(one) for one in part] if isinstance(part, list) else part
