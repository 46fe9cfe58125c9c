"""The shape at every step of a forward pass, as a table: what goes into each part and what comes out."""

from collections.abc import Sequence
from html import escape
from typing import Protocol

from transformer.messages import message
from viz.figures.parameters import FIRST_COLUMN, shape_text, with_breaks

MOST_ROWS = 400  # more freeze a page


class Step(Protocol):
    """What is needed of a `ShapeStep` (see `transformer/measure_shapes.py`)."""

    @property
    def name(self) -> str: ...
    @property
    def kind(self) -> str: ...
    @property
    def depth(self) -> int: ...
    @property
    def inputs(self) -> tuple[tuple[int, ...], ...]: ...
    @property
    def outputs(self) -> tuple[tuple[int, ...], ...]: ...


def shape_table(steps: Sequence[Step], *, language: str = "en") -> str:
    """HTML: a row per call in the order in which the calls began, parts of a part moved to the right.

    Shapes are written as torch writes them; a part that is handed several tensors has several. Only the first 400 rows
    are written, and a notice says how many there are.
    """
    heads = [message(f"figure.shapes.{name}", language) for name in ("part", "in", "out", "class")]
    head = "".join(f'<th scope="col" style="text-align:left">{escape(name)}</th>' for name in heads)
    shown = steps[:MOST_ROWS]
    body = "".join(_row(step, name, language) for step, name in zip(shown, _short_names(shown), strict=True))
    cut = message("figure.parameters.cut", language, shown=MOST_ROWS, total=len(steps))
    notice = f'<p class="stt-notice">{escape(cut)}</p>' if len(steps) > MOST_ROWS else ""
    table = f'<table class="stt-table"><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>'
    return f'<div class="stt-table-box" tabindex="0">{notice}{table}</div>'


def _row(step: Step, name: str, language: str) -> str:
    kind = message("figure.shapes.attend", language) if step.kind == "attend" else step.kind
    cells = "".join(f"<td>{cell}</td>" for cell in (_several(step.inputs), _several(step.outputs), escape(kind)))
    style = f"{FIRST_COLUMN};padding-left:{0.6 + 0.8 * step.depth:.1f}em"
    said = with_breaks(name or message("figure.shapes.whole", language))
    return f'<tr><th scope="row" title="{escape(step.name)}" style="{style}"><bdi>{said}</bdi></th>{cells}</tr>'


def _short_names(steps: Sequence[Step]) -> list[str]:
    """Each name without what the part around it is called: "query" inside of "blocks.0.attention"."""
    names, around = [], [""]
    for step in steps:
        around = around[: step.depth]
        outer = around[-1] if around else ""
        names.append(step.name.removeprefix(f"{outer}.") if outer else step.name)
        around.append(step.name)
    return names


def _several(shapes: tuple[tuple[int, ...], ...]) -> str:
    return "<br>".join(map(shape_text, shapes))
