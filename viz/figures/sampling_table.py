"""From logits to probabilities as tables: dial by dial for tokens, and in one step for classes."""

from collections.abc import Sequence
from html import escape

import numpy as np

from transformer.messages import message
from viz.figures.arithmetic import number
from viz.figures.predictions import percent

COLUMNS = ("logit", "scaled", "top_k", "so_far", "top_p", "probability")  # those of `transformer/sampling_stages.py`


def sampling_table(
    stages: np.ndarray,
    ids: np.ndarray,
    tokens: Sequence[str],
    ranks: np.ndarray,
    *,
    temperature: float = 1.0,
    selected: int | None = None,
    language: str = "en",
) -> str:
    """HTML table: a row per token, a column per stage of `stages` (token, column); −∞ where a dial cut it.

    Each token is a button with `data-word`, its id of `ids` (token,); `ranks` count from 0; `selected` is the id of the
    marked one. Raises ValueError where the shapes do not fit.
    """
    stages = np.asarray(stages, np.float64)
    if stages.shape != (len(tokens), len(COLUMNS)):
        raise ValueError(f"stages {stages.shape} do not fit {len(tokens)} tokens and {len(COLUMNS)} columns")
    names = [message(f"figure.stages.{column}", language, temperature=f"{temperature:g}") for column in COLUMNS]
    head = "".join(
        f'<th scope="col">{escape(name)}</th>' for name in (message("figure.stages.token", language), *names)
    )
    rows = "".join(
        _row(int(ids[row]), tokens[row], int(ranks[row]), stages[row], int(ids[row]) == selected, language)
        for row in range(len(tokens))
    )
    table = f'<table class="stt-table stt-stages"><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table>'
    return f'<div class="stt-table-box" tabindex="0">{table}</div>'


def _row(token_id: int, token: str, rank: int, values: np.ndarray, chosen: bool, language: str) -> str:
    title = escape(message("figure.stages.title", language, token=token, id=token_id, rank=f"{rank + 1:,}"))
    button = (
        f'<button type="button" class="stt-pick" data-word="{token_id}" title="{title}" aria-label="{title}"'
        f' aria-pressed="{"true" if chosen else "false"}"><bdi>{escape(token)}</bdi></button>'
    )
    cells = "".join(_cell(column, float(value)) for column, value in zip(COLUMNS, values, strict=True))
    return f'<tr><th scope="row">{button}</th>{cells}</tr>'


def _cell(column: str, value: float) -> str:
    if np.isneginf(value) or np.isnan(value) or (column == "probability" and value == 0):
        return f'<td class="stt-forbidden">{"−∞" if np.isneginf(value) else "0" if value == 0 else "–"}</td>'
    if column != "probability":
        return f"<td>{number(value, 2 if column != 'so_far' else 3)}</td>"
    return f'<td class="stt-share-cell" style="--share:{value:.4f}"><b>{percent(value)}</b></td>'


def class_table(
    logits: np.ndarray,
    classes: Sequence[str],
    *,
    ids: Sequence[int] | None = None,
    total: float | None = None,
    selected: int | None = None,
    language: str = "en",
) -> str:
    """HTML table of softmax by hand: each class's logit, exp of its distance from the largest, its share of the sum.

    Each class is a button with `data-word`, its number of `ids` (by default its place); `selected` marks one of them.
    `total` is Σ exp(logit − largest) over all classes, where not all are listed. Raises ValueError where the shapes do
    not fit.
    """
    values = np.asarray(logits, np.float64)
    if values.shape != (len(classes),):
        raise ValueError(f"logits {values.shape} do not fit {len(classes)} classes")
    parts = np.exp(values - values.max())
    whole = float(parts.sum()) if total is None else total
    numbers = list(range(len(classes))) if ids is None else list(ids)
    heads = (message(f"figure.stages.{name}", language) for name in ("class", "raw", "exp", "share"))
    head = "".join(f'<th scope="col">{escape(name)}</th>' for name in heads)
    rows = []
    for place, name in enumerate(classes):
        pressed = "true" if numbers[place] == selected else "false"
        button = (
            f'<button type="button" class="stt-pick" data-word="{numbers[place]}" aria-pressed="{pressed}">'
            f"<bdi>{escape(name)}</bdi></button>"
        )
        share = float(parts[place] / whole)
        cells = f"<td>{number(float(values[place]))}</td><td>{number(float(parts[place]))}</td>"
        cells += f'<td class="stt-share-cell" style="--share:{share:.4f}"><b>{percent(share)}</b></td>'
        rows.append(f'<tr><th scope="row">{button}</th>{cells}</tr>')
    last = f'<tr><th scope="row">Σ</th><td></td><td>{number(whole)}</td><td>{percent(1.0)}</td></tr>'
    body = "".join(rows) + last
    return (
        f'<div class="stt-table-box" tabindex="0"><table class="stt-table stt-stages"><thead><tr>{head}</tr></thead>'
        f"<tbody>{body}</tbody></table></div>"
    )


def token_list(
    ids: Sequence[int],
    tokens: Sequence[str],
    shares: Sequence[str],
    *,
    places: Sequence[str] = (),
    notes: Sequence[str] = (),
    selected: int | None = None,
) -> str:
    """HTML list of tokens with what stands for each (`shares`, words); every token is a button with `data-word`.

    `places` (token,) stand before the shares, `notes` (token,) below, as HTML that was escaped where it was made.
    """
    rows = []
    for row, (one, token, share) in enumerate(zip(ids, tokens, shares, strict=True)):
        pressed = "true" if one == selected else "false"
        button = (
            f'<button type="button" class="stt-pick" data-word="{int(one)}" aria-pressed="{pressed}">'
            f"<bdi>{escape(token)}</bdi></button>"
        )
        place = escape(places[row]) if places else ""
        note = f"<small>{notes[row]}</small>" if notes else ""
        rows.append(f"<li>{button}<span>{place}</span><b>{escape(share)}</b>{note}</li>")
    return f'<ul class="stt-ranked">{"".join(rows)}</ul>'
