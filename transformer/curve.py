"""A training's curve, thinned: means over equal stretches of steps, few enough to be stored and drawn."""

from dataclasses import dataclass, field

from transformer.judging import Judged

POINTS = 250  # a screen shows no more


@dataclass
class Curve:
    """`points`: [last step of a stretch, mean loss, mean accuracy, rate]; `held_out`: [step, loss, accuracy]."""

    stride: int
    points: list[list[float]] = field(default_factory=list)
    held_out: list[list[float]] = field(default_factory=list)
    waiting: list[list[float]] = field(default_factory=list)  # steps of the stretch that is not full yet

    @classmethod
    def of(cls, steps: int) -> "Curve":
        """An empty curve with room for that many steps."""
        return cls(stride=-(-steps // POINTS))

    def add(self, step: int, loss: float, accuracy: float, rate: float, held_out: Judged | None) -> None:
        """One step more."""
        self.waiting.append([loss, accuracy])
        if len(self.waiting) == self.stride:
            means = (sum(column) / self.stride for column in zip(*self.waiting, strict=True))
            self.points.append([step, *means, rate])
            self.waiting.clear()
        if held_out is not None:
            self.held_out.append([step, held_out.mean_loss, held_out.accuracy])
