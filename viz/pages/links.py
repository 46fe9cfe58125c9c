"""The state of the page as a link: what is shown ↔ `model=…&text=…&panel=…&layer=…&head=…&query=…&key=…&lang=…`, and
every setting of a panel by its own name.

Pure functions. A link comes from anybody, so whatever does not fit is dropped, never raised; whether the layer exists
is checked by the page, which knows the model.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from urllib.parse import parse_qs, quote, urlencode

from transformer.messages import LANGUAGES
from viz.pages.options import Options

LONGEST_TEXT = 8000  # characters; longer links break in mail programs and proxies anyway
LONGEST_ADDRESS = 24_000  # bytes that both texts may take; servers refuse addresses of 64 KB
LONGEST_NAME = 200  # of a model or a view
MOST = 99_999  # no model has that many layers, no text here that many tokens
LONGEST_SETTING = 2000  # characters of one setting
OPTION = re.compile(r"[a-z][a-z0-9-]{0,23}")  # the name of a setting
LONGEST_QUERY = 100_000  # characters that are looked at; behind them a link is not read


OWN = ("model", "text", "target", "site", "layer", "head", "query", "key", "view", "panel", "lang", "hide")


@dataclass(frozen=True)
class View:
    """What a link can restore; None = the page's own choice. `cell` is (query, key)."""

    model: str | None = None
    text: str | None = None
    target: str | None = None  # the second text of an encoder-decoder
    site: str | None = None  # "decoder.9.self"; says more than a layer where a model has two stacks
    layer: int | None = None
    head: int | None = None
    cell: tuple[int, int] | None = None
    view: str | None = None
    panel: str | None = None
    language: str | None = None
    options: Options = ()  # as they stood in the link: who knows the panels reads them


def to_query(view: View) -> str:
    """The query string of `view`, without "?"; what is None stays out."""
    if len(quote(f"{view.text or ''}{view.target or ''}", errors="replace")) > LONGEST_ADDRESS:
        view = replace(view, text=None, target=None, cell=None)  # it could not be opened again
    query, key = view.cell or (None, None)
    parts = {
        "model": view.model,
        "text": view.text,
        "target": view.target,
        "site": view.site,
        "layer": view.layer,
        "head": view.head,
        "query": query,
        "key": key,
        "view": view.view,
        "panel": view.panel,
        "lang": view.language,
    }
    given = dict(view.options) | {name: value for name, value in parts.items() if value is not None}
    return urlencode(given, quote_via=quote, errors="replace")


def from_query(query: str | Mapping[str, str]) -> View:
    """The `View` of a query string (with or without "?") or of parameters already taken apart."""
    parts = _parts(query) if isinstance(query, str) else {name: str(value) for name, value in query.items()}
    row, column = _number(parts.get("query")), _number(parts.get("key"))
    language = parts.get("lang", "")[:2].lower()
    return View(
        model=_name(parts.get("model")),
        text=_text(parts.get("text")),
        target=_text(parts.get("target")),
        site=_name(parts.get("site")),
        layer=_number(parts.get("layer")),
        head=_number(parts.get("head")),
        cell=None if row is None or column is None else (row, column),
        view=_name(parts.get("view")),
        panel=_name(parts.get("panel")),
        language=language if language in LANGUAGES else None,
        options=tuple(sorted((name, value) for name, value in parts.items() if _is_option(name, value))),
    )


def _is_option(name: str, value: str) -> bool:
    return name not in OWN and bool(OPTION.fullmatch(name)) and len(value) <= LONGEST_SETTING


def with_language(query: str, language: str) -> str:
    """The same link in another language."""
    return to_query(replace(from_query(query), language=language))


def _parts(query: str) -> dict[str, str]:
    """The last value of each name. A text keeps its line breaks and blank ends."""
    found = parse_qs(query[:LONGEST_QUERY].removeprefix("?"), keep_blank_values=True, errors="replace")
    return {name: values[-1] for name, values in found.items()}


def _text(value: str | None) -> str | None:
    return value if value and len(value) <= LONGEST_TEXT else None


def _name(value: str | None) -> str | None:
    """A name of printable characters; a control character in it is nobody's model."""
    return value if value and len(value) <= LONGEST_NAME and value.isprintable() else None


def _number(value: str | None) -> int | None:
    """A whole number from 0 to `MOST`, written in plain digits."""
    if value is None or not (value.isascii() and value.isdecimal()) or len(value) > len(str(MOST)):
        return None
    return int(value)
