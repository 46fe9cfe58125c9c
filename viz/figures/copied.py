"""NumPy code to copy: it holds this cell's own numbers and prints its attention weight."""

import numpy as np

KEYS_UP_TO = 64  # more keys, and the code lists the row's scores instead


def as_numpy(
    query_vector: np.ndarray,
    keys: np.ndarray,
    *,
    scale: float,
    row_scores: np.ndarray,
    key_index: int,
    allowed: np.ndarray | None = None,
    bias: np.ndarray | None = None,
    softcap: float | None = None,
    sink: float | None = None,
) -> str:
    """Runnable code for one weight: `query_vector` (d_head,), `keys` (key, d_head), `row_scores` and `bias` (key,).

    Only keys that the query may look at are listed, and the one looked at. Where a text has more than 64 of them the
    code lists their scores, `row_scores`, and computes this key's own score from q and k.
    """
    may_look = np.ones(len(keys), bool) if allowed is None else np.asarray(allowed, bool)
    # A query that may look at nothing spreads its attention evenly over all keys.
    listed = may_look.copy() if may_look.any() else ~may_look
    listed[key_index] = True
    place = int(listed[:key_index].sum())
    short = listed.sum() <= KEYS_UP_TO
    lines = ["import numpy as np", "", f"q = np.array({_numbers(query_vector)})"]
    if short:
        rows = ",\n    ".join(_numbers(key) for key in keys[listed])
        lines += [f"K = np.array([\n    {rows},\n])", f"scores = K @ q * {float(scale)!r}"]
        added = None if bias is None else _numbers(np.asarray(bias)[listed])
    else:
        lines += [f"k = np.array({_numbers(keys[key_index])})", f"score = k @ q * {float(scale)!r}"]
        added = None if bias is None else repr(float(np.asarray(bias)[key_index]))
    lines += _to_scores("scores" if short else "score", softcap, added)
    if not short:
        lines += [f"scores = np.array({_numbers(np.asarray(row_scores)[listed])})", f"scores[{place}] = score"]
    if not may_look[listed].all():
        forbidden = np.flatnonzero(~may_look[listed]).tolist()
        lines.append(f"scores[{forbidden}] = np.finfo(np.float32).min  # forbidden by the mask")
    return "\n".join([*lines, *_softmax(place, sink)]) + "\n"


def _numbers(values: np.ndarray) -> str:
    """A list of float32 numbers in the fewest digits that keep each exact; −∞ becomes the lowest float."""
    finite = np.maximum(np.asarray(values, np.float32), np.finfo(np.float32).min)
    return "[" + ", ".join(str(value) for value in finite) + "]"


def _to_scores(name: str, softcap: float | None, added: str | None) -> list[str]:
    lines = [] if softcap is None else [f"{name} = {float(softcap)!r} * np.tanh({name} / {float(softcap)!r})"]
    if added is not None:
        lines.append(f"{name} = {name} + {f'np.array({added})' if added.startswith('[') else added}")
    return lines


def _softmax(place: int, sink: float | None) -> list[str]:
    if sink is None:
        return ["parts = np.exp(scores - scores.max())", f"weight = parts[{place}] / parts.sum()", "print(weight)"]
    return [
        f"scores = np.append(scores, {float(sink)!r})  # the sink takes its share",
        "parts = np.exp(scores - scores.max())",
        f"weight = parts[{place}] / parts.sum()",
        "print(weight)",
    ]
