"""Files that were made for a visitor and wait for the browser to fetch them: few, small in sum, and each under an
address that nobody else can guess."""

from collections import OrderedDict
from dataclasses import dataclass
from secrets import token_urlsafe
from threading import Lock

MOST_BYTES = 256 << 20  # of all waiting files; the oldest make room
MOST_FILES = 64


@dataclass(frozen=True)
class File:
    """`name` as the visitor's computer shall call it."""

    name: str
    kind: str  # "text/csv"
    content: bytes


class Downloads:
    """`offer` a file, `fetch` it by its token: as often as the browser asks, until newer ones need the room."""

    def __init__(self, most_bytes: int = MOST_BYTES) -> None:
        self.most_bytes = most_bytes
        self._files: OrderedDict[str, File] = OrderedDict()
        self._lock = Lock()

    def offer(self, file: File) -> str:
        """The token under which the file can be fetched."""
        token = token_urlsafe(24)
        with self._lock:
            self._files[token] = file
            while len(self._files) > 1 and (self._size() > self.most_bytes or len(self._files) > MOST_FILES):
                self._files.popitem(last=False)
        return token

    def fetch(self, token: str) -> File | None:
        with self._lock:
            return self._files.get(token)

    def _size(self) -> int:
        return sum(len(file.content) for file in self._files.values())


DOWNLOADS = Downloads()  # of this server
