"""What is kept of a run goes with it, and there are never more than a few things of one run."""

import gc

from tests.transformer.families import SOURCES, family
from transformer.kept_by_trace import KeptByTrace
from transformer.runner import run


def test_a_few_per_run_and_none_without_it() -> None:
    kept, made = KeptByTrace[int, int](2), []

    def make(value: int) -> int:
        made.append(value)
        return value

    one, other = (run(family("gpt2").model, ids=SOURCES[row]) for row in (0, 1))
    for key in (1, 2, 1):
        assert kept.get_or_make(one, key, lambda key=key: make(key)) == key
    assert kept.get_or_make(other, 1, lambda: make(5)) == 5 and made == [1, 2, 5]
    kept.get_or_make(one, 3, lambda: make(3))  # 2 was asked for longest ago
    kept.get_or_make(one, 1, lambda: make(1))
    kept.get_or_make(one, 2, lambda: make(2))
    assert made == [1, 2, 5, 3, 2] and len(kept) == 2
    del one
    gc.collect()
    assert len(kept) == 1
