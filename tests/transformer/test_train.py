"""The command line: a small recipe from the first step to the card, with an interruption in between."""

from dataclasses import replace

import pytest
import torch

from transformer import train
from transformer.cards import load_shipped, read_card
from transformer.messages import message
from transformer.recipes import recipe as real_recipe
from transformer.sequence_tasks import Copycat
from transformer.settings import Settings


@pytest.fixture(autouse=True)
def small(monkeypatch, tmp_path):
    """Copycat at the size of a test, with its checkpoints in a folder of the test."""
    monkeypatch.setenv("STT_HOME", str(tmp_path / "home"))
    made = real_recipe("copycat")
    small = replace(
        made,
        task=Copycat(longest=5),
        config=made.config | {"d_model": 12, "n_layers": 1, "n_heads": 3},
        settings=Settings(steps=7, batch_size=3, learning_rate=1e-3, checkpoint_every=3),
        examined=(1, 5),
    )
    monkeypatch.setattr(train, "recipe", lambda name: small)
    threads = torch.get_num_threads()
    yield small
    torch.set_num_threads(threads)


def run(tmp_path, *more):
    return train.main(["copycat", "--out", str(tmp_path / "out"), "--language", "en", *more])


def test_weights_and_card_stand_at_the_end(tmp_path, capsys, small):
    assert run(tmp_path) == 0
    out, err = capsys.readouterr()
    assert not err and out.count("step ") == 7 and "step 7/7" in out and "never trained on" in out
    loaded = load_shipped("copycat", tmp_path / "out")
    card = loaded.card
    assert (card.steps, card.seed, card.longest, card.threads) == (7, 1, 7, 1)
    assert card.command == "python -m transformer.train copycat --steps 7 --seed 1"
    assert card.quality.keys() == {"loss", "accuracy", "exact"} and 0 < card.quality["loss"] < 10
    judged = train.examine(loaded.module, small.task, batches=1, size=5)  # what it tells holds for the file
    assert judged.mean_loss == pytest.approx(card.quality["loss"], abs=1e-5)
    assert card.data["zh"] == message("card.data.copycat", "zh")
    assert not train.checkpoint_of("copycat").exists()


def test_the_same_command_makes_the_same_weights(tmp_path, capsys):
    assert run(tmp_path) == run(tmp_path / "again") == run(tmp_path / "other", "--seed", "2") == 0
    one, same, other = (
        read_card("copycat", folder / "out").sha256 for folder in (tmp_path, tmp_path / "again", tmp_path / "other")
    )
    assert one == same != other


def interrupt_at(monkeypatch, step):
    whole = train.Training.update

    def update(training):
        if training.step == step:
            raise KeyboardInterrupt
        return whole(training)

    monkeypatch.setattr(train.Training, "update", update)
    return lambda: monkeypatch.setattr(train.Training, "update", whole)


def test_an_interrupted_training_goes_on_and_ends_the_same(tmp_path, capsys, monkeypatch):
    assert run(tmp_path / "straight") == 0
    go_on = interrupt_at(monkeypatch, 5)
    assert run(tmp_path) == 130
    assert "goes on from the last checkpoint" in capsys.readouterr().err
    go_on()
    assert run(tmp_path) == 0
    assert "from step 3 of 7" in capsys.readouterr().out
    cards = [read_card("copycat", folder / "out") for folder in (tmp_path, tmp_path / "straight")]
    assert cards[0].sha256 == cards[1].sha256 and cards[0].curve == cards[1].curve


def test_other_settings_need_a_fresh_begin(tmp_path, capsys, monkeypatch):
    go_on = interrupt_at(monkeypatch, 5)
    assert run(tmp_path) == 130
    go_on()
    assert run(tmp_path, "--steps", "5") == 1
    assert "--fresh" in capsys.readouterr().err
    assert run(tmp_path, "--steps", "5", "--fresh") == 0
    assert read_card("copycat", tmp_path / "out").steps == 5


@pytest.mark.parametrize(("option", "value"), [("--steps", "0"), ("--threads", "2.5"), ("--seed", "one")])
def test_a_number_that_is_none_is_refused(tmp_path, capsys, option, value):
    with pytest.raises(SystemExit) as caught:
        run(tmp_path, option, value)
    assert caught.value.code == 2 and option in capsys.readouterr().err


def test_the_line_is_redrawn_in_a_terminal(tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(train, "_in_terminal", lambda: True)
    assert run(tmp_path) == 0
    out = capsys.readouterr().out
    assert out.count("\r") == 7 and "█" in out


def test_chinese_is_spoken_to_who_wants_it(tmp_path, capsys):
    assert train.main(["copycat", "--out", str(tmp_path), "--language", "zh"]) == 0
    assert message("train.begins", "zh", name="copycat", parameters="7", seed=1)[-8:] in capsys.readouterr().out
