"""What a panel is: a place of the page that shows one stage of the pass."""

from collections.abc import Callable
from dataclasses import dataclass, field

from viz.pages.blocks import Columns
from viz.pages.options import Option
from viz.pages.pick import Pick
from viz.pages.scene import Scene
from viz.pages.selection import Selection


def _nothing_said(_scene: Scene) -> str:
    return ""


def _nothing_picked(_scene: Scene, _block: str, _pick: Pick) -> Selection | None:
    return None


def _as_it_is(_scene: Scene, selection: Selection, _site: str) -> Selection:
    return selection


@dataclass(frozen=True)
class Panel:
    """`name` is its name in links and messages ("panel.<name>": what it is called, "panel.<name>.lead": its paragraph).

    `columns` says what it shows of a scene; `pick` what a click on one of its blocks chooses (None: nothing); `spoken`
    what a screen reader says of the choice. `options` are its settings; `boxes` the kinds of the diagram's boxes that
    lead here, and `entered` what is chosen by coming from the box of a site.
    """

    name: str
    columns: Callable[[Scene], Columns]
    pick: Callable[[Scene, str, Pick], Selection | None] = _nothing_picked
    spoken: Callable[[Scene], str] = _nothing_said
    options: tuple[Option, ...] = field(default_factory=tuple)
    boxes: tuple[str, ...] = ()
    entered: Callable[[Scene, Selection, str], Selection] = _as_it_is
