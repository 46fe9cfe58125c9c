"""n-gram language model: the next token from the last n − 1 alone, smoothed by Witten and Bell's interpolation.

    p(w | h) = (count(h w) + kinds(h) · p(w | h′)) / (count(h) + kinds(h))        p(w) below the empty context: 1 / V

h: the last tokens; h′: h without its oldest token; count(h): how often anything followed h; kinds(h): how many
different tokens did; V: size of the vocabulary. Where h was never seen, p(w | h) = p(w | h′). Each sums to 1 over w.

Witten & Bell 1991 (method C), interpolated as in Chen & Goodman 1998.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from math import exp, log

import numpy as np

from transformer.errors import ShapesDoNotFit
from transformer.tokenizer import check_id

LONGEST = 5  # n: longer contexts are hardly ever seen twice in texts that a page can train on

Context = tuple[int, ...]


@dataclass(frozen=True, eq=False)
class NGramStep:
    """One context, from the empty one to the longest that the training texts have."""

    context: Context
    count: int  # how often anything followed it
    kinds: int  # how many different tokens did
    probabilities: np.ndarray  # (vocab,) float64, of this context mixed with all the shorter ones

    @property
    def share(self) -> float:
        """How much of the probability comes from this context; shorter ones share the rest."""
        return self.count / (self.count + self.kinds)


@dataclass
class NGram:
    """Counts of what followed what. The first token of a sequence is only a context, as for a Transformer."""

    n: int
    vocab_size: int
    _followers: dict[Context, dict[int, int]] = field(default_factory=dict, repr=False)
    _count: dict[Context, int] = field(default_factory=dict, repr=False)

    def __post_init__(self) -> None:
        if not 1 <= self.n <= LONGEST:
            raise ShapesDoNotFit(what="n", expected=f"1 … {LONGEST}", got=self.n)

    @classmethod
    def train(cls, sequences: Iterable[Sequence[int]], n: int, vocab_size: int) -> "NGram":
        """Count all contexts of 0 to n − 1 tokens. Raise `UnknownToken` for an id outside the vocabulary."""
        made = cls(n, vocab_size)
        followers, total = made._followers, made._count
        for sequence in sequences:
            ids = made._checked(sequence)
            for place in range(1, len(ids)):
                token = ids[place]
                for start in range(place, max(place - n, -1), -1):
                    context = ids[start:place]
                    seen = followers.setdefault(context, {})
                    seen[token] = seen.get(token, 0) + 1
                    total[context] = total.get(context, 0) + 1
        return made

    def _checked(self, ids: Sequence[int]) -> Context:
        ids = tuple(map(int, ids))
        if ids:
            check_id(min(ids), self.vocab_size)
            check_id(max(ids), self.vocab_size)
        return ids

    def steps(self, ids: Sequence[int]) -> Iterator[NGramStep]:
        """From the empty context to the longest one that was seen; the last step is the model's answer.

        An untrained model yields nothing.
        """
        ids = self._checked(ids)
        probabilities = np.full(self.vocab_size, 1 / self.vocab_size)
        for context in self._contexts(ids):
            seen, count = self._followers[context], self._count[context]
            counts = np.zeros(self.vocab_size)  # (vocab,)
            counts[list(seen)] = list(seen.values())
            probabilities = (counts + len(seen) * probabilities) / (count + len(seen))
            yield NGramStep(context, count, len(seen), probabilities)

    def _contexts(self, ids: Context) -> Iterator[Context]:
        """The ends of `ids` that were seen, shortest first; behind one that was not, none can be."""
        for length in range(min(self.n - 1, len(ids)) + 1):
            context = ids[len(ids) - length :]
            if context not in self._followers:
                return
            yield context

    def next_token(self, ids: Sequence[int]) -> np.ndarray:
        """(vocab,) float64: probabilities of the token behind `ids`; even where nothing was trained."""
        probabilities = np.full(self.vocab_size, 1 / self.vocab_size)
        for step in self.steps(ids):
            probabilities = step.probabilities
        return probabilities

    def context(self, ids: Sequence[int]) -> Context:
        """The last tokens that the answer rests on: the longest end of `ids` that was seen, at most n − 1 tokens."""
        return max(self._contexts(self._checked(ids)), key=len, default=())

    def probability(self, ids: Sequence[int], token: int) -> float:
        """One entry of `next_token`, without computing the others."""
        check_id(token, self.vocab_size)
        share = 1 / self.vocab_size
        for context in self._contexts(self._checked(ids)):
            seen = self._followers[context]
            share = (seen.get(token, 0) + len(seen) * share) / (self._count[context] + len(seen))
        return share

    def perplexity(self, sequences: Iterable[Sequence[int]]) -> float:
        """exp of the mean of −log p over all tokens but the first of each sequence; lower is better, 1 is perfect.

        Comparable with a Transformer of the same vocabulary. Raises `ShapesDoNotFit` where nothing is to be predicted.
        """
        surprise, predicted = 0.0, 0
        for sequence in sequences:
            ids = tuple(sequence)
            for place in range(1, len(ids)):
                surprise -= log(self.probability(ids[max(0, place - self.n + 1) : place], ids[place]))
                predicted += 1
        if not predicted:
            raise ShapesDoNotFit(what="sequences", expected="2 …", got=0)
        return exp(surprise / predicted)


def top_of_both(first: np.ndarray, second: np.ndarray, k: int) -> np.ndarray:
    """Ids of the k largest of either (vocab,) distribution, those of `first` by size, then what `second` adds."""
    if first.shape != second.shape:
        raise ShapesDoNotFit(what="probabilities", expected=first.shape, got=second.shape)
    largest = (np.argsort(-one, kind="stable")[:k].tolist() for one in (first, second))
    both = dict.fromkeys(id for ids in largest for id in ids)
    return np.array(sorted(both, key=lambda id: (-first[id], -second[id], id)), dtype=np.int64)
