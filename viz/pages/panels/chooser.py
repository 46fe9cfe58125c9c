"""The chooser of layer and head: the same in every panel that shows one."""

from viz.pages import controls
from viz.pages.blocks import Piece
from viz.pages.scene import Scene


def chooser(scene: Scene, *, heads: bool = True) -> Piece:
    """`heads`: also which head; a panel of whole layers leaves it out."""
    return Piece("chooser", (heads, scene.how.heads), lambda: _controls(scene, heads))


def _controls(scene: Scene, heads: bool) -> str:
    layers = [(str(number), scene.layer_name(site)) for number, site in enumerate(scene.trace.attention_sites())]
    parts = [controls.choice("attention", scene.say("explore.layer"), layers)]
    if heads:
        numbers = [(str(number), str(number)) for number in range(scene.how.heads)]
        parts.append(controls.choice("head", scene.say("explore.head"), numbers))
    return controls.row(*parts)
