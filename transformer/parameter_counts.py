"""How many numbers of a model of ours were learned, part by part."""

from collections import Counter

from torch import nn

_PARTS = {"rows": "positions", "columns": "positions", "segments": "embedding", "cross": "attention"}
_NAMES = ("attention", "feedforward", "norm", "positions", "summary", "head", "embedding")


def parameter_counts(model: nn.Module) -> dict[str, int]:
    """Over all blocks together; they add up to the whole model.

    Parts: embedding, positions (learned ones), attention, feedforward, norm, summary (a pooler), head (0 where tied).
    """
    counts = Counter({"embedding": 0, "attention": 0, "feedforward": 0, "norm": 0, "head": 0})
    for name, parameter in model.named_parameters():  # names a shared matrix once
        counts[part_of(name)] += parameter.numel()
    return dict(counts)


def part_of(name: str) -> str:
    """The part that a parameter belongs to: "blocks.2.norm1.weight" -> "norm", "decoder.head.weight" -> "head"."""
    words = [word.rstrip("0123456789") for word in name.split(".")]
    named = [_PARTS.get(word, word) for word in words]
    return next((part for part in _NAMES if part in named), "embedding")
