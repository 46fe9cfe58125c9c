"""Models of the Hugging Face hub: what their names look like, and how one comes into the cache with its progress told.

The work is done by `hub_download.py` in a process of its own; here its lines are read, the size and the kind of model
are judged before any weights come, and every failure gets its name.
"""

import json
import os
import re
import subprocess
import sys
from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from queue import Empty, SimpleQueue
from threading import Thread
from typing import Any

from transformer.errors import BrokenModel, GatedModel, ModelError, NoNetwork, NoSafetensors, UnknownModel
from transformer.messages import message
from transformer.pack_steps import TICK_SECONDS, Progress, megabytes
from transformer.packs import PACKS
from transformer.visible import visible
from transformer.weights_size import DamagedFile, NoConfig, check_size

_ROOT = Path(__file__).resolve().parent.parent
_PART = r"\w(?:[\w.-]{0,94}\w)?"
_NAME = re.compile(rf"(?!.*(--|\.\.|\.git$))({_PART}/)?{_PART}", re.ASCII)  # the hub's own rules
_HOSTS = ("huggingface.co", "www.huggingface.co", "hf.co", "hf-mirror.com")
_PAGES = ("tree", "blob", "resolve", "raw", "commit", "commits", "discussions", "edit", "settings")
_OTHER = ("datasets", "spaces", "docs", "models", "collections", "papers", "blog", "api")
_LONGEST_SHOWN = 80


class ModelNotKept(ModelError):
    """The model came, or was about to, but the cache cannot hold it: no room, or no right to write there."""


@dataclass(frozen=True)
class HubProgress(Progress):
    """How far a model is: `stage` is "look", "wait", "download" or "done"; `done` of `total` bytes."""

    def text(self, language: str = "en") -> str:
        """One line for the terminal and the page."""
        done, total = self.done // 1_000_000, megabytes(self.total)
        return message(f"hub.{self.stage}", language, title=self.title, done=done, total=total)


def hub_id(name: str) -> str:
    """The "owner/name", or old "name", that was typed; of a pasted address of the hub, the part that names the model.

    Raises `UnknownModel` for what can be none: a path, a data set's address, somebody else's site, …
    """
    typed = name.strip()
    address = re.fullmatch(r"(?:https?://)?([^/?#\s]+)/([^?#\s]+)\S*", typed, re.IGNORECASE)
    if address and address[1].lower() in (*_HOSTS, _mirror()):
        parts = [part for part in address[2].split("/") if part]
        end = next((at for at, part in enumerate(parts) if at and part in _PAGES), len(parts))
        typed = "" if parts[:1] and parts[0] in _OTHER else "/".join(parts[: min(end, 2)])
    if not _NAME.fullmatch(typed):
        raise unknown(name)
    return typed


def unknown(name: str) -> UnknownModel:
    """The error for a name that leads to nothing; it shows the name cut short and without hidden characters."""
    from transformer.cards import NAMES, is_shipped  # with torch, which a look into the hub need not wait for

    ours = [one for one in NAMES if is_shipped(one)]
    return UnknownModel(name=shown(name), known=", ".join((*ours, *PACKS, "untrained")))


def shown(words: str, longest: int = _LONGEST_SHOWN) -> str:
    """Words of a stranger, fit for a sentence: cut short, and nothing hidden in them."""
    return visible(words if len(words) <= longest else words[: longest - 1] + "…").replace("·", " ")


def _mirror() -> str:
    return re.sub(r"^https?://|/.*", "", os.environ.get("HF_ENDPOINT", "").strip().lower())


def fetch(
    name: str, *, limit_mb: int, accepts: Callable[[Path, str], object], token: bool = True
) -> Generator[Progress, None, Path]:
    """Brings a hub model into the cache and returns its folder; closing the iterator stops the work.

    `limit_mb`: more memory than that is refused, before the weights come. `accepts` gets the folder that holds
    config.json, and the name, and raises what speaks against the model, also before the weights come.
    `token=False`: without the token of whoever runs this program. HF_ENDPOINT, HF_HUB_OFFLINE, HF_HOME and HF_TOKEN
    are read now, at each call. What was fetched before needs no network. Raises UnknownModel, NoNetwork, GatedModel,
    NoSafetensors, NoConfig, DamagedFile, ModelTooBig, ModelNotKept.
    """
    name = hub_id(name)
    progress = HubProgress("look", 0, 0, name)
    folder = None
    with _worker([name, *([] if token else ["--no-token"])]) as (process, lines):
        while folder is None:
            yield progress
            line = _next(lines)
            if "problem" in line:
                raise _error(name, line)
            if "stage" in line:
                progress = HubProgress(line["stage"], line["done"], line["total"], name)
            elif "folder" in line:
                # Without the hub's count of parameters, at least what float32 files of this size hold.
                check_size(line["parameters"] or line["size"] // 4, limit_mb, name)
                accepts(Path(line["folder"]), name)
                _agree(process)
            elif "ready" in line:
                folder = Path(line["ready"])
    yield HubProgress("done", progress.total, progress.total, name)
    return folder


_Lines = SimpleQueue[dict[str, Any]]


@contextmanager
def _worker(arguments: list[str]) -> Iterator[tuple[subprocess.Popen[str], _Lines]]:
    """The process that fetches, and its lines as they come; it ends with this block, however that is left."""
    # Mirrors speak plain HTTP, not Xet; and what a visitor asks for is all that is to be looked up.
    settings = {**os.environ, "HF_HUB_DISABLE_XET": "1", "HF_HUB_DISABLE_TELEMETRY": "1"}
    settings["PYTHONPATH"] = os.pathsep.join(filter(None, (str(_ROOT), os.environ.get("PYTHONPATH"))))
    if not settings.get("HF_ENDPOINT", "").strip():  # the library would take an empty one at its word
        settings.pop("HF_ENDPOINT", None)
    command = [sys.executable, "-P", "-m", "transformer.hub_download", *arguments]
    lines: _Lines = SimpleQueue()
    with subprocess.Popen(
        command,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        env=settings,
        encoding="utf-8",
        errors="replace",
    ) as process:
        reader = Thread(target=_read, args=(process, lines), daemon=True)
        reader.start()
        try:
            yield process, lines
        finally:
            process.kill()
            reader.join()


def _read(process: subprocess.Popen[str], lines: _Lines) -> None:
    words = ""
    try:
        for line in process.stdout or ():
            try:
                said = json.loads(line)
            except ValueError:
                said = None  # a library's own words, whatever they begin with
            if isinstance(said, dict):
                lines.put(said)
            elif line.strip():
                words = line.strip()
    finally:
        lines.put({"problem": "crash", "detail": words})


def _next(lines: _Lines) -> dict[str, Any]:
    """The next line, or an empty one when none comes for a moment: so that the caller can be stopped."""
    try:
        return lines.get(timeout=TICK_SECONDS)
    except Empty:
        return {}


def _agree(process: subprocess.Popen[str]) -> None:
    assert process.stdin is not None
    with suppress(BrokenPipeError):  # it has just died, and its last line says so
        process.stdin.write("go\n")
        process.stdin.flush()


def _error(name: str, line: dict[str, Any]) -> ModelError:
    problem = line["problem"]
    if problem == "unknown":
        return unknown(name)
    if problem == "gated":
        return GatedModel(name=name)
    if problem == "network":
        return NoNetwork(name=name, endpoint=line["endpoint"])
    if problem == "no_safetensors":
        return NoSafetensors(name=name)
    if problem == "no_config":
        return NoConfig(name=name)
    if problem == "damaged":
        return DamagedFile(name=name, file=line["file"])
    if problem == "not_kept":
        free = line["free"] // 1_000_000
        return ModelNotKept(name=name, needed=megabytes(line["needed"]), free=free, detail=line["detail"])
    return BrokenModel(name=name, reason=shown(line["detail"], 200))
