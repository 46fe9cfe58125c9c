"""growing.py: steps are computed when asked for, once, and end where the text ends."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from types import SimpleNamespace

import pytest

from transformer.errors import CannotRecord
from transformer.growing import Awake, Growing


def counted(made: list[int], count: int = 5) -> Iterator[SimpleNamespace]:
    for number in range(count):
        made.append(number)
        yield SimpleNamespace(number=number, stop=None)


def test_steps_are_made_when_they_are_asked_for_and_only_once() -> None:
    made: list[int] = []
    growing = Growing(lambda: counted(made))
    assert made == []
    assert growing.step(2).number == 2 and made == [0, 1, 2]
    assert [one.number for one in growing.steps(3)] == [0, 1, 2] and made == [0, 1, 2]


def test_behind_the_end_there_is_nothing() -> None:
    growing = Growing(lambda: counted([], 2))
    assert growing.step(2) is None and len(growing.steps(9)) == 2


def test_many_who_ask_share_the_steps() -> None:
    made: list[int] = []
    growing = Growing(lambda: counted(made, 50))
    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(lambda number: growing.step(number).number, [*range(50), *range(50)]))
    assert found == [*range(50), *range(50)] and made == list(range(50))


def test_what_went_wrong_is_told_to_everybody_and_nothing_is_lost() -> None:
    def breaks() -> Iterator[SimpleNamespace]:
        yield SimpleNamespace(number=0, stop=None)
        raise CannotRecord(model="m", reason="r")

    growing = Growing(breaks)
    for _ in range(2):
        with pytest.raises(CannotRecord):
            growing.step(1)
        assert growing.step(0).number == 0


def test_a_finished_text_lets_its_cache_go() -> None:
    growing = Growing(lambda: iter([SimpleNamespace(number=0, stop="end"), SimpleNamespace(number=1, stop=None)]))
    assert growing.step(1) is None and growing._more is None and len(growing.steps(5)) == 1


def test_who_rests_goes_on_with_the_same_steps() -> None:
    """Its keys and values are gone; the steps are made again, and nothing is told twice."""
    started: list[int] = []

    def start() -> Iterator[SimpleNamespace]:
        started.append(1)
        yield from (SimpleNamespace(number=number, stop="end" if number == 4 else None) for number in range(5))

    growing = Growing(start)
    first = growing.steps(2)
    growing.rest()
    assert growing.steps(2) == first and len(started) == 1, "what is known needs no pass"
    assert [one.number for one in growing.steps(9)] == [0, 1, 2, 3, 4] and len(started) == 2
    growing.rest()
    assert len(growing.steps(9)) == 5 and len(started) == 2, "it has ended"


def test_only_a_few_are_awake() -> None:
    started: list[str] = []

    def one(name: str) -> Growing[SimpleNamespace]:
        def start() -> Iterator[SimpleNamespace]:
            started.append(name)
            yield from (SimpleNamespace(number=number, stop=None) for number in range(9))

        return Growing(start)

    awake, three = Awake(2), [one(name) for name in "abc"]
    for growing in three:
        awake.wake(growing).steps(1)
    three[1].steps(2)
    three[2].steps(2)
    assert sorted(started) == ["a", "b", "c"]
    three[0].steps(2)
    assert sorted(started) == ["a", "a", "b", "c"], "the first had to begin anew"
