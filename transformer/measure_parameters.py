"""Where the parameters of a model are: per part and per layer, for any `nn.Module`, ours or not.

The part is read off the names and classes on the way to a parameter, as libraries write them. What says nothing counts
as "other" rather than as a guess. A matrix with two names (tied embeddings, Press & Wolf 2017) is one matrix and counts
once: for the embedding, if that is one of its names.
"""

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from torch import nn

PARTS = ("embedding", "positions", "attention", "feedforward", "norm", "head", "other")

# Pieces of the names of modules and of their classes, in lower case.
_POSITIONS = ("position", "pos_emb", "wpe", "relative_attention_bias", "rel_embeddings")
_ATTENTION = ("attention", "attn")
_FEEDFORWARD = ("mlp", "ffn", "feedforward", "feed_forward", "densereludense", "expert", "intermediate", "moe")
_EMBEDDING = ("embed", "wte", "patch", "cls_token")
_HEAD = ("head", "classifi", "pooler", "predictions", "embed_out", "vocab_", "qa_outputs", "generator", "logits")
# Whole names, too short to look for inside others.
_FEEDFORWARD_NAMES = {"ff", "fc1", "fc2", "linear1", "linear2", "lin1", "lin2", "output"}
_HEAD_NAMES = {"cls", "score", "output", "fc_out", "summary"}


@dataclass(frozen=True)
class ParameterRow:
    """One parameter: how many numbers, learned or frozen, and where."""

    name: str
    shape: tuple[int, ...]
    count: int
    part: str  # one of PARTS
    stack: str | None  # "" where the model has one stack of layers, else what tells it apart; None outside the layers
    layer: int | None
    also: tuple[str, ...]  # other names of the same matrix


@dataclass(frozen=True, eq=False)
class ParameterMap:
    """The rows add up to `counts`, and `counts` to `total`: nothing is left out and nothing counts twice."""

    rows: tuple[ParameterRow, ...]
    places: tuple[tuple[str | None, int | None], ...]  # (stack, layer); what is outside the layers comes first
    parts: tuple[str, ...]
    counts: np.ndarray  # (place, part)
    total: int


@dataclass(frozen=True)
class _Way:
    """The way to one parameter: the modules it is inside of, with their names, the root without one."""

    names: tuple[str, ...]  # ("", "blocks", "3", "norm1")
    owners: tuple[nn.Module, ...]
    own: str  # "weight"

    @classmethod
    def to(cls, root: nn.Module, name: str) -> "_Way":
        *names, own = name.split(".")
        owners = [root]
        for one in names:
            owners.append(owners[-1].get_submodule(one))
        return cls(("", *names), tuple(owners), own)

    @property
    def layer(self) -> tuple[str, int] | None:
        """Its stack's path and its number there: of the outermost list of modules that are made of others and alike."""
        for place, owner in enumerate(self.owners[:-1]):
            if isinstance(owner, nn.ModuleList | nn.Sequential) and _alike(owner):
                return ".".join(self.names[1 : place + 1]), int(self.names[place + 1])
        return None

    @property
    def words(self) -> list[str]:
        """Names and classes, in lower case. A model's own class says what it is for, not what this parameter is."""
        root = type(self.owners[0]).__name__.lower()
        kinds = [type(owner).__name__.lower() for owner in self.owners[1:]]
        kinds += [root] if root.endswith(("attention", "norm", "mlp", "feedforward")) else []
        return [*(name.lower() for name in self.names[1:]), self.own.lower(), *kinds]


def parameter_map(module: nn.Module) -> ParameterMap:
    """Every parameter of `module` with its part and layer, in the order in which they were made."""
    all_names: dict[int, list[str]] = {}
    parameters: dict[int, nn.Parameter] = {}
    for name, parameter in module.named_parameters(remove_duplicate=False):
        all_names.setdefault(id(parameter), []).append(name)
        parameters[id(parameter)] = parameter
    ways = {name: _Way.to(module, name) for names in all_names.values() for name in names}
    short = _short_stacks([way.layer[0] for way in ways.values() if way.layer is not None])
    last = max((place for place, way in enumerate(ways.values()) if way.layer is not None), default=len(ways))
    parts = {name: _part(way, behind=place > last) for place, (name, way) in enumerate(ways.items())}
    rows = []
    for key, names in all_names.items():
        name = min(names, key=lambda one: (parts[one] != "embedding", names.index(one)))
        layer = ways[name].layer
        stack, number = (None, None) if layer is None else (short[layer[0]], layer[1])
        also = tuple(other for other in names if other != name)
        shape, count = tuple(parameters[key].shape), parameters[key].numel()
        rows.append(ParameterRow(name, shape, count, parts[name], stack, number, also))
    return _summed(tuple(rows))


def _part(way: _Way, *, behind: bool) -> str:
    """One of PARTS; `behind`: it was made after the last layer."""
    owner, words, names = way.owners[-1], way.words, {*way.names, way.own}
    inside = way.layer is not None
    if "norm" in type(owner).__name__.lower() or "norm" in way.names[-1].lower() or way.names[-1].startswith("ln_"):
        return "norm"
    if _holds((word for word in words if "wise" not in word), _POSITIONS):  # a "position-wise" network has none
        return "positions"
    if _holds(words, _ATTENTION):
        return "attention"
    if not inside and (_holds(words, _HEAD) or names & _HEAD_NAMES):
        return "head"
    if _holds(words, _FEEDFORWARD) or (inside and names & _FEEDFORWARD_NAMES):
        return "feedforward"
    if isinstance(owner, nn.Embedding) or (not inside and _holds(words, _EMBEDDING)):
        return "embedding"
    return "head" if behind and isinstance(owner, nn.Linear) else "other"


def _holds(words: Iterable[str], pieces: tuple[str, ...]) -> bool:
    return any(piece in word for word in words for piece in pieces)


def _alike(owner: nn.Module) -> bool:
    """Whether all children are of one class and made of modules themselves: layers, and not a list of matrices."""
    children = list(owner.children())
    return len({type(child) for child in children}) == 1 and all(any(child.children()) for child in children)


def _short_stacks(paths: list[str]) -> dict[str, str]:
    """Path -> what tells it apart: {"model.encoder.layers": "encoder", "model.decoder.layers": "decoder"}, one: ""."""
    ways = {path: path.split(".") for path in paths}
    shortest = min(map(len, ways.values()), default=0)

    def common(columns: list[set[str]]) -> int:
        return next((place for place, column in enumerate(columns) if len(column) > 1), len(columns))

    head = common([{way[place] for way in ways.values()} for place in range(shortest)])
    tail = common([{way[-1 - place] for way in ways.values()} for place in range(shortest - head)])
    return {path: ".".join(way[head : len(way) - tail]) for path, way in ways.items()}


def _summed(rows: tuple[ParameterRow, ...]) -> ParameterMap:
    found = dict.fromkeys((row.stack, row.layer) for row in rows)
    places = tuple(sorted(found, key=lambda place: place[0] is not None))  # the sort keeps the order of the layers
    counts = np.zeros((len(places), len(PARTS)), np.int64)
    for row in rows:
        counts[places.index((row.stack, row.layer)), PARTS.index(row.part)] += row.count
    return ParameterMap(rows, places, PARTS, counts, int(counts.sum()))
