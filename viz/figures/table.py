"""A map as a table, for those who read with ears or fingers, and for copying."""

from collections.abc import Sequence
from html import escape

import numpy as np

from transformer.messages import message

MOST = 64  # rows and columns; a larger table freezes a page and helps nobody


def matrix_table(
    values: np.ndarray,
    queries: Sequence[str],
    keys: Sequence[str],
    *,
    allowed: np.ndarray | None = None,
    corner: str = "",
    language: str = "en",
) -> str:
    """HTML table of `values` (query, key); rows look, columns are looked at; forbidden cells say so in words.

    Other rows and columns are named by `corner`. Weights have four digits, other numbers five that matter.

    Only the first 64 queries and keys are written, and a notice says how many there are. Raises ValueError where the
    shapes do not fit.
    """
    values = np.asarray(values)
    if values.shape != (len(queries), len(keys)):
        raise ValueError(f"values {values.shape} do not fit {len(queries)} queries and {len(keys)} keys")
    may_look = np.ones(values.shape, bool) if allowed is None else np.asarray(allowed, bool)
    n_rows, n_columns = min(len(queries), MOST), min(len(keys), MOST)
    head = "".join(f'<th scope="col"><bdi>{escape(key)}</bdi></th>' for key in keys[:n_columns])
    corner = escape(corner or f"{message('figure.looks', language)} ↓ · {message('figure.looked_at', language)} →")
    hidden = f'<td class="stt-forbidden">{escape(message("figure.table.forbidden", language))}</td>'
    shares = values.size > 0 and np.nanmin(values) >= 0 and np.nanmax(values) <= 1
    digits = "d" if np.issubdtype(values.dtype, np.integer) else ".4f" if shares else ".5g"
    body = "".join(
        _row(queries[row], values[row, :n_columns].tolist(), may_look[row, :n_columns].tolist(), hidden, digits)
        for row in range(n_rows)
    )
    head = f'<thead><tr><th scope="col">{corner}</th>{head}</tr></thead>'
    table = f'<table class="stt-table">{head}<tbody>{body}</tbody></table>'
    notice = _notice(values.shape, (n_rows, n_columns), language)
    return f'<div class="stt-table-box" tabindex="0">{notice}{table}</div>'


def _row(name: str, values: list[float], may_look: list[bool], hidden: str, digits: str) -> str:
    cells = "".join(
        f"<td>{value:{digits}}</td>" if allowed else hidden for value, allowed in zip(values, may_look, strict=True)
    )
    return f'<tr><th scope="row"><bdi>{escape(name)}</bdi></th>{cells}</tr>'


def _notice(whole: tuple[int, ...], shown: tuple[int, int], language: str) -> str:
    if whole == shown:
        return ""
    words = message("figure.table.cut", language, rows=shown[0], columns=shown[1], n_queries=whole[0], n_keys=whole[1])
    return f'<p class="stt-notice">{escape(words)}</p>'
