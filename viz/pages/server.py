"""Serves the pages: English at "/", Chinese at "/zh/", each built whole in its language.

Two Gradio apps rather than one that is relabelled in the browser: the first picture is right at once, links work, and a
reload keeps the language. Nothing here asks another computer for anything.
"""

import errno
import os
import signal
import socket
import sys
from collections.abc import Callable
from pathlib import Path
from urllib.parse import quote

os.environ["GRADIO_ANALYTICS_ENABLED"] = "False"  # read when Gradio is imported and when pages are built
os.environ.setdefault("HF_HUB_DISABLE_TELEMETRY", "1")
os.environ.setdefault("GRADIO_ANALYTICS_CACHE_FREQUENCY", "1000000000")  # no statistics (pandas) after every event

import gradio as gr
import plotly
import uvicorn
from fastapi import FastAPI, HTTPException, Request, Response

from transformer.messages import LANGUAGES, message
from viz.pages.downloads import DOWNLOADS
from viz.pages.front import CHINESE, Front
from viz.pages.look import ASSETS, STAND_IN, gradio_theme, page_head, page_header
from viz.pages.packed import Packed, packed_file

SCRIPTS = ("page.js", "first_picture.js", "stand_in.js", "plot_view.js", "html_view.js", "stage.js",
           "take_along.js", "strokes.js", "draw_pad.js")  # fmt: skip
GRADIO_ASSETS = Path(gr.__file__).parent / "templates" / "frontend" / "assets"
LARGEST_UPLOAD = "1mb"
WAITING = 64  # requests in the queue of one language; more are told that the page is busy
AT_ONCE = 2  # that compute at the same time


def make_app(build: Callable[[str], gr.Blocks], header: Callable[[str], str] = page_header) -> FastAPI:
    """The whole site. `build(language)` makes one page; `header(language)` is the HTML above it, before Gradio."""
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
    heads = {language: page_head(language, ours, library) for language in LANGUAGES}
    bodies = {language: header(language) + STAND_IN for language in LANGUAGES}
    app.add_middleware(Front, heads=heads, bodies=bodies, framed_by=_framed_by())
    return app


def serve(
    build: Callable[[str], gr.Blocks],
    host: str = "127.0.0.1",
    port: int = 7860,
    *,
    header: Callable[[str], str] = page_header,
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
    def ours(name: str, request: Request) -> Response:
        if name not in named:
            raise HTTPException(404)
        return named[name].response(request)

    @app.get("/stt/file/{token}/{name}")
    def taken(token: str, name: str) -> Response:
        file = DOWNLOADS.fetch(token)
        if file is None:
            raise HTTPException(404)
        # Never shown in place, where a page of ours could be made to run what somebody typed (nor is its kind guessed
        # at, which the front door says of every answer).
        named = f"attachment; filename*=UTF-8''{quote(file.name)}"
        safe = {"Content-Disposition": named, "Cache-Control": "no-store"}
        return Response(file.content, media_type=file.kind, headers=safe)

    @app.get("/assets/{name}")
    @app.get(CHINESE + "/assets/{name}")
    def gradios(name: str, request: Request) -> Response:
        file = packed_file(GRADIO_ASSETS, name)
        if file is None:
            raise HTTPException(404)
        return file.response(request)


def _framed_by() -> str:
    """Who may show the page in a frame: only itself, and on Spaces the site that shows Spaces."""
    return "'self' https://huggingface.co https://*.hf.space" if os.environ.get("SPACE_ID") else "'self'"
