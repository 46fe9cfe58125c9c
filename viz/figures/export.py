"""A figure and its numbers as files: CSV, NPZ, and a page of HTML that opens without a network."""

import csv
import io
import re
from collections.abc import Mapping, Sequence
from functools import cache
from html import escape
from pathlib import Path

import numpy as np
import plotly
import plotly.graph_objects as go

from viz.figures import theme

# How a formula of a spreadsheet begins, also in full width; "-" before nothing but digits is a sign.
_FORMULA = re.compile(r"[=+@\t\r\n\uff1d\uff0b\uff20\uff0d]|-(?![\d.,]*$)")


def as_csv(
    values: np.ndarray,
    rows: Sequence[str],
    columns: Sequence[str],
    *,
    corner: str = "",
    allowed: np.ndarray | None = None,
) -> str:
    """`values` (row, column) or (row,) as text, every number with all its digits; forbidden cells are empty.

    Names come from a text that anybody may have typed: one that a spreadsheet would run gets an apostrophe before it.
    """
    table = _table(values, rows, columns)
    may = np.ones(table.shape, bool) if allowed is None else np.asarray(allowed, bool)
    out = io.StringIO()
    writer = csv.writer(out)  # lines end as RFC 4180 has it; then both signs are quoted where they stand in a name
    writer.writerow([_harmless(corner), *map(_harmless, columns)])
    for name, numbers, open_ in zip(rows, table.tolist(), may.tolist(), strict=True):
        cells = [repr(number) if ok else "" for number, ok in zip(_short(numbers, table.dtype), open_, strict=True)]
        writer.writerow([_harmless(name), *cells])
    return out.getvalue()


def as_npz(
    values: np.ndarray,
    rows: Sequence[str],
    columns: Sequence[str],
    *,
    allowed: np.ndarray | None = None,
    more: Mapping[str, np.ndarray] | None = None,
    caption: str = "",
) -> bytes:
    """`values`, `rows`, `columns`, `caption` and what else there is, for `numpy.load`; nothing in it is pickled."""
    arrays: dict[str, np.ndarray] = {name: np.asarray(array) for name, array in (more or {}).items()}
    arrays |= {"values": np.asarray(values), "rows": np.array(list(rows), dtype=str)}
    arrays |= {"columns": np.array(list(columns), dtype=str), "caption": np.array(caption)}
    if allowed is not None:
        arrays["allowed"] = np.asarray(allowed, bool)
    out = io.BytesIO()
    np.savez_compressed(out, allow_pickle=False, **arrays)
    return out.getvalue()


def standalone_html(fig: go.Figure, *, title: str, caption: str = "", language: str = "en") -> str:
    """A page with the figure and plotly.js in it (5 MB): it opens anywhere, light or dark as the reader's system is."""
    light, dark = (one.to_json().replace("<", "\\u003c") for one in (fig, theme.to_dark(fig)))
    tones = {name: theme.TONES[name] for name in ("paper", "ink", "muted")}
    colours = "".join(f"--{name}:{pair[0]};" for name, pair in tones.items())
    colours_dark = "".join(f"--{name}:{pair[1]};" for name, pair in tones.items())
    return (
        f'<!doctype html>\n<html lang="{"zh-CN" if language == "zh" else "en"}"><head><meta charset="utf-8">'
        f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>{escape(title)}</title>\n<style>:root{{color-scheme:light dark;{colours}}}"
        f"@media(prefers-color-scheme:dark){{:root{{{colours_dark}}}}}"
        f"body{{margin:24px auto;max-width:900px;padding:0 16px;background:var(--paper);color:var(--ink);"
        f"font:15px/1.5 {theme.FONT}}}h1{{font-size:18px}}p{{color:var(--muted);overflow-wrap:anywhere}}</style>\n"
        f"<script>{_library()}</script></head>\n"
        f'<body><h1>{escape(title)}</h1><div id="figure"></div><p>{escape(caption)}</p>\n'
        f"<script>const light={light},dark={dark},query=matchMedia('(prefers-color-scheme: dark)');"
        "const draw=()=>{const {data,layout}=query.matches?dark:light;"
        "Plotly.react('figure',data,{...layout,autosize:true},{responsive:true,displaylogo:false});};"
        "query.addEventListener('change',draw);draw();</script></body></html>\n"
    )


# Whatever is in the figure, the page asks nobody for anything.
_POLICY = "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; img-src data: blob:"


@cache
def _library() -> str:
    """plotly.js of the installed plotly, as it may stand inside a script element."""
    text = (Path(plotly.__file__).parent / "package_data" / "plotly.min.js").read_text(encoding="utf-8")
    return text.replace("</script", "<\\/script")


def _table(values: np.ndarray, rows: Sequence[str], columns: Sequence[str]) -> np.ndarray:
    table = np.asarray(values)
    table = table[:, None] if table.ndim == 1 else table
    if table.shape != (len(rows), len(columns)):
        raise ValueError(f"values {table.shape} do not fit {len(rows)} rows and {len(columns)} columns")
    return table


def _short(numbers: list, dtype: np.dtype) -> list:
    """float32 in as few digits as bring back the same float32."""
    return [float(str(np.float32(one))) for one in numbers] if dtype == np.float32 else numbers


def _harmless(name: str) -> str:
    return f"'{name}" if _FORMULA.match(name) else name
