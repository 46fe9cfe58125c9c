"""Which layers and tokens the lens looks at."""

from functools import cached_property

from transformer.errors import SeeThroughError
from transformer.logit_lens import LensTable, logit_lens, positions_at_once
from transformer.readout import readout_of
from viz.pages.options import Switch
from viz.pages.panels.output_answer import Answer

MORE = Switch("lens-more")  # more tokens at once than a click may cost
MOST = 12  # tokens side by side: their answers can still be read


class Lens:
    """Which layers and tokens are looked at."""

    def __init__(self, answer: Answer) -> None:
        self.answer, self.scene, self.trace = answer, answer.scene, answer.trace

    def why(self) -> str | None:
        """Why there is no lens, None where there is one."""
        try:
            _ = self.streams
        except SeeThroughError as problem:
            return problem.text(self.scene.language)
        return None

    @cached_property
    def streams(self) -> tuple[str, ...]:
        return readout_of(self.trace).streams

    @property
    def count(self) -> int:
        """Tokens that have an answer each."""
        return 1 if self.trace.is_classified else len(self.trace.encodings[self.answer.stack])

    @cached_property
    def at_once(self) -> int:
        return positions_at_once(self.trace, MOST)

    @cached_property
    def positions(self) -> tuple[int, ...]:
        """A window around the chosen token."""
        most = min(self.count, MOST if MORE.of(self.scene.selection) else self.at_once)
        first = max(0, min(self.answer.position - most // 2, self.count - most))
        return tuple(range(first, first + most))

    @property
    def layer(self) -> int:
        """The chosen layer; the last where another stack is looked at."""
        return self.scene.layer if self.scene.stack == self.streams[0].split(".")[0] else len(self.streams) - 1

    @property
    def layer_names(self) -> list[str]:
        """ "0", "1", …, "3 = output"."""
        last = len(self.streams) - 1
        return [*map(str, range(last)), self.scene.say("output.lens.last", layer=last)]

    @cached_property
    def table(self) -> LensTable:
        return logit_lens(self.trace, self.positions)

    @property
    def answers(self) -> list[list[str]]:
        return [self.answer.names(row) for row in self.table.ids]

    @property
    def token_names(self) -> list[str]:
        """What stands above the columns; a place in a long text is told as well."""
        if self.trace.is_classified:
            return [self.scene.say("output.lens.whole")]
        tokens = self.trace.encodings[self.answer.stack].tokens
        return [tokens[position] for position in self.positions]
