"""What a model thought of the next token when one was chosen: the summary that is kept of a whole vocabulary.

Three probabilities of a token are told apart: `p` is the model's own, softmax over the whole vocabulary; `scaled` is
that at the temperature; `final` is what is left of it behind top-k and top-p, and what was drawn from.
"""

from dataclasses import dataclass, field, replace

import numpy as np

from transformer.parts import Array
from transformer.sampling import Dials, SamplingStep, draw, entropy, log_sum_exp, sampling_steps, softmax


@dataclass(frozen=True, eq=False)
class Distribution:
    """The most probable tokens, largest first, the chosen one among them; and sums over the whole vocabulary."""

    ids: Array  # (shown,) int64
    logits: Array  # (shown,) float64, untouched
    ranks: Array  # (shown,) 0, 1, 2, …; the chosen token stands last where it is not among the first
    p: Array  # (shown,) float64, over the whole vocabulary
    scaled: Array  # (shown,) the same at the temperature
    final: Array  # (shown,) renormalised over what was kept, 0 where cut
    place: int  # of the chosen token in these arrays
    vocabulary: int
    n_after_top_k: int  # tokens that top-k kept: ranks 0 … n_after_top_k − 1
    n_kept: int  # of these, the ones that top-p kept
    mass_kept: float  # of `scaled`; the three masses sum to 1
    mass_cut_by_top_k: float
    mass_cut_by_top_p: float
    logsumexp: float  # of the untouched logits, for log p = logit − logsumexp
    scaled_logsumexp: float  # of logits / temperature, for log scaled = logit / temperature − scaled_logsumexp
    before: float  # of `final`, what lies before the chosen token: a draw in [before, before + final) takes it
    entropy: float  # of p, in nats
    kept_bits: bytes = field(repr=False)  # one bit per token of the vocabulary

    def __post_init__(self) -> None:
        for array in (self.ids, self.logits, self.ranks, self.p, self.scaled, self.final):
            array.setflags(write=False)

    @property
    def token(self) -> int:
        return int(self.ids[self.place])

    @property
    def shares(self) -> Array:
        """(3, shown): p, scaled and final, as the softmax over the whole vocabulary gave them."""
        return np.stack([self.p, self.scaled, self.final])

    def recomputed(self, temperature: float) -> Array:
        """The same by another road, from each token's logit: exp(z − lse), exp(z/T − lse_T), and that ÷ mass_kept."""
        p, scaled = np.exp(self.logits - self.logsumexp), np.exp(self.logits / temperature - self.scaled_logsumexp)
        return np.stack([p, scaled, np.where(self.ranks < self.n_kept, scaled / self.mass_kept, 0.0)])

    @property
    def uncut(self) -> "Distribution":
        """The same candidates where no dial cut any: what a greedy choice looked at."""
        nothing = {"mass_kept": 1.0, "mass_cut_by_top_k": 0.0, "mass_cut_by_top_p": 0.0}
        bits = np.packbits(np.ones(self.vocabulary, dtype=bool)).tobytes()
        counts = {"n_after_top_k": self.vocabulary, "n_kept": self.vocabulary}
        return replace(self, final=self.scaled, kept_bits=bits, **counts, **nothing)  # type: ignore[arg-type]

    @property
    def kept_ids(self) -> Array:
        """(n_kept,) the ids that could have been chosen, smallest id first."""
        bits = np.unpackbits(np.frombuffer(self.kept_bits, np.uint8), count=self.vocabulary)
        return np.flatnonzero(bits)

    @property
    def cut_by(self) -> tuple[str, ...]:
        """For each token of `ids` which dial cut it: "top_k", "top_p", or "" where it was kept."""
        named = ("" if rank < self.n_kept else "top_p" if rank < self.n_after_top_k else "top_k" for rank in self.ranks)
        return tuple(named)


def choose(
    logits: Array, dials: Dials, point: float | None = None, shown: int = 10, forced: int | None = None
) -> Distribution:
    """One token chosen from the scores (vocabulary,), and the summary. `point` is where in [0, 1) the draw fell; None
    takes the most probable; `forced` is taken whatever the scores and the dials say. Raises what `sampling_steps`
    raises."""
    steps = {step.dial: step for step in sampling_steps(logits, dials)}
    last = steps["softmax"]
    chosen = int(last.order[0]) if point is None else draw(last, point)
    return _summary(np.asarray(logits, np.float64), steps, chosen if forced is None else forced, shown)


def _summary(logits: Array, steps: dict[str, SamplingStep], chosen: int, shown: int) -> Distribution:
    """`steps` by dial, as `sampling_steps` made them from `logits`."""
    order, n_after_top_k, n_kept = steps["softmax"].order, steps["top_k"].n_kept, steps["softmax"].n_kept
    ranks = np.arange(min(shown, len(order)))
    rank = int(np.flatnonzero(order == chosen)[0])
    ranks = ranks if rank < len(ranks) else np.append(ranks, rank)
    ids = order[ranks]
    p, scaled, final = (softmax(one) for one in (logits, steps["temperature"].logits, steps["softmax"].logits))
    kept = np.zeros(len(order), bool)
    kept[order[:n_kept]] = True
    return Distribution(
        ids=ids.astype(np.int64),
        logits=logits[ids],
        ranks=ranks,
        p=p[ids],
        scaled=scaled[ids],
        final=final[ids],
        place=int(np.flatnonzero(ranks == rank)[0]),
        vocabulary=len(order),
        n_after_top_k=n_after_top_k,
        n_kept=n_kept,
        mass_kept=float(scaled[order[:n_kept]].sum()),
        mass_cut_by_top_k=float(scaled[order[n_after_top_k:]].sum()),
        mass_cut_by_top_p=float(scaled[order[n_kept:n_after_top_k]].sum()),
        logsumexp=log_sum_exp(logits),
        scaled_logsumexp=log_sum_exp(steps["temperature"].logits),
        before=float(final[order[:rank]].sum()),
        entropy=entropy(p),
        kept_bits=np.packbits(kept).tobytes(),
    )
