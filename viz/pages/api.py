"""The named endpoints: the same numbers as the page, for programs. Each answers with plain lists and numbers."""

from collections.abc import Callable
from typing import Any

import gradio as gr

from transformer.engine import Engine
from transformer.errors import SeeThroughError
from transformer.messages import message
from transformer.replay import seal
from transformer.trace import Trace

MOST_CELLS = 1 << 20  # of one answer


class Endpoints:
    """`/run`, `/attention` and `/next_tokens` of one engine."""

    def __init__(self, engine: Engine) -> None:
        self.engine = engine

    def by_name(self) -> dict[str, Callable[..., Any]]:
        return {"run": self.run, "attention": self.attention, "next_tokens": self.next_tokens}

    def run(self, model: str, text: str, target: str = "") -> dict[str, Any]:
        """Run a text through a model and record it.

        Returns the tokens with their ids, the attentions of the run ("decoder.9.self", in order) with their number of
        heads, how long the pass took, and the largest difference between recorded and recomputed numbers of the last
        attention. `target` is the second text of an encoder-decoder model.
        """
        trace = self._trace(model, text, target)
        return {
            "model": trace.model,
            "tokens": {name: list(one.tokens) for name, one in trace.encodings.items()},
            "ids": {name: list(one.ids) for name, one in trace.encodings.items()},
            "attentions": {site: how.heads for site, how in trace.attention.items()},
            "seconds": trace.seconds,
            "seal": seal(trace, trace.attention_sites()[-1]).difference,
        }

    def attention(self, model: str, text: str, layer: int, head: int, target: str = "") -> dict[str, Any]:
        """The attention weights of one head: rows are queries (they look), columns keys (they are looked at).

        `layer` counts the run's attentions as `/run` lists them, `head` from 0. Rows sum to 1; forbidden cells are 0
        and False in `allowed`, which is null where a model hides its mask.
        """
        trace = self._trace(model, text, target)
        sites = trace.attention_sites()
        if type(layer) is not int or not 0 <= layer < len(sites):
            raise _refusal("no_such_layer", layer=layer, last=len(sites) - 1)
        site = sites[layer]
        if type(head) is not int or not 0 <= head < trace.attention[site].heads:
            raise _refusal("no_such_head", head=head, last=trace.attention[site].heads - 1)
        queries, keys = (list(trace.tokens(site, axis)) for axis in ("query", "key"))
        if len(queries) * len(keys) > MOST_CELLS:
            raise _refusal("too_many_cells", got=len(queries) * len(keys), limit=MOST_CELLS)
        known = f"{site}.allowed" not in trace.lacks
        return {
            "site": site,
            "queries": queries,
            "keys": keys,
            "weights": trace.weights(site, head).tolist(),
            "allowed": trace.allowed(site, head).tolist() if known else None,
        }

    def next_tokens(self, model: str, text: str, k: int = 10, target: str = "") -> dict[str, Any]:
        """The k most probable next tokens (1 to 50), with probabilities over the whole vocabulary; of a classifier its
        classes, for the whole input."""
        trace = self._trace(model, text, target)
        if trace.top is None:
            raise gr.Error(message(trace.lacks["logits"], "en"), print_exception=False)
        ids, shares = trace.probabilities(-1)
        if type(k) is not int or k < 1:
            raise _refusal("not_a_count", k=k)
        count = min(k, len(ids))
        name = self.engine.class_name if trace.is_classified else self.engine.token
        return {
            "tokens": [name(model, int(one)) for one in ids[:count]],
            "ids": ids[:count].tolist(),
            "probabilities": shares[:count].tolist(),
            "vocabulary": trace.top.vocabulary,
        }

    def _trace(self, model: str, text: str, target: str) -> Trace:
        try:
            return self.engine.trace(str(model or ""), str(text or ""), str(target) if target else None)
        except SeeThroughError as error:
            raise gr.Error(error.text("en"), print_exception=False) from None


def _refusal(key: str, **values: object) -> gr.Error:
    return gr.Error(message(f"api.{key}", "en", **values), print_exception=False)
