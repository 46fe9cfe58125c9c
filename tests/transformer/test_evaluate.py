"""evaluate.py: the command line of the examinations, and what each finding says."""

import json

import pytest

from transformer import evaluate
from transformer.evaluate import line, main
from transformer.examination import Finding
from transformer.messages import LANGUAGES

HELD = Finding("m", "slot", 0.97, 0.95, 1234, "give, en")
MISSED = Finding("m", "induction", 0.5, 0.8, 10, "1.2")
TOLD = Finding("m", "exact", 0.1, None, 7)


def test_what_holds_and_what_is_only_told() -> None:
    assert [one.holds for one in (HELD, MISSED, TOLD)] == [True, False, True]
    assert [one.name for one in (HELD, TOLD)] == ["slot: give, en", "exact"]


@pytest.mark.parametrize("language", LANGUAGES)
def test_a_line_tells_the_number_what_was_wanted_and_over_how_many(language: str) -> None:
    assert [line(one, language)[0] for one in (HELD, MISSED, TOLD)] == ["✓", "✗", "·"]
    for part in ("0.9700", "≥ 0.95", "1,234", "give, en"):
        assert part in line(HELD, language)


def test_findings_as_data_are_the_same_for_the_same_seed(capsys: pytest.CaptureFixture[str]) -> None:
    told = []
    for _ in range(2):
        assert main(["copycat", "--rows", "8", "--seed", "5", "--json"]) == 0
        told.append(json.loads(capsys.readouterr().out))
    assert told[0] == told[1]
    assert {one["measure"] for one in told[0]} == {"exact", "copy_diagonal", "reverse_diagonal"}
    assert all(one["holds"] for one in told[0])


def test_a_missed_number_is_an_exit_code(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(evaluate, "examine_shipped", lambda *_args, **_more: iter([HELD, MISSED]))
    written = []
    monkeypatch.setattr(evaluate, "save_card", written.append)
    assert main(["copycat"]) == 2 and written == []
    assert main(["copycat", "--write"]) == 2
    assert written[0].quality["slot: give, en"] == 0.97 and written[0].name == "copycat"
    assert "✗" in capsys.readouterr().out


def test_a_name_that_is_none_is_a_sentence(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["gpt5"]) == 1
    assert "mini-gpt" in capsys.readouterr().err
    for rows in ("3", "x", "-1"):
        with pytest.raises(SystemExit):
            main(["copycat", "--rows", rows])
