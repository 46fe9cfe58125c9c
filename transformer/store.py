"""One bounded store of traces, shared by all visitors.

A trace is addressed by its content, so a class of thirty that runs the teacher's sentence costs one forward pass; the
least recently seen traces leave when the memory budget is reached, and come back by running again.
"""

from collections import OrderedDict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from threading import Lock

from transformer.trace import Trace

DEFAULT_BUDGET = 1 << 30  # 1 GiB


class TraceStore:
    """At most `budget` bytes of traces (the newest always stays), and never two passes for one key at a time."""

    def __init__(self, budget: int = DEFAULT_BUDGET) -> None:
        self.budget = budget
        self._traces: OrderedDict[str, Trace] = OrderedDict()
        self._running: dict[str, tuple[Lock, int]] = {}  # key -> its lock, and how many hold or wait for it
        self._lock = Lock()
        self.passes = 0  # forward passes made so far

    def get(self, key: str) -> Trace | None:
        with self._lock:
            if key in self._traces:
                self._traces.move_to_end(key)
            return self._traces.get(key)

    def get_or_run(self, key: str, make: Callable[[], Trace]) -> Trace:
        """The trace of this key; `make` runs only if it is not there, and once however many ask at the same time."""
        with self._turn(key):
            found = self.get(key)
            if found is None:
                found = make()
                self._keep(key, found)
            return found

    @contextmanager
    def _turn(self, key: str) -> Iterator[None]:
        """One at a time for each key; the last to leave takes the lock away."""
        with self._lock:
            lock, waiting = self._running.get(key, (Lock(), 0))
            self._running[key] = (lock, waiting + 1)
        try:
            with lock:
                yield
        finally:
            with self._lock:
                lock, waiting = self._running.pop(key)
                if waiting > 1:
                    self._running[key] = (lock, waiting - 1)

    def _keep(self, key: str, trace: Trace) -> None:
        with self._lock:
            self.passes += 1
            self._traces[key] = trace
            while len(self._traces) > 1 and self._size() > self.budget:
                self._traces.popitem(last=False)

    def _size(self) -> int:
        return sum(trace.nbytes for trace in self._traces.values())

    def __len__(self) -> int:
        return len(self._traces)

    @property
    def nbytes(self) -> int:
        with self._lock:
            return self._size()
