"""Whole words instead of tokens: one switch for every view of attention."""

from html import escape

from viz.pages import controls
from viz.pages.options import Switch
from viz.pages.scene import Scene

WORDS = Switch("words")  # show whole words in all attention views; see transformer/words.py


def switch(scene: Scene) -> str:
    """HTML of the switch, with its rule below it; patches of an image make no words."""
    if scene.reads_images:
        return ""
    return f"{controls.switch(WORDS.name, scene.say('words.switch'))}{rule(scene)}"


def rule(scene: Scene) -> str:
    """HTML: how tokens are joined to words, so that nobody takes a word's weight for a token's."""
    return f'<p class="stt-hint">{escape(scene.say("words.rule"))}</p>'
