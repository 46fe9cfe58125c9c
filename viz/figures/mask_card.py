"""Why one query may or may not look at one key: each rule of a mask with this cell's numbers in it. Rules in words."""

from collections.abc import Sequence
from html import escape
from typing import Protocol

from transformer.messages import message
from viz.figures.arithmetic import number


class Rules(Protocol):
    """What is needed of `MaskRules` (see `transformer/mask_rules.py`)."""

    @property
    def causal(self) -> bool: ...
    @property
    def window(self) -> int | None: ...
    @property
    def two_sided(self) -> bool: ...
    @property
    def prefix(self) -> int: ...
    @property
    def names(self) -> tuple[str, ...]: ...


def mask_card(
    query: int,
    key: int,
    rules: Rules,
    kinds: Sequence[str],
    *,
    allowed: bool,
    padding: bool = False,
    blind: bool = False,
    weight: float | None = None,
    tokens: tuple[str, str] = ("", ""),
    language: str = "en",
) -> str:
    """HTML: whether the query at position `query` may look at the key at `key`, and what each of the `rules` says.

    `kinds` are those that hold in this cell, `padding` whether the key is padding, `blind` whether the query may look
    at nothing at all, `weight` what the cell's attention weight was, `tokens` the names of query and key.
    """
    looking, seen = (
        f'<b class="stt-{tone}"><bdi>{escape(token)}</bdi></b>' for tone, token in zip("qk", tokens, strict=True)
    )
    verdict = _say(f"figure.mask.card.{'may' if allowed else 'may_not'}", language)
    lines = [verdict.format(query=looking, key=seen)]
    lines += [_line(words, fine) for words, fine in _checks(query, key, rules, padding, language)]
    lines += [_line(_say(f"figure.mask.card.{one}", language), allowed) for one in ("other", "spared") if one in kinds]
    if not rules.names:
        lines.append(_say("figure.mask.card.no_rule", language))
    lines += _effect(allowed, blind, weight, language)
    return f'<div class="stt-arithmetic">{"".join(f"<div>{line}</div>" for line in lines)}</div>'


def _checks(query: int, key: int, rules: Rules, padding: bool, language: str) -> list[tuple[str, bool]]:
    """Each rule's comparison with the cell's numbers, and whether it lets the query look."""
    q, k = f'<span class="stt-q">query {query}</span>', f'<span class="stt-k">key {key}</span>'
    checks: list[tuple[str, bool]] = []
    if "padding" in rules.names:
        checks.append((_of("padding_key" if padding else "real_key", k, language), not padding))
    if rules.causal:
        sign, words = ("&gt;", "later") if key > query else ("≤", "not_later")
        checks.append((f"{k} {sign} {q}: {_say(f'figure.mask.card.{words}', language)}", key <= query))
    if rules.window is not None:
        back = abs(query - key) if rules.two_sided else query - key
        inside = back < rules.window
        bars = "|" if rules.two_sided else ""
        sign, window = "&lt;" if inside else "≥", _say("figure.mask.window", language)
        checks.append((f"{bars}{query} − {key}{bars} = {number(back, 0)} {sign} {rules.window}: {window}", inside))
    if rules.prefix:
        in_prefix = key < rules.prefix and not padding
        sign, words = "&lt;" if key < rules.prefix else "≥", "prefix_key" if in_prefix else "no_prefix_key"
        checks.append((f"{k} {sign} {rules.prefix}: {_say(f'figure.mask.card.{words}', language)}", in_prefix))
    return checks


def _of(words: str, key: str, language: str) -> str:
    return _say(f"figure.mask.card.{words}", language).format(key=key)


def _line(words: str, fine: bool) -> str:
    sign = '<span class="stt-mask-yes">✓</span>' if fine else '<span class="stt-mask-no">✗</span>'
    return f"{sign} {words}"


def _effect(allowed: bool, blind: bool, weight: float | None, language: str) -> list[str]:
    """What becomes of the cell's score."""
    if weight is None:
        return []
    result = f'<b class="stt-result">{number(weight)}</b>'
    key = "blind" if blind else "kept" if allowed else "gone"
    return [f"{_say(f'figure.mask.card.{key}', language)} {result}"]


def _say(key: str, language: str) -> str:
    """Escaped words, with {fields} still to be filled in."""
    return escape(message(key, language, query="{query}", key="{key}"))


def mask_as_numpy(query: int, key: int, rules: Rules, *, padding: bool = False) -> str:
    """Runnable code that says whether this query may look at this key, by the rules that were found."""
    lines = [f"query, key = {query}, {key}", "allowed = True"]
    if rules.causal:
        lines.append("allowed &= key <= query  # causal")
    if rules.window is not None:
        back = "abs(query - key)" if rules.two_sided else "query - key"
        lines.append(f"allowed &= {back} < {rules.window}  # window")
    if rules.prefix:
        lines.append(f"allowed |= key < {rules.prefix}  # prefix: seen by all")
    if "padding" in rules.names:
        lines.append(f"allowed &= {not padding}  # the key is {'padding' if padding else 'a real token'}")
    return "\n".join([*lines, "print(allowed)"]) + "\n"


def rule_words(rules: Rules | None, *, language: str = "en") -> str:
    """ "causal · window 4": the rules of a mask in a few words, not escaped; None: the mask is hidden."""
    if rules is None:
        return message("figure.mask.hidden", language)
    sizes = {"window": rules.window, "prefix": rules.prefix}
    said = []
    for name in rules.names:
        two_sided = "_two_sided" if name == "window" and rules.two_sided else ""
        words = message(f"figure.mask.{name}{two_sided}", language)
        said.append(f"{words} {sizes[name]}" if name in sizes else words)
    if rules.prefix and "prefix" not in rules.names:  # it saves no cell of this text, but is one of the rules
        said.append(f"{message('figure.mask.prefix', language)} {rules.prefix}")
    return " · ".join(said) or message("figure.mask.nothing", language)


def mask_layers(
    groups: Sequence[tuple[str, Sequence[tuple[int, str]]]], *, selected: int | None = None, language: str = "en"
) -> str:
    """HTML: one row for each set of rules in words, with the layers (number, name) that have it; each can be chosen."""
    head = "".join(f'<th scope="col">{_say(f"figure.mask.column.{one}", language)}</th>' for one in ("rules", "layers"))
    body = "".join(
        f'<tr><th scope="row">{escape(words)}</th><td>{"".join(_button(*one, selected) for one in layers)}</td></tr>'
        for words, layers in groups
    )
    return f'<table class="stt-table stt-mask-layers"><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>'


def _button(layer: int, name: str, selected: int | None) -> str:
    kind = f'type="button" class="stt-pill" aria-pressed="{"true" if layer == selected else "false"}"'
    return f'<button {kind} data-layer="{layer}">{escape(name)}</button>'
