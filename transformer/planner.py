"""Writes a `Plan`: where to listen, what is the same array, what is a sum, and what can be recomputed."""

from transformer.parts import Part
from transformer.probe import Heard
from transformer.structure import Plan
from transformer.wiring import Term


class Planner:
    """Collects a plan site by site. Names are full sites; terms carry names within `prefix`."""

    def __init__(self) -> None:
        self.plan = Plan()

    def attention(self, one: Heard, site: str) -> None:
        """An attention call: heard by our `attend`, or only from outside."""
        known = self.plan.attention if one.attention is not None else self.plan.masks
        known[one.module, one.nth] = site

    def keep_input(self, one: Heard, site: str) -> None:
        self.plan.inputs[one.module, one.nth] = site

    def keep_output(self, one: Heard, site: str) -> None:
        self.plan.outputs[one.module, one.nth] = site

    def alias(self, site: str, same_as: str) -> None:
        """Two names of one array, which is kept once."""
        self.plan.aliases[site] = same_as

    def lack(self, what: str, reason: str) -> None:
        self.plan.lacks[what] = f"lack.{reason}"

    def total(self, site: str, prefix: str, terms: tuple[Term, ...] | None) -> None:
        """`site` is the sum of `terms`, or nobody knows of what."""
        if terms is None:
            self.lack(f"{site}.sum", "sum_unexplained")
        elif len(terms) > 1:
            self.plan.sums[site] = tuple(f"{prefix}.{term.site}" for term in terms)

    def projection(self, site: str, name: str, part: Part | None, enters: str) -> None:
        """The linear map to an attention's "q", "k" or "v". These are recorded anyway: nothing more is listened to."""
        if part is None:
            self.lack(f"{site}.{name}_projection", "projection_unknown")
            return
        self.plan.parts[f"{site}.{name}_projection"] = part
        self.plan.part_inputs[f"{site}.{name}_projection"] = (enters, f"{site}.{name}")

    def part(self, name: str, part: Part | None, enters: str, leaves: str, giver: Heard | None) -> None:
        """A part with a known formula: what it gives follows from what enters it, and only its check numbers are kept.

        Without a formula what it gives is kept. `giver` is None for the head, whose logits are kept in their own way.
        """
        if part is None:
            self.lack(name, "formula_unknown")
        else:
            self.plan.parts[name], self.plan.part_inputs[name] = part, (enters, leaves)
        if giver is not None and part is None:
            self.keep_output(giver, leaves)
        elif giver is not None:
            self.plan.checks[giver.module, giver.nth] = f"{name}.output_check"
