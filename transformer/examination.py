"""What each shipped model must be able to do, measured on texts that no training saw: answers, and where heads look.

Each examination yields `Finding`s: what was measured, the number, and the least it should be.
"""

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from random import Random

import torch

from transformer.cards import Shipped
from transformer.head_scores import HeadScore, aimed_at, induction, previous_token, weight_on
from transformer.judging import NOTHING, judge
from transformer.runner import run
from transformer.tasks import BOS, EOS, Task
from transformer.tokenizer import Encoding, Span
from transformer.trace import Trace
from transformer.wrapped import LoadedModel, wrap

Looked = tuple[list[Trace], list[list[tuple[int, int]]]]  # runs, and the (query, key) cells of each to be measured


@dataclass(frozen=True)
class Finding:
    """One line of the table. `measure` is the end of a message key, `evaluate.measure.<measure>`."""

    model: str
    measure: str
    value: float
    wanted: float | None  # None: told, but not asked for
    count: int  # rows, slots or words that it is a mean over
    detail: str = ""  # a head, or a kind of slot

    @property
    def name(self) -> str:
        """ "slot: give, en", "accuracy"."""
        return f"{self.measure}: {self.detail}" if self.detail else self.measure

    @property
    def holds(self) -> bool:
        return self.wanted is None or self.value >= self.wanted


def examine_shipped(shipped: Shipped, seed: int, *, rows: int = 400) -> Iterator[Finding]:
    """All findings of a model; `rows` is how many texts each is measured on. Raises UnknownRecipe."""
    from transformer.recipes import recipe

    model = wrap(shipped.module, shipped.tokenizer, shipped.card.name)
    return EXAMINATIONS[shipped.card.name](model, recipe(shipped.card.name).task, Random(seed), rows)


def _mini_gpt(model: LoadedModel, _task: Task, random: Random, rows: int) -> Iterator[Finding]:
    yield from _slots(model, random, rows)
    repeats, period = _repeats(model, random, max(8, rows // 10))
    yield _best(model, "induction", weight_on(*_paired(repeats, lambda one: induction(1, period, len(one)))), 0.8)
    stories = _stories(model, random, max(8, rows // 10))
    yield _best(model, "previous", weight_on(*_paired(stories, lambda one: previous_token(len(one)))), 0.8)
    for language in ("en", "zh"):
        yield _best(model, "pronoun", weight_on(*_links(model, random, rows // 2, language)), 0.6, language)


def _mini_translator(model: LoadedModel, task: Task, random: Random, rows: int) -> Iterator[Finding]:
    yield from _answers(model, task, random, rows, "exact", 0.98)
    yield _best(model, "alignment", aimed_at(*_alignments(model, random, rows // 2), "cross"), 0.9)


def _rule_classifier(model: LoadedModel, task: Task, random: Random, rows: int) -> Iterator[Finding]:
    from transformer.number_tasks import SOUGHT, spell_numbers

    yield from _answers(model, task, random, 4 * rows, "accuracy", 0.99)
    sought = spell_numbers([0, SOUGHT])[2]
    traces: list[Trace] = []
    cells: list[list[tuple[int, int]]] = []
    while len(traces) < rows // 4:
        ids = task.batch(random, 1, held_out=True).inputs["input_ids"][0].tolist()
        if ids.count(sought) == 1 and ids[1] != sought:
            traces.append(_one(run(model, ids=ids)))
            cells.append([(0, ids.index(sought))])
    yield _best(model, "finds_99", weight_on(traces, cells), None)
    yield _best(model, "aims_at_99", aimed_at(traces, cells), 0.9)


def _digit_vit(model: LoadedModel, task: Task, random: Random, _rows: int) -> Iterator[Finding]:
    yield from _answers(model, task, random, 10_000, "accuracy", 0.97, at_once=10_000)  # there are only some hundred


def _copycat(model: LoadedModel, task: Task, random: Random, rows: int) -> Iterator[Finding]:
    yield from _answers(model, task, random, 4 * rows, "exact", 0.999)
    for command in ("copy", "reverse"):
        traces, cells = _letters(model, random, command, rows // 8)
        yield _best(model, f"{command}_diagonal", aimed_at(traces, cells, "cross"), 0.9)


EXAMINATIONS: dict[str, Callable[[LoadedModel, Task, Random, int], Iterator[Finding]]] = {
    "mini-gpt": _mini_gpt,
    "mini-translator": _mini_translator,
    "rule-classifier": _rule_classifier,
    "digit-vit": _digit_vit,
    "copycat": _copycat,
}


def _answers(
    model: LoadedModel, task: Task, random: Random, rows: int, measure: str, wanted: float, at_once: int = 100
) -> Iterator[Finding]:
    """Share of rows that are right from end to end."""
    batches = (judge(model.module, task.batch(random, at_once, held_out=True)) for _ in range(-(-rows // at_once)))
    judged = sum(batches, NOTHING)
    yield Finding(model.name, measure, judged.exact, wanted, judged.rows)


def _slots(model: LoadedModel, random: Random, rows: int) -> Iterator[Finding]:
    """Share of slots, by kind and language, whose right answer is the most probable of all tokens."""
    from transformer.language_tasks import slots
    from transformer.small_language import SmallLanguage

    language_, tokenizer = SmallLanguage.load(), model.tokenizer
    assert tokenizer is not None
    for language in ("en", "zh"):
        right: Counter[str] = Counter()
        asked: Counter[str] = Counter()
        for kind in (one for one in language_.KINDS if one != "plain"):
            for _ in range(rows):
                sentence = language_.sentence(random, kind, language, held_out=True)
                ids = torch.tensor([tokenizer.encode(sentence.text).ids])
                with torch.inference_mode():
                    best = model.module(ids).logits[0].argmax(-1)
                for slot in slots(sentence, tokenizer):  # type: ignore[arg-type]
                    asked[slot.kind] += 1
                    right[slot.kind] += int(best[slot.position] == slot.right)
        for kind in sorted(asked):
            # Chinese verbs agree with nothing; there "agreement" is the measure word that goes with a noun.
            measure_word = kind == "agreement" and language == "zh"
            wanted = 0.95 if kind in ("agreement", "give", "cause", "bracket") and not measure_word else None
            named = "measure word" if measure_word else kind
            yield Finding(model.name, "slot", right[kind] / asked[kind], wanted, asked[kind], f"{named}, {language}")


def _repeats(model: LoadedModel, random: Random, rows: int, period: int = 25) -> tuple[list[Trace], int]:
    """Random tokens of the whole vocabulary, once and once again."""
    others = range(EOS + 1, model.vocab_size)
    stretches = [random.choices(others, k=period) for _ in range(rows)]
    return [_one(run(model, ids=[BOS, *one, *one])) for one in stretches], period


def _stories(model: LoadedModel, random: Random, rows: int) -> list[Trace]:
    from transformer.small_language import SmallLanguage

    return [_one(run(model, SmallLanguage.load().story(random, held_out=True).text)) for _ in range(rows)]


def _links(model: LoadedModel, random: Random, rows: int, language: str) -> Looked:
    """Sentences with a pronoun, and where it and the one it means stand."""
    from transformer.small_language import SmallLanguage

    traces, cells = [], []
    for _ in range(rows):
        sentence = SmallLanguage.load().sentence(random, "pronoun", language, held_out=True)
        traces.append(_one(run(model, sentence.text)))
        encoding = traces[-1].encodings["decoder"]
        links = [link for link in sentence.links if link.kind == "pronoun"]
        cells.append([(_token_at(encoding, link.query), _token_at(encoding, link.key)) for link in links])
    return traces, cells


def _alignments(model: LoadedModel, random: Random, rows: int) -> Looked:
    """Pairs, and for each content word of the Chinese the row that wrote it, and the English word it stands for."""
    from transformer.small_language import SmallLanguage

    traces, cells = [], []
    for _ in range(rows):
        pair = SmallLanguage.load().pair(random, held_out=True)
        trace = _one(run(model, pair.english, pair.chinese))
        source, target = trace.encodings["encoder"], trace.encodings["decoder"]
        traces.append(trace)
        words = [(_token_at(target, chinese), _token_at(source, english)) for english, chinese in pair.alignment]
        cells.append([(written - 1, read) for written, read in words])  # a word is written one row before it is read
    return traces, cells


def _letters(model: LoadedModel, random: Random, command: str, rows: int) -> Looked:
    """Words of letters that differ, and for each letter the row that wrote it and where it was read."""
    traces, cells = [], []
    for _ in range(rows):
        word = "".join(random.sample("abcdefghijklmnopqrstuvwxyz", k=random.randint(2, 12)))
        written = word if command == "copy" else word[::-1]
        traces.append(_one(run(model, f"{command} {word}", written)))
        read = range(len(word)) if command == "copy" else range(len(word) - 1, -1, -1)
        cells.append([(row, 2 + letter) for row, letter in enumerate(read)])  # BOS and the command stand before it
    return traces, cells


def _paired(traces: list[Trace], cells_of: Callable[[Encoding], Iterator[tuple[int, int]]]) -> Looked:
    return traces, [list(cells_of(trace.encodings["decoder"])) for trace in traces]


def _best(model: LoadedModel, measure: str, scores: list[HeadScore], wanted: float | None, detail: str = "") -> Finding:
    best = scores[0]
    head = f"{best.name}, {detail}" if detail else best.name
    return Finding(model.name, measure, best.value, wanted, best.rows, head)


def _token_at(encoding: Encoding, span: Span) -> int:
    """The token that stands for a stretch of the text."""
    return next(index for index, one in enumerate(encoding.spans) if one == span)


def _one(trace: Trace | list[Trace]) -> Trace:
    assert isinstance(trace, Trace)
    return trace
