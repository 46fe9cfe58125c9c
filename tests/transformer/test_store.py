"""store.py: one pass for all who ask at once, a budget that is kept, silence about what was made again."""

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from threading import Barrier, Event
from time import sleep

import numpy as np
import pytest

from tests.transformer.families import SOURCES, family
from transformer import run
from transformer.store import TraceStore
from transformer.trace import Trace


@pytest.fixture(scope="module")
def trace() -> Trace:
    return run(family("gpt2").model, ids=SOURCES[0])


def test_thirty_who_ask_at_once_cost_one_pass(trace):
    store, start, made = TraceStore(), Barrier(30, timeout=60), []

    def make() -> Trace:
        made.append(1)
        sleep(0.1)  # long enough for the others to come
        return trace

    def ask(_: int) -> Trace:
        start.wait()
        return store.get_or_run("a", make)

    with ThreadPoolExecutor(30) as pool:
        answers = list(pool.map(ask, range(30)))
    assert made == [1] and store.passes == 1 and all(answer is trace for answer in answers)


def test_other_keys_do_not_wait(trace):
    """A long run of one text holds nobody up who asks for another."""
    store, go = TraceStore(), Event()

    def slow() -> Trace:
        assert go.wait(60)
        return trace

    with ThreadPoolExecutor(1) as pool:
        waiting = pool.submit(store.get_or_run, "slow", slow)
        assert store.get_or_run("quick", lambda: trace) is trace and not waiting.done()
        assert store.get("slow") is None
        go.set()
        assert waiting.result(60) is trace
    assert store.passes == 2 == len(store)


def test_the_longest_unseen_leaves_and_comes_back_by_running_again(trace):
    store, made = TraceStore(budget=2 * trace.nbytes), []

    def ask(key: str) -> Trace:
        return store.get_or_run(key, lambda: (made.append(key), replace(trace, key=key))[1])

    for key in ("a", "b", "a", "c"):  # "a" was seen after "b"
        assert ask(key).key == key
    assert made == ["a", "b", "c"] and store.get("b") is None and len(store) == 2
    assert store.nbytes <= store.budget
    assert ask("b").key == "b" and made == ["a", "b", "c", "b"] and store.passes == 4
    assert store.get("a") is None


def test_a_budget_smaller_than_one_trace_keeps_the_newest(trace):
    store = TraceStore(budget=1)
    for key in ("a", "b"):
        assert np.array_equal(store.get_or_run(key, lambda: trace)["logits"], trace["logits"])
    assert len(store) == 1 and store.get("a") is None and store.get("b") is trace
    assert store.get_or_run("b", lambda: pytest.fail("it was there")) is trace


def test_a_failed_run_is_kept_by_nobody_and_locks_nothing(trace):
    store = TraceStore()
    with pytest.raises(ZeroDivisionError):
        store.get_or_run("a", lambda: 1 / 0)
    assert len(store) == 0 and store.passes == 0
    with ThreadPoolExecutor(1) as pool:
        assert pool.submit(store.get_or_run, "a", lambda: trace).result(60) is trace
    assert store._running == {}, "locks of keys that nobody waits for are dropped"


def test_locks_of_failed_runs_are_dropped():
    store = TraceStore()
    for key in "abc":
        with pytest.raises(ZeroDivisionError):
            store.get_or_run(key, lambda: 1 / 0)
    assert store._running == {}
