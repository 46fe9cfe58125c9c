"""The front door: stands before Gradio and minds the language, the head of the page and safe headers."""

import re
from collections.abc import Awaitable, Callable, Mapping, MutableMapping
from typing import Any
from urllib.parse import parse_qsl, urlencode

import brotli

Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Any]]
Send = Callable[[Any], Awaitable[None]]
App = Callable[[Scope, Receive, Send], Awaitable[None]]

CHINESE = "/zh"  # where the Chinese page lies; the English one lies at "/"
LONGEST_ADDRESS = 60_000  # bytes of path and query; Gradio's own reader of addresses raises at 65,536 with the host


def security_headers(framed_by: str) -> dict[str, str]:
    """Headers that Gradio tolerates: it builds its views with `Function`, hence 'unsafe-eval'.

    All sources are our own, so the page could not reach another computer even if it wanted to. `framed_by` are the
    sites that may show the page in a frame.
    """
    policy = (
        "default-src 'self'; script-src 'self' 'unsafe-inline' 'unsafe-eval'; style-src 'self' 'unsafe-inline'; "
        "img-src 'self' data: blob:; font-src 'self' data:; media-src 'self' blob: data:; worker-src 'self' blob:; "
        f"object-src 'none'; base-uri 'self'; form-action 'self'; frame-ancestors {framed_by}"
    )
    return {
        "content-security-policy": policy,
        "x-content-type-options": "nosniff",
        "referrer-policy": "same-origin",  # a link holds the text that was typed
        "permissions-policy": "camera=(), microphone=(), geolocation=(), payment=(), usb=()",
        "cross-origin-opener-policy": "same-origin-allow-popups",
    }


def redirect_of(path: str, query: str, accept_language: str) -> str | None:
    """Where a visitor of `path` should be instead, as a relative address; None if right here.

    `lang=` in the address decides; without it a first visit in a Chinese browser goes to the Chinese page.
    """
    asked = dict(parse_qsl(query, keep_blank_values=True)).get("lang", "")[:2].lower()
    rest = urlencode([(name, value) for name, value in parse_qsl(query, keep_blank_values=True) if name != "lang"])
    if path == CHINESE:
        return f"zh/?{query}" if query else "zh/"
    if path == CHINESE + "/":
        return f"../?lang=en&{rest}".rstrip("&") if asked == "en" else None
    prefers = asked == "zh" or (not asked and accept_language.strip().lower().startswith("zh"))
    return (f"zh/?{rest}".rstrip("?") if prefers else None) if path == "/" else None


class Front:
    """ASGI: the parts above put around `app`. `heads` and `bodies` hold, per language, what is put into the page."""

    def __init__(self, app: App, heads: Mapping[str, str], bodies: Mapping[str, str], framed_by: str) -> None:
        self.app, self.heads, self.bodies = app, heads, bodies
        self.headers = [(name.encode(), value.encode()) for name, value in security_headers(framed_by).items()]

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """One request: a redirect, a rewritten page, or what Gradio says, with our headers."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        guarded = self._guarded(send)
        if len(scope.get("raw_path") or b"") + len(scope["query_string"]) > LONGEST_ADDRESS:
            await guarded({"type": "http.response.start", "status": 414, "headers": [(b"content-length", b"0")]})
            await guarded({"type": "http.response.body", "body": b""})
            return
        wants_page = b"text/html" in _header(scope, b"accept") and scope["method"] in ("GET", "HEAD")
        if not wants_page or scope["path"] not in ("/", CHINESE, CHINESE + "/"):
            await self.app(scope, receive, guarded)
            return
        query, prefers = (
            part.decode("latin-1") for part in (scope["query_string"], _header(scope, b"accept-language"))
        )
        target = redirect_of(scope["path"], query, prefers)
        if target is None:
            await self._page(scope, receive, guarded)
            return
        headers = [(b"location", target.encode("latin-1")), (b"cache-control", b"no-store"), (b"content-length", b"0")]
        await guarded({"type": "http.response.start", "status": 307, "headers": headers})
        await guarded({"type": "http.response.body", "body": b""})

    def _guarded(self, send: Send) -> Send:
        async def guarded(message: Any) -> None:
            if message["type"] == "http.response.start":
                message["headers"] = [*message.get("headers", []), *self.headers]
            await send(message)

        return guarded

    async def _page(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Gradio's page with our head, header and language. It is asked for uncompressed, so that it can be read."""
        language = "zh" if scope["path"].startswith(CHINESE) else "en"
        plain = [(name, value) for name, value in scope["headers"] if name != b"accept-encoding"]
        start: dict[str, Any] = {}
        chunks: list[bytes] = []

        async def collect(message: Any) -> None:
            if message["type"] == "http.response.start":
                start.update(message)
            if message["type"] != "http.response.body":
                return
            chunks.append(message.get("body", b""))
            if message.get("more_body"):
                return
            body = b"".join(chunks)
            if start["status"] == 200 and body:
                body = rewrite(body.decode(), language, self.heads[language], self.bodies[language]).encode()
            headers = [(name, value) for name, value in start["headers"] if name not in (b"content-length", b"vary")]
            headers += [(b"vary", b"accept-language, accept, accept-encoding"), (b"cache-control", b"no-store")]
            if b"br" in _header(scope, b"accept-encoding"):
                body = brotli.compress(body, quality=4)  # the first figures are in it: 4 ms for a third of the bytes
                headers.append((b"content-encoding", b"br"))
            headers += [(b"content-length", str(len(body)).encode())] if scope["method"] == "GET" else []
            await send({**start, "headers": headers})
            await send({"type": "http.response.body", "body": body})

        await self.app({**scope, "headers": plain}, receive, collect)


def rewrite(page: str, language: str, head: str, body: str) -> str:
    """Gradio's page in our language, `head` before its scripts and `body` before its app; its adverts left out."""
    page = re.sub(r'<meta\s+(?:property|name)="(?:og|twitter):[^>]*/>\s*', "", page)
    page = page.replace('<link rel="manifest" href="/manifest.json" />', "", 1)
    # With a base, plotly.js writes url(address#id) for hatches and clips: lost once the address has changed.
    page = page.replace('<base href="./" />', "", 1)
    page = page.replace('lang="en"', f'lang="{"zh-CN" if language == "zh" else "en"}"', 1)
    page = page.replace("</style>", "</style>\n" + head, 1)
    return page.replace("<gradio-app", body + "\n<gradio-app", 1)


def _header(scope: Scope, name: bytes) -> bytes:
    return next((value for key, value in scope["headers"] if key == name), b"")
