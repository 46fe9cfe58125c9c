"""Feed-forward: all neurons of one token on the curve of the activation, the strongest ones, and one in numbers."""

from math import floor

from viz import figures
from viz.figures.activations import NAMES
from viz.figures.neuron_card import Row
from viz.pages import controls
from viz.pages import selection as move
from viz.pages.blocks import Block, Columns, Piece
from viz.pages.panels import ffn_plots
from viz.pages.panels.chooser import chooser
from viz.pages.panels.ffn_view import NEURON, PART, STRENGTH, VIEW, View
from viz.pages.panels.norm_vector import block_name
from viz.pages.panels.panel import Panel
from viz.pages.pick import Pick
from viz.pages.scene import Scene, empty, heading, joined
from viz.pages.selection import Selection


def columns(scene: Scene) -> Columns:
    view = View(scene)
    first: list[Block] = [chooser(scene, heads=False)]
    if len(view.places) > 1:
        first.append(Piece("ffn-parts", view.places, lambda: _parts(view)))
    if view.part is None:
        reason = scene.reason(view.place) if view.places else scene.say("ffn.none")
        return [*first, Piece("ffn-missing", (view.place, reason), lambda: empty(reason))], []
    first.append(Piece("ffn-title", (view.place, view.query), lambda: _title(view), live=True))
    gated = view.part.gate is not None
    first.append(Piece("ffn-by", gated, lambda: _tabs(view)))
    by_gate = gated and VIEW.of(scene.selection) == "gate"
    middle = [ffn_plots.gate(view) if by_gate else ffn_plots.curve(view), ffn_plots.strongest_map(view)]
    card = Piece("ffn-neuron", view.of, lambda: _card(view), live=True)
    return [*first, ffn_plots.bars(view)], middle, [card, ffn_plots.over_tokens(view)]


def _title(view: View) -> str:
    scene, part = view.scene, view.neurons.part
    d_ff, d_model = part.up.weight.shape
    values = {"token": view.tokens[view.query], "count": f"{d_ff:,}", "d_model": f"{d_model:,}"}
    name = NAMES[part.activation]
    words = "ffn.said.plain" if part.gate is None else "ffn.said.gated"
    title = scene.say("ffn.title", place=_named(view))
    return heading(title, joined([scene.html(words, activation=name, **values), scene.html("ffn.said.choose")]))


def _named(view: View) -> str:
    """ "layer 3", or which part of it, where a block has several."""
    part = view.place.rpartition(".")[2]
    return block_name(view.scene) + (f" · {part}" if len(view.places) > 1 else "")


def _tabs(view: View) -> str:
    scene, parts = view.scene, []
    kinds = [(name, scene.say(f"ffn.by.{name}")) for name in STRENGTH.values]
    parts.append(controls.tabs(STRENGTH.name, scene.say("ffn.by"), kinds))
    if view.part is not None and view.part.gate is not None:
        views = [(name, scene.say(f"ffn.view.{name}")) for name in VIEW.values]
        parts.append(controls.tabs(VIEW.name, scene.say("ffn.view"), views))
    return controls.row(*parts)


def _parts(view: View) -> str:
    names = [(str(number), place.rpartition(".")[2]) for number, place in enumerate(view.places)]
    return controls.row(controls.choice(PART.name, view.scene.say("panel.ffn"), names))


def _card(view: View) -> str:
    scene, neurons, neuron, x = view.scene, view.neurons, view.neuron, view.neurons.x[view.query]
    activation, gated = neurons.part.activation, neurons.part.gate is not None
    entering, value = Row(*neurons.row(neuron)), Row(*neurons.value_row(neuron)) if gated else None
    panel = figures.neuron_arithmetic(
        x,
        entering,
        activation=activation,
        activated=float(neurons.activated(neurons.pre_activation(view.query))[neuron]),
        hidden=float(neurons.hidden(view.query)[neuron]),
        reach=float(neurons.reach[neuron]),
        value=value,
        neuron=neuron,
        language=scene.language,
    )
    lead = scene.html("ffn.neuron.lead", token=view.tokens[view.query])
    code = figures.neuron_as_numpy(x, entering, activation=activation, value=value, neuron=neuron)
    copy = controls.copied(scene.say("explore.cell.copy"), code)
    return f'{heading(scene.say("ffn.neuron.title", neuron=neuron), lead)}<div class="stt-panel">{panel}{copy}</div>'


def spoken(scene: Scene) -> str:
    """ "neuron 512 at token it: 1.23"."""
    view = View(scene)
    if view.part is None:
        return ""
    strength = float(view.neurons.strength(view.query, view.by)[view.neuron])
    return scene.say("ffn.spoken", neuron=view.neuron, token=view.tokens[view.query], strength=f"{strength:.3g}")


def pick(scene: Scene, block: str, pick: Pick) -> Selection | None:
    chosen, trace = scene.selection, scene.trace
    if block in ("ffn-bars", "ffn-curve", "ffn-gate"):
        if pick.custom is None or pick.custom < 0 or not float(pick.custom).is_integer():
            return None
        return move.with_option(chosen, NEURON, int(pick.custom))
    if block == "ffn-tokens" and pick.x is not None:
        return move.to_query(trace, chosen, floor(pick.x + 0.5))
    if block == "ffn-map" and pick.column is not None and pick.row is not None:
        view = View(scene)
        if view.part is None or not 0 <= pick.column < len(view.of_map[0]):
            return None
        found = move.with_option(chosen, NEURON, int(view.of_map[0][pick.column]))
        return move.to_query(trace, found, view.rows.start + pick.row)
    return None


PANEL = Panel("ffn", columns, pick, spoken, options=(NEURON, STRENGTH, VIEW, PART), boxes=("ffn",))
