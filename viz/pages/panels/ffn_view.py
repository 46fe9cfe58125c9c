"""What of a feed-forward part is looked at: one token, one neuron, and the arrays that the blocks share."""

from functools import cached_property

from transformer.neurons import By, Neurons, feed_forwards
from transformer.parts import Array, FeedForwardPart
from viz.pages import selection as move
from viz.pages.options import Choice, Whole
from viz.pages.scene import Scene
from viz.pages.selection import Selection

NEURON = Whole("neuron")
STRENGTH = Choice("neuron-by", ("hidden", "output"))
VIEW = Choice("ffn-view", ("curve", "gate"))
PART = Whole("ffn-part", 0, 9, 0)  # which feed-forward of the block, where it has several
SHOWN = 20  # neurons among the strongest
MAPPED = 16  # neurons of the map: more numbers do not stand side by side on a phone
MOST_ROWS = 64  # tokens of the map; more are a window around the chosen one


class View:
    """The chosen token in the chosen feed-forward part, and its arrays, each made when a block asks for it."""

    def __init__(self, scene: Scene) -> None:
        self.scene, chosen = scene, scene.selection
        self.places = feed_forwards(scene.trace, scene.place)
        self.place = self.places[min(PART.of(chosen) or 0, len(self.places) - 1)] if self.places else ""
        self.query, self.by = scene.query, _by(chosen)
        self.tokens = scene.queries
        found = scene.trace.parts.get(self.place)
        known = isinstance(found, FeedForwardPart) and f"{self.place}.input" in scene.trace.sites
        self.part = found if known and isinstance(found, FeedForwardPart) else None

    @cached_property
    def neurons(self) -> Neurons:
        return Neurons.of(self.scene.trace, self.place)

    @cached_property
    def strongest(self) -> Array:
        return self.neurons.strongest(self.query, SHOWN, self.by)

    @cached_property
    def neuron(self) -> int:
        """The chosen neuron, or the strongest of this token."""
        asked = NEURON.of(self.scene.selection)
        return int(self.strongest[0]) if asked is None or asked >= self.neurons.count else asked

    @property
    def rows(self) -> slice:
        """The tokens of the map: all, or a window around the chosen one."""
        return (
            slice(0, len(self.tokens)) if len(self.tokens) <= MOST_ROWS else move.window(self.query, len(self.tokens))
        )

    @property
    def part_of_text(self) -> slice | None:
        """The tokens of the bars over tokens; None: all."""
        return self.rows if move.is_long(self.scene.trace, self.scene.selection) else None

    @cached_property
    def of_map(self) -> tuple[Array, Array]:
        """The neurons that are strongest anywhere in `rows`, and their strength at these tokens."""
        ids = self.neurons.strongest_anywhere(self.rows, MAPPED, self.by)
        return ids, self.neurons.over_tokens(ids, self.by)[self.rows]

    @property
    def of(self) -> tuple[object, ...]:
        return self.place, self.query, self.by, NEURON.of(self.scene.selection)


def _by(selection: Selection) -> By:
    return "output" if STRENGTH.of(selection) == "output" else "hidden"
