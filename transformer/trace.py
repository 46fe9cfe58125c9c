"""A `Trace`: everything one run of one text said, as NumPy arrays without a batch axis.

Sites are named `stack.layer.place.part` ("decoder.9.self.weights"). Kept are q, k, v, the mask in its smallest
form and the streams; attention maps, statistics, hidden values and what a part added follow from these by their formula
and are computed when somebody looks, one head (or some rows) at a time.
"""

import os
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from types import MappingProxyType
from typing import IO, TYPE_CHECKING

import numpy as np

from transformer.errors import BadTrace, NoSuchSite, TraceError, WeightsChanged
from transformer.maps import Attention
from transformer.parts import Array, FeedForwardPart, NormPart, Part
from transformer.structure import Structure
from transformer.tokenizer import Encoding

if TYPE_CHECKING:
    from transformer.wrapped import LoadedModel

AXES: dict[str, tuple[str, ...]] = {
    "q": ("head", "query", "d_head"),
    "k": ("kv_head", "key", "d_head"),
    "v": ("kv_head", "key", "d_value"),
    "check": ("head", "query"),  # of each context, see capture.check_numbers
    "q_check": ("head", "query"),
    "k_check": ("kv_head", "key"),
    "v_check": ("kv_head", "key"),
    "output_check": ("position",),  # of what a part gave
    "context": ("head", "query", "d_value"),
    "bias": ("head", "query", "key"),
    "allowed": ("query", "key"),
    "scores": ("head", "query", "key"),
    "masked": ("head", "query", "key"),
    "weights": ("head", "query", "key"),
    "merged": ("query", "d_context"),
    "mean": ("position",),
    "std": ("position",),
    "normalized": ("position", "d_model"),
    "input": ("position", "d_model"),
    "output": ("position", "d_model"),
    "hidden": ("position", "d_ff"),
    "before": ("position", "d_model"),
    "middle": ("position", "d_model"),
    "after": ("position", "d_model"),
    "token": ("position", "d_model"),
    "position": ("position", "d_model"),
    "segment": ("position", "d_model"),
    "sum": ("position", "d_model"),
    "vector": ("one", "d_model"),  # the summary of all positions, which a classifier's head is given
}
_OF_NORM = ("normalized", "mean", "std")
NOT_SAVED = "lack.saved_without_weights"  # of what a run that was loaded without its model cannot compute


class SavedWithoutWeights(TraceError):
    """A site follows from the weights of a model that this run, which was loaded from a file, does not have."""


@dataclass(frozen=True, eq=False)
class TopLogits:
    """The largest logits of each position, and the log-sum-exp over the whole vocabulary, for probabilities."""

    ids: Array  # (position, k) int64, largest first
    values: Array  # (position, k)
    logsumexp: Array  # (position,) float64
    vocabulary: int

    def of_row(self, row: int) -> "TopLogits":
        """One row of a batch."""
        return TopLogits(self.ids[row], self.values[row], self.logsumexp[row], self.vocabulary)

    def probabilities(self, position: int) -> tuple[Array, Array]:
        """(ids, p): softmax over the full vocabulary, of which the top k are kept."""
        return self.ids[position], np.exp(self.values[position] - self.logsumexp[position])


@dataclass(frozen=True, eq=False)
class Trace:
    """One run. Equal keys mean the same model, ids, mask and recording."""

    key: str
    model: str
    encodings: Mapping[str, Encoding]  # "encoder" and/or "decoder"
    arrays: Mapping[str, Array]
    attention: Mapping[str, Attention]  # "decoder.3.self" -> how it computed
    structure: Structure
    aliases: Mapping[str, str] = field(default_factory=dict)
    sums: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    parts: Mapping[str, Part] = field(default_factory=dict)
    part_inputs: Mapping[str, tuple[str, str]] = field(default_factory=dict)
    lacks: Mapping[str, str] = field(default_factory=dict)
    top: TopLogits | None = None
    seconds: float = 0.0
    weights_changed: Callable[[], bool] = lambda: False  # whether the parts' weights are no longer those of the run

    def __post_init__(self) -> None:
        for site, array in self.arrays.items():
            check_axes(site, array, self._lengths(site))
        freeze(self.arrays, *map(vars, self.attention.values()), vars(self.top) if self.top else {})
        for name in ("arrays", "attention", "aliases", "sums", "parts", "part_inputs", "lacks", "encodings"):
            object.__setattr__(self, name, MappingProxyType(dict(getattr(self, name))))

    # --- what there is -----------------------------------------------------------------------------------------------

    @cached_property
    def sites(self) -> tuple[str, ...]:
        """All names that `trace[...]` answers to."""
        top = ("logits", "logits.ids", "logits.logsumexp") if self.top else ()
        own = dict.fromkeys([*self.arrays, *self._computed_sites(), *top])
        return tuple(own | dict.fromkeys(alias for alias in self.aliases if self.resolve(alias) in own))

    def _computed_sites(self) -> Iterator[str]:
        for site, how in self.attention.items():
            parts = (
                ("weights", "allowed")
                if how.weights is not None
                else ("scores", "masked", "weights", "allowed", "context", "merged")
            )
            yield from (f"{site}.{part}" for part in parts if part != "allowed" or self._knows_mask(site))
            if how.bias is not None:
                yield f"{site}.bias"
        for name, part in self.parts.items():
            if isinstance(part, NormPart | FeedForwardPart) and self._can_enter(name):
                of_part = (*_OF_NORM, "output") if isinstance(part, NormPart) else ("hidden", "output")
                yield from (f"{name}.{one}" for one in of_part)
            elif name.endswith(".projection") and f"{name.removesuffix('.projection')}.q" in self.arrays:
                yield name.removesuffix("projection") + "output"

    def _can_enter(self, name: str) -> bool:
        """Whether what enters a part is kept, or follows from a part before it."""
        enters = self.resolve(f"{name}.input")
        if enters in self.arrays:
            return True
        before = enters.removesuffix(".output")
        if before in self.attention:
            return f"{before}.q" in self.arrays and f"{before}.projection" in self.parts
        return before != enters and before in self.parts and self._can_enter(before)

    def _knows_mask(self, site: str) -> bool:
        return f"{site}.allowed" not in self.lacks

    def attention_sites(self) -> tuple[str, ...]:
        """("decoder.0.self", "decoder.0.cross", "decoder.1.self", …) in the order in which they ran."""
        return tuple(self.attention)

    @property
    def nbytes(self) -> int:
        """What the kept arrays take, each once. Weights of the model are views and count nothing."""
        kept = [
            *self.arrays.values(),
            *(a for how in self.attention.values() for a in (how.allowed, how.bias, how.weights)),
        ]
        kept += [self.top.ids, self.top.values, self.top.logsumexp] if self.top else []
        return sum({_address(one): _bytes_of(one) for one in kept if one is not None}.values())

    def tokens(self, site: str, axis: str) -> tuple[str, ...]:
        """Readable tokens along "query" or "key": cross-attention looks from target to source."""
        return self.encodings[self.stack_along(site, axis)].tokens

    def encoding(self, site: str, axis: str = "query") -> Encoding:
        return self.encodings[self.stack_along(site, axis)]

    def stack_along(self, site: str, axis: str) -> str:
        """ "encoder" or "decoder": whose tokens lie along "query" or "key"."""
        if axis not in ("query", "key"):
            raise NoSuchSite(site=axis, sites="query, key")
        return "encoder" if axis == "key" and ".cross" in site else site.split(".")[0]

    def _lengths(self, site: str) -> dict[str, int]:
        stack = site.split(".")[0]
        position = len(self.encodings[stack].ids)
        key = len(self.encodings["encoder"].ids) if ".cross." in site else position
        return {"position": position, "query": position, "key": key}

    # --- as a file ---------------------------------------------------------------------------------------------------

    def save(self, path: "str | os.PathLike[str] | IO[bytes]", *, weights: bool = False) -> None:
        """One .npz file that NumPy opens too, see `trace_file.py`. Without `weights` it holds what was recorded; with
        them also the model's parts, so that everything can be computed again without the model. Raises WeightsChanged
        where the model was trained since."""
        from transformer.trace_file import save

        save(self, path, weights=weights)

    @classmethod
    def load(cls, path: "str | os.PathLike[str] | IO[bytes]", model: "LoadedModel | None" = None) -> "Trace":
        """A run that was saved. `model`: whose weights compute what was not recorded, if the file has none of its own;
        it must be the one that ran. Raises BadTraceFile, AnotherModel."""
        from transformer.trace_file import load

        return load(path, model)

    # --- what was said -----------------------------------------------------------------------------------------------

    def __getitem__(self, site: str) -> Array:
        """The array of a site; a name that this trace has not is answered with those it has."""
        if (resolved := self.resolve(site)) in self.arrays:
            return self.arrays[resolved]
        if site not in self.sites and self.resolve(site) not in self.sites:
            raise self.missing(site)
        place, _, part = self.resolve(site).rpartition(".")
        if site.startswith("logits"):
            return self._top(site)
        of_attention: dict[str, Callable[[str], Array]] = {
            "scores": self.scores,
            "masked": self.masked,
            "weights": self.weights,
            "context": self.context,
            "allowed": self.allowed,
            "bias": self._bias,
            "merged": self._merged,
        }
        return of_attention[part](place) if part in of_attention else self._of_part(place, part)

    def resolve(self, site: str) -> str:
        """The site under which an array is kept: equal arrays are kept once."""
        seen: set[str] = set()
        while site in self.aliases and site not in seen:
            seen.add(site)
            site = self.aliases[site]
        return site

    def missing(self, site: str) -> TraceError:
        """Why a site is not here: there is none, or it takes weights that were not saved."""
        if NOT_SAVED in (self.lacks.get(site), self.lacks.get(self.resolve(site))):
            return SavedWithoutWeights(site=site, model=self.model)
        return NoSuchSite(site=site, sites=self._nearby(site))

    def _nearby(self, site: str) -> str:
        """The sites of the same place, or all places: what the caller probably meant."""
        place = site.rpartition(".")[0]
        near = [name for name in self.sites if name.startswith(f"{place}.")] if place else []
        return ", ".join(near or sorted({name.rpartition(".")[0] or name for name in self.sites}))

    def _top(self, site: str) -> Array:
        assert self.top is not None
        return {"logits": self.top.values, "logits.ids": self.top.ids, "logits.logsumexp": self.top.logsumexp}[site]

    @property
    def is_classified(self) -> bool:
        """Whether the logits are scores of classes, one row for the whole text, and not of the next tokens."""
        return any(box.kind == "summary" for stack in self.structure.stacks for box in stack.after)

    def probabilities(self, position: int = -1) -> tuple[Array, Array]:
        """(ids, p) of the most probable tokens after `position`, over the full vocabulary."""
        if self.top is None:
            raise NoSuchSite(site="logits", sites=self._nearby(""))
        return self.top.probabilities(position)

    def scores(self, site: str, head: int | None = None, rows: slice = slice(None)) -> Array:
        """q · k · scale, soft-capped where the model does so, before mask and bias: (query, key), or per head."""
        return self._per_head(site, head, lambda h: self._scores(site, h, rows))

    def raw_scores(self, site: str, head: int | None = None, rows: slice = slice(None)) -> Array:
        """q · k and nothing else: (query, key), or per head."""
        return self._per_head(site, head, lambda h: self._raw_scores(site, h, rows))

    def masked(self, site: str, head: int | None = None, rows: slice = slice(None)) -> Array:
        """Scores with bias, and −∞ where looking is forbidden."""
        return self._per_head(site, head, lambda h: self._masked(site, h, rows))

    def weights(self, site: str, head: int | None = None, rows: slice = slice(None)) -> Array:
        """softmax(masked): (query, key), or (head, query, key) for all heads. Forbidden cells are 0."""
        return self._per_head(site, head, lambda h: self._weights(site, h, rows))

    def context(self, site: str, head: int | None = None, rows: slice = slice(None)) -> Array:
        """weights · v: (query, d_value), or (head, query, d_value)."""
        return self._per_head(site, head, lambda h: self._context(site, h, rows))

    def allowed(self, site: str, head: int = 0, rows: slice = slice(None)) -> Array:
        """(query, key) bool, True = may look."""
        lengths = self._lengths(f"{site}.q")
        return self._how(site).may_look(head, rows, lengths["query"], lengths["key"])

    def _per_head(self, site: str, head: int | None, of_head: Callable[[int], Array]) -> Array:
        count = self._how(site).heads
        if head is not None and (type(head) is bool or not 0 <= head < count):
            raise NoSuchSite(site=f"{site}[{head}]", sites=f"{site}[0 … {count - 1}]")
        heads = range(count) if head is None else [head]
        maps = [of_head(h).astype(np.float32) for h in heads]
        return np.stack(maps) if head is None else maps[0]

    def _how(self, site: str) -> Attention:
        if site not in self.attention:
            raise NoSuchSite(site=site, sites=", ".join(self.attention))
        return self.attention[site]

    def _raw_scores(self, site: str, head: int, rows: slice) -> Array:
        if self._how(site).weights is not None:
            raise NoSuchSite(site=f"{site}.scores", sites=self._nearby(f"{site}.scores"))
        q, k = self.arrays[f"{site}.q"][head, rows], self.arrays[f"{site}.k"][self._how(site).kv_head(head)]
        return np.asarray(q.astype(np.float64) @ k.astype(np.float64).T)

    def _scores(self, site: str, head: int, rows: slice) -> Array:
        how = self._how(site)
        if how.weights is not None:
            raise NoSuchSite(site=f"{site}.scores", sites=self._nearby(f"{site}.scores"))
        return how.scores(self.arrays[f"{site}.q"][head, rows], self.arrays[f"{site}.k"][how.kv_head(head)])

    def _masked(self, site: str, head: int, rows: slice) -> Array:
        scores, may_look = self._scores(site, head, rows), self.allowed(site, head, rows)
        return self._how(site).masked(scores, may_look, head, rows)

    def _weights(self, site: str, head: int, rows: slice) -> Array:
        how = self._how(site)
        return how.softmax(self._masked(site, head, rows), head) if how.weights is None else how.weights[head, rows]

    def _context(self, site: str, head: int, rows: slice, at_once: int = 256) -> Array:
        """Some rows at a time, so that a long text never costs a whole map."""
        v = self.arrays[f"{site}.v"][self._how(site).kv_head(head)].astype(np.float64)
        start, stop, step = rows.indices(self._lengths(f"{site}.q")["query"])
        if step != 1:
            return self._context(site, head, slice(None))[rows]
        steps = [slice(first, min(first + at_once, stop)) for first in range(start, stop, at_once)]
        return np.concatenate([self._weights(site, head, step) @ v for step in steps])

    def _bias(self, site: str) -> Array:
        how, lengths = self._how(site), self._lengths(f"{site}.q")
        assert how.bias is not None
        return np.broadcast_to(how.bias, (how.heads, lengths["query"], lengths["key"]))

    def _merged(self, site: str) -> Array:
        """The heads' contexts side by side, as they enter the output projection: (query, head · d_value)."""
        return self.context(site).transpose(1, 0, 2).reshape(self._lengths(f"{site}.q")["query"], -1)

    def _of_part(self, place: str, name: str) -> Array:
        """Computed with the model's weights, which must still be those that the run had."""
        if self.weights_changed():
            raise WeightsChanged(site=f"{place}.{name}", model=self.model)
        if f"{place}.projection" in self.parts:
            return np.asarray(self.parts[f"{place}.projection"](self._merged(place)), dtype=np.float32)
        if name == "output":
            return np.asarray(self.parts[place](self[f"{place}.input"]), dtype=np.float32)
        part, x = self.parts[place], self[f"{place}.input"]
        return np.asarray(getattr(part, name)(x), dtype=np.float32)


def _address(array: Array) -> int:
    return int(array.__array_interface__["data"][0])


def _bytes_of(array: Array) -> int:
    """A broadcast axis (stride 0) takes no memory."""
    sizes = (size for size, stride in zip(array.shape, array.strides, strict=True) if stride)
    return int(np.prod(list(sizes), dtype=np.int64)) * array.itemsize


def check_axes(site: str, array: Array, lengths: Mapping[str, int]) -> None:
    """Every array has the axes of its part, and the lengths of its tokens."""
    axes = AXES.get(site.rpartition(".")[2])
    if axes is None or array.ndim != len(axes):
        raise BadTrace(site=site, expected=str(axes), came=str(array.shape))
    for axis, size in zip(axes, array.shape, strict=True):
        if lengths.get(axis, size) != size:
            raise BadTrace(site=site, expected=f"{lengths[axis]} {axis}", came=str(array.shape))


def freeze(*holders: Mapping[str, object]) -> None:
    """Nobody may write to what is kept: it is shared by all who look at this run."""
    for holder in holders:
        for array in holder.values():
            if isinstance(array, np.ndarray):
                array.flags.writeable = False
