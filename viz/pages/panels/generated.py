"""What was generated for a scene: its settings, the steps that are there, and what went wrong.

All of it follows from the model, the text and the options, so that a link restores it. The engine keeps the steps:
whoever asks again is told the same, and only a step that is new costs a pass.
"""

import re
from collections.abc import Callable
from functools import cached_property
from typing import TypeVar

from transformer.beam import BeamSettings, BeamStep, TreeNode, path_to, tree
from transformer.errors import SeeThroughError
from transformer.generate import GenerationSettings, Step
from transformer.growing import Growing, Stops
from transformer.prompt import Prompt
from viz.pages.options import Choice, Line, Real, Switch, Whole
from viz.pages.scene import Scene
from viz.pages.selection import Selection

MOST_STEPS = 48  # new tokens; more would be a book, and the page shows every step
MOST_PASSES = 16  # of a beam search, each a row of its tree
SHOWN = 10  # candidates of a step

MODE = Choice("gen-mode", ("greedy", "sample", "beam"))
TEMPERATURE = Real("gen-temperature", 0.1, 2, 1)
TOP_K = Whole("gen-top-k", 0, 200, 0)  # 0: all
TOP_P = Real("gen-top-p", 0.05, 1, 1)
SEED = Whole("gen-seed", 0, 2**31 - 1, 0)
COUNT = Whole("gen-count", 0, MOST_STEPS, 0)  # how many new tokens (or passes of a search) stand there
STEP = Whole("gen-step", 0, MOST_STEPS - 1)  # which of them is looked at; none: the newest
BRANCH = Line("gen-branch", 400)  # "3:1234,7:88": at step 3 token 1234 is taken, at step 7 token 88
CANDIDATE = Whole("gen-candidate", 0, 2**31 - 1)  # which token of the step's bars is looked at
CHECK = Switch("gen-check")  # whether each step is compared with a pass that keeps nothing
BEAMS = Whole("gen-beams", 1, 6, 3)
PENALTY = Real("gen-length-penalty", 0, 2, 1)
NODE = Whole("gen-node", 0, 999)  # which box of the tree is looked at; none: the best
OPTIONS = (
    MODE, TEMPERATURE, TOP_K, TOP_P, SEED, COUNT, STEP, BRANCH, CANDIDATE, CHECK, BEAMS, PENALTY, NODE,
)  # fmt: skip
OF_ONE_TEXT = (COUNT, STEP, BRANCH, CANDIDATE, NODE)  # what means nothing for another text

S = TypeVar("S", bound=Stops)
_PAIR = re.compile(r"(\d{1,2}):(\d{1,9})")


def branches(selection: Selection) -> tuple[tuple[int, int], ...]:
    """(step, token) that were taken instead of the model's; what cannot be read is as if it had not been said."""
    found = (_PAIR.fullmatch(part) for part in BRANCH.of(selection).split(",") if part.isascii())
    pairs = {int(pair[1]): int(pair[2]) for pair in found if pair}
    return tuple(sorted((step, token) for step, token in pairs.items() if step < MOST_STEPS))


def as_line(pairs: tuple[tuple[int, int], ...]) -> str | None:
    """`branches` as the option spells them."""
    return ",".join(f"{step}:{token}" for step, token in pairs) or None


class Generated:
    """What both ways of writing share."""

    def __init__(self, scene: Scene) -> None:
        self.scene, self.engine = scene, scene.engine
        self.model, self.text = scene.selection.model, scene.selection.text
        self.count = COUNT.of(scene.selection) or 0

    @cached_property
    def _start(self) -> tuple[Prompt | None, SeeThroughError | None]:
        try:
            return self.engine.prompt(self.model, self.text), None
        except SeeThroughError as error:
            return None, error

    @property
    def prompt(self) -> Prompt | None:
        """Where the text that is written begins; None where nothing can be written, see `refusal`."""
        return self._start[0]

    @property
    def refusal(self) -> SeeThroughError | None:
        """Why nothing can be written at all."""
        return self._start[1]

    def name(self, token: int) -> str:
        return self.engine.token(self.model, token)

    def opened(self, ids: tuple[int, ...]) -> tuple[str, str | None] | None:
        """What all other panels are asked for a text of these ids; None where they spell none."""
        written = self.engine.spelled(self.model, ids)
        if not written.strip():
            return None
        return (self.text, written) if self.engine.load(self.model).encoder_decoder else (written, None)


class Written(Generated):
    """A text that grows by one token at a time."""

    @cached_property
    def settings(self) -> GenerationSettings:
        chosen = self.scene.selection
        settings = GenerationSettings(max_new_tokens=MOST_STEPS, shown=SHOWN, forced=branches(chosen))
        if MODE.of(chosen) != "sample":
            return settings
        share = TOP_P.of(chosen)
        return GenerationSettings(
            mode="sample",
            temperature=TEMPERATURE.of(chosen),
            top_k=TOP_K.of(chosen) or None,
            top_p=share if share < 1 else None,
            seed=SEED.of(chosen) or 0,
            max_new_tokens=MOST_STEPS,
            shown=SHOWN,
            forced=settings.forced,
        )

    @cached_property
    def _found(self) -> tuple[list[Step], SeeThroughError | None]:
        return _steps(lambda: self.engine.growing(self.model, self.text, self.settings), self.count)

    @property
    def steps(self) -> list[Step]:
        """As many as were asked for, or as there are."""
        return self._found[0]

    @property
    def problem(self) -> SeeThroughError | None:
        """Why there are no more."""
        return self._found[1]

    @property
    def looked_at(self) -> Step:
        """The step that is looked at; there must be one."""
        asked = STEP.of(self.scene.selection)
        return self.steps[-1] if asked is None or asked >= len(self.steps) else self.steps[asked]

    @property
    def samples(self) -> bool:
        return self.settings.mode == "sample"


class Search(Generated):
    """Several texts that grow side by side."""

    @cached_property
    def settings(self) -> BeamSettings:
        chosen = self.scene.selection
        return BeamSettings(BEAMS.of(chosen) or 1, PENALTY.of(chosen), max_new_tokens=MOST_PASSES)

    @cached_property
    def _found(self) -> tuple[list[BeamStep], SeeThroughError | None]:
        return _steps(lambda: self.engine.beams(self.model, self.text, self.settings), self.count)

    @property
    def steps(self) -> list[BeamStep]:
        return self._found[0]

    @property
    def problem(self) -> SeeThroughError | None:
        return self._found[1]

    @cached_property
    def nodes(self) -> tuple[TreeNode, ...]:
        return tree(self.steps)

    @property
    def node(self) -> int:
        """The box that is looked at: the chosen one, or where the best text ends."""
        asked = NODE.of(self.scene.selection)
        if asked is not None and asked < len(self.nodes):
            return asked
        return max(index for index, node in enumerate(self.nodes) if node.best)

    @property
    def way(self) -> tuple[int, ...]:
        """The boxes from what was given to the one that is looked at."""
        return path_to(self.nodes, self.node)

    @property
    def ids(self) -> tuple[int, ...]:
        """The text of the box that is looked at, what was given included."""
        given = self.steps[0].parents[0].ids
        return (*given, *(token for at in self.way if (token := self.nodes[at].token) is not None))


def generated(scene: Scene) -> Written | Search:
    return Search(scene) if MODE.of(scene.selection) == "beam" else Written(scene)


def finished(found: Written | Search) -> str | None:
    """Why it does not go on: the last step's `stop`, or "problem"; None: it does."""
    if found.refusal is not None or found.problem is not None:
        return "problem"
    return found.steps[-1].stop if found.steps else None


def _steps(start: Callable[[], Growing[S]], count: int) -> tuple[list[S], SeeThroughError | None]:
    """The first `count` steps, or those before something went wrong, and what."""
    steps: list[S] = []
    if not count:
        return steps, None
    try:
        growing = start()
        while len(steps) < count and (step := growing.step(len(steps))) is not None:
            steps.append(step)
    except SeeThroughError as error:
        return steps, error
    return steps, None
