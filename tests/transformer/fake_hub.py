"""A hub on this computer: what `huggingface_hub` asks of the real one, with a list of the requests and a few mishaps.

GET  /api/models/<id>?blobs=true          names, sizes and hashes of all files
HEAD, GET /<id>/resolve/<commit>/<file>   one file, in ranges too
"""

import hashlib
import json
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Event, Thread
from typing import Any

LARGE = ".safetensors"  # these are stored as the hub stores large files: under their sha256


class FakeHub:
    """`models` maps an id to its folder; the other fields make it behave badly."""

    def __init__(self) -> None:
        self.models: dict[str, Path] = {}
        self.gated: set[str] = set()
        self.counts: dict[str, int] = {}  # parameters that it tells, instead of telling none
        self.requests: list[tuple[str, str, str]] = []  # method, path, range
        self.tokens: set[str] = set()
        self.cut_after: int | None = None  # a large file ends after so many bytes, once
        self.hang_after: int | None = None  # a large file stops there until `go` is set
        self.go = Event()
        self.broken_status: int | None = None
        self.says = ""  # its own words about that
        self.spoil = b""  # put in front of every large file
        self.endpoint = ""

    def paths(self, method: str) -> list[str]:
        """The files that were asked for."""
        return [path.rsplit("/", 1)[1] for kind, path, _ in self.requests if kind == method and "/resolve/" in path]

    def commit(self, name: str) -> str:
        files = sorted(self.models[name].iterdir())
        return hashlib.sha1(b"".join(file.name.encode() + file.read_bytes() for file in files)).hexdigest()

    def info(self, name: str) -> dict[str, Any]:
        siblings = [_sibling(file) for file in sorted(self.models[name].iterdir())]
        told = {"id": name, "modelId": name, "sha": self.commit(name), "private": False, "gated": name in self.gated}
        if name in self.counts:
            told["safetensors"] = {"parameters": {"F32": self.counts[name]}, "total": self.counts[name]}
        return {**told, "tags": [], "siblings": [{"rfilename": "onnx/model.onnx", "size": 10**12}, *siblings]}


def _sibling(file: Path) -> dict[str, Any]:
    told = {"rfilename": file.name, "size": file.stat().st_size, "blobId": digest(file, large=False)}
    if file.suffix == LARGE:
        told["lfs"] = {"size": file.stat().st_size, "sha256": digest(file), "pointerSize": 134}
    return told


def digest(file: Path, large: bool | None = None) -> str:
    """sha256 of a large file, git's sha1 of a small one."""
    data = file.read_bytes()
    if file.suffix == LARGE if large is None else large:
        return hashlib.sha256(data).hexdigest()
    return hashlib.sha1(b"blob %d\0" % len(data) + data).hexdigest()


@contextmanager
def running() -> Iterator[FakeHub]:
    """The hub, listening on a free port of the loopback address."""
    hub = FakeHub()
    server = ThreadingHTTPServer(("127.0.0.1", 0), _handler(hub))
    server.daemon_threads = True
    thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    hub.endpoint = f"http://127.0.0.1:{server.server_port}"
    try:
        yield hub
    finally:
        hub.go.set()
        server.shutdown()
        thread.join()
        server.server_close()


def _handler(hub: FakeHub) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def log_message(self, *_: object) -> None:
            pass

        def do_HEAD(self) -> None:
            self.do_GET()

        def do_GET(self) -> None:
            path = self.path.split("?")[0].strip("/")
            hub.requests.append((self.command, self.path, self.headers.get("Range", "")))
            hub.tokens.add(self.headers.get("Authorization", ""))
            if hub.broken_status:
                self.refuse(hub.broken_status, "")
            elif path.startswith("api/models/"):
                self.tell(path.removeprefix("api/models/"))
            else:
                name, _, rest = path.partition("/resolve/")
                self.file(name, rest.split("/", 1)[-1])

        def tell(self, name: str) -> None:
            if name not in hub.models:
                self.refuse(401, "RepoNotFound")
                return
            body = json.dumps(hub.info(name)).encode()
            self.answer(200, {"Content-Type": "application/json", "Content-Length": len(body)})
            self.wfile.write(body)

        def file(self, name: str, file: str) -> None:
            if name not in hub.models or not (hub.models[name] / file).is_file():
                self.refuse(404, "EntryNotFound")
                return
            if name in hub.gated:
                self.refuse(403, "GatedRepo")
                return
            path = hub.models[name] / file
            data, etag, large = path.read_bytes(), digest(path), path.suffix == LARGE
            data = (hub.spoil + data)[: len(data)] if large else data
            asked = self.headers.get("Range", "")
            start = int(asked.removeprefix("bytes=").split("-")[0]) if asked else 0
            headers = {"ETag": f'"{etag}"', "X-Repo-Commit": hub.commit(name), "Content-Length": len(data) - start}
            if asked:
                headers["Content-Range"] = f"bytes {start}-{len(data) - 1}/{len(data)}"
            self.answer(206 if asked else 200, headers)
            if self.command == "GET":
                self.send(data[start:], large)

        def send(self, data: bytes, large: bool) -> None:
            end, hub.cut_after = (hub.cut_after, None) if large else (None, hub.cut_after)
            if end is not None:
                self.wfile.write(data[:end])
                self.close_connection = True
                return
            if large and hub.hang_after is not None:
                self.wfile.write(data[: hub.hang_after])
                self.wfile.flush()
                hub.go.wait(20)
                self.close_connection = True
                return
            self.wfile.write(data)

        def answer(self, status: int, headers: dict[str, Any]) -> None:
            self.send_response(status)
            for key, value in headers.items():
                self.send_header(key, str(value))
            self.end_headers()

        def refuse(self, status: int, code: str) -> None:
            told = {"X-Error-Code": code, "X-Error-Message": hub.says}
            self.answer(status, {**{key: words for key, words in told.items() if words}, "Content-Length": 0})

    return Handler
