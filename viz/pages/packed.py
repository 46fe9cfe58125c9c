"""Files that never change under their address: compressed once, sent with `Cache-Control: immutable`.

Gradio compresses its scripts anew for every visitor (90 ms of a core for plotly.js); a class of thirty that opens the
page at once would wait seven seconds for that.
"""

import gzip
import hashlib
import mimetypes
from functools import lru_cache
from pathlib import Path
from threading import Lock, Thread

import brotli
from starlette.requests import Request
from starlette.responses import Response

QUALITY = 5  # of brotli, up to 11
COMPRESSIBLE = (".js", ".css", ".json", ".svg", ".html")


class Packed:
    """One file, in the encodings that browsers take; `name` holds a digest, so that a new version has a new address."""

    def __init__(self, content: bytes, name: str) -> None:
        self.content = content
        stem, dot, ending = name.rpartition(".")
        self.name = f"{stem}-{hashlib.sha256(content).hexdigest()[:12]}{dot}{ending}"
        self.kind = mimetypes.guess_type(name)[0] or "application/octet-stream"
        self.small = f".{ending}" in COMPRESSIBLE
        self._packed: dict[str, bytes] = {}
        self._lock = Lock()

    def pack_later(self) -> None:
        """Compress in a thread, so that the start does not wait."""
        Thread(target=lambda: [self.packed(encoding) for encoding in ("br", "gzip")], daemon=True).start()

    def packed(self, encoding: str) -> bytes:
        """The content in `encoding`; made once, others wait for it."""
        with self._lock:
            if encoding not in self._packed:
                brotlied = encoding == "br"
                self._packed[encoding] = (
                    brotli.compress(self.content, quality=QUALITY) if brotlied else gzip.compress(self.content, 6)
                )
            return self._packed[encoding]

    def response(self, request: Request) -> Response:
        """The file for this browser."""
        headers = {"cache-control": "public, max-age=31536000, immutable", "vary": "accept-encoding"}
        accepted = [part.split(";")[0].strip() for part in request.headers.get("accept-encoding", "").split(",")]
        encoding = next((name for name in ("br", "gzip") if name in accepted), None) if self.small else None
        if encoding is None:
            return Response(self.content, media_type=self.kind, headers=headers)
        return Response(self.packed(encoding), media_type=self.kind, headers={**headers, "content-encoding": encoding})


@lru_cache(maxsize=1024)
def packed_file(folder: Path, name: str) -> Packed | None:
    """The file `name` right inside `folder`, None if there is none there."""
    path = folder / name
    if len(name) > 255 or path.parent != folder or not path.is_file():  # longer names no file system has
        return None
    return Packed(path.read_bytes(), name)
