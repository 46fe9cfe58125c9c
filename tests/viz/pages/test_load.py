"""A small class at once: no error, no mixed answers, one pass per sentence. The long one is `tests/bench/load.py`."""

from tests.bench.load import SHARED, load


def test_eight_clients_at_once_get_their_own_answers() -> None:
    report = load(clients=8, seconds=0, turns=5)  # however slow the machine is
    assert report.problems == []
    assert SHARED in report.texts and report.passes == len(report.texts) > 8
    assert report.answers > len(report.texts)
