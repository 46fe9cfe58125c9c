"""What a saved model tells before anything of it is loaded: its configuration, its weights files, the memory it needs.

A safetensors file begins with the length of its header (8 bytes, little endian) and the header, a JSON table of names,
shapes and places (github.com/huggingface/safetensors, "Format"). So the number of parameters costs a few kilobytes to
read, and a file that was cut off shows at once.
"""

import json
import math
import struct
from pathlib import Path
from typing import Any

from transformer.errors import ModelError, ModelTooBig, NoSafetensors

WHOLE, INDEX = "model.safetensors", "model.safetensors.index.json"
_LONGEST_HEADER = 100_000_000  # the format's own limit, in bytes
_BYTES_PER_PARAMETER = 4  # float32, whatever the file holds: half precision on a processor is slow or wrong
# Measured with SmolLM2 (538 MB of parameters): 775 MB at the peak of loading, probing and a run of 512 tokens.
_ALLOWANCE, _ALLOWANCE_MB = 1.2, 130


class NoConfig(ModelError):
    """There is no config.json, so what kind of model it is cannot be known."""


class DamagedFile(ModelError):
    """A file of the model is cut off, missing, or no such file at all (a Git LFS pointer)."""


def read_config(folder: Path, name: str) -> dict[str, Any]:
    """config.json as it stands. Raises `NoConfig`, `DamagedFile`."""
    if not (folder / "config.json").is_file():
        raise NoConfig(name=name)
    return _read_json(folder / "config.json", name)


def weights_files(folder: Path, name: str) -> tuple[Path, ...]:
    """The safetensors files that make up the model: the one, or the shards that its index lists.

    Raises `NoSafetensors`, `DamagedFile` where the index lists a file that is not in the folder.
    """
    if (folder / WHOLE).is_file():
        return (folder / WHOLE,)
    if not (folder / INDEX).is_file():
        raise NoSafetensors(name=name)
    files = tuple(folder / shard for shard in shards(folder / INDEX, name))
    for file in files:
        if not file.is_file():
            raise DamagedFile(name=name, file=file.name)
    return files


def shards(index: Path, name: str) -> list[str]:
    """The names of the files that an index lists; plain names only, none that leads out of the folder."""
    listed = _read_json(index, name).get("weight_map")
    found = sorted(set(map(str, listed.values()))) if isinstance(listed, dict) else []
    if not found or any(not shard.endswith(".safetensors") or set(shard) & set("/\\:") for shard in found):
        raise DamagedFile(name=name, file=index.name)
    return found


def parameters(file: Path, name: str) -> int:
    """How many numbers a safetensors file holds, from its header. Raises `DamagedFile` when it is not whole."""
    try:
        with file.open("rb") as stream:
            (length,) = struct.unpack("<Q", stream.read(8))
            if length > _LONGEST_HEADER:
                raise DamagedFile(name=name, file=file.name)
            table = json.loads(stream.read(length))
        tensors = [entry for key, entry in table.items() if key != "__metadata__"]
        end = max((entry["data_offsets"][1] for entry in tensors), default=0)
        count = sum(math.prod(entry["shape"]) for entry in tensors)
    except (OSError, ValueError, struct.error, KeyError, TypeError, AttributeError, IndexError) as problem:
        raise DamagedFile(name=name, file=file.name) from problem
    if file.stat().st_size != 8 + length + end:
        raise DamagedFile(name=name, file=file.name)
    return count


def estimate_mb(folder: Path, name: str | None = None) -> int:
    """The memory that the model in a folder needs, in MB (10⁶ bytes): see `needed_mb`."""
    name = name or folder.name
    return needed_mb(sum(parameters(file, name) for file in weights_files(folder, name)))


def needed_mb(parameters: int) -> int:
    """MB for so many parameters as float32, with the allowance: a fifth more for loading and running, and 130 MB."""
    return math.ceil(_ALLOWANCE * parameters * _BYTES_PER_PARAMETER / 1_000_000) + _ALLOWANCE_MB


def check_size(parameters: int, limit_mb: int, name: str) -> None:
    """Raise `ModelTooBig` with both numbers when the model would need more than the limit."""
    needed = needed_mb(parameters)
    if needed > limit_mb:
        raise ModelTooBig(name=name, needed=needed, limit=limit_mb)


def _read_json(file: Path, name: str) -> dict[str, Any]:
    try:
        read = json.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError) as problem:
        raise DamagedFile(name=name, file=file.name) from problem
    if not isinstance(read, dict):
        raise DamagedFile(name=name, file=file.name)
    return read
