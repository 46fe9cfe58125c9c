"""What a click in Generate chooses: one token more or fewer, a step, another token instead, a box of the tree."""

from dataclasses import replace

from viz.pages import selection as move
from viz.pages.options import with_option
from viz.pages.panels import generated as of
from viz.pages.panels.generate_steps import first_drawn
from viz.pages.panels.generated import Search, Written, finished, generated
from viz.pages.pick import Pick
from viz.pages.scene import Scene
from viz.pages.selection import Selection


def pick(scene: Scene, block: str, pick: Pick) -> Selection | None:
    found, chosen, data = generated(scene), scene.selection, pick.data
    if found.refusal is not None:
        return None
    if "grow" in data:
        return _grown(chosen, found, pick.whole("grow"))
    if "anew" in data:
        return anew(chosen)
    if "luck" in data:
        return move.with_option(chosen, of.SEED, ((of.SEED.of(chosen) or 0) + 1) % of.SEED.most)
    if isinstance(found, Search):
        return _picked_of_search(chosen, found, block, pick)
    return _picked_of_text(scene, found, block, pick)


def anew(selection: Selection) -> Selection:
    """Nothing generated yet, the dials as they are: also what a run of another text begins with."""
    options = selection.options
    for option in of.OF_ONE_TEXT:
        options = with_option(options, option, None)
    return replace(selection, options=options)


def _grown(chosen: Selection, found: Written | Search, by: int | None) -> Selection | None:
    """One token (or pass) more or fewer; the newest is looked at."""
    count = len(found.steps)
    if by == 1 and finished(found) is None:
        return _looking_at(chosen, count + 1)
    return _looking_at(chosen, count - 1) if by == -1 and count else None


def _looking_at(chosen: Selection, count: int, step: int | None = None) -> Selection:
    values = {of.COUNT: count or None, of.STEP: step, of.CANDIDATE: None, of.NODE: None}
    options = chosen.options
    for option, value in values.items():
        options = with_option(options, option, value)
    return replace(chosen, options=options)


def _picked_of_text(scene: Scene, found: Written, block: str, pick: Pick) -> Selection | None:
    chosen, count = scene.selection, len(found.steps)
    if "unbranch" in pick.data:
        return _unbranched(chosen, pick.whole("unbranch"))
    if "branch" in pick.data:
        return _branched(chosen, found, pick.data["branch"])
    if (step := pick.whole("step")) is not None:
        return _looking_at(chosen, count, step) if 0 <= step < count else None
    if not count:
        return None
    if (token := pick.whole("candidate")) is not None:
        return move.with_option(chosen, of.CANDIDATE, token)
    if block == "generate-bars" and pick.y is not None:
        ids, row = found.looked_at.distribution.ids, round(pick.y)
        return move.with_option(chosen, of.CANDIDATE, int(ids[row])) if 0 <= row < len(ids) else None
    if block == "generate-cache" and pick.x is not None:
        return _picked_of_cache(scene, found, first_drawn(found) + round(pick.x))
    return None


def _branched(chosen: Selection, found: Written, told: str) -> Selection | None:
    """The text cut at a step, and another token there; what was taken behind that step goes with it."""
    pairs = of.branches(move.with_option(chosen, of.BRANCH, told))
    if len(pairs) != 1 or pairs[0][0] >= len(found.steps):
        return None
    ((step, _),) = pairs
    kept = tuple(one for one in found.settings.forced if one[0] < step)
    return move.with_option(_looking_at(chosen, step + 1), of.BRANCH, of.as_line((*kept, *pairs)))


def _unbranched(chosen: Selection, step: int | None) -> Selection | None:
    if step is None:
        return None
    kept = tuple(one for one in of.branches(chosen) if one[0] < step)
    without = move.with_option(chosen, of.BRANCH, of.as_line(kept))
    return move.with_option(without, of.CANDIDATE, None)


def _picked_of_cache(scene: Scene, found: Written, at: int) -> Selection | None:
    """A column of the cache: of a new token its step, of a given one the same token in all panels."""
    ids, given = found.looked_at.ids, found.looked_at.given
    if given <= at < len(ids):
        return _looking_at(scene.selection, len(found.steps), at - given)
    stack = list(scene.trace.encodings)[-1]
    read = scene.trace.encodings[stack].ids
    if 0 <= at < min(given, len(read)) and read[at] == ids[at]:
        return move.to_token(scene.trace, scene.selection, stack, at)
    return None


def _picked_of_search(chosen: Selection, found: Search, block: str, pick: Pick) -> Selection | None:
    if not found.steps:
        return None
    node = pick.whole("node")
    if block == "generate-tree" and pick.custom is not None:
        node = round(pick.custom)
    if (step := pick.whole("step")) is not None and 0 <= step < len(found.way) - 1:
        node = found.way[step + 1]
    return move.with_option(chosen, of.NODE, node) if node is not None and 0 <= node < len(found.nodes) else None
