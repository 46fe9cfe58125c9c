"""What follows from a run and takes a while: a few results per run, kept as long as the run itself."""

from collections.abc import Callable, Hashable
from threading import Lock
from typing import Generic, TypeVar
from weakref import WeakKeyDictionary

from transformer.kept import Kept
from transformer.trace import Trace

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")


class KeptByTrace(Generic[K, V]):
    """At most `most` things per run; they go with the run. They may not hold the run themselves."""

    def __init__(self, most: int) -> None:
        self._most, self._lock = most, Lock()
        self._of: WeakKeyDictionary[Trace, Kept[K, V]] = WeakKeyDictionary()

    def get_or_make(self, trace: Trace, key: K, make: Callable[[], V]) -> V:
        """What is kept of `trace` under `key`, or what `make` gives now."""
        with self._lock:
            kept = self._of.setdefault(trace, Kept(self._most))
        return kept.get_or_make(key, make)

    def __len__(self) -> int:
        """How many runs have something here."""
        return len(self._of)
