"""A generation that waits: its steps are computed as they are asked for, once for all who look at the same one."""

from collections.abc import Callable, Iterator
from threading import Lock

from transformer.generate import Step


class Growing:
    """The steps of one text with one set of dials. The same dials and seed give the same steps: visitors share them."""

    def __init__(self, start: Callable[[], Iterator[Step]]) -> None:
        self._steps: list[Step] = []
        self._more: Iterator[Step] = start()  # raises here what `generate` raises at once
        self._lock = Lock()

    def step(self, number: int) -> Step | None:
        """Step `number` (from 0); None where the text had ended before. Raises CannotGenerate."""
        with self._lock:
            while len(self._steps) <= number:
                step = next(self._more, None)
                if step is None:
                    return None
                self._steps.append(step)
            return self._steps[number]

    def steps(self, count: int) -> list[Step]:
        """The first `count` steps, or as many as there are."""
        found = (self.step(number) for number in range(count))
        return [one for one in found if one is not None]
