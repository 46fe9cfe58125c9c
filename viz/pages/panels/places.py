"""Which box of the diagram the open panel shows: the map marks it."""

from viz.pages.panels.norm import SHOW
from viz.pages.panels.norm_vector import Chosen
from viz.pages.scene import Scene


def marked_box(scene: Scene) -> str:
    """The site of a box; the chosen attention where a panel shows no box of its own."""
    return scene.selection.box or _MARKS.get(scene.selection.panel, _attention)(scene)


def _attention(scene: Scene) -> str:
    return scene.site


def _tokens(scene: Scene) -> str:
    return f"{scene.stack}.tokens"


def _embedding(scene: Scene) -> str:
    return f"{scene.stack}.embed.token"


def _norm(scene: Scene) -> str:
    return Chosen(scene).site if SHOW.of(scene.selection) == "norm" else f"{scene.place}.resid.after"


def _feed_forward(scene: Scene) -> str:
    return f"{scene.place}.ffn"


def _answer(_scene: Scene) -> str:
    return "logits"


_MARKS = {
    "tokens": _tokens,
    "embedding": _embedding,
    "norm": _norm,
    "ffn": _feed_forward,
    "output": _answer,
    "generate": _answer,
}
