"""Train one of the shipped models again, from the command line.

    python -m transformer.train copycat        (also: mini-gpt, mini-translator, rule-classifier, digit-vit)

A training that was interrupted goes on where it was. At the end stand the weights and the card that tells of them.
"""

import argparse
import shutil
import sys
import time
from dataclasses import replace
from pathlib import Path
from random import Random

import torch

from transformer.cards import NAMES, WEIGHTS, Card, round_weights, save_shipped
from transformer.errors import SeeThroughError
from transformer.experiment import experiment_record
from transformer.judging import examine
from transformer.messages import LANGUAGES, message, terminal_language
from transformer.packs import home
from transformer.recipes import Recipe, recipe
from transformer.training import StepRecord, Training

LINES = 20  # a log file that is no terminal gets this many lines of progress
QUALITY = {"loss": "mean_loss", "accuracy": "accuracy", "exact": "exact"}  # what a card tells -> of `Judged`


def checkpoint_of(name: str) -> Path:
    """Where an unfinished training is kept."""
    return home() / "training" / f"{name}.checkpoint"


def main(arguments: list[str] | None = None) -> int:
    """The command line; 0 when all went well, 1 when a sentence on stderr says what did not, 130 when stopped."""
    chosen = _parser().parse_args(arguments)
    torch.set_num_threads(chosen.threads)
    try:
        made = _changed(recipe(chosen.name), chosen)
        checkpoint = checkpoint_of(chosen.name)
        if chosen.fresh:
            checkpoint.unlink(missing_ok=True)
        training = Training(made.model(), made.task, made.settings, Random(made.seed), checkpoint)
        for line in _opening(made, training, chosen.language):
            print(line, flush=True)
        _run(training, chosen.language)
        card = _card(made, training)
        save_shipped(training.model, card, chosen.out)
        checkpoint.unlink(missing_ok=True)
        for line in _closing(card, chosen.out, chosen.language):
            print(line, flush=True)
    except SeeThroughError as error:
        print(error.text(chosen.language), file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("\n" + message("train.stopped", chosen.language, name=chosen.name), file=sys.stderr)
        return 130
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m transformer.train", description=message("train.help"))
    parser.add_argument("name", choices=NAMES)
    parser.add_argument("--steps", type=_counted, help=message("train.help_steps"))
    parser.add_argument("--seed", type=int, help=message("train.help_seed"))
    parser.add_argument("--out", type=Path, default=WEIGHTS, help=message("train.help_out"))
    parser.add_argument("--threads", type=_counted, default=1, help=message("train.help_threads"))
    parser.add_argument("--fresh", action="store_true", help=message("train.help_fresh"))
    parser.add_argument("--language", choices=LANGUAGES, default=terminal_language())
    return parser


def _counted(text: str) -> int:
    """A number of steps or of threads."""
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(message("app.not_positive", terminal_language(), text=text))
    return int(text)


def _changed(made: Recipe, chosen: argparse.Namespace) -> Recipe:
    """The recipe with what the command line asks otherwise."""
    steps = made.settings.steps if chosen.steps is None else chosen.steps
    seed = made.seed if chosen.seed is None else chosen.seed
    return replace(made, settings=replace(made.settings, steps=steps), seed=seed)


def _run(training: Training, language: str) -> None:
    """All steps, with one line that tells how far it is."""
    began, at_first = time.perf_counter(), training.step
    shown = _in_terminal()
    while not training.finished:
        record = training.update()
        left = (training.settings.steps - record.step) * (time.perf_counter() - began) / (record.step - at_first)
        if shown:
            print("\r" + _line(record, training, left, language), end="", flush=True)
        elif record.step % max(1, training.settings.steps // LINES) == 0:
            print(_line(record, training, left, language), flush=True)
    training.finish()
    print(end="\n" if shown else "")


def _in_terminal() -> bool:
    """Whether a line can be drawn over the one before."""
    return sys.stdout.isatty()


def _line(record: StepRecord, training: Training, left: float, language: str) -> str:
    steps = training.settings.steps
    line = message(
        "train.step",
        language,
        step=record.step,
        steps=steps,
        loss=f"{record.loss:.4f}",
        accuracy=f"{record.accuracy:.1%}",
        minutes=int(left // 60),
        seconds=f"{int(left % 60):02}",
    )
    width = max(4, min(24, shutil.get_terminal_size().columns - len(line) - 2))
    full = width * record.step // steps
    return "█" * full + "·" * (width - full) + " " + line


def _opening(made: Recipe, training: Training, language: str) -> list[str]:
    parameters = sum(one.numel() for one in training.model.parameters())
    lines = [message("train.begins", language, name=made.name, parameters=f"{parameters:,}", seed=made.seed)]
    if training.step:
        lines.append(message("train.resumes", language, step=training.step, steps=made.settings.steps))
    return lines


def _closing(card: Card, folder: Path, language: str) -> list[str]:
    quality = ", ".join(f"{name} {value:.4f}" for name, value in card.quality.items())
    return [
        message("train.quality", language, quality=quality),
        message("train.written", language, folder=folder, minutes=f"{card.seconds / 60:.1f}"),
    ]


def _card(made: Recipe, training: Training) -> Card:
    """What is told of the model; its quality is measured with the weights as the file will hold them."""
    round_weights(training.model)
    judged = examine(training.model, made.task, batches=made.examined[0], size=made.examined[1])
    key = made.name.replace("-", "_")
    return Card(
        **experiment_record(training, made.seed),
        name=made.name,
        system=made.system,
        arguments=made.arguments,
        tokenizer=None if made.pieces is None else {"kind": "pieces", "pieces": list(made.pieces)},
        data={language: message(f"card.data.{key}", language) for language in LANGUAGES},
        limits={language: message(f"card.limits.{key}", language) for language in LANGUAGES},
        command=f"python -m transformer.train {made.name} --steps {made.settings.steps} --seed {made.seed}",
        quality={name: round(getattr(judged, of), 5) for name, of in QUALITY.items()},
        code=[],
    )


if __name__ == "__main__":
    sys.exit(main())
