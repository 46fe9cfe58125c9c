"""One logit, or its difference from another one, and what it is the sum of."""

from functools import cached_property

from transformer.direct_contributions import (
    MEAN,
    Against,
    Contributions,
    HeadShares,
    direct_contributions,
    head_shares,
    parts_of_logits,
)
from transformer.errors import SeeThroughError
from transformer.residual_sum import attention_behind
from viz.pages.options import Choice
from viz.pages.panels.output_answer import Answer

AGAINST = Choice("against", ("alone", "mean", "next"))


class Parts:
    """One logit, or its difference from another one, and what it is the sum of."""

    def __init__(self, answer: Answer) -> None:
        self.answer, self.scene, self.trace = answer, answer.scene, answer.trace

    @property
    def mode(self) -> str:
        return AGAINST.of(self.scene.selection)

    @property
    def against(self) -> Against:
        """The token (or MEAN) with which the chosen one is compared: the most probable other one."""
        assert self.trace.top is not None
        if self.mode == "alone":
            return None
        others = [one for one in self.trace.top.ids[self.answer.position].tolist() if one != self.answer.token]
        return MEAN if self.mode == "mean" or not others else int(others[0])

    def why(self) -> str | None:
        """Why there is no such sum, None where there is one."""
        try:
            parts_of_logits(self.trace, self.against)
        except SeeThroughError as problem:
            return problem.text(self.scene.language)
        return None

    @cached_property
    def sites(self) -> tuple[str, ...]:
        """The attentions whose heads are told apart, in the order of the pass."""
        _, addends = parts_of_logits(self.trace, self.against)
        found = [attention_behind(self.trace, one)[0] for one in addends if one.kind in ("self", "cross")]
        return tuple(
            one for one in found if f"{one}.v" in self.trace.arrays and f"{one}.projection" in self.trace.parts
        )

    @property
    def stack(self) -> str:
        return parts_of_logits(self.trace)[0].stack

    @property
    def layer(self) -> int | None:
        return self.scene.layer if self.scene.stack == self.stack else None

    @cached_property
    def found(self) -> Contributions:
        return direct_contributions(self.trace, self.answer.position, self.answer.token, self.against)

    @cached_property
    def shares(self) -> HeadShares:
        return head_shares(self.trace, self.found)

    @property
    def name(self) -> str:
        """ "Paris", or "Paris − London"."""
        own, other = self.answer.name(self.answer.token), self.against
        if other is None:
            return own
        return f"{own} − {self.answer.name(other) if isinstance(other, int) else self.scene.say('output.parts.all')}"

    @property
    def row_names(self) -> list[str]:
        """The attentions: their layer, and their kind where a layer has two."""
        two = any(site.endswith(".cross") for site in self.sites)
        names = []
        for site in self.sites:
            _, layer, kind = site.split(".")
            names.append(f"{layer} · {self.scene.say(f'output.parts.{kind}')}" if two else layer)
        return names

    @property
    def selected(self) -> tuple[int, int] | None:
        return (self.sites.index(self.scene.site), self.scene.head) if self.scene.site in self.sites else None


def found_code(parts: Parts) -> str:
    answer = parts.answer
    return (
        "from transformer.direct_contributions import direct_contributions, head_shares\n"
        f"found = direct_contributions(trace, {answer.position}, {answer.token}, {parts.against!r})\n"
    )
