"""Checkpoints: what was written comes back, and anything else is refused by name."""

import pytest
import torch

from transformer.checkpoint import CheckpointDamaged, CheckpointForeign, load_checkpoint, save_checkpoint, write_whole

STATE = {"start": "here", "numbers": (3, (1.5, None)), "weights": torch.arange(7)}


@pytest.fixture
def path(tmp_path):
    path = tmp_path / "deep" / "one.checkpoint"
    save_checkpoint(path, STATE)
    return path


def test_what_was_written_comes_back_and_nothing_else_is_left(path):
    state = load_checkpoint(path, "here")
    assert torch.equal(state["weights"], torch.arange(7)) and state["numbers"] == (3, (1.5, None))
    assert [one.name for one in path.parent.iterdir()] == ["one.checkpoint"]


def test_another_start_is_foreign(path):
    with pytest.raises(CheckpointForeign, match=r"one\.checkpoint"):
        load_checkpoint(path, "elsewhere")


@pytest.mark.parametrize("spoil", [lambda data: data[:-7], lambda data: b"", lambda data: data[:-9] + b"x" + data[-8:]])
def test_a_damaged_file_is_refused(path, spoil):
    path.write_bytes(spoil(path.read_bytes()))
    with pytest.raises(CheckpointDamaged, match=r"one\.checkpoint"):
        load_checkpoint(path, "here")


def test_a_file_that_would_run_code_is_refused(path, tmp_path):
    class Trap:
        def __reduce__(self):
            return (write_whole, (tmp_path / "ran", b""))

    save_checkpoint(path, {"start": "here", "trap": Trap()})
    with pytest.raises(CheckpointDamaged):
        load_checkpoint(path, "here")
    assert not (tmp_path / "ran").exists()


def test_an_interruption_while_writing_leaves_the_one_before(path, monkeypatch):
    def interrupted(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr("os.replace", interrupted)
    with pytest.raises(KeyboardInterrupt):
        save_checkpoint(path, {**STATE, "numbers": 0})
    assert load_checkpoint(path, "here")["numbers"] == (3, (1.5, None))
    assert [one.name for one in path.parent.iterdir()] == ["one.checkpoint"]
