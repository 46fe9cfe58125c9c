"""listening.py: each thread and each task has its own listener; nobody hears another's pass."""

import asyncio
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier

import pytest
import torch

from transformer.listening import current_listener, listening


def test_nobody_listens_by_default_and_after_an_error():
    assert current_listener() is None
    with pytest.raises(ZeroDivisionError), listening("ear"):
        raise ZeroDivisionError
    assert current_listener() is None


def test_the_inner_listener_hears_and_the_outer_one_comes_back():
    with listening("outer"):
        with listening("inner"):
            assert current_listener() == "inner"
        assert current_listener() == "outer"


def test_no_gradients_are_kept_while_listening():
    weight = torch.ones(2, requires_grad=True)
    with listening("ear"):
        assert not (weight * 2).requires_grad
    assert (weight * 2).requires_grad


def test_threads_do_not_hear_each_other():
    meet = Barrier(3, timeout=30)

    def listen(ear: str | None) -> object:
        if ear is None:
            meet.wait()
            return current_listener()
        with listening(ear):
            meet.wait()
            return current_listener()

    with ThreadPoolExecutor(3) as pool:
        assert list(pool.map(listen, ["a", "b", None])) == ["a", "b", None]


def test_tasks_do_not_hear_each_other():
    async def listen(ear: str, mine: asyncio.Event, other: asyncio.Event) -> object:
        with listening(ear):
            mine.set()
            await other.wait()  # both are inside at once
            return current_listener()

    async def both() -> list[object]:
        a, b = asyncio.Event(), asyncio.Event()
        return [*await asyncio.gather(listen("a", a, b), listen("b", b, a)), current_listener()]

    with ThreadPoolExecutor(1) as pool:  # a loop of its own: the browser's tests leave theirs running here
        assert pool.submit(lambda: asyncio.run(both())).result(60) == ["a", "b", None]
