"""One token at a time: the text as it grows, what could have come at a step, and what was kept."""

from html import escape

import numpy as np
import plotly.graph_objects as go

from transformer.cache_state import Work
from transformer.distribution import Distribution
from transformer.errors import SeeThroughError
from transformer.generation_seals import seal_by_pass, seal_by_run, seal_shares
from transformer.replay import Seal
from viz import figures
from viz.pages import controls
from viz.pages.blocks import Block, Data, Piece, Plot
from viz.pages.panels.generate_code import bars_code, cache_code
from viz.pages.panels.generated import CANDIDATE, CHECK, Written
from viz.pages.scene import Scene, empty, heading, joined

STRIP_UP_TO = 200  # tokens; of a longer text the first ones are only counted
CACHE_UP_TO = 96  # tokens of the cache that are drawn


def strip(scene: Scene, found: Written) -> Piece:
    """What was given and what is new."""
    of = (found.settings, len(found.steps), found.looked_at.number if found.steps else None)
    return Piece("generate-strip", of, lambda: _strip(scene, found))


def step_blocks(scene: Scene, found: Written) -> list[Block]:
    """What could have come at the step that is looked at."""
    number = found.looked_at.number
    of = (found.settings, number, CANDIDATE.of(scene.selection))
    return [
        Piece("generate-bars-title", (found.settings, number), lambda: _bars_title(scene, found)),
        Plot(
            "generate-bars",
            of,
            scene.say("generate.bars"),
            lambda: _draw_bars(scene, found),
            data=lambda: _bars_data(scene, found),
            code=lambda: bars_code(found, row_of(scene, found)),
            seal=lambda: _bars_seal(scene, found),
        ),
        Piece("generate-candidate", of, lambda: _candidate(scene, found)),
    ]


def cache_blocks(scene: Scene, found: Written) -> list[Block]:
    """Keys and values: remembered or computed."""
    of = (found.settings, found.looked_at.number)
    return [
        Piece("generate-cache-title", of, lambda: _cache_title(scene, found)),
        Plot(
            "generate-cache",
            of,
            scene.say("generate.cache"),
            lambda: _draw_cache(scene, found),
            data=lambda: _cache_data(scene, found),
            code=lambda: cache_code(found, first_drawn(found)),
        ),
        Piece("generate-cache-words", of, lambda: _cache_words(scene, found)),
        Piece("generate-check", (*of, CHECK.of(scene.selection)), lambda: _check(scene, found)),
    ]


# --- the text --------------------------------------------------------------------------------------------------------


def _strip(scene: Scene, found: Written) -> str:
    assert found.prompt is not None
    ids = found.steps[-1].ids if found.steps else found.prompt.ids
    shares = np.array([step.distribution.p[step.distribution.place] for step in found.steps])
    forced = [step.number for step in found.steps if step.mode == "forced"]
    shown = figures.generated_strip(
        shares,
        found.engine.encoding_of(found.model, ids),
        selected=found.looked_at.number if found.steps else None,
        forced=forced,
        first=len(ids) - STRIP_UP_TO,
        language=scene.language,
    )
    said = [scene.html("generate.legend")] if found.steps else []
    said += [scene.html("generate.legend.forced")] if forced else []
    return heading(scene.say("generate.strip"), joined(said)) + shown


# --- the candidates --------------------------------------------------------------------------------------------------


def _shown(found: Written) -> Distribution:
    """What the step's bars show: all candidates alike where the most probable was taken."""
    distribution = found.looked_at.distribution
    return distribution if found.samples else distribution.uncut


def row_of(scene: Scene, found: Written) -> int:
    """The candidate that is looked at: the chosen one, or the one that was taken."""
    chosen, asked = found.looked_at.distribution, CANDIDATE.of(scene.selection)
    ids = chosen.ids.tolist()
    return ids.index(asked) if asked in ids else chosen.place


def _names(found: Written) -> list[str]:
    return [found.name(int(one)) for one in found.looked_at.distribution.ids]


def _bars_title(scene: Scene, found: Written) -> str:
    step = found.looked_at
    words = scene.html("generate.step.lead", token=found.name(step.ids[-2]))
    how = scene.html(f"generate.taken.{step.mode}", token=found.name(step.token))
    return heading(scene.say("generate.step", step=step.number + 1), joined([words, how]))


def _draw_bars(scene: Scene, found: Written) -> go.Figure:
    return figures.sampling_bars(_shown(found), _names(found), selected=row_of(scene, found), language=scene.language)


def _bars_data(scene: Scene, found: Written) -> Data:
    names = [scene.say(f"generate.column.{one}") for one in ("p", "scaled", "final")]
    chosen = _shown(found)
    more = {"ids": chosen.ids, "ranks": chosen.ranks, "logits": chosen.logits}
    return Data(chosen.shares.T, _names(found), names, scene.say("generate.column.token"), more=more)


def _bars_seal(scene: Scene, found: Written) -> str:
    step, chosen = found.looked_at, _shown(found)
    lines = [scene.seal_line("generate.sealed.shares", seal_shares(chosen, found.settings.dials.temperature))]
    by_run = seal_by_run(scene.trace, step.ids[:-1], chosen.ids.tolist(), chosen.p.tolist())
    if by_run is not None:
        lines.append(compared(scene, "run", by_run))
    return "".join(lines)


def _candidate(scene: Scene, found: Written) -> str:
    """Every candidate as a button, the numbers of the one that is looked at, and the way on from it."""
    step, chosen, row, names = found.looked_at, _shown(found), row_of(scene, found), _names(found)
    pills = "".join(
        f'<button type="button" class="stt-candidate" data-candidate="{int(one)}"'
        f' aria-pressed="{"true" if at == row else "false"}"><bdi>{escape(names[at])}</bdi></button>'
        for at, one in enumerate(chosen.ids.tolist())
    )
    temperature = found.settings.temperature if found.samples else None
    numbers = figures.candidate_arithmetic(
        chosen, row, token=names[row], temperature=temperature, draw=step.draw, language=scene.language
    )
    code = escape(figures.candidate_code(chosen, row, temperature))
    copy = f'<button type="button" class="stt-copy" data-copy="{code}">{scene.html("explore.cell.copy")}</button>'
    label = escape(scene.say("generate.candidates"))
    return (
        f'<div class="stt-candidates" role="group" aria-label="{label}">{pills}</div>'
        f'{_branch(scene, found, int(chosen.ids[row]), names[row])}<div class="stt-panel">{numbers}{copy}</div>'
    )


def _branch(scene: Scene, found: Written, token: int, name: str) -> str:
    step = found.looked_at
    if token == step.token:
        return f'<p class="stt-hint">{scene.html("generate.branch.how")}</p>'
    words = scene.say("generate.branch", token=name)
    return controls.row(controls.button(words, name="branch", value=f"{step.number}:{token}"))


# --- the cache -------------------------------------------------------------------------------------------------------


def first_drawn(found: Written) -> int:
    """The first token of the cache that is drawn."""
    return max(0, len(found.looked_at.ids) - 1 - CACHE_UP_TO)


def _read(found: Written) -> list[str]:
    """The tokens that the step's pass had read, as far as they are drawn."""
    return [found.name(one) for one in found.looked_at.ids[first_drawn(found) : -1]]


def _cache_title(scene: Scene, found: Written) -> str:
    first, cache = first_drawn(found), found.looked_at.cache
    said = [scene.html("generate.cache.lead", step=found.looked_at.number + 1, count=cache.new, tokens=cache.tokens)]
    said += [scene.html("generate.cache.window", shown=CACHE_UP_TO, tokens=cache.tokens)] if first else []
    return heading(scene.say("generate.cache"), joined(said))


def _draw_cache(scene: Scene, found: Written) -> go.Figure:
    """Without the formula, which stands below with its numbers."""
    cache, first = found.looked_at.cache, first_drawn(found)
    return figures.cache_grid(
        cache.cells()[:, first:], _read(found), nbytes=cache.nbytes, why=cache.why, language=scene.language
    )


def _cache_data(scene: Scene, found: Written) -> Data:
    cells = found.looked_at.cache.cells()[:, first_drawn(found) :]
    rows = [str(layer) for layer in range(len(cells))]
    return Data(cells, rows, _read(found), scene.say("generate.cache.states"))


def _cache_words(scene: Scene, found: Written) -> str:
    step = found.looked_at
    work = Work.of([one.cache for one in found.steps[: step.number + 1]])
    numbers = figures.cache_arithmetic(step.cache, work, language=scene.language)
    copy = ""
    if step.cache.formula is not None and step.cache.cached:
        code = escape(figures.cache_code(step.cache.formula))
        copy = f'<button type="button" class="stt-copy" data-copy="{code}">{scene.html("explore.cell.copy")}</button>'
    return f'<div class="stt-panel">{numbers}{copy}</div>'


def _check(scene: Scene, found: Written) -> str:
    """The step once more without a cache, where a visitor wants it: it costs a pass of the whole text."""
    step = found.looked_at
    if not step.cache.cached:
        return ""
    box = controls.row(controls.switch(CHECK.name, scene.say("generate.check")))
    if not CHECK.of(scene.selection):
        return box
    try:
        again = found.engine.without_cache(found.model, found.text, step)
    except SeeThroughError as error:
        return box + empty(error.text(scene.language))
    return box + compared(scene, "pass", seal_by_pass(step, again))


def compared(scene: Scene, road: str, seal: Seal) -> str:
    """The line of a seal whose second road was a pass too, and no formula."""
    words = scene.say(f"generate.compared.{road}.{'good' if seal.holds else 'bad'}")
    return figures.compared_line(words, seal, language=scene.language)
