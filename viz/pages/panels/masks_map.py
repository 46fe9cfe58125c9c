"""One mask: its map, what its rules say of it and of one cell, its numbers and its seal."""

from functools import cached_property
from html import escape

from transformer.mask_rules import MaskRules, mask_rules
from transformer.replay import seal
from transformer.trace import Trace
from viz import figures
from viz.figures.mask_map import EXACT_UP_TO, names_of
from viz.pages import controls
from viz.pages import selection as move
from viz.pages.blocks import Block, Data, Piece, Plot
from viz.pages.scene import Scene, heading


class Shown:
    """One mask on the page: of the run itself, or of row `row` of the batch of `texts`."""

    def __init__(
        self, scene: Scene, trace: Trace, cell: tuple[int, int], texts: tuple[str, ...] = (), row: int = 0
    ) -> None:
        self.scene, self.trace, self.cell, self.texts, self.row = scene, trace, cell, texts, row
        self.site, self.head = scene.site, scene.head
        self.queries, self.keys = (trace.tokens(self.site, axis) for axis in ("query", "key"))

    @cached_property
    def rules(self) -> MaskRules:
        return mask_rules(self.trace, self.site, self.head)

    @property
    def hidden(self) -> bool:
        return f"{self.site}.allowed" in self.trace.lacks

    @property
    def is_padded(self) -> bool:
        return any(self.trace.encoding(self.site, "key").padding)

    @property
    def is_large(self) -> bool:
        return max(len(self.queries), len(self.keys)) > EXACT_UP_TO

    @property
    def windows(self) -> tuple[slice | None, slice | None]:
        """The exact window around the cell; None: the whole, in blocks where it is large."""
        if not (self.is_large and self.scene.selection.exact):
            return None, None
        query, key = self.cell
        return move.window(query, len(self.queries)), move.window(key, len(self.keys))

    @property
    def of(self) -> tuple[object, ...]:
        return self.trace.key, self.site, self.head, self.cell, self.is_large and self.scene.selection.exact


def map_blocks(shown: Shown, name: str) -> list[Block]:
    plot = Plot(
        name,
        shown.of,
        shown.scene.say("masks.map.label"),
        lambda: figures.mask_map(
            shown.rules.codes, shown.queries, shown.keys, selected=shown.cell, rows=shown.windows[0],
            columns=shown.windows[1], language=shown.scene.language,
        ),
        data=lambda: _data(shown),
        code=lambda: _code(shown),
        seal=lambda: _seal(shown),
    )  # fmt: skip
    return [Piece(f"{name}-legend", (*shown.of[:3], shown.of[4]), lambda: _legend(shown)), plot]


def cell_block(shown: Shown) -> Piece:
    return Piece("mask-cell", shown.of, lambda: _card(shown), live=True)


# --- words -----------------------------------------------------------------------------------------------------------


def sentences(shown: Shown) -> list[str]:
    """The rules of the mask, each in a sentence, and what they forbid altogether."""
    scene, rules = shown.scene, shown.rules
    if not rules.names:
        kind = "single" if rules.allowed.size == 1 else "cross" if shown.site.endswith(".cross") else "nothing"
        return [scene.html(f"masks.said.{kind}")]
    values = {"width": rules.window, "length": rules.prefix, "count": rules.unexplained, "padding": rules.n_padding}
    sided = "_two_sided" if rules.two_sided else ""
    said = [scene.html(f"masks.said.{name}{sided if name == 'window' else ''}", **values) for name in rules.names]
    said.append(scene.html("masks.said.count", forbidden=f"{rules.n_forbidden:,}", total=f"{rules.allowed.size:,}"))
    if rules.n_blind:
        said.append(scene.html("masks.said.blind", count=rules.n_blind))
    return said


def _legend(shown: Shown) -> str:
    legend = figures.mask_legend(shown.rules.names, language=shown.scene.language)
    if not shown.is_large:
        return legend
    key = "explore.whole" if shown.scene.selection.exact else "explore.exact"
    return legend + controls.row(controls.button(shown.scene.say(key), name="exact", value="turn"))


def _card(shown: Shown) -> str:
    scene, (query, key), rules = shown.scene, shown.cell, shown.rules
    padding = bool(rules.padding[key])
    weights = shown.trace.weights(shown.site, shown.head, slice(query, query + 1))
    kinds = names_of(int(rules.codes[query, key]))
    card = figures.mask_card(
        query,
        key,
        rules,
        kinds,
        allowed=bool(rules.allowed[query, key]),
        padding=padding,
        blind=bool(rules.blind[query]),
        weight=float(weights[0, key]),
        tokens=(shown.queries[query], shown.keys[key]),
        language=scene.language,
    )
    copy = ""
    if not {"other", "spared"} & set(kinds):  # what the rules do not explain, they do not compute either
        copy = controls.copied(
            scene.say("explore.cell.copy"), figures.mask_as_numpy(query, key, rules, padding=padding)
        )
    return f'{heading(scene.say("masks.cell.title"))}<div class="stt-panel">{card}{copy}</div>'


# --- numbers, code, seal ---------------------------------------------------------------------------------------------


def _data(shown: Shown) -> Data:
    rows, columns = shown.windows
    grid = figures.mask_grid(shown.rules.codes, shown.queries, shown.keys, rows=rows, columns=columns)
    return Data(grid.weights, grid.queries, grid.keys, shown.scene.say("masks.corner"))


def _code(shown: Shown) -> str:
    site, head, (rows, columns) = shown.site, shown.head, shown.windows
    lines = ["from transformer.mask_rules import mask_rules"]
    if shown.texts:
        lines += ["from transformer import run", f"trace = run(model, {list(shown.texts)!r})[{shown.row}]"]
    lines += [
        f"rules = mask_rules(trace, {site!r}, {head})",
        f"queries, keys = trace.tokens({site!r}, 'query'), trace.tokens({site!r}, 'key')",
        f"figure = figures.mask_map(rules.codes, queries, keys, selected={shown.cell}, rows={rows},"
        f" columns={columns}, language={shown.scene.language!r})",
    ]
    return "\n".join(lines)


def _seal(shown: Shown) -> str:
    """The mask built again from the rules, and the attention that the pass computed with it."""
    scene, found = shown.scene, shown.rules.seal(shown.site)
    state, sign = ("good", "✓") if found.holds else ("bad", "✗")
    values = {"count": f"{found.compared:,}", "differing": f"{shown.rules.unexplained:,}"}
    words = escape(scene.say(f"masks.sealed.{state}", **values))
    line = f'<p class="stt-seal"><span class="stt-seal-{state}">{sign} {words}</span></p>'
    of_head = seal(shown.trace, shown.site, shown.head)
    only_sums = shown.trace.attention[shown.site].weights is not None
    return line + scene.seal_line("explore.seal.head", of_head, only_sums=only_sums)
