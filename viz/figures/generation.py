"""A text that is being written: each new token with the probability that the model gave it."""

from html import escape
from itertools import groupby

import numpy as np

from transformer.messages import message
from transformer.visible import visible
from viz.figures import theme
from viz.figures.predictions import percent
from viz.figures.tokens import Encoded, reads_right_to_left


def generated_strip(
    probabilities: np.ndarray, encoding: Encoded, *, selected: int | None = None, language: str = "en"
) -> str:
    """HTML of a text whose last tokens were generated, `probabilities` (new,) of them; the ones before were given.

    A generated token is a button with `data-step`, its number; the bar below it is as long, and shaded, as its
    probability, which stands there as a number too. `selected` is the number of a step. Tokens that share one
    character stand under it. Raises ValueError where there are more probabilities than tokens.
    """
    shares, given = np.asarray(probabilities, np.float64), len(encoding.ids) - len(probabilities)
    if given < 0 or shares.ndim != 1:
        raise ValueError(f"probabilities {shares.shape} do not fit {len(encoding.ids)} tokens")
    clusters = [list(part) for _, part in groupby(range(len(encoding.ids)), key=lambda index: encoding.groups[index])]
    parts = "".join(_cluster(encoding, cluster, shares, given, selected, language) for cluster in clusters)
    direction = "rtl" if reads_right_to_left(encoding.text or "".join(encoding.tokens)) else "ltr"
    label = escape(message("figure.generated.label", language, given=given, count=len(shares)))
    return f'<div class="stt-strip" role="group" aria-label="{label}" dir="{direction}">{parts}</div>'


def _cluster(
    encoding: Encoded, cluster: list[int], shares: np.ndarray, given: int, selected: int | None, language: str
) -> str:
    pieces = "".join(
        _given(encoding, index, language)
        if index < given
        else _generated(encoding, index, index - given, float(shares[index - given]), selected, language)
        for index in cluster
    )
    if len(cluster) == 1:
        return pieces
    whole = b"".join(encoding.bytes[index] for index in cluster).decode("utf-8", "backslashreplace").strip(" ")
    return (
        f'<span class="stt-grapheme"><span class="stt-whole"><bdi>{escape(visible(whole))}</bdi></span>'
        f'<span class="stt-pieces">{pieces}</span></span>'
    )


def _given(encoding: Encoded, index: int, language: str) -> str:
    token = {"token": encoding.tokens[index], "id": encoding.ids[index]}
    title = escape(message("figure.generated.given", language, **token))
    return f'<span class="stt-given" title="{title}"><bdi>{escape(encoding.tokens[index])}</bdi></span>'


def _generated(encoding: Encoded, index: int, step: int, share: float, selected: int | None, language: str) -> str:
    facts = {"step": step, "token": encoding.tokens[index], "id": encoding.ids[index], "p": f"{share:.4g}"}
    title = escape(message("figure.generated.step", language, **facts))
    special = " stt-special" if index < len(encoding.special) and encoding.special[index] else ""
    bar = f"width:{share:.1%};background:{theme.weight_css(share)}"
    return (
        f'<button type="button" role="button" tabindex="0" class="stt-token{special}" data-step="{step}"'
        f' title="{title}" aria-label="{title}" aria-pressed="{"true" if step == selected else "false"}">'
        f'<bdi class="stt-token-text">{escape(encoding.tokens[index])}</bdi>'
        f'<span class="stt-token-id">{escape(percent(share))}</span>'
        f'<span class="stt-share"><span style="{bar}"></span></span></button>'
    )
