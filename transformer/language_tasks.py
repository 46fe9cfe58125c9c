"""The small language as tasks: to go on with its stories (and with whatever repeats), to translate its sentences."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from random import Random

from transformer.errors import ShapesDoNotFit
from transformer.piece_tokenizer import PieceTokenizer
from transformer.small_language import Sentence, SmallLanguage
from transformer.tasks import BOS, EOS, NOT_JUDGED, Batch, padded, source_and_target
from transformer.tokenizer import Span


@cache
def language_tokenizer() -> PieceTokenizer:
    """The tokenizer of both language models: the words of the small language, and bytes for all others."""
    return PieceTokenizer(SmallLanguage.load().pieces())


@dataclass(frozen=True)
class Language:
    """Rows of stories, in English or in Chinese, and rows of random tokens that repeat.

    Nothing but the earlier copy says how a random row goes on, so whoever learns to answer it has learned to look for
    the token that followed last time: the induction heads of Olsson et al. 2022. Only what can be known is judged.
    Half of these rows are drawn from the whole vocabulary, the others are the shuffled tokens of stories, which hold
    many commas: what follows one can only be told by what stood before it.
    """

    longest: int = 80  # tokens of a row
    repeats: float = 0.28  # share of rows of random tokens
    shortest_repeat: int = 3
    longest_repeat: int = 30
    longest_before: int = 12  # other tokens that may stand before a repeat
    kinds: tuple[str, ...] = ()  # of sentences, several times the ones that are harder to learn; (): all alike

    name = "language"

    def __post_init__(self) -> None:
        least = self.longest_before + self.longest_repeat + 2
        if self.longest < least:  # some row would hold nothing that can be known
            raise ShapesDoNotFit(what="longest", expected=f"≥ {least}", got=self.longest)

    def batch(self, random: Random, size: int, held_out: bool = False) -> Batch:
        """`size` rows of both kinds; a story of a held-out row holds no sentence that training sees."""
        return _next_token([self._row(random, held_out) for _ in range(size)])

    def stories(self, random: Random, size: int, held_out: bool = False) -> Batch:
        """Only stories."""
        return _next_token([self._story(random, held_out) for _ in range(size)])

    def repeated(self, random: Random, size: int) -> Batch:
        """Only random tokens that repeat."""
        return _next_token([self._repeat(random) for _ in range(size)])

    def _row(self, random: Random, held_out: bool) -> tuple[list[int], int]:
        return self._repeat(random) if random.random() < self.repeats else self._story(random, held_out)

    def _story(self, random: Random, held_out: bool) -> tuple[list[int], int]:
        """(ids, the first place that is judged): BOS, stories one after the other, EOS after each."""
        ids = [BOS]
        while len(ids) <= self.longest:
            story = SmallLanguage.load().story(random, held_out=held_out, kinds=self.kinds)
            ids += [*language_tokenizer().encode(story.text).ids[1:], EOS]
        return ids[: self.longest + 1], 1

    def _repeat(self, random: Random) -> tuple[list[int], int]:
        """(ids, the first place that is judged): BOS, perhaps other tokens, and one stretch over and over."""
        other: Sequence[int] = range(EOS + 1, language_tokenizer().vocab_size)
        if random.random() < 0.5:
            other = self._story(random, held_out=False)[0][1:]
        before = random.choices(other, k=random.choice((0, 0, random.randint(0, self.longest_before))))
        stretch = random.choices(other, k=random.randint(self.shortest_repeat, self.longest_repeat))
        times = -(-self.longest // len(stretch))
        ids = [BOS, *before, *stretch * times][: self.longest + 1]
        return ids, 1 + len(before) + len(stretch) + 1  # the second copy's first token gives itself away by nothing


@dataclass(frozen=True)
class Translation:
    """Sentences of the small language from English to Chinese."""

    name = "translation"

    def batch(self, random: Random, size: int, held_out: bool = False) -> Batch:
        """`size` pairs; each side is what the tokenizer makes of its text."""
        pairs = [SmallLanguage.load().pair(random, held_out=held_out) for _ in range(size)]
        encode = language_tokenizer().encode
        sources = [encode(pair.english).ids for pair in pairs]
        return source_and_target(sources, [encode(pair.chinese).ids[1:] for pair in pairs])


@dataclass(frozen=True)
class SlotIds:
    """A slot in ids: after `position` tokens `right` must follow, and none of `wrong`."""

    kind: str
    position: int  # of the token whose logits are asked
    right: int
    wrong: tuple[int, ...]


def slots(sentence: Sentence, tokenizer: PieceTokenizer) -> Iterator[SlotIds]:
    """Where a sentence says what must come next; what begins with the same token as the answer cannot be told apart
    from it and is left out."""
    ids = tokenizer.encode(sentence.text).ids
    spans = tokenizer.encode(sentence.text).spans
    for slot in sentence.slots:
        place = next(index for index, span in enumerate(spans) if span and span[0] <= slot.at[0] < span[1])
        others = (tokenizer.encode(instead(sentence.text, slot.at, word)).ids for word in slot.wrong)
        wrong = tuple(other[place] for other in others if other[:place] == ids[:place] and other[place] != ids[place])
        yield SlotIds(slot.kind, place - 1, ids[place], wrong)


def instead(text: str, at: Span, word: str) -> str:
    """The text with another word in that place."""
    return text[: at[0]] + word + text[at[1] :]


def _next_token(rows: list[tuple[list[int], int]]) -> Batch:
    """Every token is the label of the one before it, from the first judged place on."""
    inputs = [ids[:-1] for ids, _ in rows]
    labels = [[NOT_JUDGED] * (first - 1) + ids[first:] for ids, first in rows]
    return Batch({"input_ids": padded(inputs)}, padded(labels, NOT_JUDGED))
