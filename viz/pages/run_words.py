"""What stands above the panels of a run: its tokens (or its image), its diagram, and a line about it."""

from html import escape

from transformer.familiar import unfamiliar
from transformer.image import ImageEncoding
from transformer.residual_stream import widths
from viz import figures
from viz.pages.panels.places import marked_box
from viz.pages.scene import Scene, joined


def strip(scene: Scene) -> str:
    """All tokens, of the source and of the target where there is one; or the image, and what its patch looks at."""
    if scene.reads_images:
        return _image(scene)
    encodings, two = scene.trace.encodings, len(scene.trace.encodings) > 1
    rows = []
    for stack, encoding in encodings.items():
        chosen = scene.query if stack == scene.stack else None
        name = f'<p class="stt-lead">{scene.html(f"explore.stack.{stack}")}</p>' if two else ""
        marked = stack if two else None
        rows.append(name + figures.token_strip(encoding, selected=chosen, stack=marked, language=scene.language))
    return "".join(rows)


def _image(scene: Scene) -> str:
    encoding = next(iter(scene.trace.encodings.values()))
    assert isinstance(encoding, ImageEncoding) and encoding.shape is not None
    shown = figures.image_patches(
        encoding.image,
        encoding.shape.grid,
        encoding.tokens,
        selected=scene.query,
        weights=scene.weights[scene.query],
        language=scene.language,
    )
    # Not in the status line: that stands above the pad, which would move under the pen.
    blank = "" if scene.drawn else f'<p class="stt-unfamiliar">{scene.html("explore.unfamiliar.blank")}</p>'
    return f"{blank}{_read_as(scene)}{shown}"


def _read_as(scene: Scene) -> str:
    """The most probable class in words, beside what was drawn."""
    if scene.trace.top is None or not scene.trace.is_classified:
        return ""
    ids, shares = scene.trace.probabilities(0)
    name = scene.engine.class_name(scene.selection.model, int(ids[0]), scene.language)
    share = figures.percent(float(shares[0]))
    return f'<p class="stt-lead">{scene.html("explore.read_as", name=name, share=share)}</p>'


def diagram(scene: Scene) -> str:
    """The model with the block that is looked at; the box that leads to what is shown is marked."""
    trace = scene.trace
    return figures.architecture_diagram(
        trace.structure,
        layer=scene.layer,
        selected=marked_box(scene),
        stack=scene.stack,
        tokens={stack: len(encoding) for stack, encoding in trace.encodings.items()},
        d_model=widths(trace),
        language=scene.language,
    )


def status(scene: Scene) -> str:
    trace = scene.trace
    count = sum(len(encoding) for encoding in trace.encodings.values())
    seconds = f"{trace.seconds:.2f}" if trace.seconds >= 0.005 else "<0.01"
    said = escape(scene.say("explore.status", count=count, seconds=seconds))
    said += "" if scene.reads_images else f" · {scene.html('explore.space')}"
    card = scene.engine.load(scene.selection.model).card
    told = f'<p class="stt-hint">{escape(card.limits[scene.language])}</p>' if card is not None else ""
    return f'<p class="stt-hint">{said}</p>{told}{_unfamiliar(scene)}'


def _unfamiliar(scene: Scene) -> str:
    """A warning where the text is not of the kind that the model was trained on."""
    found = unfamiliar(scene.engine.load(scene.selection.model), scene.trace.encodings)
    if found is None:
        return ""
    said = []
    if found.count:
        tokens = " ".join(found.tokens[:5])
        said.append(scene.html("explore.unfamiliar.tokens", tokens=tokens, count=found.count))
    if found.longest:
        said.append(scene.html("explore.unfamiliar.long", longest=found.longest))
    return f'<p class="stt-unfamiliar">{joined([*said, scene.html("explore.unfamiliar.so")])}</p>'
