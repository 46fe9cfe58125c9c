"""Which heads do something that has a name, measured on many texts, never on one sentence.

    python -m transformer.head_labels smollm2        (measures again, and writes assets/head_labels/smollm2.json)

Each rule (see `head_rules.py`) gives a head one number per text: how much of its weight lies where the rule says, the
mean over the rows that prove something. A head carries a label where the mean over texts is at least a half; the
standard deviation over texts stands beside it.
"""

import argparse
import sys
import time
from collections import defaultdict
from collections.abc import Iterator
from itertools import takewhile
from pathlib import Path
from random import Random

import numpy as np

from transformer.errors import EmptyText, NotATextModel, NoTokenizer, SeeThroughError, TooManyTokens
from transformer.head_label_files import (
    FOLDER,
    HeadLabels,
    SiteLabels,
    load,
    measured_texts,
    save,
    texts_checksum,
    weights_checksum,
)
from transformer.head_rules import RULES, Ground, cells_of, labels_of
from transformer.head_scores import on_cells
from transformer.messages import message, terminal_language
from transformer.parts import Array
from transformer.rows import encode_target
from transformer.runner import run
from transformer.tokenizer import Encoding
from transformer.trace import Trace
from transformer.wrapped import LoadedModel

LEAST_TEXTS = 3  # fewer say nothing about a head
STRETCHES, PERIOD = 8, 20  # random tokens that come twice: how many such texts, and tokens of one copy
LEAST_PERIOD = 3  # a model that reads fewer tokens has no room to repeat anything
LONGEST = 256  # tokens of a measured text
SEED = 0

Scores = dict[str, dict[str, list[tuple[Array, int]]]]  # site -> label -> ((head,) of a text, its rows)


def head_labels(model: LoadedModel) -> HeadLabels:
    """What was measured before with these weights, or else `measure` now.

    Raises NoTokenizer, and NotATextModel for a model that reads images.
    """
    return load(model.name, model.module) or measure(model)


def count_of_texts(model: LoadedModel) -> int:
    """How many passes `measure` takes."""
    return len(texts_of(model)) + STRETCHES


def expected_seconds(model: LoadedModel, trace: Trace) -> float:
    """How long `measure` will take, about: as many passes as it has texts, each like the one of `trace`."""
    return count_of_texts(model) * trace.seconds


def measure(model: LoadedModel) -> HeadLabels:
    """Runs the model over all texts, one at a time. Raises NoTokenizer, NotATextModel."""
    if model.image is not None:
        raise NotATextModel(name=model.name, wants="pixel_values")
    if model.tokenizer is None:
        raise NoTokenizer(name=model.name)
    start = time.perf_counter()
    found: Scores = defaultdict(lambda: defaultdict(list))
    for trace, period in _runs(model):
        for site in trace.attention_sites():
            _add(found[site], trace, site, period)
    sites = {site: _summed(scores) for site, scores in found.items()}
    seconds = time.perf_counter() - start
    return HeadLabels(model.name, weights_checksum(model.module), texts_checksum(), seconds, sites)


def _add(scores: dict[str, list[tuple[Array, int]]], trace: Trace, site: str, period: int) -> None:
    """What one text says of the heads of one attention."""
    weights = trace.weights(site)  # (head, query, key)
    told = np.array([not special for special in trace.encoding(site, "key").special])
    # Where a family hides its mask: what no head looks at counts as forbidden.
    hidden = f"{site}.allowed" in trace.lacks
    allowed = np.asarray((weights > 0).any(0) if hidden else trace.allowed(site))
    ground = Ground(allowed, told, len(_ends(trace.encoding(site))[0]), period)
    for label in labels_of(ground, site.rsplit(".", 1)[1]):
        scores[label].append(on_cells(weights, cells_of(label, ground)))


def _summed(scores: dict[str, list[tuple[Array, int]]]) -> SiteLabels:
    """Mean and standard deviation over the texts that had a row for a label."""
    labels = tuple(label for label in RULES if label in scores)
    useful = {label: [one for one in scores[label] if one[1]] for label in labels}
    heads = len(next(iter(scores.values()))[0][0]) if labels else 0
    mean, spread = np.full((2, len(labels), heads), np.nan)
    for row, label in enumerate(labels):
        if len(useful[label]) >= LEAST_TEXTS:
            values = np.stack([value for value, _ in useful[label]])  # (text, head)
            mean[row], spread[row] = values.mean(0), values.std(0, ddof=1)
    texts = tuple(len(useful[label]) for label in labels)
    rows = tuple(sum(count for _, count in useful[label]) for label in labels)
    return SiteLabels(labels, mean, spread, texts, rows)


def texts_of(model: LoadedModel) -> list[tuple[str, str]]:
    """(source, target): a model's own texts where the common ones are strange to it. Without a translation at hand an
    encoder–decoder gets each text on both sides."""
    told = measured_texts()
    rows = told["own"].get(model.name, told["texts"])
    return [(row, row) if isinstance(row, str) else (row[0], row[1]) for row in rows]


def _runs(model: LoadedModel) -> Iterator[tuple[Trace, int]]:
    """(trace, period of its random stretch), 0 for a text. Texts too long for the model are left out."""
    for source, target in texts_of(model):
        try:
            yield _one(run(model, source, target if model.encoder_decoder else None, max_tokens=LONGEST)), 0
        except (TooManyTokens, EmptyText):
            continue
    yield from _repeats(model)


def _repeats(model: LoadedModel) -> Iterator[tuple[Trace, int]]:
    """Random tokens of the model's own vocabulary, no two alike, and once again, between the specials that all texts of
    this model have."""
    assert model.tokenizer is not None
    random, text = Random(SEED), texts_of(model)[0][0]
    before, behind = _ends(model.tokenizer.encode(text))
    start = _ends(encode_target(model, text))[0] if model.encoder_decoder else ()
    room = min(model.max_tokens, LONGEST) - max(len(before) + len(behind), len(start))
    for _ in range(STRETCHES):
        one = _ordinary(model, random, min(PERIOD, room // 2))
        if len(one) >= LEAST_PERIOD:
            target = [*start, *one, *one] if model.encoder_decoder else None
            yield _one(run(model, ids=[*before, *one, *one, *behind], target_ids=target)), len(one)


def _ends(encoding: Encoding) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """The special tokens before a text and behind it."""
    pairs = list(zip(encoding.ids, encoding.special, strict=True))
    before = tuple(id for id, _ in takewhile(lambda pair: pair[1], pairs))
    behind = tuple(id for id, _ in takewhile(lambda pair: pair[1], reversed(pairs)))
    return before, behind[::-1]


def _ordinary(model: LoadedModel, random: Random, count: int) -> list[int]:
    """Different tokens that are no specials."""
    assert model.tokenizer is not None
    size = min(model.vocab_size, model.tokenizer.vocab_size)
    some = random.sample(range(size), min(3 * count, size))
    special = model.tokenizer.encoding_of_ids(some).special
    return [id for id, skip in zip(some, special, strict=True) if not skip][:count]


def _one(trace: Trace | list[Trace]) -> Trace:
    assert isinstance(trace, Trace)
    return trace


def main(arguments: list[str] | None = None) -> int:
    """The command line: measures models again and keeps what was found; 1 where a model cannot be had."""
    from transformer.catalog import load_model

    language = terminal_language()
    parser = argparse.ArgumentParser(
        prog="python -m transformer.head_labels", description=message("head_label.help", language)
    )
    parser.add_argument("names", nargs="+", metavar="NAME")
    parser.add_argument("--folder", type=Path, default=FOLDER)
    chosen = parser.parse_args(arguments)
    try:
        for name in chosen.names:
            found = measure(load_model(name))
            path = save(found, chosen.folder)
            sys.stdout.write(message("head_label.written", language, file=path.name, seconds=f"{found.seconds:.1f}"))
    except SeeThroughError as error:
        sys.stderr.write(f"{error.text(language)}\n")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
