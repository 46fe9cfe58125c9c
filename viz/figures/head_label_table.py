"""How well each label fits one head: mean and standard deviation over texts, with what the label means."""

from collections.abc import Sequence
from html import escape

import numpy as np

from transformer.messages import message


def head_label_table(
    means: np.ndarray,
    spreads: np.ndarray,
    texts: Sequence[int],
    rows: Sequence[int],
    labels: Sequence[tuple[str, str]],
    *,
    threshold: float = 0.5,
    language: str = "en",
) -> str:
    """HTML table: `means` and `spreads` (label,), NaN where nothing was measured; of how many texts and rows; `labels`
    are (name, meaning). Means of `threshold` or more are marked. Raises ValueError where the lengths do not fit."""
    lengths = {len(means), len(spreads), len(texts), len(rows), len(labels)}
    if len(lengths) > 1:
        raise ValueError(f"{len(means)} means do not fit {len(labels)} labels")
    columns = [message(f"figure.head_label.{name}", language) for name in ("label", "mean")]
    head = "".join(f'<th scope="col">{escape(name)}</th>' for name in columns)
    body = "".join(
        _row(float(means[row]), float(spreads[row]), texts[row], rows[row], labels[row], threshold, language)
        for row in range(len(labels))
    )
    table = f'<table class="stt-table stt-head-labels"><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>'
    return f'<div class="stt-table-box" tabindex="0">{table}</div>'


def _row(
    mean: float, spread: float, texts: int, rows: int, label: tuple[str, str], threshold: float, language: str
) -> str:
    name, meaning = map(escape, label)
    known = not np.isnan(mean)
    value = f"{mean:.2f} ± {spread:.2f}" if known else escape(message("figure.head_label.none", language))
    value = f"<b>{value}</b>" if known and mean >= threshold else value
    counted = escape(message("figure.head_label.counts", language, texts=texts, rows=rows))
    return (
        f'<tr><th scope="row">{name}<small>{meaning}</small></th>'
        f'<td class="stt-head-label-value">{value}<small>{counted}</small></td></tr>'
    )
