"""The logit lens: what the model would answer if it stopped after each layer (nostalgebraist 2020).

    p_l = softmax(finish(norm(stream_l) · W_Uᵀ + b))        the norm's mean and deviation are those of stream_l itself

The last layer's row is the model's own answer.
"""

import time
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from transformer.full_logits import LogitParts, parts_of
from transformer.kept_by_trace import KeptByTrace
from transformer.parts import Array
from transformer.readout import Readout, readout_of
from transformer.replay import Seal, compare
from transformer.sampling import softmax
from transformer.trace import Trace

COLUMNS_KEPT = 256  # positions per run; each is a few numbers per layer
ROWS_KEPT = 4  # whole rows of logits per run
AT_ONCE = 1_000_000_000  # products (layers · positions · vocabulary · d_model) that a click may cost


@dataclass(frozen=True, eq=False)
class LensColumn:
    """One position, layer by layer."""

    ids: Array  # (layer,) int64: the most probable token
    probabilities: Array  # (layer,) its probability over the whole vocabulary
    logsumexp: Array  # (layer,)
    seconds: float  # it took


@dataclass(frozen=True, eq=False)
class LensTable:
    """Some positions side by side."""

    layers: tuple[int, ...]
    positions: tuple[int, ...]
    ids: Array  # (layer, position) int64: the most probable token
    probabilities: Array  # (layer, position) its probability over the whole vocabulary


_columns = KeptByTrace[int, LensColumn](COLUMNS_KEPT)
_rows = KeptByTrace[tuple[int, int], Array](ROWS_KEPT)


def logit_lens(trace: Trace, positions: Sequence[int], layers: Sequence[int] | None = None) -> LensTable:
    """The most probable token after each of `layers` (default: all) at each of `positions`.

    Raises CannotReadOut where a piece of the way from the stream to the logits is unknown, WeightsChanged.
    """
    columns = [lens_column(trace, position) for position in positions]
    shown = list(range(len(columns[0].ids)) if layers is None else layers)
    ids = np.stack([column.ids[shown] for column in columns], axis=1)
    probabilities = np.stack([column.probabilities[shown] for column in columns], axis=1)
    return LensTable(tuple(shown), tuple(positions), ids, probabilities)


def lens_column(trace: Trace, position: int) -> LensColumn:
    """All layers at one position, computed the first time it is asked for."""
    return _columns.get_or_make(trace, position, lambda: _computed(trace, position))


def _computed(trace: Trace, position: int) -> LensColumn:
    start, readout = time.perf_counter(), readout_of(trace)
    logits = readout.head(_hidden(trace, readout, position))  # (layer, vocabulary)
    ids = logits.argmax(-1)
    largest = np.take_along_axis(logits, ids[:, None], axis=-1)
    exp = np.subtract(logits, largest, out=logits)
    total = np.exp(exp, out=exp).sum(-1, dtype=np.float64)
    logsumexp = largest[:, 0].astype(np.float64) + np.log(total)
    return LensColumn(ids, 1 / total, logsumexp, time.perf_counter() - start)


def _hidden(trace: Trace, readout: Readout, position: int) -> Array:
    """(layer, d_model): what the head would be given after each layer."""
    return np.concatenate([readout.hidden(trace, site, position) for site in readout.streams])


def lens_logits(trace: Trace, layer: int, position: int) -> Array:
    """(vocabulary,): all logits after one layer; not to be written to."""
    return _rows.get_or_make(trace, (layer, position), lambda: _row_of(trace, layer, position))


def _row_of(trace: Trace, layer: int, position: int) -> Array:
    readout = readout_of(trace)
    logits: Array = readout.head(readout.hidden(trace, readout.streams[layer], position))[0]
    logits.flags.writeable = False
    return logits


def lens_answers(trace: Trace, layer: int, position: int, shown: int) -> tuple[Array, Array]:
    """(ids, p) of the `shown` most probable tokens after one layer, over the whole vocabulary, the largest first."""
    logits, column = lens_logits(trace, layer, position), lens_column(trace, position)
    first = np.argpartition(-logits, min(shown, len(logits)) - 1)[:shown]
    ids = first[np.lexsort((first, -logits[first]))]
    return ids, np.exp(logits[ids] - column.logsumexp[layer])


def lens_parts(trace: Trace, layer: int, position: int, token: int) -> LogitParts:
    """What one logit after one layer is made of."""
    readout = readout_of(trace)
    hidden = readout.hidden(trace, readout.streams[layer], position)[0]
    return parts_of(readout.head, hidden, token, float(lens_logits(trace, layer, position)[token]))


def class_lens(trace: Trace) -> Array:
    """(layer, class): how probable each class is after each layer, for a classifier. Raises as `logit_lens` does."""
    readout = readout_of(trace)
    logits = readout.head(_hidden(trace, readout, 0))
    return np.stack([softmax(row) for row in logits.astype(np.float64)])


def probability_by_layer(trace: Trace, position: int, token: int) -> Array:
    """(layer,): how probable one token is after each layer."""
    readout, column = readout_of(trace), lens_column(trace, position)
    hidden = _hidden(trace, readout, position)
    logits = readout.head(hidden, np.full((len(hidden), 1), token))[:, 0]
    probabilities: Array = np.exp(logits - column.logsumexp)
    return probabilities


def positions_at_once(trace: Trace, most: int) -> int:
    """How many positions, at least 1 and at most `most`, cost no more than a click may."""
    readout = readout_of(trace)
    each = len(readout.streams) * readout.head.linear.weight.size
    return max(1, min(most, AT_ONCE // each))


def seal_lens(trace: Trace, positions: Sequence[int]) -> Seal:
    """The last layer's answers against the probabilities that the run recorded for the same tokens."""
    assert trace.top is not None
    table = logit_lens(trace, positions)
    found, recorded = table.probabilities[-1], []
    for place, position in enumerate(positions):
        ids, shares = trace.top.probabilities(position)
        recorded.append(float(shares[ids == table.ids[-1, place]].sum()))  # of a token that is not among them: 0
    return compare("logits", found, np.array(recorded))
