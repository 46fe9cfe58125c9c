"""A generation that waits: its steps are computed as they are asked for, once for all who look at the same one."""

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, nullcontext
from threading import Lock
from typing import Generic, Protocol, TypeVar

from transformer.errors import SeeThroughError


class Stops(Protocol):
    """A step of `generate` or `beam_search`."""

    @property
    def stop(self) -> str | None: ...


S = TypeVar("S", bound=Stops)


class Growing(Generic[S]):
    """The steps of one text with one set of dials. The same dials and seed give the same steps: visitors share them.

    `computing` is entered around each pass. What goes wrong in a pass is kept too: whoever asks again is told the same.
    """

    def __init__(
        self, start: Callable[[], Iterator[S]], computing: AbstractContextManager[object] | None = None
    ) -> None:
        self._steps: list[S] = []
        self._more: Iterator[S] | None = start()  # raises here what `generate` raises at once
        self._problem: SeeThroughError | None = None
        self._computing = nullcontext() if computing is None else computing
        self._lock = Lock()

    def step(self, number: int) -> S | None:
        """Step `number` (from 0); None where the text had ended before. Raises CannotGenerate."""
        with self._lock:
            while len(self._steps) <= number and self._more is not None:
                self._one_more()
            if len(self._steps) <= number and self._problem is not None:
                raise self._problem
            return self._steps[number] if number < len(self._steps) else None

    def steps(self, count: int) -> list[S]:
        """The first `count` steps, or as many as there are."""
        found = (self.step(number) for number in range(count))
        return [one for one in found if one is not None]

    def _one_more(self) -> None:
        assert self._more is not None
        try:
            with self._computing:
                step = next(self._more, None)
        except SeeThroughError as problem:
            self._more, self._problem = None, problem
            return
        if step is None or step.stop is not None:
            self._more = None  # and with it the cache and the model that it held
        if step is not None:
            self._steps.append(step)
