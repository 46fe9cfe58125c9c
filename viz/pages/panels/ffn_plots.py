"""The figures of the feed-forward panel, each with its numbers, the code that draws it, and its seal."""

import numpy as np

from transformer.neurons import activation_curve, sealed
from transformer.parts import Array
from viz import figures
from viz.pages.blocks import Data, Plot
from viz.pages.panels.ffn_view import MAPPED, SHOWN, View


def bars(view: View) -> Plot:
    return Plot(
        "ffn-bars",
        view.of,
        view.scene.say("ffn.bars.label"),
        lambda: figures.neuron_bars(
            view.neurons.strength(view.query, view.by)[view.strongest], view.strongest.tolist(), chosen=view.neuron,
            by=view.by, count=view.neurons.count, language=view.scene.language,
        ),
        data=lambda: Data(
            view.neurons.strength(view.query, view.by)[view.strongest], [str(one) for one in view.strongest],
            [view.scene.say(f"ffn.by.{view.by}")], view.scene.say("figure.neurons.neuron"),
        ),
        code=lambda: _code(view, (
            f"ids = neurons.strongest({view.query}, {SHOWN}, {view.by!r})",
            f"figure = figures.neuron_bars(neurons.strength({view.query}, {view.by!r})[ids], ids.tolist(),"
            f" chosen={view.neuron}, by={view.by!r}, count=neurons.count, language={view.scene.language!r})",
        )),
    )  # fmt: skip


def curve(view: View) -> Plot:
    def arrays() -> tuple[tuple[Array, Array], Array, Array]:
        pre = view.neurons.pre_activation(view.query)
        curve = activation_curve(view.neurons.part.activation, float(pre.min()), float(pre.max()))
        return curve, pre, view.neurons.activated(pre)

    return Plot(
        "ffn-curve",
        view.of,
        view.scene.say("ffn.curve.label"),
        lambda: figures.activation_curve(
            *arrays(), activation=view.neurons.part.activation, chosen=view.neuron, language=view.scene.language
        ),
        data=lambda: _columns_of(view, pre=arrays()[1], act=arrays()[2]),
        code=lambda: _code(view, (
            "from transformer.neurons import activation_curve",
            f"pre = neurons.pre_activation({view.query})",
            "curve = activation_curve(neurons.part.activation, float(pre.min()), float(pre.max()))",
            "figure = figures.activation_curve(curve, pre, neurons.activated(pre), activation=neurons.part.activation,"
            f" chosen={view.neuron}, language={view.scene.language!r})",
        )),
        seal=lambda: view.scene.seal_line("ffn.sealed", sealed(view.scene.trace, view.place)),
    )  # fmt: skip


def gate(view: View) -> Plot:
    def arrays() -> tuple[Array, Array]:
        value = view.neurons.value(view.query)
        assert value is not None
        return view.neurons.activated(view.neurons.pre_activation(view.query)), value

    return Plot(
        "ffn-gate",
        view.of,
        view.scene.say("ffn.gate.label"),
        lambda: figures.gate_map(
            *arrays(), activation=view.neurons.part.activation, chosen=view.neuron, language=view.scene.language
        ),
        data=lambda: _columns_of(view, act=arrays()[0], value=arrays()[1]),
        code=lambda: _code(view, (
            f"gate = neurons.activated(neurons.pre_activation({view.query}))",
            f"figure = figures.gate_map(gate, neurons.value({view.query}), activation=neurons.part.activation,"
            f" chosen={view.neuron}, language={view.scene.language!r})",
        )),
        seal=lambda: view.scene.seal_line("ffn.sealed", sealed(view.scene.trace, view.place)),
    )  # fmt: skip


def over_tokens(view: View) -> Plot:
    return Plot(
        "ffn-tokens",
        view.of,
        view.scene.say("ffn.tokens.label"),
        lambda: figures.neuron_tokens(
            view.neurons.over_tokens([view.neuron], view.by)[:, 0], view.tokens, neuron=view.neuron,
            selected=view.query, rows=view.part_of_text, by=view.by, language=view.scene.language,
        ),
        data=lambda: Data(
            view.neurons.over_tokens([view.neuron], view.by), view.tokens, [str(view.neuron)],
            view.scene.say("ffn.map.corner"),
        ),
        code=lambda: _code(view, (
            f"values = neurons.over_tokens([{view.neuron}], {view.by!r})[:, 0]",
            f"figure = figures.neuron_tokens(values, {_tokens(view)}, neuron={view.neuron}, selected={view.query},"
            f" rows={view.part_of_text}, by={view.by!r}, language={view.scene.language!r})",
        )),
    )  # fmt: skip


def strongest_map(view: View) -> Plot:
    return Plot(
        "ffn-map",
        view.of,
        view.scene.say("ffn.map.label"),
        lambda: figures.neuron_map(
            view.of_map[1], view.tokens[view.rows], view.of_map[0].tolist(), selected=(view.query, view.neuron),
            first=view.rows.start, count=view.neurons.count, language=view.scene.language,
        ),
        data=lambda: Data(
            view.of_map[1], view.tokens[view.rows], [str(one) for one in view.of_map[0]],
            view.scene.say("ffn.map.corner"),
        ),
        code=lambda: _code(view, (
            f"ids = neurons.strongest_anywhere({view.rows}, {MAPPED}, {view.by!r})",
            f"strengths = neurons.over_tokens(ids, {view.by!r})[{view.rows}]",
            f"figure = figures.neuron_map(strengths, {_tokens(view)}[{view.rows}], ids.tolist(),"
            f" selected=({view.query}, {view.neuron}), first={view.rows.start}, count=neurons.count,"
            f" language={view.scene.language!r})",
        )),
    )  # fmt: skip


def _columns_of(view: View, **arrays: Array) -> Data:
    """Several numbers of every neuron, side by side."""
    names = [view.scene.say(f"ffn.column.{name}") for name in arrays]
    rows = [str(number) for number in range(view.neurons.count)]
    return Data(np.column_stack(list(arrays.values())), rows, names, view.scene.say("figure.neurons.neuron"))


def _tokens(view: View) -> str:
    return f"trace.tokens({view.scene.site!r}, 'query')"


def _code(view: View, lines: tuple[str, ...]) -> str:
    head = ["from transformer.neurons import Neurons", f"neurons = Neurons.of(trace, {view.place!r})"]
    return "\n".join([*head, *lines])
