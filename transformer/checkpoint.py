"""Checkpoints: a training that was interrupted goes on from its file as if nothing had happened.

A file is one line, the sha256 of the rest, and then what `torch.save` makes of the state. It is written beside its
place and renamed when it is whole, so an interruption while writing leaves the one before.
"""

import hashlib
import io
import os
import pickle
from pathlib import Path
from typing import Any

import torch

from transformer.errors import ModelError

FORMAT = 1  # counts up when the state holds something else; older files then belong to another training


class CheckpointDamaged(ModelError): ...


class CheckpointForeign(ModelError): ...


def save_checkpoint(path: Path, state: dict[str, Any]) -> None:
    """Writes tensors, numbers, texts, and lists, tuples and dicts of them."""
    data = io.BytesIO()
    torch.save({"format": FORMAT, **state}, data)
    content = data.getvalue()
    write_whole(path, hashlib.sha256(content).hexdigest().encode() + b"\n" + content)


def load_checkpoint(path: Path, start: str) -> dict[str, Any]:
    """The state of the training that began with `start`.

    Raises:
        CheckpointDamaged: the file is cut off, changed, or not one of ours.
        CheckpointForeign: it is whole, and belongs to a training that began otherwise.
    """
    told, _, content = path.read_bytes().partition(b"\n")
    if hashlib.sha256(content).hexdigest().encode() != told:
        raise CheckpointDamaged(file=path)
    try:
        state = torch.load(io.BytesIO(content), weights_only=True)  # never runs code that a file brings along
    except (RuntimeError, pickle.UnpicklingError, EOFError) as problem:
        raise CheckpointDamaged(file=path) from problem
    if not isinstance(state, dict) or (state.get("format"), state.get("start")) != (FORMAT, start):
        raise CheckpointForeign(file=path)
    return state


def write_whole(path: Path, content: bytes) -> None:
    """A file that is there with all of its content or not at all."""
    path.parent.mkdir(parents=True, exist_ok=True)
    partial = path.with_name(f".{path.name}.{os.getpid()}.partial")
    try:
        with open(partial, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        os.replace(partial, path)
    finally:
        partial.unlink(missing_ok=True)
