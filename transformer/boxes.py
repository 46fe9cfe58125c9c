"""The boxes of one block for the diagram, in the order in which they ran, with a + wherever the wiring found a sum."""

from collections.abc import Callable

from transformer.structure import Box
from transformer.wiring import BlockWiring, Event


def block_boxes(prefix: str, wiring: BlockWiring, box_of: Callable[[Event], Box]) -> tuple[Box, ...]:
    """`box_of` draws one event. Where the wiring is unexplained an "unknown" box stands, and no + is claimed."""
    boxes: list[Box] = []
    for event in wiring.events:
        if event.enters_from is None:
            boxes.append(Box("unknown", f"{prefix}.{event.place}.input"))
        elif len(event.enters_from) > 1:
            boxes.append(Box("add", f"{prefix}.{event.place}.input"))
        boxes.append(box_of(event))
    boxes = _side_by_side(prefix, wiring, boxes)
    if wiring.leaves_from is None:
        boxes.append(Box("unknown", f"{prefix}.resid.after"))
    elif len(wiring.leaves_from) > 1:
        boxes.append(Box("add", f"{prefix}.resid.after"))
    return tuple(boxes)


def _side_by_side(prefix: str, wiring: BlockWiring, boxes: list[Box]) -> list[Box]:
    """Branches that start from one stream and meet in one sum (GPT-J; experts beside a shared one) stand abreast."""
    ends = [term.site.split(".")[0] for term in wiring.leaves_from or () if term.site.endswith(".output")]
    if len(ends) != 2:
        return boxes
    first, second = ({f"{prefix}.{place}" for place in _upstream(end, wiring)} for end in ends)
    branches = (first - second, second - first)
    if not all(branches):
        return boxes
    pair = tuple(tuple(box for box in boxes if box.name in branch) for branch in branches)
    parallel = Box("parallel", f"{prefix}.parallel", {"branches": pair})
    return [box for box in boxes if box not in (*pair[0], *pair[1])] + [parallel]


def _upstream(place: str, wiring: BlockWiring) -> set[str]:
    """`place` and every place whose output it is made from, sums on the way included."""
    event = next((one for one in wiring.events if one.place == place), None)
    if event is None:
        return set()
    found = {place}
    for term in event.enters_from or ():
        source, _, part = term.site.partition(".")
        if source not in ("resid", place):
            found |= _upstream(source, wiring) - ({source} if part == "input" else set())
    return found
