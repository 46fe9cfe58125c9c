"""The named endpoints: the same numbers as the page, for programs. Each answers with plain lists and numbers."""

from collections.abc import Callable
from typing import Any

import gradio as gr

from transformer.engine import Engine
from transformer.errors import SeeThroughError
from transformer.replay import seal
from viz.pages.selection import Selection, within

MOST_CELLS = 1 << 20  # of one answer


def endpoints(engine: Engine) -> dict[str, Callable[..., Any]]:
    """The endpoints by their names."""

    def run(model: str, text: str, target: str = "") -> dict[str, Any]:
        """Run a text through a model and record it.

        Returns the tokens with their ids, the attentions of the run ("decoder.9.self", in order) with their number of
        heads, how long the pass took, and the largest difference between recorded and recomputed numbers of the last
        attention. `target` is the second text of an encoder-decoder model.
        """
        trace = _trace(engine, model, text, target)
        return {
            "model": trace.model,
            "tokens": {name: list(one.tokens) for name, one in trace.encodings.items()},
            "ids": {name: list(one.ids) for name, one in trace.encodings.items()},
            "attentions": {site: how.heads for site, how in trace.attention.items()},
            "seconds": trace.seconds,
            "seal": seal(trace, trace.attention_sites()[-1]).difference,
        }

    def attention(model: str, text: str, layer: int, head: int, target: str = "") -> dict[str, Any]:
        """The attention weights of one head: rows are queries (they look), columns keys (they are looked at).

        `layer` counts the run's attentions as `/run` lists them, `head` from 0. Rows sum to 1; forbidden cells are 0
        and False in `allowed`, which is null where a model hides its mask.
        """
        trace = _trace(engine, model, text, target)
        selection = Selection(model, text, attention=int(layer), head=int(head))
        if within(trace, selection) != selection:
            raise gr.Error(
                f"layer 0-{len(trace.attention) - 1}, head 0-{min(h.heads for h in trace.attention.values()) - 1}"
            )
        site = trace.attention_sites()[selection.attention]
        weights = trace.weights(site, selection.head)
        known = f"{site}.allowed" not in trace.lacks
        return {
            "site": site,
            "queries": list(trace.tokens(site, "query")),
            "keys": list(trace.tokens(site, "key")),
            "weights": weights.tolist(),
            "allowed": trace.allowed(site, selection.head).tolist() if known else None,
        }

    def next_tokens(model: str, text: str, k: int = 10, target: str = "") -> dict[str, Any]:
        """The k most probable next tokens (1 to 50), with probabilities over the whole vocabulary."""
        trace = _trace(engine, model, text, target)
        if trace.top is None:
            raise gr.Error(f"{trace.model}: no output head")
        ids, shares = trace.probabilities(-1)
        count = max(1, min(int(k), len(ids)))
        return {
            "tokens": [engine.token(model, int(one)) for one in ids[:count]],
            "ids": ids[:count].tolist(),
            "probabilities": shares[:count].tolist(),
            "vocabulary": trace.top.vocabulary,
        }

    return {"run": run, "attention": attention, "next_tokens": next_tokens}


def _trace(engine: Engine, model: str, text: str, target: str) -> Any:
    try:
        return engine.trace(model, text, target or None)
    except SeeThroughError as error:
        raise gr.Error(error.text("en")) from None
