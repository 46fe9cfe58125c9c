"""What a visitor looks at: one selection for all panels. Pure functions move it; they never leave the run's bounds."""

from dataclasses import dataclass, replace

from transformer.trace import Trace
from viz.pages import options as settings
from viz.pages.links import View
from viz.pages.options import Option, Options

EXACT_UP_TO = 128  # tokens; a longer text's map is shrunk until a visitor asks for the exact window
WINDOW = 64  # tokens per side of the exact window


@dataclass(frozen=True)
class Selection:
    """A run (model, text, target) and a cell in it. `attention` counts the run's attentions in their order."""

    model: str
    text: str
    target: str | None = None
    attention: int = 0
    head: int = 0
    query: int = 0
    key: int = 0
    exact: bool = False  # a long text: the exact window around the cell instead of the shrunken whole
    panel: str = "attention"  # which stage of the pass is looked at
    options: Options = ()  # what was set in the panels, see `options.py`
    tables: tuple[str, ...] = ()  # figures whose table is open, and has to follow
    box: str = ""  # a box of the diagram that was clicked, and what it did is told


def site_of(trace: Trace, selection: Selection) -> str:
    """ "decoder.9.self"."""
    return trace.attention_sites()[selection.attention]


def first_look(trace: Trace, selection: Selection, view: View) -> Selection:
    """What a new run shows: what the link or example asks for, else a head in the middle and the last token's row."""
    sites = trace.attention_sites()
    wanted = sites.index(view.site) if view.site in sites else view.layer
    attention = _clamped(_worth_a_look(trace) if wanted is None else wanted, len(sites))
    found = replace(selection, attention=attention, head=view.head or 0, panel=view.panel or selection.panel)
    n_queries = len(trace.tokens(sites[attention], "query"))
    if view.cell is None:  # a classifier answers from its first position, a language model from its last
        return to_query(trace, found, 0 if trace.is_classified else n_queries - 1)
    return to_cell(trace, found, *view.cell)


def _worth_a_look(trace: Trace) -> int:
    """The last attention across where a model reads two texts, else one in the middle."""
    sites = trace.attention_sites()
    across = [number for number, site in enumerate(sites) if site.endswith(".cross")]
    return across[-1] if across else len(sites) // 2


def to_head(trace: Trace, selection: Selection, attention: int, head: int) -> Selection:
    """Another head; the cell stays where both heads have it."""
    return within(trace, replace(selection, attention=attention, head=head))


def to_layer(trace: Trace, selection: Selection, stack: str, layer: int) -> Selection:
    """Another block of a stack: its attention of the kind that is looked at, else its own."""
    kind = site_of(trace, selection).split(".")[2]
    sites = trace.attention_sites()
    there = [f"{stack}.{layer}.{one}" for one in (kind, "self", "cross") if f"{stack}.{layer}.{one}" in sites]
    return to_head(trace, selection, sites.index(there[0]), selection.head) if there else selection


def to_site(trace: Trace, selection: Selection, site: str) -> Selection:
    """The block that a site lies in; what stands outside the blocks changes none."""
    sites = trace.attention_sites()
    if site in sites:
        return to_head(trace, selection, sites.index(site), selection.head)
    stack, _, rest = site.partition(".")
    layer = rest.split(".")[0]
    return to_layer(trace, selection, stack, int(layer)) if layer.isdecimal() else selection


def to_cell(trace: Trace, selection: Selection, query: int, key: int) -> Selection:
    return within(trace, replace(selection, query=query, key=key))


def to_query(trace: Trace, selection: Selection, query: int) -> Selection:
    """Another row, at the key it looks at most."""
    kept = within(trace, replace(selection, query=query))
    row = trace.weights(site_of(trace, kept), kept.head, slice(kept.query, kept.query + 1))[0]
    return replace(kept, key=int(row.argmax()))


def to_token(trace: Trace, selection: Selection, stack: str, token: int) -> Selection:
    """A token of the strip: the query of its own stack's attention, and the key where the other stack looks at it.

    Seen from an attention that knows nothing of it, its own stack's attention in the same layer is shown.
    """
    site = site_of(trace, selection)
    if trace.stack_along(site, "query") == stack:
        return to_query(trace, selection, token)
    if trace.stack_along(site, "key") == stack:
        return to_cell(trace, selection, selection.query, token)
    sites, layer = trace.attention_sites(), site.split(".")[1]
    own = [number for number, one in enumerate(sites) if one.startswith(f"{stack}.") and one.endswith(".self")]
    same_layer = [number for number in own if sites[number] == f"{stack}.{layer}.self"]
    chosen = (same_layer or own or [selection.attention])[-1]
    return to_query(trace, to_head(trace, selection, chosen, selection.head), token)


def within(trace: Trace, selection: Selection) -> Selection:
    """The nearest selection that this run has."""
    sites = trace.attention_sites()
    attention = _clamped(selection.attention, len(sites))
    site = sites[attention]
    return replace(
        selection,
        attention=attention,
        head=_clamped(selection.head, trace.attention[site].heads),
        query=_clamped(selection.query, len(trace.tokens(site, "query"))),
        key=_clamped(selection.key, len(trace.tokens(site, "key"))),
    )


def with_option(selection: Selection, option: Option, value: object) -> Selection:
    """One setting of a panel anew; a value that it cannot have changes nothing."""
    return replace(selection, options=settings.with_option(selection.options, option, value))


def is_long(trace: Trace, selection: Selection) -> bool:
    site = site_of(trace, selection)
    return max(len(trace.tokens(site, axis)) for axis in ("query", "key")) > EXACT_UP_TO


def window(at: int, count: int) -> slice:
    """`WINDOW` positions around `at`, inside the text."""
    start = max(0, min(at - WINDOW // 2, count - WINDOW))
    return slice(start, min(start + WINDOW, count))


def view_of(trace: Trace, selection: Selection, language: str) -> View:
    """The selection as a link restores it."""
    return View(
        model=selection.model,
        text=selection.text,
        target=selection.target,
        site=site_of(trace, selection),
        head=selection.head,
        cell=(selection.query, selection.key),
        view="exact" if selection.exact else None,
        panel=selection.panel,
        language=language,
        options=selection.options,
    )


def _clamped(value: int, count: int) -> int:
    return max(0, min(value, count - 1))
