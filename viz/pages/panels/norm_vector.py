"""One norm on one token, as part of the panel "norm": its vector in rows and dots, all tokens' statistics, one cell."""

from functools import cached_property
from html import escape

import plotly.graph_objects as go

from transformer import replay
from transformer.norm_numbers import NormNumbers, knows_norm, norm_numbers, token_moments
from transformer.norm_placement import norm_sites
from viz import figures
from viz.pages import controls
from viz.pages import selection as move
from viz.pages.blocks import Block, Data, Piece, Plot
from viz.pages.options import Line, Whole
from viz.pages.pick import Pick
from viz.pages.scene import Scene, heading

NORM = Line("norm", 24)  # "norm2", "final", "embed": which there are, the block says
DIMENSION = Whole("channel", default=0)
WINDOW = 32  # dimensions that are drawn one by one around the chosen one, where a row has too many for that


class Chosen:
    """The norm, the token and the dimension that are looked at; what several blocks need is made once."""

    def __init__(self, scene: Scene) -> None:
        self.scene, self.trace = scene, scene.trace
        self.sites = norm_sites(scene.trace, scene.place)
        wanted = NORM.of(scene.selection)
        self.site = next((one for one in self.sites if short(one) == wanted), self._first())

    def _first(self) -> str:
        """The block's own first norm, or any that there is."""
        own = [one for one in self.sites if one.startswith(f"{self.scene.place}.")]
        return [*own, *self.sites, ""][0]

    @property
    def known(self) -> bool:
        return knows_norm(self.trace, self.site)

    @property
    def name(self) -> str:
        return figures.norm_name(short(self.site), self.scene.language)

    @property
    def title(self) -> str:
        key = {"final": "norm.title.final", "embed": "norm.title.embed"}.get(short(self.site), "norm.title")
        return self.scene.say(key, norm=self.name, block=block_name(self.scene))

    @property
    def token(self) -> str:
        return self.scene.queries[self.scene.query]

    @property
    def rms(self) -> bool:
        return self.known and self.numbers.kind == "rmsnorm"

    @cached_property
    def numbers(self) -> NormNumbers:
        return norm_numbers(self.trace, self.site, self.scene.query)

    @property
    def width(self) -> int:
        """d_model."""
        return int(self.trace[f"{self.site}.input"].shape[-1])

    @property
    def dimension(self) -> int:
        return min(DIMENSION.of(self.scene.selection) or 0, self.width - 1)

    @property
    def window(self) -> slice:
        start = max(0, min(self.dimension - WINDOW // 2, self.width - WINDOW))
        return slice(start, min(start + WINDOW, self.width))

    @property
    def tokens(self) -> slice | None:
        """Which tokens are drawn: of a long text those around the chosen one."""
        count = len(self.scene.queries)
        return move.window(self.scene.query, count) if count > move.WINDOW else None


def block_name(scene: Scene) -> str:
    """ "layer 3", and where there are two stacks "decoder layer 3"."""
    key = "norm.block" if len(scene.trace.encodings) == 1 else f"norm.block.{scene.stack}"
    return scene.say(key, layer=scene.layer)


def short(site: str) -> str:
    """ "norm2" of "decoder.3.norm2", "final" of "decoder.final.norm"."""
    _, place, part = [*site.split("."), "", ""][:3]
    return place if part == "norm" else part


def picked_dimension(chosen: Chosen, block: str, pick: Pick) -> int | None:
    if block == "norm-rows" and pick.column is not None:
        return min(pick.column * figures.rows_block(chosen.width), chosen.width - 1)
    if block == "norm-window" and pick.column is not None:
        return chosen.window.start + pick.column
    if block == "norm-spread" and pick.custom is not None:
        return min(max(int(pick.custom), 0), chosen.width - 1)
    return None


# --- the vector ------------------------------------------------------------------------------------------------------


def row_blocks(scene: Scene, chosen: Chosen) -> list[Block]:
    where, block = (chosen.site, scene.query), figures.rows_block(chosen.width)
    rows = Plot(
        "norm-rows", where, scene.say("norm.rows"), lambda: _rows(chosen, None),
        data=lambda: _data(scene, chosen), code=lambda: _rows_code(chosen, None),
        seal=lambda: scene.seal_line("norm.seal", replay.seal(scene.trace, chosen.site)),
        select=(chosen.dimension // block, 0),
    )  # fmt: skip
    spread = Plot(
        "norm-spread", (*where, chosen.dimension), scene.say("norm.spread"), lambda: _spread(chosen),
        data=lambda: _data(scene, chosen), code=lambda: _spread_code(chosen),
    )  # fmt: skip
    return [rows, *([_window(scene, chosen)] if block > 1 else []), spread]


def _window(scene: Scene, chosen: Chosen) -> Plot:
    """Of a wide vector, the dimensions around the chosen one."""
    part = chosen.window
    return Plot(
        "norm-window", (chosen.site, scene.query, part.start),
        scene.say("norm.rows.window", dimension=chosen.dimension), lambda: _rows(chosen, part),
        data=lambda: _data(scene, chosen, part), code=lambda: _rows_code(chosen, part),
        select=(chosen.dimension - part.start, 0),
    )  # fmt: skip


def _rows(chosen: Chosen, part: slice | None) -> go.Figure:
    one = chosen.numbers
    return figures.norm_rows(
        one.before, one.normalized, one.after, gamma=one.gamma, beta=one.beta, selected=chosen.dimension, part=part,
        language=chosen.scene.language,
    )  # fmt: skip


def _spread(chosen: Chosen) -> go.Figure:
    one = chosen.numbers
    return figures.norm_spread(
        one.before, one.normalized, one.after, selected=chosen.dimension, language=chosen.scene.language
    )


def _data(scene: Scene, chosen: Chosen, part: slice | None = None) -> Data:
    one = chosen.numbers
    values, names = figures.rows_of(one.before, one.normalized, one.after, gamma=one.gamma, beta=one.beta)
    dims = range(chosen.width)[part or slice(None)]
    rows = [str(dimension) for dimension in dims]
    words = [scene.say(f"figure.norm_rows.{name}") for name in names]
    return Data(values[:, dims.start : dims.stop].T, rows, words, corner=scene.say("norm.dimension"))


def _vectors_code(chosen: Chosen) -> str:
    return (
        "from transformer.norm_numbers import norm_numbers\n"
        f"one = norm_numbers(trace, {chosen.site!r}, {chosen.scene.query})\n"
    )


def _rows_code(chosen: Chosen, part: slice | None) -> str:
    return (
        f"{_vectors_code(chosen)}figure = figures.norm_rows(one.before, one.normalized, one.after,"
        f" gamma=one.gamma, beta=one.beta, selected={chosen.dimension}, part={part},"
        f" language={chosen.scene.language!r})"
    )


def _spread_code(chosen: Chosen) -> str:
    return (
        f"{_vectors_code(chosen)}figure = figures.norm_spread(one.before, one.normalized, one.after,"
        f" selected={chosen.dimension}, language={chosen.scene.language!r})"
    )


# --- all tokens ------------------------------------------------------------------------------------------------------


def token_blocks(scene: Scene, chosen: Chosen) -> list[Block]:
    part = chosen.tokens
    start = part.start if part is not None else 0
    plot = Plot(
        "norm-tokens", (chosen.site, scene.query), scene.say("norm.tokens"), lambda: _tokens(scene, chosen),
        data=lambda: _tokens_data(scene, chosen), code=lambda: _tokens_code(scene, chosen),
        select=(0, scene.query - start),
    )  # fmt: skip
    if part is None:
        return [plot]
    words = scene.say("norm.tokens.window", first=part.start, last=part.stop - 1, count=len(scene.queries))
    return [Piece("norm-tokens-window", part.start, lambda: f'<p class="stt-notice">{escape(words)}</p>'), plot]


def _tokens(scene: Scene, chosen: Chosen) -> go.Figure:
    mean = None if chosen.rms else scene.trace[f"{chosen.site}.mean"]
    return figures.norm_tokens(
        mean, scene.trace[f"{chosen.site}.std"], scene.queries, selected=scene.query, part=chosen.tokens,
        language=scene.language,
    )  # fmt: skip


def _tokens_data(scene: Scene, chosen: Chosen) -> Data:
    part = chosen.tokens or slice(None)
    keys = ["figure.norm_tokens.rms_short"] if chosen.rms else ["norm.summary.mean", "figure.norm_tokens.std_short"]
    return Data(token_moments(scene.trace, chosen.site)[part], scene.queries[part], [scene.say(key) for key in keys])


def _tokens_code(scene: Scene, chosen: Chosen) -> str:
    mean = "None" if chosen.rms else f"trace[{f'{chosen.site}.mean'!r}]"
    return (
        f"tokens = trace.tokens({scene.site!r}, 'query')\n"
        f"figure = figures.norm_tokens({mean}, trace[{f'{chosen.site}.std'!r}], tokens, selected={scene.query},"
        f" part={chosen.tokens}, language={scene.language!r})"
    )


# --- one cell --------------------------------------------------------------------------------------------------------


def cell_blocks(scene: Scene, chosen: Chosen) -> list[Block]:
    number = controls.number(DIMENSION, scene.say("norm.dimension"))
    where = (chosen.site, scene.query, chosen.dimension)
    return [
        Piece("norm-cell-title", where, lambda: _cell_title(scene, chosen)),
        Piece("norm-channel", None, lambda: controls.row(number)),
        Piece("norm-cell", where, lambda: _arithmetic(scene, chosen)),
    ]


def _cell_title(scene: Scene, chosen: Chosen) -> str:
    told = {"norm": chosen.name, "token": chosen.token, "dimension": chosen.dimension}
    return heading(scene.say("norm.cell.title"), scene.html("norm.cell.lead", **told))


def _arithmetic(scene: Scene, chosen: Chosen) -> str:
    steps = figures.norm_arithmetic(chosen.numbers, chosen.dimension, language=scene.language)
    button = controls.copied(scene.say("explore.cell.copy"), figures.norm_as_numpy(chosen.numbers, chosen.dimension))
    return f'<div class="stt-panel">{steps}{button}</div>'
