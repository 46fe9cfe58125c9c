"""The tokens that matter most, dial by dial: what `sampling_steps` makes of a vocabulary, cut down to be looked at.

logit ─▶ ÷ temperature ─▶ top-k ─▶ share so far ─▶ top-p ─▶ softmax
"""

from dataclasses import dataclass

import numpy as np

from transformer.parts import Array
from transformer.sampling import Dials, sampling_steps, softmax

COLUMNS = ("logit", "scaled", "top_k", "so_far", "top_p", "probability")


@dataclass(frozen=True, eq=False)
class Stages:
    """One step's candidates, and the whole vocabulary by rank."""

    ids: Array  # (shown,) int64: the most probable first, and behind them the one that was asked for
    ranks: Array  # (shown,)
    table: Array  # (shown, column) float64, see COLUMNS; −∞ where cut; "so far" is NaN behind top-k's cut
    own: Array  # (vocabulary,) the model's probabilities, largest first
    scaled: Array  # (vocabulary,) the same tokens' at the temperature
    n_after_top_k: int
    n_kept: int

    @property
    def vocabulary(self) -> int:
        return len(self.own)

    @property
    def masses(self) -> tuple[float, float, float]:
        """What was kept, cut by top-p and cut by top-k, of `scaled`; they sum to 1."""
        kept, by_k = self.scaled[: self.n_kept].sum(), self.scaled[self.n_after_top_k :].sum()
        return float(kept), float(self.scaled[self.n_kept : self.n_after_top_k].sum()), float(by_k)


def stages(logits: Array, dials: Dials, shown: int = 10, also: int | None = None) -> Stages:
    """The first `shown` of `logits` (vocabulary,), and token `also`. Raises what `sampling_steps` raises."""
    logits = np.asarray(logits, np.float64)
    steps = {step.dial: step for step in sampling_steps(logits, dials)}
    order, n_top_k = steps["softmax"].order, steps["top_k"].n_kept
    ranks = np.arange(min(shown, len(order)))
    if also is not None and also not in order[ranks]:
        ranks = np.append(ranks, np.flatnonzero(order == also)[0])
    ids = order[ranks]
    so_far = np.full(len(order), np.nan)
    so_far[:n_top_k] = np.cumsum(softmax(steps["top_k"].logits)[order[:n_top_k]])
    by_dial = [steps[dial].logits[ids] for dial in ("temperature", "top_k", "top_p")]
    columns = [logits[ids], by_dial[0], by_dial[1], so_far[ranks], by_dial[2], np.exp(steps["softmax"].logits[ids])]
    return Stages(
        ids=ids.astype(np.int64),
        ranks=ranks,
        table=np.stack(columns, axis=1),
        own=softmax(logits)[order],
        scaled=softmax(steps["temperature"].logits)[order],
        n_after_top_k=n_top_k,
        n_kept=steps["softmax"].n_kept,
    )


def exp_total(logits: Array) -> float:
    """Σ exp(logit − largest): what each exp(logit − largest) is divided by in a softmax."""
    logits = np.asarray(logits, np.float64)
    return float(np.exp(logits - logits.max()).sum())
