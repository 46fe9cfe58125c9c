"""Labels of heads as data, and as the small files in `assets/head_labels` that spare a reader the measuring.

A file counts only for the very weights and texts that it was measured with: both are written into it as checksums.
"""

import hashlib
import json
import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from torch import nn

from transformer.checkpoint import write_whole
from transformer.parts import Array

ASSETS = Path(__file__).parent.parent / "assets"
FOLDER = ASSETS / "head_labels"
TEXTS = ASSETS / "head_sentences.json"
THRESHOLD = 0.5  # of the weight: from here a head carries a label
TELLS_LITTLE = {"first": 1, "local": 2}  # told only after the others, however large
SAMPLE = 4096  # numbers of each parameter that are summed for the checksum
FORMAT = 1  # counts up when a rule is measured otherwise


@dataclass(frozen=True, eq=False)
class SiteLabels:
    """How well each label fits the heads of one attention: mean and standard deviation over texts, of how many."""

    labels: tuple[str, ...]
    mean: Array  # (label, head); NaN where fewer than three texts had a row that proves something
    spread: Array  # (label, head)
    texts: tuple[int, ...]  # of each label
    rows: tuple[int, ...]

    def carried(self, head: int) -> tuple[str, ...]:
        """The labels of a head, the most telling first: a head that rests on the first token of plain sentences may do
        its work elsewhere, and "local" holds for every head that looks at itself or one token back."""
        found = [index for index, mean in enumerate(self.mean[:, head].tolist()) if mean >= THRESHOLD]
        found.sort(key=lambda index: (TELLS_LITTLE.get(self.labels[index], 0), -self.mean[index, head]))
        return tuple(self.labels[index] for index in found)

    def name(self, head: int) -> str:
        """The first of its labels; "" where it carries none."""
        return next(iter(self.carried(head)), "")

    def values(self) -> Array:
        """(head,) the mean of the label that it carries, else its largest mean; NaN where nothing was measured."""
        found = np.full(self.mean.shape[1], np.nan, np.float32)
        for head in range(len(found)):
            scores = self.mean[:, head]
            if (name := self.name(head)) or not np.isnan(scores).all():
                found[head] = scores[self.labels.index(name)] if name else np.nanmax(scores)
        return found


@dataclass(frozen=True, eq=False)
class HeadLabels:
    """The labels of all heads of a model."""

    model: str
    weights: str  # checksum, see `weights_checksum`
    texts: str  # checksum of the texts that it was measured on
    seconds: float
    sites: Mapping[str, SiteLabels]


def texts_checksum() -> str:
    return _checksum(TEXTS.read_bytes())


@cache
def measured_texts() -> dict[str, Any]:
    """{"texts": […], "own": {model: [text or [source, target], …]}}."""
    found: dict[str, Any] = json.loads(TEXTS.read_text(encoding="utf-8"))
    return found


def weights_checksum(module: nn.Module) -> str:
    """Of the sizes of all parameters, and of sums over some of their numbers: six digits, so that it does not depend on
    the order in which a machine adds."""
    said = []
    for name, one in module.named_parameters():
        flat = one.detach().reshape(-1)
        some = flat[:: max(1, len(flat) // SAMPLE)].double()
        said.append(f"{name} {tuple(one.shape)} {float(some.abs().sum()):.6g} {float((some * some).sum()):.6g}")
    return _checksum("\n".join(said).encode())


def _checksum(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()[:12]


def save(found: HeadLabels, folder: Path = FOLDER) -> Path:
    """Writes `<model>.json`; means and spreads with four digits."""
    told = {"format": FORMAT, "model": found.model, "weights": found.weights, "texts": found.texts}
    told |= {"seconds": round(found.seconds, 1)}
    sites = {site: _told(one) for site, one in found.sites.items()}
    lines = ",\n  ".join(f"{json.dumps(site)}: {json.dumps(one)}" for site, one in sites.items())
    head = json.dumps(told, indent=1)[:-2]
    path = folder / f"{found.model}.json"
    folder.mkdir(parents=True, exist_ok=True)
    write_whole(path, f'{head},\n "sites": {{\n  {lines}\n }}\n}}\n'.encode())
    return path


def _told(one: SiteLabels) -> dict[str, Any]:
    numbers = {name: [[_rounded(value) for value in row] for row in array.tolist()] for name, array in _arrays(one)}
    return {"labels": one.labels, **numbers, "texts": one.texts, "rows": one.rows}


def _arrays(one: SiteLabels) -> tuple[tuple[str, Array], ...]:
    return ("mean", one.mean), ("spread", one.spread)


def _rounded(value: float) -> float | None:
    return None if math.isnan(value) else round(value, 4)


def load(model: str, module: nn.Module, folder: Path = FOLDER) -> HeadLabels | None:
    """What was measured before; None where there is no file, or it is of other weights, other texts or other rules."""
    path = folder / f"{model}.json"
    if not model.replace("-", "").isalnum() or not path.exists():  # a folder's or a hub's name is no name of ours
        return None
    told = json.loads(path.read_text(encoding="utf-8"))
    known = (told["format"], told["weights"], told["texts"])
    if known != (FORMAT, weights_checksum(module), texts_checksum()):
        return None
    sites = {site: _site(one) for site, one in told["sites"].items()}
    return HeadLabels(told["model"], told["weights"], told["texts"], told["seconds"], sites)


def _site(told: dict[str, Any]) -> SiteLabels:
    mean, spread = (np.array(told[name], dtype=np.float64) for name in ("mean", "spread"))  # None becomes NaN
    return SiteLabels(tuple(told["labels"]), mean, spread, tuple(told["texts"]), tuple(told["rows"]))
