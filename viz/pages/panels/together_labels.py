"""Heads that do something that has a name: all of them in a grid, and the chosen one with its numbers."""

from math import ceil

import numpy as np
import plotly.graph_objects as go

from transformer.head_label_files import THRESHOLD, HeadLabels, SiteLabels
from transformer.head_labels import LEAST_TEXTS, count_of_texts, expected_seconds
from viz import figures
from viz.pages import controls
from viz.pages import selection as move
from viz.pages.blocks import Block, Data, Piece, Plot
from viz.pages.options import Line
from viz.pages.pick import Pick
from viz.pages.scene import Scene, empty, heading, joined
from viz.pages.selection import Selection

LABELS = Line("labels", 200)  # the model whose heads a visitor asked to measure: another model is not measured unasked


def blocks(scene: Scene) -> list[Block]:
    """The grid and the chosen head's scores; where nothing is known yet, the offer to measure."""
    asked = LABELS.of(scene.selection) == scene.selection.model
    of = (scene.selection.model, asked)
    told = Piece("together-labels-lead", of, lambda: _lead(scene))
    if _why_none(scene) is not None or (not asked and _known(scene) is None):
        return [told]
    chosen = scene.selection
    return [
        told,
        Plot(
            "together-labels",
            of,
            scene.say("attention.together.labels.label"),
            lambda: _draw(scene),
            data=lambda: _data(scene),
            code=lambda: _code(scene),
            select=(chosen.head, chosen.attention),
        ),
        Piece("together-labels-head", (*of, scene.site, scene.head), lambda: _of_head(scene), live=True),
    ]


def pick(scene: Scene, block: str, pick: Pick) -> Selection | None:
    if pick.data.get("measure") == "heads":
        return move.with_option(scene.selection, LABELS, scene.selection.model)
    if block != "together-labels" or pick.row is None or pick.column is None:
        return None
    return move.to_head(scene.trace, scene.selection, pick.row, pick.column)


# --- what is known ---------------------------------------------------------------------------------------------------


def _why_none(scene: Scene) -> str | None:
    """Why heads of this model have no labels."""
    model = scene.engine.load(scene.selection.model)
    if model.image is not None:
        return scene.say("attention.together.labels.image")
    return None if model.tokenizer is not None else scene.say("attention.together.labels.no_tokenizer")


def _known(scene: Scene) -> HeadLabels | None:
    return scene.engine.heads.known_labels(scene.engine.load(scene.selection.model))


def _found(scene: Scene) -> HeadLabels:
    return scene.engine.heads.labels(scene.engine.load(scene.selection.model))


def _sites(scene: Scene) -> list[SiteLabels]:
    """In the order of the run; no text may have fitted into a very small model."""
    found = _found(scene).sites
    return [found.get(site) or _nothing(scene.trace.attention[site].heads) for site in scene.trace.attention_sites()]


def _nothing(heads: int) -> SiteLabels:
    none = np.full((0, heads), np.nan)
    return SiteLabels((), none, none, (), ())


def _lead(scene: Scene) -> str:
    title = scene.say("attention.together.labels.title")
    if (why := _why_none(scene)) is not None:
        return heading(title) + empty(why)
    model, name = scene.engine.load(scene.selection.model), scene.selection.model
    said = [scene.html("attention.together.labels.lead", threshold=f"{THRESHOLD:g}", count=count_of_texts(model))]
    found = _known(scene)
    if found is not None:
        said.append(scene.html("attention.together.labels.shipped"))
    elif LABELS.of(scene.selection) == name:
        said.append(scene.html("attention.together.labels.measured", seconds=f"{_found(scene).seconds:.1f}"))
    else:
        seconds = max(1, ceil(expected_seconds(model, scene.trace)))
        offer = scene.html("attention.together.labels.offer", count=count_of_texts(model), seconds=seconds)
        button = controls.button(scene.say("attention.together.labels.measure"), name="measure", value="heads")
        return f"{heading(title, joined(said))}<p>{offer}</p>{controls.row(button)}"
    return heading(title, joined(said))


def label_of_head(scene: Scene) -> str | None:
    """HTML: the label of the chosen head, where it was measured before; measured on other texts than the one shown."""
    found = _known(scene)
    one = found.sites.get(scene.site) if found is not None else None
    if one is None or not one.carried(scene.head):
        return None
    row = one.labels.index(one.carried(scene.head)[0])
    return scene.html("attention.label", label=_told(scene, one, scene.head).split(", ")[0], texts=one.texts[row])


# --- all heads -------------------------------------------------------------------------------------------------------


def _short(scene: Scene, one: SiteLabels, head: int) -> str:
    name = one.name(head)
    return scene.say(f"head_label.{name}.short") if name else ""


def _told(scene: Scene, one: SiteLabels, head: int) -> str:
    """ "induction 0.98 ± 0.01, first token 0.52 ± 0.12"."""
    carried = [(name, one.labels.index(name)) for name in one.carried(head)]
    said = [
        f"{scene.say(f'head_label.{name}')} {one.mean[row, head]:.2f} ± {one.spread[row, head]:.2f}"
        for name, row in carried
    ]
    return ", ".join(said) or scene.say("attention.together.labels.no_label")


def _layers(scene: Scene) -> list[str]:
    return [scene.layer_name(site) for site in scene.trace.attention_sites()]


def _draw(scene: Scene) -> go.Figure:
    sites = _sites(scene)
    return figures.head_grid(
        [one.values() for one in sites],
        _layers(scene),
        words=[[_short(scene, one, head) for head in range(one.mean.shape[1])] for one in sites],
        told=[[_told(scene, one, head) for head in range(one.mean.shape[1])] for one in sites],
        selected=(scene.selection.attention, scene.head),
        caption=scene.say("attention.together.labels.caption", threshold=f"{THRESHOLD:g}"),
        language=scene.language,
    )


def _data(scene: Scene) -> Data:
    sites, names = _sites(scene), scene.trace.attention_sites()
    most = max(one.mean.shape[1] for one in sites)
    values = np.full((len(sites), most), np.nan)
    for row, one in enumerate(sites):
        values[row, : one.mean.shape[1]] = one.values()
    more = {f"{name}.{what}": array for name, one in zip(names, sites, strict=True) for what, array in _arrays(one)}
    corner = f"{scene.say('figure.layer')} ↓ · {scene.say('figure.head')} →"
    return Data(values, _layers(scene), [str(head) for head in range(most)], corner, ~np.isnan(values), more)


def _arrays(one: SiteLabels) -> list[tuple[str, np.ndarray]]:
    return [("mean", one.mean), ("spread", one.spread), ("labels", np.array(one.labels, dtype=np.str_))]


def _code(scene: Scene) -> str:
    language, none = scene.language, scene.say("attention.together.labels.no_label")
    caption = scene.say("attention.together.labels.caption", threshold=f"{THRESHOLD:g}")
    return (
        "from transformer.head_labels import head_labels\n"
        "from transformer.messages import message\n\n"
        "found = head_labels(model)  # from a file, or measured now\n"
        "sites = [found.sites[site] for site in trace.attention_sites()]\n\n\n"
        "def word(one, head):\n"
        f"    return message(f'head_label.{{one.name(head)}}.short', {language!r}) if one.name(head) else ''\n\n\n"
        "def told(one, head):\n"
        "    rows = [(name, one.labels.index(name)) for name in one.carried(head)]\n"
        f"    said = [f\"{{message(f'head_label.{{name}}', {language!r})}} {{one.mean[row, head]:.2f}} ±"
        ' {one.spread[row, head]:.2f}" for name, row in rows]\n'
        f"    return ', '.join(said) or {none!r}\n\n\n"
        "heads = [range(one.mean.shape[1]) for one in sites]\n"
        f"figure = figures.head_grid([one.values() for one in sites], {_layers(scene)!r},\n"
        "    words=[[word(one, head) for head in each] for one, each in zip(sites, heads)],\n"
        "    told=[[told(one, head) for head in each] for one, each in zip(sites, heads)],\n"
        f"    selected=({scene.selection.attention}, {scene.head}), caption={caption!r}, language={language!r})"
    )


# --- the chosen head -------------------------------------------------------------------------------------------------


def _of_head(scene: Scene) -> str:
    one, head = _sites(scene)[scene.selection.attention], scene.head
    facts = {"layer": scene.layer_name(scene.site), "head": head}
    title = scene.say("attention.together.labels.head", **facts)
    if not one.labels:
        return heading(title) + empty(scene.say("attention.together.labels.too_short", count=LEAST_TEXTS))
    table = figures.head_label_table(
        one.mean[:, head],
        one.spread[:, head],
        one.texts,
        one.rows,
        [(scene.say(f"head_label.{name}"), scene.say(f"head_label.{name}.means")) for name in one.labels],
        threshold=THRESHOLD,
        language=scene.language,
    )
    return heading(title, scene.html("attention.together.labels.spread")) + table
