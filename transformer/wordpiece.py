"""WordPiece: greedy, the longest piece first, as BERT does it (Devlin et al. 2019; Wu et al. 2016, section 4.1)."""

from collections.abc import Container, Iterator
from dataclasses import dataclass


@dataclass(frozen=True)
class PrefixStep:
    """One piece of a word: which prefixes of the rest were looked up before one was in the vocabulary."""

    start: int  # characters of the word that earlier pieces cover
    tried: tuple[str, ...]  # longest first, as the vocabulary spells them; the last is the piece if `found`
    found: bool  # False: no prefix is in the vocabulary (or the word is too long to try), the whole word is unknown
    pieces: tuple[str, ...]  # the word's tokens so far; the unknown token alone where the word is lost


def wordpiece_steps(
    word: str, vocabulary: Container[str], *, unknown: str = "[UNK]", mark: str = "##", longest: int = 100
) -> Iterator[PrefixStep]:
    """One step per piece. `mark` begins each piece inside a word; a word of more than `longest` characters is unknown.

    Greedy, so not always the fewest pieces; and one character without a piece loses the whole word.
    """
    if len(word) > longest:
        yield PrefixStep(0, (), False, (unknown,))
        return
    pieces: list[str] = []
    start = 0
    while start < len(word):
        tried: list[str] = []
        for end in range(len(word), start, -1):
            tried.append((mark if start else "") + word[start:end])
            if tried[-1] in vocabulary:
                break
        else:
            yield PrefixStep(start, tuple(tried), False, (unknown,))
            return
        pieces.append(tried[-1])
        yield PrefixStep(start, tuple(tried), True, tuple(pieces))
        start = end
