"""Which heads share keys and values: a bracket for each key-value head (grouped queries: Ainslie et al. 2023)."""

from html import escape

from transformer.messages import message


def head_group_brackets(n_heads: int, n_kv_heads: int, *, selected: int | None = None, language: str = "en") -> str:
    """HTML: the heads as buttons (`data-head`), joined in brackets over the key-value head that they share.

    `selected` is the chosen head; its group is marked. Raises ValueError where the heads cannot be shared out evenly.
    """
    if n_kv_heads < 1 or n_heads % n_kv_heads:
        raise ValueError(f"{n_heads} heads cannot share {n_kv_heads} key-value heads evenly")
    size = n_heads // n_kv_heads
    groups = "".join(_group(number, size, selected, language) for number in range(n_kv_heads))
    label = _say("label", language, heads=n_heads, groups=n_kv_heads)
    return f'<div class="stt-head-groups" role="group" aria-label="{label}">{groups}</div>'


def _say(key: str, language: str, /, **values: object) -> str:
    return escape(message(f"figure.head_groups.{key}", language, **values))


def _group(number: int, size: int, selected: int | None, language: str) -> str:
    mine = selected is not None and selected // size == number
    heads = "".join(_head(head, head == selected, language) for head in range(number * size, (number + 1) * size))
    state = " stt-head-group-chosen" if mine else ""
    shared = _say("shared", language, group=number)
    return (
        f'<span class="stt-head-group{state}"><span class="stt-head-row">{heads}</span>'
        f'<span class="stt-head-bracket" aria-hidden="true"></span><span class="stt-head-shared">{shared}</span></span>'
    )


def _head(head: int, chosen: bool, language: str) -> str:
    pressed = "true" if chosen else "false"
    said = _say("head", language, head=head)
    return (
        f'<button type="button" class="stt-head-button" data-head="{head}" aria-pressed="{pressed}"'
        f' aria-label="{said}" title="{said}">{head}</button>'
    )
