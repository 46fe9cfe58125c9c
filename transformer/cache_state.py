"""What was kept of the tokens that were read, and what one pass computed: the KV cache as numbers that can be drawn."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import IntEnum

import numpy as np
from torch import Tensor

from transformer.config import ModelConfig
from transformer.parts import Array
from transformer.structure import Box
from transformer.wrapped import LoadedModel

Kept = Sequence[tuple[Tensor, Tensor]]  # key and value of each layer, (row, kv_head, key, d_head)


class Cell(IntEnum):
    """What happened to one token's key and value in one layer."""

    GONE = 0  # a sliding window let it go
    CACHED = 1  # an earlier pass computed it, and it was kept
    NEW = 2  # computed for the first time
    RECOMPUTED = 3  # an earlier pass had computed it, and it was not kept


@dataclass(frozen=True)
class CacheFormula:
    """2 · layers · kv_heads · d_head · tokens · bytes: a key and a value of d_head numbers for each token and head."""

    layers: int
    kv_heads: int
    d_head: int
    tokens: int
    number: int = 4  # bytes of one number

    @property
    def nbytes(self) -> int:
        return 2 * self.layers * self.kv_heads * self.d_head * self.tokens * self.number


@dataclass(frozen=True)
class CacheState:
    """After one pass. `why` says why nothing is kept: "asked", "family", "same_ids", "prefix"; "" where it is."""

    tokens: int  # read so far, this pass included
    earlier: int  # of these, the ones that earlier passes had read
    why: str
    kept: tuple[int, ...]  # per layer: keys kept now; fewer than `tokens` where a sliding window let some go
    nbytes: int  # measured, of the text that is written
    formula: CacheFormula | None  # None: the model's heads are not known
    source_nbytes: int = 0  # measured, of the source that is looked across to
    source_formula: CacheFormula | None = None

    @property
    def cached(self) -> bool:
        return not self.why

    @property
    def layers(self) -> int:
        return len(self.kept)

    @property
    def windowed(self) -> bool:
        """Whether a sliding window let keys go."""
        return self.cached and any(count < self.tokens for count in self.kept)

    @property
    def before(self) -> int:
        """How many tokens the cache held when the pass began."""
        return self.earlier if self.cached else 0

    @property
    def new(self) -> int:
        """How many tokens went through the layers in this pass."""
        return self.tokens - self.before

    def cells(self) -> Array:
        """(layer, token) uint8, see `Cell`."""
        cells = np.full((len(self.kept), self.tokens), Cell.CACHED if self.cached else Cell.RECOMPUTED, np.uint8)
        for layer, count in enumerate(self.kept):
            if self.cached:
                cells[layer, : self.tokens - count] = Cell.GONE
        cells[:, self.earlier :] = Cell.NEW
        return cells


@dataclass(frozen=True)
class Work:
    """How many keys (and as many values) were computed, counted as tokens times layers: by the last pass, and by all
    passes so far; as it was, with a cache, and without one."""

    last: int
    last_with: int
    last_without: int
    total: int
    total_with: int
    total_without: int

    @classmethod
    def of(cls, states: Sequence[CacheState]) -> "Work":
        """`states`: after each pass, in their order, at least one."""
        done = [state.new * state.layers for state in states]
        least = [(state.tokens - state.earlier) * state.layers for state in states]
        most = [state.tokens * state.layers for state in states]
        return cls(done[-1], least[-1], most[-1], sum(done), sum(least), sum(most))


@dataclass(frozen=True)
class HeadSizes:
    """Of the decoder's attentions: how many layers there are, and how wide the keys of one token are in each."""

    layers: int
    kv_heads: int | None  # None: unknown, or not the same in every layer
    d_head: int | None

    @classmethod
    def of(cls, model: LoadedModel) -> "HeadSizes":
        config = getattr(model.module, "config", None)
        if isinstance(config, ModelConfig):
            return cls(config.n_layers, config.kv_heads, config.head_size)
        blocks = model.structure.stack("decoder").blocks
        found = {(box.label_values.get("kv_heads"), box.label_values.get("d_head")) for box in _attentions(blocks)}
        kv_heads, d_head = found.pop() if len(found) == 1 else (None, None)
        known = isinstance(kv_heads, int) and isinstance(d_head, int)
        return cls(len(blocks), kv_heads, d_head) if known else cls(len(blocks), None, None)  # type: ignore[arg-type]

    def formula(self, tokens: int, number: int) -> CacheFormula | None:
        """None where the sizes are not known."""
        if self.kv_heads is None or self.d_head is None:
            return None
        return CacheFormula(self.layers, self.kv_heads, self.d_head, tokens, number)


def _attentions(blocks: Sequence[Sequence[Box]]) -> Iterator[Box]:
    """Every self-attention, also those that stand beside another part (GPT-J)."""
    for block in blocks:
        for box in block:
            if box.kind == "attention":
                yield box
            elif box.kind == "parallel":
                yield from _attentions(box.label_values["branches"])  # type: ignore[arg-type]


def nbytes(kept: Kept) -> int:
    """What keys and values take."""
    return sum(one.numel() * one.element_size() for pair in kept for one in pair)
