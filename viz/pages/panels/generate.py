"""Generate: the model goes on with the text. One token at a time, or several texts side by side.

What stands here follows from the model, the text and the options. `generated.py` has the options and the steps, the
`generate_….py` beside this file what is shown of them.
"""

from html import escape

from transformer.errors import SeeThroughError
from viz.pages import controls
from viz.pages.blocks import Block, Columns, Piece
from viz.pages.panels import generated as of
from viz.pages.panels.generate_beams import text_blocks, tree_block
from viz.pages.panels.generate_picks import pick
from viz.pages.panels.generate_steps import cache_blocks, step_blocks, strip
from viz.pages.panels.generated import Search, Written, finished, generated
from viz.pages.panels.panel import Panel
from viz.pages.scene import Scene, empty, heading


def columns(scene: Scene) -> Columns:
    found = generated(scene)
    if found.refusal is not None:
        reason = found.refusal.text(scene.language)
        return [[Piece("generate-reason", reason, lambda: empty(reason))]]
    left: list[Block] = [
        Piece("generate-dials", of.MODE.of(scene.selection), lambda: _dials(scene)),
        Piece("generate-actions", None, lambda: _actions(scene)),
        Piece("generate-notice", _notice_of(found), lambda: _notice(scene, found), live=True),
    ]
    if isinstance(found, Written):
        left.append(strip(scene, found))
    if not found.steps:
        return [left]
    opener = Piece("generate-open", (_of(found), _ids(found)), lambda: _opener(scene, found))
    if isinstance(found, Search):
        return [[*left, tree_block(scene, found)], [*text_blocks(scene, found), opener]]
    return [[*left, *step_blocks(scene, found)], [*cache_blocks(scene, found), opener]]


def opened_text(scene: Scene) -> tuple[str, str | None] | None:
    """The text up to what is looked at (and the second text), for all other panels; None where there is none."""
    found = generated(scene)
    return found.opened(_ids(found)) if found.steps else None


def spoken(scene: Scene) -> str:
    """ "Step 3: ·cat, probability 0.34; 5 new tokens"."""
    found = generated(scene)
    if found.refusal is not None:
        return found.refusal.text(scene.language)
    if not found.steps:
        return scene.say("generate.begin")
    if isinstance(found, Search):
        text = "".join(found.name(token) for token in _ids(found)[len(found.steps[0].parents[0].ids) :])
        return scene.say("generate.spoken.beam", text=text, score=f"{found.nodes[found.node].score:.2f}")
    step = found.looked_at
    share = f"{step.distribution.p[step.distribution.place]:.3f}"
    facts = {"step": step.number + 1, "token": found.name(step.token), "share": share, "count": len(found.steps)}
    return scene.say("generate.spoken", **facts)


# --- what is shown ---------------------------------------------------------------------------------------------------


def _of(found: Written | Search) -> tuple[object, ...]:
    return (found.settings, len(found.steps))


def _ids(found: Written | Search) -> tuple[int, ...]:
    """The text up to what is looked at; there must be a step."""
    return found.ids if isinstance(found, Search) else found.looked_at.ids


def _dials(scene: Scene) -> str:
    """The choice of the next token, and what can be turned in it."""
    mode = of.MODE.of(scene.selection)
    modes = [(name, scene.say(f"generate.mode.{name}")) for name in of.MODE.values]
    parts = [controls.choice(of.MODE.name, scene.say("generate.mode"), modes)]
    if mode == "sample":
        parts += [
            controls.slider(of.TEMPERATURE, scene.say("generate.temperature"), step=0.1),
            controls.slider(of.TOP_K, scene.say("generate.top_k")),
            controls.slider(of.TOP_P, scene.say("generate.top_p"), step=0.05),
            controls.number(of.SEED, scene.say("generate.seed")),
            controls.button(scene.say("generate.luck"), name="luck", value="1"),
        ]
    if mode == "beam":
        parts += [
            controls.slider(of.BEAMS, scene.say("generate.beams")),
            controls.slider(of.PENALTY, scene.say("generate.length_penalty"), step=0.1),
        ]
    return controls.row(*parts)


def _actions(scene: Scene) -> str:
    """Buttons that stay: the page's script marks the one that plays."""
    stop = escape(scene.say("generate.stop"))
    play = (
        f'<button type="button" class="stt-pill" data-play="1" data-play-words-stop="{stop}">'
        f"{escape(scene.say('generate.play'))}</button>"
    )
    return controls.row(
        play,
        controls.button(scene.say("generate.more"), name="grow", value="1"),
        controls.button(scene.say("generate.back"), name="grow", value="-1"),
        controls.button(scene.say("generate.anew"), name="anew", value="1"),
    )


def _notice_of(found: Written | Search) -> tuple[object, ...]:
    problem = None if found.problem is None else (type(found.problem).__name__, str(found.problem))
    forced = found.settings.forced if isinstance(found, Written) else ()
    return (type(found).__name__, len(found.steps), finished(found), forced, problem)


def _notice(scene: Scene, found: Written | Search) -> str:
    """How far it is, and why it ended: `data-finished` tells the page's script to play no further."""
    stop, count = finished(found), len(found.steps)
    search = isinstance(found, Search)
    if found.problem is not None:
        said = f'<p class="stt-error" data-finished="problem">{escape(found.problem.text(scene.language))}</p>'
    elif not count:
        said = f'<p class="stt-lead">{scene.html("generate.begin")}</p>'
    elif stop is None:
        going = "generate.beam.going" if search else "generate.going"
        said = f'<p class="stt-lead">{scene.html(going, count=count)}</p>'
    else:
        ended = f"generate.beam.stop.{stop}" if search else f"generate.stop.{stop}"
        said = f'<p class="stt-lead" data-finished="{stop}">{scene.html(ended, count=count)}</p>'
    return said + (_branches(scene, found) if isinstance(found, Written) else "")


def _branches(scene: Scene, found: Written) -> str:
    """Which tokens were taken instead of the model's, and the way back from the last of them."""
    forced = found.settings.forced
    if not forced:
        return ""
    last, _ = forced[-1]
    taken = ", ".join(f"{step + 1}: {found.name(token)}" for step, token in forced)
    back = controls.button(scene.say("generate.branch.back"), name="unbranch", value=str(last))
    return f'<p class="stt-lead">{scene.html("generate.branch.taken", taken=taken)}</p>{controls.row(back)}'


def _opener(scene: Scene, found: Written | Search) -> str:
    """The text in all other panels, and whether it is read there as it was written."""
    ids = _ids(found)
    opened = found.opened(ids)
    title = heading(scene.say("generate.open.title"))
    if opened is None:
        return f'{title}<p class="stt-hint">{scene.html("generate.nothing")}</p>'
    button = controls.button(scene.say("generate.open"), name="ask", value="open")
    try:
        same = found.engine.reads_as(found.model, *opened, ids)
        hint = scene.say("generate.open.same" if same else "generate.open.differs")
    except SeeThroughError as error:
        hint = error.text(scene.language)
    return f'{title}{controls.row(button)}<p class="stt-hint">{escape(hint)}</p>'


PANEL = Panel("generate", columns, pick, spoken, options=of.OPTIONS)
