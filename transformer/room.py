"""How long a text may be, so that what is recorded of it fits in the memory that was given for it."""

from math import isqrt

from transformer.errors import SeeThroughError
from transformer.probe import probe_ids
from transformer.wrapped import LoadedModel

SHORT, LONG = 4, 8  # tokens of the two runs that are measured


def longest_recorded(model: LoadedModel, budget: int) -> int | None:
    """The most tokens whose recording takes at most `budget` bytes; None where it cannot be measured.

    Measured on two short runs: a · n bytes for the streams and b · n² for maps and masks that a model hands out whole.
    """
    if model.image is not None:
        return None
    try:
        short, long = (_bytes(model, count) for count in (SHORT, LONG))
    except SeeThroughError:
        return None
    b = max(0.0, (long - 2 * short) / (LONG**2 - 2 * SHORT**2))
    a = max(1.0, (short - b * SHORT**2) / SHORT)
    if b == 0:
        return int(budget / a)
    return int((isqrt(int(a * a + 4 * b * budget)) - a) / (2 * b))


def _bytes(model: LoadedModel, count: int) -> int:
    from transformer.runner import run

    ids = probe_ids(model.vocab_size, count, set())[0].tolist()
    trace = run(model, ids=ids, target_ids=ids if model.encoder_decoder else None)
    assert not isinstance(trace, list)
    return trace.nbytes
