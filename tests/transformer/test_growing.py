"""growing.py: steps are computed when asked for, once, and end where the text ends."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from types import SimpleNamespace

from transformer.growing import Growing


def counted(made: list[int], count: int = 5) -> Iterator[SimpleNamespace]:
    for number in range(count):
        made.append(number)
        yield SimpleNamespace(number=number)


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
