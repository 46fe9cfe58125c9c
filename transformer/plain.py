"""Frozen dataclasses as plain data that JSON can hold, their arrays apart; and back, each value checked by its type.

What is read may have been written by anybody: only the classes that the wanted type names are ever made, and a value of
another type than its field's is a ValueError.
"""

from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from types import NoneType, UnionType
from typing import Any, Union, get_args, get_origin, get_type_hints

import numpy as np

from transformer.parts import Array
from transformer.structure import Box

KIND = "is"  # the key of a dataclass's name; no field is called so


class Apart:
    """The arrays of what was made plain: each once, however many share it, without the axes it was stretched along."""

    def __init__(self) -> None:
        self.arrays: dict[str, Array] = {}
        self._names: dict[tuple[object, ...], str] = {}

    def put(self, name: str, array: Array) -> dict[str, object]:
        """What stands in its place. `name` is its own only if nobody has put the same array before."""
        small = array[tuple(slice(0, 1 if stride == 0 and size else size) for size, stride in _axes(array))]
        same = (small.__array_interface__["data"][0], small.shape, small.strides, small.dtype.str)
        known = self._names.setdefault(same, name)
        if known == name:
            assert name not in self.arrays, name
            self.arrays[name] = small
        return {"array": known} | ({} if small.shape == array.shape else {"shape": list(array.shape)})


def _axes(array: Array) -> zip:
    return zip(array.shape, array.strides, strict=True)


def to_plain(value: Any, apart: Apart, path: str) -> Any:
    """Numbers, texts, lists and dicts. `path` names the arrays: of a field "path.field", of an entry "path.key"."""
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, bytes):
        return value.hex()
    if isinstance(value, np.ndarray):
        return apart.put(path, value)
    if isinstance(value, Mapping):
        return {key: to_plain(one, apart, _joined(path, key)) for key, one in value.items()}
    if isinstance(value, list | tuple):
        return [to_plain(one, apart, _joined(path, str(number))) for number, one in enumerate(value)]
    own = {one.name: to_plain(getattr(value, one.name), apart, _joined(path, one.name)) for one in fields(value)}
    return {KIND: type(value).__name__} | own


def _joined(path: str, name: str) -> str:
    return f"{path}.{name}" if path else name


def from_plain(wanted: Any, plain: Any, arrays: Mapping[str, Array]) -> Any:
    """The value of type `wanted` that `to_plain` was given. Raises ValueError where it is none."""
    if wanted is np.ndarray:
        return _array(plain, arrays)
    if wanted is bytes and isinstance(plain, str):
        return bytes.fromhex(plain)
    if wanted is object:
        return _anything(plain, arrays)
    if wanted in (int, bool, str, NoneType) or wanted is float:
        if type(plain) is wanted or (wanted is float and type(plain) is int):
            return plain
        raise ValueError(f"{plain!r} is no {wanted.__name__}")
    if isinstance(wanted, type) and is_dataclass(wanted):
        return _made([wanted, *wanted.__subclasses__()], plain, arrays)
    return _of_several(wanted, plain, arrays)


def _of_several(wanted: Any, plain: Any, arrays: Mapping[str, Array]) -> Any:
    """A union, a tuple or a mapping."""
    origin, given = get_origin(wanted), get_args(wanted)
    if origin in (Union, UnionType):
        if plain is None and NoneType in given:
            return None
        rest = [one for one in given if one is not NoneType]
        return from_plain(rest[0], plain, arrays) if len(rest) == 1 else _made(rest, plain, arrays)
    if origin is tuple and isinstance(plain, list):
        types = given[:1] * len(plain) if given[1:] == (...,) else given
        return tuple(from_plain(one, value, arrays) for one, value in zip(types, plain, strict=True))
    if isinstance(plain, dict) and len(given) == 2:
        return {key: from_plain(given[1], value, arrays) for key, value in plain.items()}
    raise ValueError(f"{plain!r} is no {wanted}")


def _made(classes: list[Any], plain: Any, arrays: Mapping[str, Array]) -> Any:
    """One of the classes, by its name."""
    if not isinstance(plain, dict):
        raise ValueError(f"{plain!r} is none of {classes}")
    known = {one.__name__: one for one in classes}
    kind = plain.get(KIND)
    if not isinstance(kind, str) or kind not in known:
        raise ValueError(f"{kind!r} is none of {list(known)}")
    hints = get_type_hints(known[kind])
    named = {one.name for one in fields(known[kind])}
    if plain.keys() - {KIND} != named:
        raise ValueError(f"{kind} has {sorted(named)}")
    return known[kind](**{name: from_plain(hints[name], plain[name], arrays) for name in named})


def _array(plain: Any, arrays: Mapping[str, Array]) -> Array:
    if not isinstance(plain, dict) or not isinstance(plain.get("array"), str):
        raise ValueError(f"{plain!r} is no array")
    small = arrays[plain["array"]]
    shape = plain.get("shape", list(small.shape))
    if not isinstance(shape, list) or any(type(size) is not int or size < 0 for size in shape):
        raise ValueError(f"{shape!r} is no shape")
    return np.broadcast_to(small, shape)


def _anything(plain: Any, arrays: Mapping[str, Array]) -> Any:
    """What the label of a box may hold: lists as the tuples that they were, and boxes (of parallel branches)."""
    if isinstance(plain, list):
        return tuple(_anything(one, arrays) for one in plain)
    return from_plain(Box, plain, arrays) if isinstance(plain, dict) else plain
