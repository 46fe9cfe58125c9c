"""Every number of a run recomputed on request: how far it is, then the largest difference and where it is."""

from collections.abc import Iterator
from dataclasses import replace
from html import escape

from transformer import replay
from viz.figures import seal_line
from viz.pages.scene import Scene

AT_ONCE = 40  # seals between two reports


def seal_everything(scene: Scene) -> Iterator[str]:
    """HTML, anew for every report."""
    found: list[replay.Seal] = []
    for number, one in enumerate(replay.seals(scene.trace), 1):
        found.append(one)
        if number % AT_ONCE == 0:
            yield f'<p class="stt-seal">{escape(scene.say("explore.seal.so_far", count=number))}</p>'
    worst = max(found, key=lambda one: (not one.holds, one.difference))
    whole = replace(worst, compared=sum(one.compared for one in found))  # with its own tolerance
    place = escape(scene.say("explore.seal.where", count=len(found), site=worst.site))
    yield (
        seal_line(scene.say("explore.seal.whole"), whole, language=scene.language) + f'<p class="stt-note">{place}</p>'
    )
