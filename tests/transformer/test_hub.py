"""Models come over the wire, whole or not at all: a hub on the loopback address stands for the real one."""

import json
import os
import shutil
import socket
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
import torch
from transformers import GPT2Config, GPT2LMHeadModel

from tests.transformer.fake_hub import FakeHub, digest, running
from transformer import hub, pretrained
from transformer.errors import (
    BrokenModel,
    GatedModel,
    ModelTooBig,
    NeedsRemoteCode,
    NoNetwork,
    NoSafetensors,
    NotATextModel,
    UnknownModel,
)
from transformer.hub import HubProgress, ModelNotKept, hub_id
from transformer.messages import LANGUAGES
from transformer.pretrained import load, load_hub
from transformer.weights_size import DamagedFile, NoConfig

NAME = "someone/tiny-model"
WANTED = ("config.json", "generation_config.json", "model.safetensors", "special_tokens_map.json")
EXTRA = ("pytorch_model.bin", "model.gguf", "README.md", "modeling_mine.py", "flax_model.msgpack", "trainer_state.json")


@pytest.fixture(scope="session")
def files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A tiny model as its owner put it on the hub, with all that is not to be fetched."""
    torch.manual_seed(7)
    folder = tmp_path_factory.mktemp("hub") / "files"
    GPT2LMHeadModel(GPT2Config(vocab_size=53, n_embd=28, n_layer=2, n_head=7)).save_pretrained(folder)
    for name in EXTRA:
        (folder / name).write_text("not to be fetched")
    (folder / "special_tokens_map.json").write_text("{}")
    return folder


@pytest.fixture
def fake(files: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[FakeHub]:
    """The hub with one model, and an empty cache."""
    with running() as server:
        server.models[NAME] = Path(shutil.copytree(files, tmp_path / "files"))
        monkeypatch.setenv("HF_ENDPOINT", server.endpoint)
        monkeypatch.setenv("HF_HOME", str(tmp_path / "home"))
        monkeypatch.setenv("NO_PROXY", "127.0.0.1")
        for name in ("HF_HUB_OFFLINE", "TRANSFORMERS_OFFLINE", "HF_HUB_CACHE", "HUGGINGFACE_HUB_CACHE", "HF_TOKEN"):
            monkeypatch.delenv(name, raising=False)
        yield server


def storage(tmp_path: Path) -> Path:
    return tmp_path / "home" / "hub" / "models--someone--tiny-model"


def weights(tmp_path: Path) -> list[str]:
    """The files in the cache that hold, or may become, weights."""
    blobs = storage(tmp_path) / "blobs"
    return sorted(file.name for file in blobs.iterdir() if file.stat().st_size > 50_000) if blobs.exists() else []


def ranges(fake: FakeHub) -> list[str]:
    """How the weights were asked for, request by request."""
    return [asked for kind, path, asked in fake.requests if kind == "GET" and "model.safetensors" in path]


def part(fake: FakeHub) -> str:
    return digest(fake.models[NAME] / "model.safetensors") + ".see-through.incomplete"


def test_a_model_comes_with_its_progress_and_nothing_else(fake: FakeHub, tmp_path: Path) -> None:
    heard: list[tuple[str, int, int]] = []
    model = load_hub(NAME, progress=lambda *step: heard.append(step))
    assert model.name == NAME and model.vocab_size == 53
    assert list(dict.fromkeys(stage for stage, _, _ in heard)) == ["look", "download", "done"]
    assert [done for _, done, _ in heard] == sorted(done for _, done, _ in heard) and heard[-1][1] == heard[-1][2] > 0
    assert set(fake.paths("GET")) == {
        "config.json",
        "generation_config.json",
        "model.safetensors",
        "special_tokens_map.json",
    }
    assert (storage(tmp_path) / "refs" / "main").read_text() == fake.commit(NAME)
    assert [path for _, path, _ in fake.requests if "/api/" in path] == [f"/api/models/{NAME}?blobs=true"]


def test_what_is_here_needs_no_network(fake: FakeHub, monkeypatch: pytest.MonkeyPatch) -> None:
    load(NAME)
    asked = len(fake.requests)
    load(NAME)
    assert [path for _, path, _ in fake.requests[asked:]] == [f"/api/models/{NAME}?blobs=true"]
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    assert load(f"{fake.endpoint}/{NAME}/tree/main").name == NAME
    monkeypatch.delenv("HF_HUB_OFFLINE")
    monkeypatch.setenv("HF_ENDPOINT", "http://127.0.0.1:9")  # nobody listens there
    assert load(NAME).name == NAME
    assert len(fake.requests) == asked + 1


def test_a_cache_that_may_only_be_read_is_enough(fake: FakeHub, tmp_path: Path) -> None:
    load(NAME)
    shutil.rmtree(tmp_path / "home" / "hub" / ".locks")
    os.chmod(tmp_path / "home" / "hub", 0o555)
    try:
        assert load(NAME).name == NAME
    finally:
        os.chmod(tmp_path / "home" / "hub", 0o755)


def test_a_new_version_is_fetched_and_the_old_one_served_until_it_is_whole(
    fake: FakeHub, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    load(NAME)
    old = fake.commit(NAME)
    (fake.models[NAME] / "config.json").write_text(
        (fake.models[NAME] / "config.json").read_text().replace('"n_head": 7', '"n_head": 14')
    )
    stopped = pretrained.bring(NAME)
    while not (storage(tmp_path) / "snapshots" / fake.commit(NAME)).exists():
        next(stopped)
    stopped.close()
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    if (storage(tmp_path) / "refs" / "main").read_text() == old:
        assert load(NAME).module.config.n_head == 7
    monkeypatch.delenv("HF_HUB_OFFLINE")
    assert load(NAME).module.config.n_head == 14
    assert fake.paths("GET").count("model.safetensors") == 1  # the same bytes


def test_shards_come_through_their_index(fake: FakeHub, tmp_path: Path) -> None:
    (fake.models[NAME] / "model.safetensors").unlink()
    GPT2LMHeadModel(GPT2Config(vocab_size=53, n_embd=28, n_layer=2, n_head=7)).save_pretrained(
        fake.models[NAME], max_shard_size="60KB"
    )
    (fake.models[NAME] / "model-of-somebody-else.safetensors").write_bytes(b"x")
    load(NAME)
    assert "model-of-somebody-else.safetensors" not in fake.paths("GET")
    next(fake.models[NAME].glob("model-00002-of-*.safetensors")).unlink()
    with pytest.raises(DamagedFile, match="model-00002"):
        load(NAME)


def test_a_broken_line_goes_on_where_it_broke(fake: FakeHub) -> None:
    fake.cut_after = 150_000  # two chunks and a piece
    assert load(NAME).name == NAME
    assert [asked for kind, path, asked in fake.requests if "model.saf" in path and kind == "GET"] == [
        "",
        "bytes=131072-",
    ]


def test_stopped_and_begun_again_it_goes_on_where_it_stopped(
    fake: FakeHub, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fake.hang_after = 150_000
    bringing, begin = pretrained.bring(NAME), time.monotonic()
    half = storage(tmp_path) / "blobs" / part(fake)
    while not (half.exists() and half.stat().st_size == 131_072):  # the two whole chunks that came
        assert next(bringing) and time.monotonic() - begin < 20
    bringing.close()
    fake.hang_after = None
    fake.go.set()
    assert weights(tmp_path) == [part(fake)] and not (storage(tmp_path) / "refs").exists()
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    with pytest.raises(NoNetwork):
        load(NAME)  # half a model is none
    monkeypatch.delenv("HF_HUB_OFFLINE")
    assert load(NAME).name == NAME
    assert ranges(fake) == ["", "bytes=131072-"]
    assert weights(tmp_path) == [digest(fake.models[NAME] / "model.safetensors")]


def test_spoiled_bytes_are_not_kept(fake: FakeHub, tmp_path: Path) -> None:
    fake.spoil = b"<html>"
    with pytest.raises(DamagedFile, match=r"model\.safetensors"):
        load(NAME)
    assert weights(tmp_path) == []
    fake.spoil = b""
    assert load(NAME).name == NAME


def test_closing_stops_the_work_at_once(fake: FakeHub) -> None:
    fake.hang_after = 100
    bringing = pretrained.bring(NAME)
    while "model.safetensors" not in fake.paths("GET"):
        next(bringing)
    begin = time.monotonic()
    bringing.close()
    assert time.monotonic() - begin < 2


def test_two_at_once_fetch_it_once(fake: FakeHub) -> None:
    fake.hang_after = 150_000
    first, second = pretrained.bring(NAME), pretrained.bring(NAME)
    while "model.safetensors" not in fake.paths("GET"):
        next(first)
    while next(second).stage != "wait":
        pass
    fake.hang_after = None
    fake.go.set()
    assert [step.stage for step in first][-1] == [step.stage for step in second][-1] == "done"
    assert ranges(fake) == ["", "bytes=131072-"]  # both are the first download's, which went on


def test_too_big_is_said_before_the_weights_come(fake: FakeHub) -> None:
    fake.counts[NAME] = 7_000_000_000
    with pytest.raises(ModelTooBig) as refused:
        load(NAME, limit_mb=1000)
    assert refused.value.values == {"name": NAME, "needed": 33730, "limit": 1000}
    del fake.counts[NAME]
    with pytest.raises(ModelTooBig):  # a mirror that tells no counts
        load(NAME, limit_mb=130)
    assert "model.safetensors" not in fake.paths("GET")


@pytest.mark.parametrize(
    ("settings", "error"),
    [
        ({"model_type": "new", "auto_map": {"AutoModel": "a.B"}}, NeedsRemoteCode),
        ({"model_type": "vit", "architectures": ["ViTModel"]}, NotATextModel),
    ],
)
def test_what_cannot_be_seen_through_is_not_fetched(
    fake: FakeHub, settings: dict[str, object], error: type[Exception]
) -> None:
    (fake.models[NAME] / "config.json").write_text(json.dumps(settings))
    with pytest.raises(error, match=NAME):
        load(NAME)
    assert "model.safetensors" not in fake.paths("GET")


def test_what_the_hub_lacks_has_a_name(fake: FakeHub) -> None:
    with pytest.raises(UnknownModel, match="smollm2"):
        load("someone/nothing")
    (fake.models[NAME] / "config.json").unlink()
    with pytest.raises(NoConfig):
        load(NAME)
    (fake.models[NAME] / "model.safetensors").unlink()
    with pytest.raises(NoSafetensors):
        load(NAME)
    assert fake.paths("GET") == []


def test_a_gated_model_asks_for_a_token_and_a_visitor_does_not_use_ours(
    fake: FakeHub, monkeypatch: pytest.MonkeyPatch
) -> None:
    fake.gated.add(NAME)
    with pytest.raises(GatedModel, match="HF_TOKEN"):
        load(NAME)
    fake.gated.clear()
    monkeypatch.setenv("HF_TOKEN", "hf_ours")
    load(NAME, folders_allowed=False)
    assert fake.tokens == {""}
    load(NAME)
    assert fake.tokens == {"", "Bearer hf_ours"}


@pytest.mark.parametrize("status", [500, 429, 404, 403])  # 404 and 403: a proxy's, without the hub's own words
def test_a_hub_in_trouble_is_no_network(fake: FakeHub, status: int) -> None:
    load(NAME)
    fake.broken_status = status
    assert load(NAME).name == NAME  # from the cache
    with pytest.raises(NoNetwork, match="127"):
        load("someone/else")


def test_a_token_that_the_hub_refuses_is_said(fake: FakeHub) -> None:
    fake.broken_status, fake.says = 401, "Invalid credentials in Authorization header"
    with pytest.raises(GatedModel, match="HF_TOKEN"):
        load(NAME)


def closed_port() -> str:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return f"http://127.0.0.1:{free.getsockname()[1]}"


@pytest.mark.parametrize("endpoint", ["", "not an address", "http://[", "ftp://127.0.0.1"])
def test_nobody_there_is_a_sentence(fake: FakeHub, monkeypatch: pytest.MonkeyPatch, endpoint: str) -> None:
    monkeypatch.setenv("HF_ENDPOINT", endpoint or closed_port())
    with pytest.raises(NoNetwork if not endpoint.startswith("http://[") else (NoNetwork, BrokenModel)) as raised:
        load(NAME)
    assert all(NAME in raised.value.text(language) for language in LANGUAGES)


def test_offline_is_read_at_each_call(fake: FakeHub, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    with pytest.raises(NoNetwork, match=fake.endpoint):
        load(NAME)
    assert fake.requests == []


def test_no_place_to_keep_it_is_a_sentence(fake: FakeHub, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "full").write_text("a file, no folder")
    monkeypatch.setenv("HF_HOME", str(tmp_path / "full"))
    with pytest.raises(ModelNotKept, match="HF_HOME"):
        load(NAME)


@pytest.mark.parametrize("language", LANGUAGES)
def test_every_stage_has_its_words(language: str) -> None:
    for stage in ("look", "wait", "download", "done"):
        assert NAME in HubProgress(stage, 5_400_000, 538_000_001, NAME).text(language)
    assert "5" in HubProgress("download", 5_400_000, 538_000_001, NAME).text(language)
    assert "539" in HubProgress("download", 5_400_000, 538_000_001, NAME).text(language)


@pytest.mark.parametrize(
    ("typed", "name"),
    [
        ("gpt2", "gpt2"),
        (" owner/name ", "owner/name"),
        ("https://huggingface.co/owner/name", "owner/name"),
        ("http://hf.co/owner/name/", "owner/name"),
        ("huggingface.co/owner/name/blob/main/config.json?x=1#y", "owner/name"),
        ("https://huggingface.co/gpt2/tree/main", "gpt2"),
        ("https://hf-mirror.com/owner/name", "owner/name"),
        ("https://mirror.example:8443/owner/name", "owner/name"),
    ],
)
def test_names_of_the_hub_in_every_spelling(typed: str, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HF_ENDPOINT", "https://mirror.example:8443/")
    assert hub_id(typed) == name


@pytest.mark.parametrize(
    "name",
    [
        "",
        " ",
        "a" * 5000,
        "owner/" + "a" * 97,
        "<script>alert(1)</script>",
        "owner/name@main",
        "owner/name/more",
        "owner//name",
        "-owner/name",
        "a--b",
        "a..b",
        "name.git",
        "模型/名字",
        "owner/na\u202eme",
        "own\ner/name",
        "owner/name\0",
        "--no-token",
        "https://example.com/owner/name",
        "https://huggingface.co/",
        "https://huggingface.co/datasets/owner/name",
        "https://huggingface.co/../../etc",
        "http://127.0.0.1:22/owner/name",
    ],
)
def test_names_that_can_be_none_are_answered_kindly(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hub, "_worker", None)  # nobody is asked
    with pytest.raises(UnknownModel) as raised:
        load(name, folders_allowed=False)
    for language in LANGUAGES:
        sentence = raised.value.text(language)
        assert len(sentence) < 400 and "smollm2" in sentence and sentence.isprintable()
