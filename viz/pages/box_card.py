"""What a box of the diagram did to the chosen token: one sentence, its numbers of this run, and its seal."""

from collections.abc import Iterator, Sequence
from html import escape

import numpy as np

from transformer import replay
from transformer.messages import message
from transformer.structure import Box, Structure
from transformer.trace import Trace
from viz import figures


def box_card(trace: Trace, name: str, token: int, language: str) -> str | None:
    """HTML for the box called `name`; None where the diagram has no such box. `token` is a position of its stack."""
    box = next((one for one in _boxes(trace.structure) if one.name == name), None)
    if box is None:
        return None
    stack = name.split(".")[0] if name != "logits" else list(trace.encodings)[-1]
    token = min(token, len(trace.encodings[stack]) - 1)
    words = message(f"explore.box.{_words_for(trace, box)}", language)
    lines = [f'<p class="stt-lead">{escape(words, quote=False)}</p>']
    named = escape(trace.encodings[stack].tokens[token])
    lines += [
        f"<div>{line.format(token=f'<b><bdi>{named}</bdi></b>')}</div>"
        for line in _numbers(trace, box, token, language)
    ]
    if name in trace.parts or name in trace.sums:
        found = replay.seal(trace, name)
        lines.append(figures.seal_line(message("explore.box.sealed", language), found, language=language))
    title = f'<h2 class="stt-title">{escape(message("explore.box.title", language))}</h2>'
    return f'{title}<div class="stt-panel"><p class="stt-note">{escape(name)}</p>{"".join(lines)}</div>'


def kind_of_box(trace: Trace, name: str) -> str | None:
    """The kind of the box called `name`; None where the diagram has no such box."""
    return next((one.kind for one in _boxes(trace.structure) if one.name == name), None)


def _words_for(trace: Trace, box: Box) -> str:
    """Which sentence says what a box does: the same box does another thing to an image, or for a classifier."""
    if "classes" in box.label_values:
        return "classes"
    of_image = getattr(trace.encodings[next(iter(trace.encodings))], "pixels", ())
    return f"{box.kind}_patches" if of_image and box.kind in ("tokens", "embedding") else box.kind


def _boxes(structure: Structure) -> Iterator[Box]:
    for stack in structure.stacks:
        for row in (stack.before, *stack.blocks, stack.after):
            yield from _with_branches(row)


def _with_branches(row: Sequence[Box]) -> Iterator[Box]:
    for box in row:
        yield box
        for branch in box.label_values.get("branches", ()):  # type: ignore[attr-defined]
            yield from _with_branches(branch)


def _numbers(trace: Trace, box: Box, token: int, language: str) -> Iterator[str]:
    """Lines that name the token with "{token}"; none where this run has no numbers of the box."""
    if box.kind == "norm" and f"{box.name}.std" in trace.sites:
        mean, std = (float(trace[f"{box.name}.{part}"][token]) for part in ("mean", "std"))
        yield _say("norm_numbers", language, mean=f"{mean:.4g}", std=f"{std:.4g}")
    if box.name in trace.sums:
        terms = [f"{term.split('.', 2)[-1]} {_length(trace, term, token)}" for term in trace.sums[box.name]]
        yield _say("sum_numbers", language, terms=" · ".join(terms), total=_length(trace, box.name, token))
    for part in ("input", "output"):
        site = f"{box.name}.{part}"
        if box.kind in ("norm", "ffn") and site in trace.sites:
            yield _say(f"{part}_length", language, length=_length(trace, site, token))
    if box.kind in ("embedding", "positions") and box.name in trace.sites:
        yield _say("output_length", language, length=_length(trace, box.name, token))


def _say(key: str, language: str, **values: str) -> str:
    """Escaped words with their values, and "{token}" still to be filled in."""
    return escape(message(f"explore.box.{key}", language, token="{token}", **values))


def _length(trace: Trace, site: str, token: int) -> str:
    return f"{float(np.linalg.norm(trace[site][token])):.4g}"
