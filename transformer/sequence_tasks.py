"""Copy, reverse and sort letters: tasks of an encoder-decoder whose attention has one right answer.

The copy task is The Annotated Transformer's first example (Rush et al. 2018-2022): whoever copies must look, for each
letter that is written, at the very letter that is read. Its map is a diagonal; that of reversing, the other diagonal.
"""

from dataclasses import dataclass
from random import Random
from string import ascii_lowercase
from typing import ClassVar

from transformer.small_language import is_held_out
from transformer.tasks import BOS, FIRST_PIECE, Batch, source_and_target

COMMANDS = ("copy ", "reverse ", "sort ")
LETTER_PIECES = (*ascii_lowercase, *COMMANDS)  # what a tokenizer needs to read these tasks
COPYCAT_PIECES = LETTER_PIECES[:-1]  # a command that was never trained must look as strange as it is
_ID = {piece: FIRST_PIECE + number for number, piece in enumerate(LETTER_PIECES)}


def spell(text: str) -> list[int]:
    """The ids of letters."""
    return [_ID[letter] for letter in text]


@dataclass(frozen=True)
class _Letters:
    """Words of random letters. `commands`: which of them may be asked for; `told`: the source says which one."""

    shortest: int = 1
    longest: int = 16
    letters: str = ascii_lowercase

    commands: ClassVar[tuple[str, ...]] = ()
    told: ClassVar[bool] = False

    @property
    def name(self) -> str:
        return type(self).__name__.lower()

    def batch(self, random: Random, size: int, held_out: bool = False) -> Batch:
        """Sources (BOS, perhaps a command, letters) and what the command makes of them."""
        rows = [self._row(random, held_out) for _ in range(size)]
        return source_and_target([self.source(*row) for row in rows], [spell(obey(*row)) for row in rows])

    def source(self, command: str, word: str) -> list[int]:
        """The ids that a tokenizer makes of the typed text: "copy cat", or "cat" where nothing is told."""
        return [BOS, *([_ID[command]] if self.told else []), *spell(word)]

    def _row(self, random: Random, held_out: bool) -> tuple[str, str]:
        while True:
            command = random.choice(self.commands)
            word = "".join(random.choices(self.letters, k=random.randint(self.shortest, self.longest)))
            if is_held_out(word) == held_out:
                return command, word


class Copy(_Letters):
    """Write what was read."""

    commands = ("copy ",)


class Reverse(_Letters):
    """Write what was read, from its end."""

    commands = ("reverse ",)


class Sort(_Letters):
    """Write the letters that were read in the order of the alphabet."""

    commands = ("sort ",)


class Copycat(_Letters):
    """Copy or reverse, as the source's first token says: one model, and the word alone turns its attention around."""

    commands = ("copy ", "reverse ")
    told = True


def obey(command: str, word: str) -> str:
    """What a command makes of a word."""
    if command == "copy ":
        return word
    return word[::-1] if command == "reverse " else "".join(sorted(word))
