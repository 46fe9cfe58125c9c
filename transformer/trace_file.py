"""A run as a file: one .npz that NumPy opens by itself, and in which nothing is pickled.

    file = numpy.load("run.npz")
    file["decoder.3.self.q"]              the recorded arrays by site, each once
    json.loads(bytes(file["about"]))      everything else: tokens, structure, which array stands where

The arrays lie uncompressed: float32 noise hardly shrinks, and takes ten times as long. A file may come from anybody, so
nothing of it is believed, neither its sizes nor its types, and no model that it is loaded with before it is compared.
"""

import json
import math
import os
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import fields, replace
from importlib.metadata import version
from pathlib import Path
from typing import IO, Any, get_type_hints

import numpy as np
from numpy.lib import format as npy

from transformer import replay
from transformer.errors import ShapesDoNotFit, TraceError, WeightsChanged
from transformer.image import ImageEncoding
from transformer.messages import message
from transformer.parts import Array
from transformer.plain import Apart, from_plain, to_plain
from transformer.trace import NOT_SAVED, SavedWithoutWeights, Trace
from transformer.trace_checks import check_trace
from transformer.weights_watch import weights_watch
from transformer.wrapped import LoadedModel, as_it_is_now

FORMAT = 1  # counts up when a file of today would be misread
KIND = "a run of See-Through Transformer"
ABOUT = "about"  # the one entry that is no array of the run
_NAMES = tuple(one.name for one in fields(Trace) if one.name != "weights_changed")
_PATHS = {"top": "logits", "encodings": "tokens", "structure": "structure"}  # of array names; the others are sites
_LONGEST_HEADER = 2000  # characters that tell one array's type and shape

Place = str | os.PathLike[str] | IO[bytes]


class BadTraceFile(TraceError):
    """What was opened is no saved run ("foreign"), not whole or made up ("damaged"), or of a later format ("newer")."""

    def text(self, language: str = "en") -> str:
        reason = message(f"trace_file.{self.values.get('reason', 'damaged')}", language)
        return message(self.key, language, path=self.values.get("path"), reason=reason)


class AnotherModel(TraceError):
    """A model does not give the numbers that were recorded."""


# --- writing ---------------------------------------------------------------------------------------------------------


def save(trace: Trace, place: Place, *, weights: bool = False) -> None:
    """See `Trace.save`."""
    if weights and NOT_SAVED in trace.lacks.values():
        raise SavedWithoutWeights(site="weights", model=trace.model)
    if weights and trace.weights_changed():
        raise WeightsChanged(site="weights", model=trace.model)
    entries = _entries(trace if weights else without_weights(trace))
    if not isinstance(place, str | os.PathLike):
        np.savez(place, allow_pickle=False, **entries)
        return
    whole = Path(place)
    part = whole.with_name(f"{whole.name}.{os.getpid()}.part")  # a disk that gets full costs no file that was there
    try:
        with part.open("wb") as file:
            np.savez(file, allow_pickle=False, **entries)
        part.replace(whole)
    finally:
        part.unlink(missing_ok=True)


def without_weights(trace: Trace) -> Trace:
    """The same run with nothing of its model; what followed from the weights is named among what it lacks."""
    bare = replace(trace, parts={})
    lost = [*trace.parts, *(site for site in trace.sites if site not in set(bare.sites))]
    return replace(bare, lacks={**trace.lacks, **dict.fromkeys(lost, NOT_SAVED)})


def _entries(trace: Trace) -> dict[str, Array]:
    apart = Apart()
    plain = {name: to_plain(getattr(trace, name), apart, _PATHS.get(name, "")) for name in _NAMES}
    versions = {name: version(name) for name in ("torch", "numpy")}
    told = json.dumps({"kind": KIND, "format": FORMAT, "versions": versions, "trace": plain}, separators=(",", ":"))
    about = np.frombuffer(told.encode(), np.uint8)
    return {ABOUT: about} | {name: _in_its_order(array) for name, array in apart.arrays.items()}


def _in_its_order(array: Array) -> Array:
    """A slice of a transposed matrix stays transposed: in another order a product would be rounded otherwise."""
    flags = array.flags
    return array if flags.c_contiguous or flags.f_contiguous or array.ndim != 2 else array.copy(order="K")


# --- reading ---------------------------------------------------------------------------------------------------------


def load(place: Place, model: LoadedModel | None = None) -> Trace:
    """See `Trace.load`."""
    if model is not None and not isinstance(model, LoadedModel):
        raise ShapesDoNotFit(what="model", expected="load_model(…) / wrap(…)", got=type(model).__name__)
    if not isinstance(place, str | os.PathLike):
        trace = _opened(place, str(getattr(place, "name", "")))
    else:
        with open(place, "rb") as file:
            trace = _opened(file, str(place))
    return trace if model is None else _with_parts_of(trace, as_it_is_now(model))


def _opened(file: IO[bytes], name: str) -> Trace:
    try:
        found = _read(file)
    except Exception as problem:  # whatever a made-up file makes the readers of zip, npy and JSON say
        raise BadTraceFile(path=name, reason="damaged") from problem
    if isinstance(found, str):
        raise BadTraceFile(path=name, reason=found)
    return found


def _read(file: IO[bytes]) -> Trace | str:
    """The run, or why there is none."""
    if not zipfile.is_zipfile(file):
        return "foreign"
    size = file.seek(0, os.SEEK_END)
    with zipfile.ZipFile(file) as packed:
        sizes = {one.filename.removesuffix(".npy"): one.file_size for one in packed.infolist()}
        if ABOUT not in sizes:
            return "foreign"
        # Nothing is compressed or stands twice, so that what is unpacked is never more than what came.
        stored = all(one.compress_type == zipfile.ZIP_STORED for one in packed.infolist())
        if not stored or len(sizes) != len(packed.infolist()) or sum(sizes.values()) > size:
            raise ValueError("more than the file can hold")
        about = json.loads(bytes(_array(packed, ABOUT, sizes[ABOUT])))
        if not isinstance(about, dict) or about.get("kind") != KIND:
            return "foreign"
        if type(about["format"]) is not int or about["format"] > FORMAT:
            return "newer"
        arrays = {name: _array(packed, name, sizes[name]) for name in sizes}
    return _trace(about["trace"], arrays)


def _array(packed: zipfile.ZipFile, name: str, size: int) -> Array:
    """One entry, by NumPy's own reader of headers; memory is taken for what is there and not for what it says."""
    with packed.open(f"{name}.npy") as entry:
        first, _ = npy.read_magic(entry)
        header = {1: npy.read_array_header_1_0, 2: npy.read_array_header_2_0}[first]
        shape, transposed, dtype = header(entry, max_header_size=_LONGEST_HEADER)
        data = entry.read()  # whole: then its checksum is compared
    if dtype.kind not in "biuf" or min(shape, default=0) < 0 or math.prod(shape) * dtype.itemsize != len(data):
        raise ValueError(f"{name}: {len(data)} of {size} bytes are no {dtype} of {shape}")
    return np.frombuffer(data, dtype).reshape(shape, order="F" if transposed else "C")


def _trace(plain: Any, arrays: dict[str, Array]) -> Trace:
    if set(plain) != set(_NAMES):
        raise ValueError(f"{sorted(plain)} are not {_NAMES}")
    hints = get_type_hints(Trace)
    trace = Trace(**{name: from_plain(hints[name], plain[name], arrays) for name in _NAMES})
    check_trace(trace)
    for name in _proofs(trace):  # weights that fit no stream of the run are found here and not in a panel
        replay.seal(trace, name)
    return trace


# --- its model -------------------------------------------------------------------------------------------------------


def _with_parts_of(trace: Trace, model: LoadedModel) -> Trace:
    """The run with its model's parts, if these give the numbers that were recorded. Raises AnotherModel."""
    lacks = {site: why for site, why in trace.lacks.items() if why != NOT_SAVED}
    whole = replace(
        trace,
        parts=model.plan.parts,
        part_inputs=model.plan.part_inputs,
        lacks=lacks,
        weights_changed=weights_watch(model.module, model.weights),
    )
    with _as_another(trace, model, "structure"):
        known = all(
            isinstance(one, ImageEncoding) or max(one.ids) < model.vocab_size for one in trace.encodings.values()
        )
        proofs = _proofs(whole) if known and model.structure == trace.structure else ()
        wrong = next((name for name in proofs if not replay.seal(whole, name).holds), None)
    if not proofs or wrong is not None:
        raise AnotherModel(model=model.name, run=trace.model, site=wrong or "structure")
    return whole


def _proofs(trace: Trace) -> tuple[str, ...]:
    """The first and the last part of each kind whose result was recorded."""
    first: dict[type, str] = {}
    last: dict[type, str] = {}
    for name, part in trace.parts.items():
        if replay.has_ends(trace, name):
            first.setdefault(type(part), name)
            last[type(part)] = name
    return tuple(dict.fromkeys([*first.values(), *last.values()]))


@contextmanager
def _as_another(trace: Trace, model: LoadedModel, site: str) -> Iterator[None]:
    """Weights of other sizes do not even multiply."""
    try:
        yield
    except ValueError as problem:
        raise AnotherModel(model=model.name, run=trace.model, site=site) from problem
