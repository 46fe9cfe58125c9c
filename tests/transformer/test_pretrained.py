"""Folders become models, or one clear sentence: every family of head, every way in which files can be wrong."""

import json
import logging
import shutil
import struct
import warnings
from collections.abc import Callable
from pathlib import Path

import pytest
import torch
import transformers
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
from transformers import (
    BertConfig,
    BertForMaskedLM,
    BertModel,
    GPT2Config,
    GPT2LMHeadModel,
    LlamaConfig,
    LlamaForCausalLM,
    PreTrainedTokenizerFast,
    T5Config,
    T5EncoderModel,
    T5ForConditionalGeneration,
    ViTConfig,
    ViTModel,
)

from transformer import pretrained
from transformer.errors import (
    BrokenModel,
    ModelError,
    ModelTooBig,
    NeedsRemoteCode,
    NoSafetensors,
    NotATextModel,
    SlowTokenizer,
    UnknownModel,
)
from transformer.model_kind import QuantizedModel, UnknownFamily
from transformer.pretrained import FoldersClosed, WeightsDoNotFit, load, load_folder
from transformer.weights_size import DamagedFile, NoConfig, estimate_mb, needed_mb, parameters, weights_files

VOCABULARY = 283
TEXT = "the cat sat\non the mat"
Make = Callable[[str], Path]


def tiny(kind: str) -> transformers.PreTrainedModel:
    """A random model of the kind; no two sizes alike."""
    torch.manual_seed(7)
    bert = {"vocab_size": VOCABULARY, "hidden_size": 28, "num_hidden_layers": 3, "num_attention_heads": 7}
    t5 = {"vocab_size": VOCABULARY, "d_model": 28, "d_kv": 4, "d_ff": 37, "num_layers": 2, "num_heads": 7}
    llama = {"vocab_size": VOCABULARY, "hidden_size": 32, "intermediate_size": 37, "num_attention_heads": 4}
    made = {
        "gpt2": lambda: GPT2LMHeadModel(GPT2Config(vocab_size=VOCABULARY, n_embd=28, n_layer=3, n_head=7)),
        "bert": lambda: BertForMaskedLM(BertConfig(**bert, intermediate_size=37)),
        "bert bare": lambda: BertModel(BertConfig(**bert, intermediate_size=37)),
        "t5": lambda: T5ForConditionalGeneration(T5Config(**t5, decoder_start_token_id=0)),
        "t5 encoder": lambda: T5EncoderModel(T5Config(**t5)),
        "llama": lambda: LlamaForCausalLM(LlamaConfig(**llama, num_hidden_layers=2, num_key_value_heads=2)),
        "vit": lambda: ViTModel(ViTConfig(hidden_size=28, num_hidden_layers=1, num_attention_heads=7, image_size=32)),
    }
    return made[kind]()


def tokenizer() -> PreTrainedTokenizerFast:
    backend = Tokenizer(models.BPE())
    backend.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    backend.decoder = decoders.ByteLevel()
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    trainer = trainers.BpeTrainer(
        vocab_size=VOCABULARY, special_tokens=["<end>"], initial_alphabet=alphabet, show_progress=False
    )
    backend.train_from_iterator([TEXT, "the mat the cat the hat"] * 9, trainer)
    return PreTrainedTokenizerFast(tokenizer_object=backend, eos_token="<end>", pad_token="<end>")


@pytest.fixture(scope="session")
def saved(tmp_path_factory: pytest.TempPathFactory) -> Make:
    """`saved("gpt2")`: the folder of that tiny model with a tokenizer; made once, not to be changed."""
    root, words = tmp_path_factory.mktemp("saved"), tokenizer()

    def folder(kind: str) -> Path:
        place = root / kind
        if not place.exists():
            tiny(kind).save_pretrained(place)
            words.save_pretrained(place)
        return place

    return folder


@pytest.fixture
def copy(saved: Make, tmp_path: Path) -> Make:
    """The same, in a copy that a test may spoil."""
    return lambda kind: Path(shutil.copytree(saved(kind), tmp_path / "copy"))


def change(folder: Path, **settings: object) -> Path:
    """config.json with other settings; None takes one away."""
    file = folder / "config.json"
    changed = json.loads(file.read_text()) | settings
    file.write_text(json.dumps({key: value for key, value in changed.items() if value is not None}))
    return folder


@pytest.mark.parametrize(
    ("kind", "expected"),
    [
        ("gpt2", "GPT2LMHeadModel"),
        ("bert", "BertForMaskedLM"),
        ("bert bare", "BertModel"),
        ("t5", "T5ForConditionalGeneration"),
        ("t5 encoder", "T5EncoderModel"),
        ("llama", "LlamaForCausalLM"),
    ],
)
def test_a_folder_becomes_the_model_that_was_saved(saved: Make, kind: str, expected: str) -> None:
    model = load_folder(saved(kind), "mine")
    assert type(model.module).__name__ == expected and model.name == "mine"
    assert model.tokenizer is not None and len(model.tokenizer.encode(TEXT).ids) > 3
    ids = torch.tensor([[5, 7, 9, 7]])
    inputs = {"input_ids": ids, **({"decoder_input_ids": ids[:, :3]} if model.encoder_decoder else {})}
    with torch.inference_mode():
        ours, theirs = model.module(**inputs)[0], tiny(kind).eval()(**inputs)[0]
    torch.testing.assert_close(ours, theirs, atol=1e-6, rtol=0)


def test_half_precision_is_read_as_float32(copy: Make) -> None:
    folder = copy("llama")
    tiny("llama").to(torch.bfloat16).save_pretrained(folder)
    model = load_folder(folder)
    assert {part.dtype for part in model.module.parameters()} == {torch.float32}
    assert model.name == "copy"


def test_shards_are_read_through_their_index(copy: Make) -> None:
    folder = copy("gpt2")
    whole = estimate_mb(folder)
    (folder / "model.safetensors").unlink()
    tiny("gpt2").save_pretrained(folder, max_shard_size="60KB")
    assert len(weights_files(folder, "x")) > 1 and estimate_mb(folder) == whole
    assert load_folder(folder).vocab_size == VOCABULARY


def test_a_model_without_a_tokenizer_takes_ids(copy: Make) -> None:
    folder = copy("gpt2")
    for file in folder.glob("tokenizer*"):
        file.unlink()
    assert load_folder(folder).tokenizer is None
    (folder / "tokenizer_config.json").write_text('{"tokenizer_class": "GPT2Tokenizer"}')  # but no vocabulary
    assert load_folder(folder).tokenizer is None


def test_a_checkpoint_without_its_pooler_is_whole_enough(copy: Make) -> None:
    folder = copy("bert bare")
    BertModel(tiny("bert bare").config, add_pooling_layer=False).save_pretrained(folder)
    assert type(load_folder(folder).module).__name__ == "BertModel"


def test_two_loads_share_nothing(saved: Make) -> None:
    one, two = load_folder(saved("gpt2")), load_folder(saved("gpt2"))
    assert one.module.config is not two.module.config and one.fingerprint != two.fingerprint


def test_loading_is_quiet_and_changes_no_setting(
    saved: Make, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    from transformers.utils import logging as theirs

    before, filters = theirs.get_verbosity(), list(warnings.filters)
    monkeypatch.setattr(theirs, "_tqdm_active", True)
    theirs.set_verbosity_info()
    try:
        load_folder(saved("bert bare"))
        assert (theirs.get_verbosity(), theirs.is_progress_bar_enabled()) == (logging.INFO, True)
    finally:
        theirs.set_verbosity(before)
    assert capfd.readouterr() == ("", "") and list(warnings.filters) == filters


def test_the_size_is_known_from_the_headers(saved: Make) -> None:
    count = sum(part.numel() for part in tiny("llama").parameters())
    assert parameters(saved("llama") / "model.safetensors", "x") == count
    assert needed_mb(124_439_808) == 598 + 130  # GPT-2 small: 1.2 · 4 bytes · 124 M, and 130 MB
    assert estimate_mb(saved("llama")) == needed_mb(count)


def test_a_model_too_big_is_refused_before_it_is_read(saved: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pretrained, "_module", None)  # would fail if it were called
    with pytest.raises(ModelTooBig) as refused:
        load_folder(saved("gpt2"), "mine", limit_mb=130)
    assert refused.value.values == {"name": "mine", "needed": estimate_mb(saved("gpt2")), "limit": 130}


def spoil_header(folder: Path) -> None:
    (folder / "model.safetensors").write_bytes(struct.pack("<Q", 9) + b'{"a": []}')


def cut(folder: Path) -> None:
    file = folder / "model.safetensors"
    file.write_bytes(file.read_bytes()[:-1])


def pointer(folder: Path) -> None:
    (folder / "model.safetensors").write_text("version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 12\n")


def pickled(folder: Path) -> None:
    (folder / "model.safetensors").rename(folder / "pytorch_model.bin")


def lost_shard(folder: Path) -> None:
    (folder / "model.safetensors").unlink()
    index = {"weight_map": {"a": "model-00001-of-00001.safetensors"}}
    (folder / "model.safetensors.index.json").write_text(json.dumps(index))


def escaping_shard(folder: Path) -> None:
    shutil.move(folder / "model.safetensors", folder.parent / "model.safetensors")
    (folder / "model.safetensors.index.json").write_text('{"weight_map": {"a": "../model.safetensors"}}')


def wrong_shape(folder: Path) -> None:
    change(folder, n_embd=14)


def more_layers(folder: Path) -> None:
    change(folder, n_layer=4)


def slow(folder: Path) -> None:
    (folder / "tokenizer.json").unlink()
    (folder / "tokenizer_config.json").write_text('{"tokenizer_class": "ByT5Tokenizer"}')


def broken_tokenizer(folder: Path) -> None:
    (folder / "tokenizer.json").write_text("{")


@pytest.mark.parametrize(
    ("spoil", "error", "says"),
    [
        (spoil_header, DamagedFile, "model.safetensors"),
        (cut, DamagedFile, "model.safetensors"),
        (pointer, DamagedFile, "Git LFS"),
        (pickled, NoSafetensors, "safetensors"),
        (lost_shard, DamagedFile, "model-00001-of-00001"),
        (escaping_shard, DamagedFile, "index.json"),
        (wrong_shape, WeightsDoNotFit, "transformer"),
        (more_layers, WeightsDoNotFit, r"h\.3"),
        (slow, SlowTokenizer, "mine"),
        (broken_tokenizer, BrokenModel, "mine"),
        (lambda folder: (folder / "config.json").unlink(), NoConfig, "config.json"),
        (lambda folder: (folder / "config.json").write_text("{"), DamagedFile, "config.json"),
        (lambda folder: (folder / "config.json").write_text("[1]"), DamagedFile, "config.json"),
        (lambda folder: change(folder, model_type="new_kind"), UnknownFamily, "new_kind"),
        (lambda folder: change(folder, model_type=None), UnknownFamily, "“”"),
        (lambda folder: change(folder, model_type="new", auto_map={"AutoModel": "a.B"}), NeedsRemoteCode, "mine"),
        (lambda folder: change(folder, quantization_config={"quant_method": "gptq"}), QuantizedModel, "gptq"),
        (lambda folder: change(folder, n_head="seven"), BrokenModel, "mine"),
        (lambda folder: change(folder, n_head=5), BrokenModel, "mine"),
    ],
)
def test_what_is_wrong_has_a_name_and_a_sentence(
    copy: Make, spoil: Callable[[Path], object], error: type[ModelError], says: str
) -> None:
    folder = copy("gpt2")
    spoil(folder)
    with pytest.raises(error, match=says) as raised:
        load_folder(folder, "mine")
    for language in ("en", "zh"):
        sentence = raised.value.text(language)
        assert "mine" in sentence and str(folder.parent) not in sentence and "\n" not in sentence


def test_the_code_of_a_tokenizer_is_not_run(copy: Make) -> None:
    folder = copy("gpt2")
    settings = {"auto_map": {"AutoTokenizer": ["mine.Mine", None]}, "tokenizer_class": "Mine"}
    (folder / "tokenizer_config.json").write_text(json.dumps(settings))
    (folder / "mine.py").write_text("raise SystemExit")
    try:
        model = load_folder(folder)
    except NeedsRemoteCode:
        return
    assert model.tokenizer is not None  # read from tokenizer.json, without the code


def test_a_picture_model_is_told_by_its_config(saved: Make) -> None:
    with pytest.raises(NotATextModel, match="pixel_values"):
        load_folder(saved("vit"))


def test_a_config_cannot_point_to_other_weights(copy: Make) -> None:
    folder = change(copy("gpt2"), transformers_weights="../other.safetensors")
    assert load_folder(folder).vocab_size == VOCABULARY


def test_load_takes_a_folder_in_every_spelling(copy: Make, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    folder = copy("gpt2")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("USERPROFILE", str(tmp_path))
    for name in (str(folder), "copy", "./copy", f" {folder}/ ", "~/copy"):
        assert pretrained.local_folder(name).resolve() == folder, name
    assert pretrained.local_folder("owner/name") is None
    assert load("copy").name == "copy"


PATHS = ["../../etc", "/etc/passwd", "~", "~root", "./", "C:\\Users\\me", "\\\\server\\share", "file:///etc", "."]


@pytest.mark.parametrize("name", PATHS)
def test_a_visitor_opens_no_folder(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("os.path.isdir", None)  # not even asked whether it is there
    with pytest.raises(FoldersClosed):
        load(name, folders_allowed=False)


def test_a_visitor_cannot_name_a_folder_like_a_hub_id(copy: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(copy("gpt2").parent)
    assert pretrained.local_folder("copy", folders_allowed=False) is None


@pytest.mark.parametrize("name", ["/no/such/folder", "./nothing", "~nobody/x", "/" + "a" * 5000, "../\0", "C:\\x"])
def test_a_folder_that_is_not_there_is_an_unknown_model(name: str) -> None:
    with pytest.raises(UnknownModel) as raised:
        load(name)
    assert len(str(raised.value)) < 400
    with pytest.raises(UnknownModel):
        load_folder(Path("/no/such/folder"))


def test_a_folder_that_holds_no_model_says_what_it_lacks(tmp_path: Path) -> None:
    with pytest.raises(NoConfig):
        load(str(tmp_path))
