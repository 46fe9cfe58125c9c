"""head_labels.py, head_label_files.py, kept_heads.py: heads known by hand, mini-gpt's own, and the shipped files."""

import dataclasses
import json
import shutil
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import torch

from tests.transformer.families import family
from transformer import head_label_files as files
from transformer import head_labels as labels
from transformer import load_model, run, wrap
from transformer.decoder_lm import DecoderLM
from transformer.errors import NotATextModel, NoTokenizer
from transformer.head_label_files import FOLDER, SiteLabels, load, save
from transformer.kept_heads import KeptHeads
from transformer.maps import Attention
from transformer.tokenizer import ByteTokenizer
from transformer.trace import Trace
from transformer.wrapped import LoadedModel

OURS = ("mini-gpt", "mini-translator", "rule-classifier", "copycat")


@pytest.fixture(scope="module")
def model(tiny, scramble) -> LoadedModel:
    return wrap(scramble(DecoderLM(tiny(vocab_size=259, max_positions=64))), ByteTokenizer(), "tiny")


@pytest.fixture(scope="module")
def traces(model) -> Callable[[int], list[Trace]]:
    """Runs of 13 tokens whose layer 1 has a head 3 that always looks at the token before, and a head 5 that does so in
    every other run and else looks at itself."""

    def make(count: int) -> list[Trace]:
        before = np.eye(13, k=-1, dtype=np.float32)
        before[0, 0] = 1
        found = []
        for number in range(count):
            trace = run(model, ids=[1, *range(60 + number, 72 + number)])
            weights = np.full((7, 13, 13), 0, np.float32) + np.tri(13) / np.tri(13).sum(-1, keepdims=True)
            weights[3], weights[5] = before, before if number % 2 else np.eye(13)
            how = Attention(scale=1.0, heads=7, kv_heads=7, causal=True, weights=weights.astype(np.float32))
            found.append(dataclasses.replace(trace, attention={**trace.attention, "decoder.1.self": how}))
        return found

    return make


def test_a_head_that_looks_back_carries_the_label(model, traces, monkeypatch) -> None:
    monkeypatch.setattr(labels, "_runs", lambda _model: iter([(one, 0) for one in traces(4)]))
    found = labels.measure(model).sites["decoder.1.self"]
    row = found.labels.index("previous")
    assert found.labels == ("previous", "first", "self", "local")
    assert (found.mean[row, 3], found.spread[row, 3]) == (1.0, 0.0)
    assert (found.texts[row], found.rows[row]) == (4, 40), "ten rows of each: the first three prove nothing"
    assert found.mean[row, 5] == pytest.approx(0.5) and found.spread[row, 5] == pytest.approx(
        np.std([0, 1] * 2, ddof=1)
    )
    assert found.carried(3) == ("previous", "local") and found.name(3) == "previous"
    assert found.name(0) == "" and found.carried(0) == (), "even looking has no name"
    assert found.values()[3] == 1.0 and found.values()[0] == pytest.approx(np.nanmax(found.mean[:, 0]))


def test_two_texts_say_nothing(model, traces, monkeypatch) -> None:
    monkeypatch.setattr(labels, "_runs", lambda _model: iter([(one, 0) for one in traces(2)]))
    found = labels.measure(model).sites["decoder.1.self"]
    assert np.isnan(found.mean).all() and found.carried(3) == () and np.isnan(found.values()).all()
    assert found.texts == (2, 2, 2, 2)


def test_repeats_find_the_head_that_goes_on_with_a_pattern(model, monkeypatch) -> None:
    """<bos> and seven tokens, twice: head 2 looks at the token behind the same token, head 4 at the same token."""
    runs = []
    for number in range(3):
        once = list(range(60 + number, 67 + number))
        trace = run(model, ids=[1, *once, *once])
        weights = np.tile(np.eye(15, dtype=np.float32), (7, 1, 1))
        for query in range(8, 15):
            weights[2, query] = np.eye(15)[query - 6]
            weights[4, query] = np.eye(15)[query - 7]
        how = Attention(scale=1.0, heads=7, kv_heads=7, causal=True, weights=weights)
        runs.append((dataclasses.replace(trace, attention={**trace.attention, "decoder.1.self": how}), 7))
    monkeypatch.setattr(labels, "_runs", lambda _model: iter(runs))
    found = labels.measure(model).sites["decoder.1.self"]
    assert found.labels == ("induction", "duplicate") and found.rows == (21, 21)
    assert [found.name(head) for head in range(7)] == ["", "", "induction", "", "duplicate", "", ""]


def test_the_most_telling_label_comes_first() -> None:
    mean = np.array([[0.6, 0.1, 0.2], [0.9, 0.7, 0.2], [0.95, 0.99, 0.2]])
    one = SiteLabels(("induction", "first", "local"), mean, mean * 0, (8, 18, 18), (1, 1, 1))
    assert [one.carried(head) for head in range(3)] == [("induction", "first", "local"), ("first", "local"), ()]
    np.testing.assert_allclose(one.values(), [0.6, 0.7, 0.2], atol=1e-6)


def test_stretches_repeat_ordinary_tokens_of_the_models_own(model) -> None:
    stretches = [(trace, period) for trace, period in labels._runs(model) if period]
    assert len(stretches) == labels.STRETCHES
    for trace, period in stretches:
        ids = trace.encodings["decoder"].ids
        assert period == labels.PERIOD and ids[0] == 1
        assert ids[1 : 1 + period] == ids[1 + period :] and len(set(ids[1 : 1 + period])) == period
        assert min(ids[1:]) > 2, "no special"
    again = [trace.encodings["decoder"].ids for trace, period in labels._runs(model) if period]
    assert again == [trace.encodings["decoder"].ids for trace, _ in stretches], "the same every time"


def test_mini_gpt_has_its_heads_by_name() -> None:
    model = load_model("mini-gpt")
    for found in (labels.head_labels(model), labels.measure(model)):
        second, last = found.sites["decoder.1.self"], found.sites["decoder.3.self"]
        assert second.name(2) == "previous" and second.mean[second.labels.index("previous"), 2] >= 0.9
        assert last.name(0) == "induction" and last.mean[last.labels.index("induction"), 0] >= 0.9
        assert last.spread[last.labels.index("induction"), 0] < 0.1
        assert min(second.rows) > 100 and second.texts == (8, 8, 18, 18, 18, 18)


def test_both_stacks_and_what_lies_between() -> None:
    found = labels.measure(load_model("copycat")).sites
    assert "next" in found["encoder.0.self"].labels and "next" not in found["decoder.0.self"].labels
    assert found["decoder.1.cross"].labels == ("diagonal",)
    assert "induction" in found["decoder.1.self"].labels


@pytest.mark.parametrize("name", OURS)
def test_what_is_shipped_is_what_would_be_measured(name: str) -> None:
    model = load_model(name)
    shipped, again = load(name, model.module), labels.measure(model)
    assert shipped is not None, f"run: python -m transformer.head_labels {name}"
    assert shipped.sites.keys() == again.sites.keys() == set(_sites(model))
    for site, one in again.sites.items():
        kept = shipped.sites[site]
        assert (kept.labels, kept.texts, kept.rows) == (one.labels, one.texts, one.rows)
        np.testing.assert_allclose(kept.mean, one.mean, atol=1e-3)
        np.testing.assert_allclose(kept.spread, one.spread, atol=1e-3)


def _sites(model: LoadedModel) -> tuple[str, ...]:
    source, target = labels.texts_of(model)[0]
    return run(model, source, target if model.encoder_decoder else None).attention_sites()


def test_every_file_was_measured_on_the_present_texts() -> None:
    paths = sorted(FOLDER.glob("*.json"))
    assert {path.stem for path in paths} >= {*OURS, "smollm2", "minilm"}
    for path in paths:
        told = json.loads(path.read_text(encoding="utf-8"))
        assert (told["model"], told["texts"], told["format"]) == (path.stem, files.texts_checksum(), files.FORMAT)
        for one in told["sites"].values():
            for numbers in (one["mean"], one["spread"]):
                assert len(numbers) == len(one["labels"]) == len(one["texts"]) == len(one["rows"])


@pytest.mark.weights
def test_the_pack_has_the_weights_that_were_measured(minilm_folder: Path) -> None:
    found = load("minilm", load_model("minilm").module)
    assert found is not None and found.sites["encoder.0.self"].name(2) == "previous"


def test_a_file_is_of_its_weights_alone(tmp_path: Path) -> None:
    shutil.copy(FOLDER / "copycat.json", tmp_path)
    shipped = load_model("copycat")
    from transformer.cards import load_shipped

    module = load_shipped("copycat").module
    assert load("copycat", module, tmp_path) is not None
    with torch.no_grad():
        next(module.parameters())[0, 0] += 0.5
    assert load("copycat", module, tmp_path) is None
    told = json.loads((tmp_path / "copycat.json").read_text()) | {"texts": "others"}
    (tmp_path / "copycat.json").write_text(json.dumps(told))
    assert load("copycat", shipped.module, tmp_path) is None
    for name in ("mini-gpt", "../copycat", "/etc/passwd", ""):
        assert load(name, shipped.module, tmp_path) is None


def test_a_file_gives_back_what_was_put_in(model, tmp_path: Path) -> None:
    found = labels.measure(model)
    path = save(found, tmp_path)
    assert path.name == "tiny.json"
    again = load("tiny", model.module, tmp_path)
    assert again is not None and again.sites.keys() == found.sites.keys()
    for site, one in found.sites.items():
        np.testing.assert_allclose(again.sites[site].mean, one.mean, atol=5.1e-5)  # NaN equals NaN
        assert (again.sites[site].labels, again.sites[site].rows) == (one.labels, one.rows)


def test_texts_that_do_not_fit_are_left_out(tiny, scramble) -> None:
    short = wrap(scramble(DecoderLM(tiny(vocab_size=259, max_positions=11))), ByteTokenizer(), "short")
    one = labels.measure(short).sites["decoder.0.self"]
    assert one.labels == ("induction", "duplicate") and one.texts == (8, 8), "only the repeats have room"
    shorter = wrap(scramble(DecoderLM(tiny(vocab_size=259, max_positions=6))), ByteTokenizer(), "shorter")
    assert labels.measure(shorter).sites == {}


def test_models_without_words_are_refused(model) -> None:
    with pytest.raises(NoTokenizer):
        labels.measure(family("gpt2").model)
    with pytest.raises(NotATextModel):
        labels.measure(load_model("digit-vit"))
    assert labels.count_of_texts(model) == 18 + labels.STRETCHES
    trace = run(model, ids=[5, 6])
    assert isinstance(trace, Trace)
    assert labels.expected_seconds(model, trace) == pytest.approx(26 * trace.seconds)


def test_the_command_measures_and_writes(tmp_path: Path, capsys, monkeypatch) -> None:
    monkeypatch.setenv("LC_ALL", "C")
    assert labels.main(["rule-classifier", "--folder", str(tmp_path)]) == 0
    assert (tmp_path / "rule-classifier.json").exists() and "rule-classifier.json" in capsys.readouterr().out
    assert labels.main(["digit-vit", "--folder", str(tmp_path)]) == 1
    assert "digit-vit" in capsys.readouterr().err


def test_measuring_is_kept(model, monkeypatch) -> None:
    kept, counted = KeptHeads(), []
    real = labels.measure
    monkeypatch.setattr("transformer.kept_heads.measure", lambda one: counted.append(one.name) or real(one))
    assert kept.known_labels(model) is None
    assert kept.labels(model) is kept.labels(model) and counted == ["tiny"]
    assert kept.labels(load_model("mini-gpt")).sites and counted == ["tiny"], "known before"


def test_summaries_and_maps_are_kept_with_their_run(model) -> None:
    kept, trace = KeptHeads(), run(model, ids=[5, 7, 5, 9])
    assert isinstance(trace, Trace)
    site = "decoder.2.self"
    assert kept.summary(trace, site) is kept.summary(trace, site)
    for kind in ("mean", "max", "rollout"):
        assert kept.map(trace, site, kind)[0] is kept.map(trace, site, kind)[0]
        assert kept.map_seal(trace, site, kind).holds
    assert not np.array_equal(kept.map(trace, site, "mean")[0], kept.map(trace, site, "rollout")[0])
