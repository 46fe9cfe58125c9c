"""What is said of heads, kept for the few runs and models that are looked at: it takes from milliseconds to seconds."""

from collections.abc import Callable
from threading import Lock

from transformer.head_label_files import HeadLabels, load
from transformer.head_labels import measure
from transformer.head_maps import HeadSummary, allowed_by_any, largest_map, mean_map, reachable, rollout, summary
from transformer.head_seals import seal_largest, seal_mean, seal_rollout
from transformer.kept import Kept
from transformer.kept_by_trace import KeptByTrace
from transformer.parts import Array
from transformer.replay import Seal
from transformer.trace import Trace
from transformer.wrapped import LoadedModel

SUMMARIES = 512  # of one attention each; a long text's are some ten kilobytes
MAPS = 4  # of one run: a long text's are megabytes
MODELS = 16

Make = Callable[[Trace, str], Array]
_KINDS: dict[str, tuple[Make, Callable[[Trace, str], Array | None], Callable[[Trace, str, Array], Seal]]] = {
    "mean": (mean_map, allowed_by_any, seal_mean),
    "max": (largest_map, allowed_by_any, seal_largest),
    "rollout": (rollout, reachable, seal_rollout),
}


class KeptHeads:
    """Shared by all visitors."""

    def __init__(self) -> None:
        self._summaries = KeptByTrace[str, HeadSummary](SUMMARIES)
        self._maps = KeptByTrace[tuple[str, str], tuple[Array, Array | None]](MAPS)
        self._seals = KeptByTrace[tuple[str, str], Seal](SUMMARIES)
        self._known = Kept[str, tuple[HeadLabels | None]](MODELS)
        self._measured = Kept[str, HeadLabels](MODELS)
        self._measuring = Lock()

    def summary(self, trace: Trace, site: str) -> HeadSummary:
        """Entropy of each head of one attention, and the weight that each key gets."""
        return self._summaries.get_or_make(trace, site, lambda: summary(trace, site))

    def map(self, trace: Trace, site: str, kind: str) -> tuple[Array, Array | None]:
        """(query, key) of all heads together: "mean", "max" or "rollout", and where it can be more than 0 (None: not
        known). Raises NoRollout."""
        make, reach, _ = _KINDS[kind]
        return self._maps.get_or_make(trace, (site, kind), lambda: (make(trace, site), reach(trace, site)))

    def map_seal(self, trace: Trace, site: str, kind: str) -> Seal:
        """The same map recomputed."""
        drawn, _ = self.map(trace, site, kind)
        return self._seals.get_or_make(trace, (site, kind), lambda: _KINDS[kind][2](trace, site, drawn))

    def known_labels(self, model: LoadedModel) -> HeadLabels | None:
        """What was measured of a model's heads before it was shipped; None where they have to be measured."""
        return self._known.get_or_make(model.fingerprint, lambda: (load(model.name, model.module),))[0]

    def labels(self, model: LoadedModel) -> HeadLabels:
        """What heads do that has a name: known before, or measured now, which takes some thirty passes.

        Raises NoTokenizer, and NotATextModel for a model that reads images.
        """
        found = self.known_labels(model)
        if found is not None:
            return found
        with self._measuring:  # whoever asks meanwhile waits, and finds it
            return self._measured.get_or_make(model.fingerprint, lambda: measure(model))
