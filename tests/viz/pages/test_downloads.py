"""downloads.py: a file waits for its browser under an address that cannot be guessed, and memory stays bounded."""

import threading

import pytest

from viz.pages.downloads import MOST_FILES, Downloads, File


def file(size: int = 1, name: str = "a.csv") -> File:
    return File(name, "text/csv", bytes(size))


def test_a_file_can_be_fetched_as_often_as_it_is_asked_for() -> None:
    waiting, one = Downloads(), file(7)
    token = waiting.offer(one)
    assert waiting.fetch(token) is one is waiting.fetch(token)


def test_tokens_are_long_and_never_the_same() -> None:
    waiting, one = Downloads(), file()
    tokens = {waiting.offer(one) for _ in range(50)}
    assert len(tokens) == 50 and min(map(len, tokens)) >= 32
    assert all(token.replace("-", "").replace("_", "").isalnum() and token.isascii() for token in tokens)


@pytest.mark.parametrize("token", ["", "a", "../a", "a.csv", "\0", "x" * 10_000])
def test_what_was_not_offered_is_not_there(token: str) -> None:
    waiting = Downloads()
    waiting.offer(file())
    assert waiting.fetch(token) is None


def test_the_oldest_make_room() -> None:
    waiting = Downloads(most_bytes=10)
    first, second = waiting.offer(file(6)), waiting.offer(file(4))
    assert waiting.fetch(first) and waiting.fetch(second)  # just full
    third = waiting.offer(file(1))
    assert waiting.fetch(first) is None and waiting.fetch(second) and waiting.fetch(third)


def test_one_file_that_is_larger_than_all_room_stays_until_the_next() -> None:
    waiting = Downloads(most_bytes=10)
    small, large = waiting.offer(file(3)), waiting.offer(file(11))
    assert waiting.fetch(small) is None and waiting.fetch(large)
    waiting.offer(file(1))
    assert waiting.fetch(large) is None


def test_many_small_files_make_room_too() -> None:
    waiting = Downloads()
    tokens = [waiting.offer(file(0)) for _ in range(MOST_FILES + 3)]
    assert [waiting.fetch(token) is None for token in tokens] == [True] * 3 + [False] * MOST_FILES


def test_visitors_in_threads_get_their_own() -> None:
    waiting, wrong = Downloads(most_bytes=1000), []

    def visit(number: int) -> None:
        for _ in range(50):
            mine = file(number)
            found = waiting.fetch(waiting.offer(mine))
            if found is not mine and found is not None:
                wrong.append(number)

    threads = [threading.Thread(target=visit, args=(number,)) for number in range(1, 6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong and sum(len(one.content) for one in waiting._files.values()) <= 1000
