"""What was made lately and may be asked for again: a bounded memory that several threads share."""

from collections.abc import Callable, Hashable
from threading import Lock
from typing import Generic, TypeVar

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")


class Kept(Generic[K, V]):
    """The last `most` things; the one that was asked for longest ago is let go first."""

    def __init__(self, most: int) -> None:
        self._most, self._things, self._lock = most, dict[K, V](), Lock()

    def __len__(self) -> int:
        return len(self._things)

    def get_or_make(self, key: K, make: Callable[[], V]) -> V:
        """What is kept under `key`, or what `make` gives now; made outside the lock, so that nobody waits for it."""
        with self._lock:
            found = self._things.pop(key, None)
        found = make() if found is None else found
        with self._lock:
            self._things[key] = found  # the latest is last
            while len(self._things) > self._most:
                del self._things[next(iter(self._things))]
        return found
