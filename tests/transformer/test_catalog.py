"""catalog.py: what a visitor can choose, and how a name becomes a model."""

from collections import OrderedDict
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier

import numpy as np
import pytest

from tests.transformer.families import build
from transformer import catalog, load_model, run
from transformer.catalog import bring, choices, default_choice, is_here, is_loaded
from transformer.copied_weights import CannotCopy
from transformer.decoder_lm import DecoderLM
from transformer.errors import ModelError, SeeThroughError
from transformer.messages import message
from transformer.replay import replay


@pytest.fixture(autouse=True)
def nothing_is_loaded(monkeypatch, tmp_path):
    """An empty cache folder, as after a fresh clone."""
    monkeypatch.setattr(catalog, "_loaded", OrderedDict())
    monkeypatch.setattr(catalog, "_locks", {})
    monkeypatch.setenv("STT_HOME", str(tmp_path))


def test_the_untrained_model_is_there_without_any_file():
    model = load_model("untrained")
    trace = run(model, "a b a\n")
    assert trace.model == "untrained" and trace.attention_sites() == tuple(f"decoder.{n}.self" for n in range(4))
    assert all(seal.holds for seal in replay(trace)) and len(trace.probabilities(-1)[0]) == 50
    assert load_model("untrained") is model and is_loaded("untrained")


def test_it_is_the_same_model_every_time(monkeypatch):
    first = run(load_model("untrained"), "cat")
    monkeypatch.setattr(catalog, "_loaded", OrderedDict())
    again = run(load_model("untrained"), "cat")
    assert np.array_equal(first["logits"], again["logits"]) and first.key != again.key


def test_without_packs_there_is_what_travels_with_the_code_or_is_made_here():
    here = [*catalog.SHIPPED, "untrained"]
    assert default_choice() == here[0]
    assert [choice.name for choice in choices() if choice.ready] == here
    assert list(bring("untrained")) == []


def test_every_choice_has_words_in_both_languages():
    for choice in choices():
        assert message(f"model.{choice.name}", "en") != message(f"model.{choice.name}", "zh")
    named = {choice.name: choice.title for choice in choices()}
    assert list(named) == [*catalog.SHIPPED, "smollm2", "minilm", "smollm2-ours", "minilm-ours", "untrained"]
    assert named["smollm2"] == named["smollm2-ours"] == "SmolLM2-135M-Instruct"


def test_who_comes_at_the_same_time_gets_the_same_model(monkeypatch):
    made, start = [], Barrier(8, timeout=60)
    untrained = catalog._MADE_HERE["untrained"]
    monkeypatch.setitem(catalog._MADE_HERE, "untrained", lambda: (made.append(1), untrained())[1])

    def ask(_: int) -> object:
        start.wait()
        return load_model("untrained")

    with ThreadPoolExecutor(8) as pool:
        assert len({id(model) for model in pool.map(ask, range(8))}) == 1
    assert made == [1]


@pytest.mark.parametrize(
    "name", ["no-such-model", "no/such-model", "./no-such-folder", "../../nowhere", "", "a b", "小"]
)
def test_unknown_names_are_named_errors(name):
    for _ in range(2):  # the first failure leaves nothing locked
        with pytest.raises(ModelError) as caught:
            load_model(name)
        assert caught.value.text("zh") != str(caught.value) and (name in str(caught.value) or not name)
    assert not catalog._loaded
    with pytest.raises(SeeThroughError):
        list(bring(name))


def test_one_folder_is_one_model_and_the_oldest_of_many_typed_ones_leaves(tmp_path):
    for name in "abc":
        build("gpt2").save_pretrained(tmp_path / name)
    first = load_model(str(tmp_path / "a"))
    assert load_model(str(tmp_path / "b" / ".." / "a")) is first
    own = load_model("untrained")
    for name in "bc":
        load_model(str(tmp_path / name))
    assert not is_loaded(str(tmp_path / "a")) and is_loaded(str(tmp_path / "c"))
    assert load_model("untrained") is own and load_model(str(tmp_path / "a")) is not first


def test_weights_of_a_folder_stand_in_our_class_when_asked(tmp_path):
    build("gpt2").save_pretrained(tmp_path / "gpt2")
    place = str(tmp_path / "gpt2")
    ours, theirs = load_model(place, ours=True), load_model(place)
    assert type(ours.module) is DecoderLM and load_model(f"ours:{place}") is ours and theirs is not ours
    assert is_loaded(f"ours:{place}") and is_here(f"ours:{place}") and is_here(place)
    ids = [5, 7, 9, 7, 3]
    found, wanted = (run(model, ids=ids)["logits"] for model in (ours, theirs))
    assert np.abs(found - wanted).max() <= 1e-5
    assert all(seal.holds for seal in replay(run(ours, ids=ids)))
    assert list(bring(f"ours:{place}")) == []


def test_a_family_that_our_classes_do_not_have_is_refused_by_name(tmp_path):
    build("t5").save_pretrained(tmp_path / "t5")
    with pytest.raises(CannotCopy, match="T5ForConditionalGeneration"):
        load_model(str(tmp_path / "t5"), ours=True)
    assert not catalog._loaded and not catalog._locks


def test_what_is_ours_already_needs_no_copy():
    assert load_model("untrained", ours=True) is load_model("untrained")
    for name in ("ours:untrained", "ours:smollm2", "ours:smollm2-ours", "ours:", "no-such-model-ours"):
        with pytest.raises(ModelError):
            load_model(name)  # the catalog's copies have names of their own


def test_a_copy_of_a_pack_comes_with_the_pack():
    names = {choice.name: choice for choice in choices()}
    for pack in ("smollm2", "minilm"):
        assert names[f"{pack}-ours"].pack is names[pack].pack and not names[f"{pack}-ours"].ready
        assert not is_here(f"{pack}-ours") and catalog.canonical(f"{pack}-ours") == f"{pack}-ours"


def test_a_visitor_may_be_kept_from_folders(tmp_path):
    with pytest.raises(ModelError):
        load_model(str(tmp_path), folders_allowed=False)
    with pytest.raises(ModelError):
        list(bring(str(tmp_path), folders_allowed=False))
    with pytest.raises(ModelError):
        load_model(str(tmp_path), ours=True, folders_allowed=False)
    with pytest.raises(ModelError):
        load_model(f"ours:{tmp_path}", folders_allowed=False)
