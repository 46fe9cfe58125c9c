"""Colours: every light one has its own dark partner, and what is written can be read in both themes."""

import re
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

import numpy as np
import plotly.graph_objects as go
import pytest

from viz.figures import theme

HEX = re.compile("#[0-9a-f]{6}")
SURFACES = ("paper", "card", "soft")
INKS = ("ink", "muted", "accent", "good", "bad", "q-text", "k-text", "v-text", "residual-text", "select-text")
# Machado, Oliveira, Fernandes 2009: how red-blind, green-blind and blue-blind people see linear RGB.
BLINDNESS = (
    [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216], [-0.003882, -0.048116, 1.051998]],
    [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.011820, 0.042940, 0.968881]],
    [[1.255528, -0.076749, -0.178779], [-0.078411, 0.930809, 0.147602], [0.004733, 0.691367, 0.303900]],
)
TO_CONES = np.array([[0.4122, 0.5363, 0.0514], [0.2119, 0.6807, 0.1074], [0.0883, 0.2817, 0.6300]])
TO_LAB = np.array([[0.2105, 0.7936, -0.0041], [1.9780, -2.4286, 0.4506], [0.0259, 0.7828, -0.8087]])


def linear(colour: str) -> np.ndarray:
    rgb = np.array([int(colour[place : place + 2], 16) for place in (1, 3, 5)]) / 255
    return np.where(rgb <= 0.04045, rgb / 12.92, ((rgb + 0.055) / 1.055) ** 2.4)


def oklab(rgb: np.ndarray) -> np.ndarray:
    return TO_LAB @ np.cbrt(TO_CONES @ np.clip(rgb, 0, 1))


def contrast(first: np.ndarray, second: np.ndarray) -> float:
    """WCAG 2.2 contrast of two linear colours."""
    dim, bright = sorted(float(colour @ [0.2126, 0.7152, 0.0722]) for colour in (first, second))
    return (bright + 0.05) / (dim + 0.05)


def both(scale: list[tuple[float, str]]) -> Iterator[list[str]]:
    light = [colour for _, colour in scale]
    yield from (light, [theme.DARK_OF[colour] for colour in light])


def test_dark_partners_are_one_to_one() -> None:
    pairs = [*theme.TONES.values(), *((c, theme.DARK_OF[c]) for c in theme.DARK_OF)]
    assert len(set(theme.DARK_OF.values())) == len(theme.DARK_OF)
    assert all(theme.DARK_OF[light] == dark for light, dark in pairs)
    assert all(HEX.fullmatch(colour) for pair in theme.DARK_OF.items() for colour in pair)


def test_every_colour_of_every_figure_has_a_partner(every_figure: dict[str, go.Figure]) -> None:
    for name, fig in every_figure.items():
        used = set(HEX.findall(fig.to_json().lower()))
        assert used and used <= theme.DARK_OF.keys(), (name, used - theme.DARK_OF.keys())
        assert "#" not in re.sub("&#[0-9]+;", "", HEX.sub("", fig.to_json())), name


def test_to_dark_swaps_all_and_leaves_the_original(every_figure: dict[str, go.Figure]) -> None:
    for fig in every_figure.values():
        before = fig.to_json()
        dark = theme.to_dark(fig)
        assert fig.to_json() == before
        assert set(HEX.findall(dark.to_json())) == {theme.DARK_OF[c] for c in HEX.findall(before)}
        assert all(
            np.array_equal(a.z, b.z, equal_nan=True) for a, b in zip(dark.data, fig.data, strict=True) if "z" in a
        )


def test_figures_are_what_plotly_knows(every_figure: dict[str, go.Figure]) -> None:
    for fig in every_figure.values():
        go.Figure(fig.to_dict())  # checks every property, which `theme.figure` leaves out for speed
        assert not fig.layout.template.to_plotly_json()


@pytest.mark.parametrize("side", [0, 1])
def test_words_can_be_read(side: int) -> None:
    tone = {name: linear(pair[side]) for name, pair in theme.TONES.items()}
    for surface in SURFACES:
        for ink in INKS:
            assert contrast(tone[ink], tone[surface]) >= 4.5, (ink, surface)
    assert contrast(tone["on-accent"], tone["accent"]) >= 4.5
    for ink in ("ink", "muted", "residual-text"):
        assert contrast(tone[ink], tone["masked"]) >= 4.5


def test_numbers_in_cells_can_be_read_on_every_shade() -> None:
    for side, stops in enumerate(both(theme.WEIGHTS)):
        for weight in np.linspace(0, 1, 201):
            rgb = [[int(stop[place : place + 2], 16) for stop in stops] for place in (1, 3, 5)]
            mixed = [np.interp(weight, np.linspace(0, 1, len(stops)), channel) for channel in rgb]
            shade = linear("#" + "".join(f"{round(channel):02x}" for channel in mixed))
            ink = theme.CELL_INKS[int(theme.cell_ink(np.array(weight)))][1][side]
            assert contrast(linear(ink), shade) >= 4.4, (weight, side)  # 4.58 is the most black or white can give


def test_scales_are_even() -> None:
    for stops in both(theme.WEIGHTS):
        steps = np.abs(np.diff([oklab(linear(stop))[0] for stop in stops]))
        assert steps.max() / steps.min() < 1.15
    for stops in both(theme.SIGNED):
        steps = [float(np.linalg.norm(oklab(linear(a)) - oklab(linear(b)))) for a, b in pairwise(stops)]
        assert max(steps) / min(steps) < 1.8
    assert theme.SIGNED[len(theme.SIGNED) // 2] == (0.5, theme.WEIGHTS[0][1])


def test_signs_stay_apart_for_the_colour_blind() -> None:
    for stops in both(theme.SIGNED):
        for matrix in BLINDNESS:
            minus, plus = (oklab(np.array(matrix) @ linear(stops[end])) for end in (0, -1))
            assert np.linalg.norm(minus - plus) > 0.12


@pytest.mark.parametrize("side", [0, 1])
def test_classes_stay_apart_for_everybody_and_from_the_ground(side: int) -> None:
    colours = [linear((light, theme.DARK_OF[light])[side]) for light in theme.CLASSES]
    for surface in SURFACES:
        assert min(contrast(colour, linear(theme.TONES[surface][side])) for colour in colours) >= 3, surface
    for matrix in (np.eye(3), *map(np.array, BLINDNESS)):
        seen = [oklab(matrix @ colour) for colour in colours]
        assert min(np.linalg.norm(a - b) for place, a in enumerate(seen) for b in seen[:place]) > 0.06


def test_css_names_each_tone_in_both_themes() -> None:
    css = theme.css_variables()
    light, dark = css.split(".dark")
    for name, pair in theme.TONES.items():
        assert f"--stt-{name}:{pair[0]};" in light and f"--stt-{name}:{pair[1]};" in dark


def test_components_use_only_tones_that_there_are() -> None:
    css = theme.component_css()
    assert not re.search("#[0-9a-fA-F]{3}|rgb|hsl", css)
    named = set(re.findall(r"--stt-([\w-]+):", theme.css_variables()))  # tones, stops and classes, and the font
    assert set(re.findall(r"var\(--stt-([\w-]+)\)", css)) <= named
    styled = set(re.findall(r"\.(stt-[\w-]+)", css))
    rooms = [Path(theme.__file__).parent, Path(theme.__file__).parents[1] / "pages"]
    code = "".join(file.read_text(encoding="utf-8") for room in rooms for file in room.rglob("*.py"))

    composed = {f"stt-{mark}" for mark in ("special", "padding", "unknown", "plus", "minus", "tied")}

    def is_used(name: str) -> bool:
        """Written out, or composed as in f"stt-level-{kind}"."""
        return name in code or any(
            f"{name[: at + 1]}{{" in code for at, sign in enumerate(name) if sign == "-" and at > 3
        )

    assert {name for name in styled if not is_used(name)} <= composed
