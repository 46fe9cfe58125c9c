"""A text that is being written: each new token with the probability that the model gave it."""

from collections.abc import Collection
from html import escape
from itertools import groupby

import numpy as np

from transformer.messages import message
from transformer.visible import visible
from viz.figures import theme
from viz.figures.predictions import percent
from viz.figures.tokens import Encoded, reads_right_to_left

FORCED = "⤷"  # before a token that a reader took instead of the model's


def generated_strip(
    probabilities: np.ndarray,
    encoding: Encoded,
    *,
    selected: int | None = None,
    forced: Collection[int] = (),
    first: int = 0,
    language: str = "en",
) -> str:
    """HTML of a text whose last tokens were generated, `probabilities` (new,) of them; the ones before were given.

    A generated token is a button with `data-step`, its number; the bar below it is as long, and shaded, as its
    probability, which stands there as a number too. `selected` is the number of a step, `forced` are those at which a
    reader took another token. Tokens that share one character stand under it. Of a long text the tokens before `first`
    are only counted. Raises ValueError where there are more probabilities than tokens.
    """
    shares, given = np.asarray(probabilities, np.float64), len(encoding.ids) - len(probabilities)
    if given < 0 or shares.ndim != 1:
        raise ValueError(f"probabilities {shares.shape} do not fit {len(encoding.ids)} tokens")
    shown = range(max(0, first), len(encoding.ids))
    clusters = [list(part) for _, part in groupby(shown, key=lambda index: encoding.groups[index])]
    pieces = [
        _given(encoding, index, language)
        if index < given
        else _generated(
            encoding, index, index - given, float(shares[index - given]), selected, index - given in forced, language
        )
        for index in shown
    ]
    from_first = (slice(cluster[0] - shown.start, cluster[-1] + 1 - shown.start) for cluster in clusters)
    parts = "".join(_cluster(encoding, one, pieces[mine]) for one, mine in zip(clusters, from_first, strict=True))
    direction = "rtl" if reads_right_to_left(encoding.text or "".join(encoding.tokens)) else "ltr"
    label = escape(message("figure.generated.label", language, given=given, count=len(shares)))
    left_out = escape(message("figure.generated.before", language, count=shown.start)) if shown.start else ""
    before = f'<span class="stt-given">{left_out}</span>' if left_out else ""
    return f'<div class="stt-strip" role="group" aria-label="{label}" dir="{direction}">{before}{parts}</div>'


def _cluster(encoding: Encoded, cluster: list[int], pieces: list[str]) -> str:
    """The tokens of one character, `pieces` their HTML."""
    if len(cluster) == 1:
        return pieces[0]
    whole = b"".join(encoding.bytes[index] for index in cluster).decode("utf-8", "backslashreplace").strip(" ")
    return (
        f'<span class="stt-grapheme"><span class="stt-whole"><bdi>{escape(visible(whole))}</bdi></span>'
        f'<span class="stt-pieces">{"".join(pieces)}</span></span>'
    )


def _given(encoding: Encoded, index: int, language: str) -> str:
    token = {"token": encoding.tokens[index], "id": encoding.ids[index]}
    title = escape(message("figure.generated.given", language, **token))
    return f'<span class="stt-given" title="{title}"><bdi>{escape(encoding.tokens[index])}</bdi></span>'


def _generated(
    encoding: Encoded, index: int, step: int, share: float, selected: int | None, forced: bool, language: str
) -> str:
    facts = {"step": step + 1, "token": encoding.tokens[index], "id": encoding.ids[index], "p": f"{share:.4g}"}
    told = message("figure.generated.step", language, **facts)
    title = escape(f"{told} | {message('figure.generated.forced', language)}" if forced else told)
    special = " stt-special" if index < len(encoding.special) and encoding.special[index] else ""
    taken, sign = (" stt-forced", f"{FORCED} ") if forced else ("", "")
    bar = f"width:{share:.1%};background:{theme.weight_css(share)}"
    return (
        f'<button type="button" role="button" tabindex="0" class="stt-token{special}{taken}" data-step="{step}"'
        f' title="{title}" aria-label="{title}" aria-pressed="{"true" if step == selected else "false"}">'
        f'<bdi class="stt-token-text">{escape(encoding.tokens[index])}</bdi>'
        f'<span class="stt-token-id">{sign}{escape(percent(share))}</span>'
        f'<span class="stt-share"><span style="{bar}"></span></span></button>'
    )
