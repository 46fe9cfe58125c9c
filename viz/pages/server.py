"""Serves the pages: English at "/", Chinese at "/zh/", each built whole in its language; our scripts, plotly.js, headers.

Two Gradio apps rather than one that is relabelled in the browser: the first picture is right at once, links work, and a
reload keeps the language. Nothing here asks another computer for anything.
"""

import errno
import json
import os
import signal
import socket
import sys
from collections.abc import Callable
from pathlib import Path

os.environ["GRADIO_ANALYTICS_ENABLED"] = "False"  # read when Gradio is imported and when pages are built
os.environ.setdefault("HF_HUB_DISABLE_TELEMETRY", "1")

import gradio as gr
import plotly
import uvicorn
from fastapi import FastAPI, HTTPException, Request, Response

from transformer.messages import LANGUAGES, message
from viz.figures import theme
from viz.pages.front import CHINESE, Front
from viz.pages.packed import Packed, packed_file

ASSETS = Path(__file__).parents[2] / "assets"
SCRIPTS = ("page.js", "first_picture.js", "stand_in.js", "plot_view.js", "html_view.js")
GRADIO_ASSETS = Path(gr.__file__).parent / "templates" / "frontend" / "assets"
LARGEST_UPLOAD = "1mb"
WAITING = 64  # requests in the queue of one language; more are told that the page is busy
AT_ONCE = 2  # that compute at the same time
STAND_IN = '<div id="stt-stand-in" class="gradio-container" aria-hidden="true"></div><script>stt.standIn();</script>'


def make_app(build: Callable[[str], gr.Blocks], header: Callable[[str], str] | None = None) -> FastAPI:
    """The whole site. `build(language)` makes one page; `header(language)` is HTML shown above it, before Gradio starts."""
    app = FastAPI(docs_url=None, redoc_url=None, openapi_url=None)
    ours, library = _files()
    _route_files(app, (ours, library))
    for language in reversed(LANGUAGES):  # "/" last: it would take everything
        page = build(language).queue(max_size=WAITING, default_concurrency_limit=AT_ONCE, api_open=False)
        gr.mount_gradio_app(
            app,
            page,
            "/" if language == "en" else f"/{language}",
            footer_links=[],
            run_history=False,
            show_error=False,
            max_file_size=LARGEST_UPLOAD,
            ssr_mode=False,
            enable_monitoring=False,
            mcp_server=False,
            theme=gradio_theme(),
        )
    heads = {language: _head(language, ours, library) for language in LANGUAGES}
    bodies = {language: (header or page_header)(language) + STAND_IN for language in LANGUAGES}
    app.add_middleware(Front, heads=heads, bodies=bodies, framed_by=_framed_by())
    return app


def serve(
    build: Callable[[str], gr.Blocks],
    host: str = "127.0.0.1",
    port: int = 7860,
    *,
    header: Callable[[str], str] | None = None,
    language: str = "en",
) -> int:
    """Serve until ctrl-C or SIGTERM. Returns the exit code: 0, or 1 with one sentence when the port cannot be had."""
    try:
        listening = _listen(host, port)
    except OSError as error:
        taken = error.errno == errno.EADDRINUSE
        key = "page.port_taken" if taken else "page.cannot_listen"
        print(message(key, language, host=host, port=port, reason=error.strerror or str(error)), file=sys.stderr)
        return 1
    shown = "127.0.0.1" if host in ("0.0.0.0", "::", "") else host
    config = uvicorn.Config(make_app(build, header), log_level="warning", ws="none", timeout_graceful_shutdown=1)
    server = _Announced(config, message("page.serving", language, address=f"http://{shown}:{port}"))
    # uvicorn raises the signal again after its own clean-up; by then there is nothing left to do.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    try:
        server.run(sockets=[listening])
    except KeyboardInterrupt:
        return 0
    return 0


class _Announced(uvicorn.Server):
    """A server that says where it is once it answers."""

    def __init__(self, config: uvicorn.Config, words: str) -> None:
        super().__init__(config)
        self.words = words

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets=sockets)
        print(self.words, flush=True)


def _listen(host: str, port: int) -> socket.socket:
    """The port, held before the slow start, so that a taken one is known at once."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    listening = socket.socket(family, socket.SOCK_STREAM)
    if os.name == "posix":  # elsewhere this option would let two programs share a port
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listening.bind((host, port))
        # Behind SO_REUSEADDR only listening tells whether another program has the port.
        listening.listen(128)
    except OSError:
        listening.close()
        raise
    return listening


def _files() -> tuple[Packed, Packed]:
    ours = Packed(b"\n".join((ASSETS / "js" / name).read_bytes() for name in SCRIPTS), "page.js")
    library = Packed((Path(plotly.__file__).parent / "package_data" / "plotly.min.js").read_bytes(), "plotly.js")
    library.pack_later()
    return ours, library


def _route_files(app: FastAPI, files: tuple[Packed, ...]) -> None:
    named = {file.name: file for file in files}

    @app.get("/stt/{name}")
    async def ours(name: str, request: Request) -> Response:
        if name not in named:
            raise HTTPException(404)
        return named[name].response(request)

    @app.get("/assets/{name}")
    @app.get(CHINESE + "/assets/{name}")
    async def gradios(name: str, request: Request) -> Response:
        file = packed_file(GRADIO_ASSETS, name)
        if file is None:
            raise HTTPException(404)
        return file.response(request)


def _head(language: str, ours: Packed, library: Packed) -> str:
    """What stands in the raw page: words and colours for the scripts, style, and the scripts, before Gradio's own."""
    up = "" if language == "en" else "../"
    names = ("copied", "copy_failed", "link_copied")
    facts = {"words": {name: message(f"page.{name}", language) for name in names}, "dark": theme.DARK_OF}
    # Nested, so that the look of our pieces outweighs what Gradio says about every button.
    pieces = f".gradio-container.gradio-container {{\n{theme.component_css()}\n}}\n"
    style = theme.css_variables() + pieces + (ASSETS / "style.css").read_text(encoding="utf-8")
    return (
        f"<title>{message('page.title', language)}</title>\n"
        f"<script>window.sttPage = {json.dumps(facts).replace('<', chr(92) + 'u003c')};</script>\n"
        f"<style>{style}</style>\n"
        f'<script src="{up}stt/{ours.name}" data-plotly="{library.name}"></script>\n'
    )


def page_header(language: str) -> str:
    """The row above the page: name, promise, language, light or dark, link. Links work before any script has come."""
    other, path, href = ("zh", "zh/", "zh/") if language == "en" else ("en", "../", "../?lang=en")
    words = {
        name: message(f"page.{name}", language)
        for name in ("title", "promise", "explore", "other_language", "toggle_theme", "copy_link", "link")
    }
    return (
        '<header class="stt-header">'
        f'<a class="stt-skip" href="#text">{message("page.skip", language)}</a>'
        f'<h1 class="stt-name">{words["title"]}</h1><p class="stt-promise">{words["promise"]}</p>'
        f'<nav class="stt-nav" aria-label="{message("page.pages", language)}"><a aria-current="page" href="./">{words["explore"]}</a></nav>'
        '<div class="stt-tools">'
        f'<a id="language" data-stt="language" data-language="{other}" data-path="{path}" href="{href}" lang="{other}">{words["other_language"]}</a>'
        f'<button type="button" data-stt="theme" aria-label="{words["toggle_theme"]}" title="{words["toggle_theme"]}">◐</button>'
        f'<button type="button" data-stt="link" title="{words["copy_link"]}">{words["link"]}</button>'
        "</div></header>"
    )


def gradio_theme() -> gr.themes.Base:
    """Gradio's own controls in our colours; fonts of the system, so that none is fetched."""
    fonts = ["var(--stt-font)"]
    colours = {
        "body_background_fill": "var(--stt-paper)",
        "body_text_color": "var(--stt-ink)",
        "body_text_color_subdued": "var(--stt-muted)",
        "background_fill_primary": "var(--stt-card)",
        "background_fill_secondary": "var(--stt-soft)",
        "block_background_fill": "var(--stt-card)",
        "block_border_color": "var(--stt-line)",
        "block_label_background_fill": "transparent",
        "block_label_text_color": "var(--stt-muted)",
        "block_title_text_color": "var(--stt-muted)",
        "block_info_text_color": "var(--stt-muted)",
        "border_color_primary": "var(--stt-line)",
        "border_color_accent": "var(--stt-accent)",
        "color_accent_soft": "var(--stt-soft)",
        "input_background_fill": "var(--stt-card)",
        "input_border_color": "var(--stt-line)",
        "input_border_color_focus": "var(--stt-accent)",
        "input_placeholder_color": "var(--stt-muted)",
        "link_text_color": "var(--stt-accent)",
        "button_primary_background_fill": "var(--stt-accent)",
        "button_primary_background_fill_hover": "var(--stt-accent)",
        "button_primary_text_color": "var(--stt-on-accent)",
        "button_secondary_background_fill": "var(--stt-card)",
        "button_secondary_background_fill_hover": "var(--stt-soft)",
        "button_secondary_text_color": "var(--stt-ink)",
        "button_secondary_border_color": "var(--stt-line)",
        "slider_color": "var(--stt-accent)",
        "loader_color": "var(--stt-accent)",
    }
    both = {**colours, **{f"{name}_dark": value for name, value in colours.items()}}
    shapes = {"block_shadow": "none", "input_shadow": "none", "button_primary_shadow": "none", "block_border_width": "1px"}
    known = gr.themes.Base.set.__code__.co_varnames
    return gr.themes.Base(font=fonts, font_mono=["ui-monospace", "monospace"], radius_size="lg").set(
        **{name: value for name, value in {**both, **shapes}.items() if name in known}
    )


def _framed_by() -> str:
    """Who may show the page in a frame: only itself, and on Spaces the site that shows Spaces."""
    return "'self' https://huggingface.co https://*.hf.space" if os.environ.get("SPACE_ID") else "'self'"
