"""Words for readers, in the reader's language: `message("error.text_too_long", "zh", limit=64, got=80)`.

The words stand in `assets/messages/<language>.json`, where someone who does not program can edit them.
"""

import json
import locale
import os
from functools import cache
from pathlib import Path

LANGUAGES = ("en", "zh")
_FOLDER = Path(__file__).parent.parent / "assets" / "messages"


@cache
def catalogue(language: str) -> dict[str, str]:
    """All messages of one language; a language that we do not speak reads English."""
    known = language if language in LANGUAGES else "en"
    return json.loads((_FOLDER / f"{known}.json").read_text(encoding="utf-8"))


def message(key: str, /, language: str = "en", **values: object) -> str:
    """The words for `key` with `values` filled in. A missing key is our bug and raises `KeyError`."""
    words = catalogue(language)[key]
    return words.format(**values) if values else words


def terminal_language() -> str:
    """The language of whoever sits at the terminal, as its settings say."""
    spoken = os.environ.get("LC_ALL") or os.environ.get("LANG") or locale.getlocale()[0] or ""  # the last on Windows
    return "zh" if spoken.startswith(("zh", "Chinese")) else "en"
