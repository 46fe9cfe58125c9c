"""Sentences that no frame can hold, of any length: nested brackets, and words that repeat (Olsson et al. 2022)."""

import random
from collections.abc import Sequence

from transformer.sentence_frames import Draft
from transformer.word_tables import Entry

DEEPEST, LONGEST = 4, 12


def brackets(
    kinds: Sequence[tuple[str, str]],
    nouns: Sequence[Entry],
    adjectives: Sequence[Entry],
    end: str,
    random: random.Random,
) -> Draft:
    """One to three groups like `( red [ cat ] )`: adjectives open, the noun turns, and then all must close."""
    made = Draft()
    for _ in range(random.choice((1, 1, 2, 3))):
        opened = []
        for depth in range(random.randint(1, DEEPEST)):
            if depth and random.random() < 0.3:
                made.tokens.append(_word(adjectives, random))
            opened.append((random.choice(kinds), len(made.tokens)))
            made.tokens.append(opened[-1][0][0])
        made.tokens.append(_word(nouns, random))
        for kind, place in reversed(opened):
            wrong = tuple(other[1] for other in kinds if other != kind)
            made.slots.append((len(made.tokens), wrong))
            made.links.append((len(made.tokens), place))
            made.tokens.append(kind[1])
    made.tokens.append(end)
    return made


def repeated(words: Sequence[Entry], end: str, random: random.Random) -> Draft:
    """2 to 12 different words, then the same again, and now and then once more; each copy points to its first place."""
    length = random.randint(2, min(LONGEST, len(words)))
    pattern = [entry["word"].tokens[0] for entry in random.sample(words, length)]
    times = 3 if random.random() < 0.2 else 2
    made = Draft(pattern * times)
    for place in range(length, length * times):
        if place % length:
            answer = pattern[place % length]
            made.slots.append((place, tuple(word for word in pattern if word != answer)))
            made.links.append((place, place % length))
    made.tokens.append(end)
    return made


def _word(entries: Sequence[Entry], random: random.Random) -> str:
    return entries[int(random.random() * len(entries))]["word"].tokens[0]
