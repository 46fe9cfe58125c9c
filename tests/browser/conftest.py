"""The real page in a real browser: a server in this process, Chromium from `chromium_path`, every wait bounded."""

import contextlib
import socket
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

import gradio as gr
import pytest
import uvicorn
from playwright.sync_api import Browser, BrowserContext, ConsoleMessage, Dialog, Page, sync_playwright

from transformer.engine import Engine
from viz.pages import explore, server

FLAGS = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
)
WAIT_MS = 15_000  # no wait of a browser test is longer


@dataclass
class Visitor:
    """A page and what it did behind our back."""

    page: Page
    outside: list[str] = field(default_factory=list)  # addresses asked for that are not this computer's
    errors: list[str] = field(default_factory=list)  # what the scripts complained about
    console: list[str] = field(default_factory=list)  # errors and warnings in the browser's console
    dialogs: list[str] = field(default_factory=list)  # alert() and its kin: only foreign code would call them

    def wait(self, condition: str) -> None:
        """Until the JavaScript `condition` is true."""
        self.page.wait_for_function(condition, timeout=WAIT_MS)


@contextlib.contextmanager
def running(build: Callable[[str], gr.Blocks], log_level: str = "error") -> Iterator[str]:
    """The address of a server of these pages, on a free port, until the end of the block."""
    listening = socket.socket()
    listening.bind(("127.0.0.1", 0))
    config = uvicorn.Config(server.make_app(build), log_level=log_level, ws="none", timeout_graceful_shutdown=1)
    served = uvicorn.Server(config)
    thread = threading.Thread(target=served.run, kwargs={"sockets": [listening]}, daemon=True)
    thread.start()
    until = time.monotonic() + 30
    while not served.started and thread.is_alive() and time.monotonic() < until:
        time.sleep(0.02)
    assert served.started, "the server did not start within 30 s"
    try:
        yield f"http://127.0.0.1:{listening.getsockname()[1]}"
    finally:
        served.should_exit = True
        thread.join(timeout=10)
        listening.close()


@pytest.fixture(scope="session")
def browser(chromium_path: str) -> Iterator[Browser]:
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium_path, args=list(FLAGS), timeout=30_000)
        yield browser
        browser.close()


@contextlib.contextmanager
def visiting(browser: Browser) -> Iterator[Callable[..., Visitor]]:
    """`visit(address, width=1440, dark=False, locale="en-US", block=None)` opens a page in a fresh browser profile.

    `beside=visitor` opens it as another tab of that visitor's profile instead, whose cache is warm.
    """
    contexts: list[BrowserContext] = []

    def fresh(width: int, dark: bool, locale: str) -> BrowserContext:
        size, scheme = {"width": width, "height": 1000}, "dark" if dark else "light"
        context = browser.new_context(viewport=size, color_scheme=scheme, locale=locale)
        contexts.append(context)
        context.set_default_timeout(WAIT_MS)
        return context

    def open_page(
        address: str,
        *,
        width: int = 1440,
        dark: bool = False,
        locale: str = "en-US",
        block: str | None = None,
        beside: Visitor | None = None,
    ) -> Visitor:
        context = fresh(width, dark, locale) if beside is None else beside.page.context
        visitor = _watched(context.new_page())
        if block is not None:
            visitor.page.route(block, lambda route: route.abort())
        visitor.page.goto(address, wait_until="commit", timeout=WAIT_MS)
        return visitor

    yield open_page
    for context in contexts:
        context.close()


def _watched(page: Page) -> Visitor:
    visitor = Visitor(page)
    page.on("request", lambda request: _note_outside(visitor, request.url))
    page.on("pageerror", lambda error: visitor.errors.append(str(error)))
    page.on("console", lambda said: _note_console(visitor, said))
    page.on("dialog", lambda dialog: _note_dialog(visitor, dialog))
    return visitor


@pytest.fixture
def visit(browser: Browser) -> Iterator[Callable[..., Visitor]]:
    """Opens pages that are closed after the test; see `visiting`."""
    with visiting(browser) as open_page:
        yield open_page


@pytest.fixture(scope="module")
def stay(browser: Browser) -> Iterator[Callable[..., Visitor]]:
    """Opens pages that several tests of a file share."""
    with visiting(browser) as open_page:
        yield open_page


@dataclass(frozen=True)
class Site:
    """The whole program, served by this process: what pages say can be compared with the engine's own traces."""

    address: str
    engine: Engine


@pytest.fixture(scope="session")
def site() -> Iterator[Site]:
    """Opens with the model "untrained"; packs that are on this computer are offered, none is fetched."""
    engine = explore.open_engine(model="untrained", packs=False)
    with running(lambda language: explore.build(language, engine)) as address:
        yield Site(address, engine)


def _note_outside(visitor: Visitor, address: str) -> None:
    if not address.startswith(("http://127.0.0.1:", "data:", "blob:")):
        visitor.outside.append(address)


def _note_console(visitor: Visitor, said: ConsoleMessage) -> None:
    if said.type in ("error", "warning"):
        visitor.console.append(f"{said.type}: {said.text}")


def _note_dialog(visitor: Visitor, dialog: Dialog) -> None:
    visitor.dialogs.append(dialog.message)
    dialog.dismiss()
