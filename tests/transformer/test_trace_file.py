"""trace_file.py: a run comes back as it was, bit for bit; what was changed, made up or written by others is refused."""

import io
import json
import random
import zipfile
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from tests.transformer.families import SOURCES, TARGETS, build, family
from transformer import Trace, load_model, run
from transformer.errors import NoSuchSite, SeeThroughError, ShapesDoNotFit, WeightsChanged
from transformer.full_logits import full_logits
from transformer.head_contributions import head_outputs
from transformer.logit_lens import lens_column
from transformer.neurons import Neurons
from transformer.norm_numbers import norm_numbers
from transformer.norm_placement import norm_placement
from transformer.position_kinds import position_kinds
from transformer.readout import CannotReadOut
from transformer.replay import replay, seal, seal_probabilities
from transformer.residual_stream import ResidualStream
from transformer.rotary_turns import measure_turns
from transformer.trace import SavedWithoutWeights
from transformer.trace_file import ABOUT, FORMAT, AnotherModel, BadTraceFile
from transformer.wrapped import LoadedModel, wrap

OURS = ("mini-gpt", "mini-translator", "rule-classifier", "digit-vit")
TINY = ("bloom", "t5", "gemma2", "gpt2", "gpt_oss")  # weights only, a shared bias, soft-caps, transposed weights, sinks


def model_of(name: str) -> LoadedModel:
    return load_model(name) if name in OURS else family(name).model


@cache
def trace_of(name: str) -> Trace:
    model = model_of(name)
    if model.image is not None:
        return run(model, image=np.random.default_rng(5).random(model.image.shape, dtype=np.float32))
    if name in OURS:
        return run(model, "the cat\n the", *(["a tac"] if model.encoder_decoder else []))
    return run(model, ids=SOURCES[0], **({"target_ids": TARGETS[0]} if model.encoder_decoder else {}))


def saved(trace: Trace, *, weights: bool = False) -> io.BytesIO:
    file = io.BytesIO()
    trace.save(file, weights=weights)
    file.seek(0)
    return file


def bits(array: np.ndarray) -> tuple[str, tuple[int, ...], bytes]:
    return array.dtype.str, array.shape, np.ascontiguousarray(array).tobytes()


# --- the way there and back ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", [*OURS, *TINY])
@pytest.mark.parametrize("how", ["alone", "with its model", "with weights"])
def test_every_site_comes_back_bit_for_bit(name: str, how: str) -> None:
    trace = trace_of(name)
    file = saved(trace, weights=how == "with weights")
    back = Trace.load(file, model_of(name) if how == "with its model" else None)
    for field in ("key", "model", "structure", "seconds", "encodings", "aliases", "sums", "part_inputs"):
        assert getattr(back, field) == getattr(trace, field), field
    assert [*map(type, back.encodings.values())] == [*map(type, trace.encodings.values())]
    assert [site for site in back.sites if bits(back[site]) != bits(trace[site])] == []
    if how == "alone":
        assert {*back.arrays} <= {*back.sites} < {*trace.sites} and not back.parts
    else:
        assert back.sites == trace.sites and back.lacks == trace.lacks
        found, wanted = replay(back), replay(trace)
        assert all(one.holds for one in found)
        assert [(one.site, one.compared) for one in found] == [(one.site, one.compared) for one in wanted]


def test_all_rows_of_a_padded_batch_come_back() -> None:
    rows = run(family("t5").model, **family("t5").padded("left"))
    assert any(rows[1].encodings["encoder"].padding)
    for trace in rows:
        back = Trace.load(saved(trace))
        assert back.encodings == trace.encodings
        assert all(bits(back[site]) == bits(trace[site]) for site in back.sites)


def test_a_file_lies_where_it_was_said_and_nothing_else(tmp_path: Path) -> None:
    trace, path = trace_of("gpt2"), tmp_path / "my run"
    trace.save(path)
    assert [one.name for one in tmp_path.iterdir()] == ["my run"]
    trace.save(str(path))  # again, over it
    assert Trace.load(str(path)).key == trace.key


def test_a_save_that_fails_leaves_the_older_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "run.npz"
    trace_of("gpt2").save(path)

    def full(file: Any, **_: object) -> None:
        file.write(b"half")
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(np, "savez", full)
    with pytest.raises(OSError, match="No space"):
        trace_of("t5").save(path)
    assert [one.name for one in tmp_path.iterdir()] == ["run.npz"] and Trace.load(path).key == trace_of("gpt2").key


def test_numpy_alone_reads_it() -> None:
    trace = trace_of("mini-gpt")
    with np.load(saved(trace), allow_pickle=False) as file:
        assert {*trace.arrays, ABOUT} <= {*file}
        assert all(np.array_equal(file[site], array) for site, array in trace.arrays.items())
        about = json.loads(bytes(file[ABOUT]))
    assert about["trace"]["encodings"]["decoder"]["tokens"] == list(trace.tokens("decoder.0.self", "query"))
    assert about["format"] == FORMAT and about["versions"]["torch"] == torch.__version__


def test_what_is_shared_or_stretched_lies_there_once() -> None:
    t5 = trace_of("t5")
    assert sum(how.bias is not None for how in t5.attention.values()) == 7
    with np.load(saved(t5)) as file:
        biases = [name for name in file if name.endswith(".bias")]
    assert biases == ["encoder.0.self.bias", "decoder.0.self.bias", "decoder.0.cross.bias"]
    # One row of a mask may stand for all: it is no larger in the file than in memory.
    row = np.array([True, True, False, True, True, True, True])
    hows = trace_of("gpt2").attention.items()
    masks = {site: replace(how, causal=False, allowed=np.broadcast_to(row, (7, 7, 7))) for site, how in hows}
    stretched = replace(trace_of("gpt2"), attention=masks)
    with np.load(saved(stretched)) as file:
        assert [file[name].shape for name in file if name.endswith(".allowed")] == [(1, 1, 7)]
    back = Trace.load(saved(stretched))
    assert all(back.allowed(site, 6).tolist() == [row.tolist()] * 7 for site in back.attention)


def test_weights_lie_in_the_file_only_when_asked() -> None:
    trace = trace_of("mini-gpt")
    with np.load(saved(trace)) as file:
        bare = sum(file[name].nbytes for name in file if name != ABOUT)
    assert bare == trace.nbytes
    tables = {"decoder.0.norm1.weight", "decoder.3.ffn.down.weight", "decoder.1.self.k_projection.linear.weight"}
    assert tables <= set(np.load(saved(trace, weights=True)))


# --- without weights -------------------------------------------------------------------------------------------------


def test_what_takes_weights_says_so() -> None:
    trace, back = trace_of("mini-gpt"), Trace.load(saved(trace_of("mini-gpt")))
    gone = {*trace.sites} - {*back.sites}
    assert {"decoder.2.ffn.hidden", "decoder.final.norm.output", "decoder.0.self.output"} <= gone
    for site in gone:
        assert back.lacks[site] == "lack.saved_without_weights"
        with pytest.raises(SavedWithoutWeights, match="mini-gpt"):
            back[site]
    with pytest.raises(NoSuchSite):  # this was never there
        back["decoder.2.ffn.wrong"]
    assert all(one.holds for one in replay(back)) and len(replay(back)) < len(replay(trace))


DOORS: dict[str, Callable[[Trace], object]] = {
    "seal of a part": lambda trace: seal(trace, "decoder.1.ffn"),
    "seal of a sum": lambda trace: seal(trace, "decoder.1.resid.after"),
    "seal of the logits": lambda trace: seal(trace, "logits"),
    "probabilities": lambda trace: seal_probabilities(trace, -1),
    "all logits": lambda trace: full_logits(trace, 1),
    "lens": lambda trace: lens_column(trace, 1),
    "neurons": lambda trace: Neurons.of(trace, "decoder.1.ffn"),
    "norm": lambda trace: norm_numbers(trace, "decoder.1.norm1", 1),
    "heads": lambda trace: head_outputs(trace, "decoder.1.self", 1),
}  # fmt: skip


@pytest.mark.parametrize("door", DOORS)
def test_every_door_answers_with_a_named_error(door: str) -> None:
    DOORS[door](trace_of("mini-gpt"))
    back = Trace.load(saved(trace_of("mini-gpt")))
    with pytest.raises((SavedWithoutWeights, CannotReadOut), match="saved without them"):
        DOORS[door](back)


def test_what_needs_no_weights_goes_on() -> None:
    trace, back = trace_of("mini-gpt"), Trace.load(saved(trace_of("mini-gpt")))
    assert norm_placement(back, "decoder.1") == norm_placement(trace, "decoder.1")
    lengths, wanted = (ResidualStream(one, "decoder").lengths for one in (back, trace))
    assert np.array_equal(lengths, wanted) and lengths.shape[0] == 5
    assert measure_turns(trace, "decoder.1.self") is not None and measure_turns(back, "decoder.1.self") is None
    assert position_kinds(back, "decoder.1.self").unknown == (("rotary", "lack.saved_without_weights"),)


def test_saved_again_it_still_knows_what_it_lacks() -> None:
    once = Trace.load(saved(trace_of("gpt2")))
    twice = Trace.load(saved(once))
    assert twice.lacks == once.lacks and twice.sites == once.sites
    assert Trace.load(saved(once), family("gpt2").model).sites == trace_of("gpt2").sites
    with pytest.raises(SavedWithoutWeights):
        once.save(io.BytesIO(), weights=True)


# --- its model -------------------------------------------------------------------------------------------------------


def test_a_model_that_gives_other_numbers_is_refused() -> None:
    file = saved(trace_of("gpt2"))
    for another in ("bert", "gptj", "t5"):
        with pytest.raises(AnotherModel, match=f"(?i){another}"):
            Trace.load(file, family(another).model)
    module = build("gpt2")
    with torch.no_grad():
        module.transformer.h[2].mlp.c_proj.weight[3, 5] += 0.5  # the same model but for one number of its last layer
    with pytest.raises(AnotherModel, match=r"decoder\.2\.ffn"):
        Trace.load(file, wrap(module))
    with pytest.raises(ShapesDoNotFit, match="load_model"):
        Trace.load(file, "gpt2")  # type: ignore[arg-type]
    assert Trace.load(file, wrap(build("gpt2"))).sites == trace_of("gpt2").sites  # built again, and the same


def test_tokens_that_a_model_has_not_are_refused() -> None:
    ids = replace(trace_of("gpt2").encodings["decoder"], ids=(5, 7, 9, 7, 3, 11, 53))
    with pytest.raises(AnotherModel):
        Trace.load(saved(replace(trace_of("gpt2"), encodings={"decoder": ids})), family("gpt2").model)


def test_a_run_of_which_nothing_can_be_compared_takes_no_model() -> None:
    trace = run(family("bloom").model, ids=SOURCES[0], record={"attention"})
    assert Trace.load(saved(trace)).sites
    with pytest.raises(AnotherModel):
        Trace.load(saved(trace), family("bloom").model)


def test_a_model_that_is_trained_afterwards_is_noticed() -> None:
    model = wrap(build("gpt2"))
    trace = run(model, ids=SOURCES[0])
    back = Trace.load(saved(trace), model)
    with torch.no_grad():
        model.module.transformer.h[1].mlp.c_fc.weight.mul_(1.5)
    for one in (trace, back):
        with pytest.raises(WeightsChanged):
            one["decoder.1.ffn.hidden"]
    with pytest.raises(WeightsChanged):
        trace.save(io.BytesIO(), weights=True)
    assert Trace.load(saved(trace)).key == trace.key  # what was recorded stays what it was


# --- files of others -------------------------------------------------------------------------------------------------


def entries(weights: bool = True) -> dict[str, np.ndarray]:
    with np.load(saved(trace_of("t5"), weights=weights)) as file:
        return {name: file[name] for name in file}


def archive(arrays: dict[str, np.ndarray], **changes: Any) -> io.BytesIO:
    """A file of these arrays, `changes` made in what it tells."""
    about = json.loads(bytes(arrays[ABOUT])) | changes
    out = io.BytesIO()
    np.savez(out, **(arrays | {ABOUT: np.frombuffer(json.dumps(about).encode(), np.uint8)}))
    return out


def zipped(compression: int, **files: bytes) -> io.BytesIO:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", compression) as packed:
        for name, content in files.items():
            packed.writestr(f"{name}.npy", content)
    return out


def npy(array: np.ndarray, **header: str) -> bytes:
    """One array as NumPy writes it, with words of its header exchanged for others of the same length."""
    out = io.BytesIO()
    np.lib.format.write_array(out, array, allow_pickle=True)
    content = out.getvalue()
    for old, new in header.items():
        assert old.encode() in content
        content = content.replace(old.encode(), new.ljust(len(old)).encode())
    return content


def flipped() -> io.BytesIO:
    content = bytearray(saved(trace_of("t5")).getvalue())
    content[len(content) // 2] ^= 1
    return io.BytesIO(content)


def of_text(content: bytes) -> io.BytesIO:
    return zipped(zipfile.ZIP_STORED, about=npy(np.frombuffer(content, np.uint8)))


def with_array(content: bytes) -> io.BytesIO:
    """A true file, of which one array is another."""
    out = io.BytesIO()
    with zipfile.ZipFile(saved(trace_of("t5"))) as true, zipfile.ZipFile(out, "w") as made:
        for name in true.namelist():
            made.writestr(name, content if name == "encoder.0.self.q.npy" else true.read(name))
    return out


FILES: dict[str, tuple[str, Callable[[], io.BytesIO]]] = {
    "empty": ("foreign", io.BytesIO),
    "text": ("foreign", lambda: io.BytesIO(b"no archive at all")),
    "half of one": ("foreign", lambda: io.BytesIO(saved(trace_of("t5")).getvalue()[:20_000])),
    "another npz": ("foreign", lambda: zipped(zipfile.ZIP_STORED, values=npy(np.ones(3)))),
    "another about": ("foreign", lambda: of_text(b'{"kind": "cake"}')),
    "a list": ("foreign", lambda: of_text(b"[1, 2]")),
    "newer": ("newer", lambda: archive(entries(), format=FORMAT + 1)),
    "no number of a format": ("newer", lambda: archive(entries(), format="2")),
    "a flipped bit": ("damaged", flipped),
    "no JSON": ("damaged", lambda: of_text(b"{")),
    "deep JSON": ("damaged", lambda: of_text(b"[" * 100_000)),
    "nothing told": ("damaged", lambda: archive(entries(), trace={})),
    "a missing array": ("damaged", lambda: archive({k: v for k, v in entries().items() if "q" not in k})),
    "compressed": ("damaged", lambda: zipped(zipfile.ZIP_DEFLATED, about=npy(np.zeros(10_000_000, np.uint8)))),
    "objects": ("damaged", lambda: with_array(npy(np.array([{}, None], object)))),
    "records": ("damaged", lambda: with_array(npy(np.zeros(7, [("a", "f4"), ("b", "f4")])))),
    "more than it holds": ("damaged", lambda: with_array(npy(np.zeros((7, 7, 5), "f4"), **{"(7, 7, 5)": "(9**9,)"}))),
    "huge": ("damaged", lambda: with_array(npy(np.zeros(3, "f4"), **{"(3,), }      ": "(10000000,)}"}))),
    "negative": ("damaged", lambda: with_array(npy(np.zeros((7, 7, 5), "f4"), **{"(7, 7, 5)": "(-7,-7,5)"}))),
    "half precision": ("damaged", lambda: with_array(npy(np.zeros((7, 7, 5), "i4")))),
    "other heads": ("damaged", lambda: with_array(npy(np.zeros((3, 7, 5), "f4")))),
    "other tokens": ("damaged", lambda: with_array(npy(np.zeros((7, 3, 5), "f4")))),
}  # fmt: skip


@pytest.mark.parametrize("kind", FILES)
@pytest.mark.filterwarnings("ignore:Duplicate name")
def test_what_is_no_whole_run_is_refused_by_name(kind: str, tmp_path: Path) -> None:
    reason, make = FILES[kind]
    path = tmp_path / "run.npz"
    path.write_bytes(make().getvalue())
    with pytest.raises(BadTraceFile, match=r"run\.npz") as told:
        Trace.load(path)
    assert told.value.values["reason"] == reason
    assert told.value.text("zh") != told.value.text("en") and "{" not in told.value.text("zh")


def test_an_entry_that_stands_twice_is_refused() -> None:
    """Many entries that share their bytes would unpack to more than the file is long."""
    out = saved(trace_of("gpt2"))
    with zipfile.ZipFile(out, "a") as packed:
        twin = packed.getinfo("decoder.0.self.q.npy")
        packed.filelist += [twin] * 3
        packed._didModify = True  # type: ignore[attr-defined]
    with pytest.raises(BadTraceFile):
        Trace.load(out)


def test_a_file_that_is_not_there_is_the_systems_own_error(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        Trace.load(tmp_path / "none.npz")


JUNK = (
    None, True, -1, 0, 3, 10**12, 1.5, float("nan"), "", "x", "encoder", "decoder.0.cross", [], [1], {}, ["a", "b"],
    {"array": "encoder.0.self.q"}, {"array": "encoder.0.self.q", "shape": [10**6, 10**6, 7]},
)  # fmt: skip


def places(value: Any, path: tuple = ()) -> Iterator[tuple]:
    yield path
    inside = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, one in inside:
        yield from places(one, (*path, key))


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.filterwarnings("ignore::RuntimeWarning")  # made-up numbers may be infinite
def test_whatever_is_written_into_a_file_it_is_refused_or_answers(seed: int) -> None:
    """One thing of what is told exchanged for junk, for something else of the file, taken away or called otherwise."""
    chance, arrays = random.Random(seed), entries()
    told = bytes(arrays[ABOUT])
    every, refused = list(places(json.loads(told)["trace"]))[1:], 0
    for _ in range(25):
        about = json.loads(told)
        *way, last = chance.choice(every)
        at = other = about["trace"]
        for step in way:
            at = at[step]
        for step in chance.choice(every):
            other = other[step]
        change = chance.choice(("junk", "other", "gone", "called"))
        if change == "gone":
            del at[last]
        elif change == "called" and isinstance(at, dict):
            at[chance.choice(("x", "decoder.9.self", "a.b.c.d"))] = at.pop(last)
        else:
            at[last] = json.loads(json.dumps(other)) if change == "other" else chance.choice(JUNK)
        try:
            trace = Trace.load(archive(arrays, trace=about["trace"]))
        except BadTraceFile:
            refused += 1
            continue
        for site in trace.sites:
            with suppress(SeeThroughError):
                trace[site]
        with suppress(SeeThroughError):
            replay(trace)
    assert refused
