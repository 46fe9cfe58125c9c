"""Cards and weights: a model is built from its card alone, and what does not belong together is refused."""

import json
from dataclasses import replace

import pytest
import torch
from safetensors.torch import load_file

from transformer.cards import (
    NAMES,
    Card,
    CardDamaged,
    CodeChanged,
    NoCard,
    check_code,
    is_shipped,
    load_shipped,
    read_card,
    save_shipped,
)
from transformer.config import ModelConfig
from transformer.decoder_lm import DecoderLM
from transformer.encoder_classifier import EncoderClassifier
from transformer.encoder_decoder import EncoderDecoder
from transformer.vision import VisionTransformer

SIZES = {"vocab_size": 263, "max_positions": 17, "d_model": 28, "n_layers": 3, "n_heads": 7}
MODELS = {
    "lm": (DecoderLM, {"positions": "rotary"}, {}),
    "pairs": (EncoderDecoder, {"norm": "post"}, {"share_embeddings": True}),
    "classes": (EncoderClassifier, {"positions": "learned"}, {"n_classes": 3, "summary": "mean"}),
    "pictures": (VisionTransformer, {"positions": "learned"}, {"image_size": 8, "patch_size": 2, "n_classes": 5}),
}


def card_of(name, class_name, config, arguments, tokenizer):
    words = {"en": "letters", "zh": "letters"}
    return Card(
        name=name,
        system="S4",
        class_name=class_name,
        config=config,
        arguments=arguments,
        parameters=1,
        tokenizer=tokenizer,
        longest=7,
        task="Copy()",
        data=words,
        limits=words,
        settings={"steps": 3},
        seed=1,
        steps=3,
        seconds=0.5,
        threads=1,
        versions={},
        command="",
        quality={"loss": 0.5},
        curve={"points": []},
        code=[],
    )


@pytest.fixture(params=MODELS)
def shipped(request, tmp_path, scramble):
    """(module as it is after it was saved, its card, the folder)."""
    made, changes, arguments = MODELS[request.param]
    module = scramble(made(ModelConfig(**SIZES | changes), **arguments))
    tokenizer = None if request.param == "pictures" else {"kind": "pieces", "pieces": ["cat", " dog", "\n", "cat "]}
    card = card_of(request.param, made.__name__, SIZES | changes, arguments, tokenizer)
    return module, save_shipped(module, card, tmp_path), tmp_path


def test_what_was_saved_comes_back(shipped):
    module, card, folder = shipped
    loaded = load_shipped(card.name, folder)
    assert loaded.card == card == read_card(card.name, folder)
    for name, parameter in loaded.module.named_parameters():
        assert parameter.dtype == torch.float32
        assert torch.equal(parameter, module.get_parameter(name))
    assert not loaded.module.training
    check_code(loaded, tolerance=0.0)
    if card.tokenizer is None:
        assert loaded.tokenizer is None
    else:
        assert loaded.tokenizer.decode(loaded.tokenizer.encode("cat dog\ncat dog").ids) == "cat dog\ncat dog"


def test_weights_are_half_the_bytes_and_a_shared_matrix_counts_once(shipped):
    module, card, folder = shipped
    tensors = load_file(folder / f"{card.name}.safetensors")
    assert {one.dtype for one in tensors.values()} == {torch.float16}
    assert sum(one.numel() for one in tensors.values()) == sum(one.numel() for one in module.parameters())


def test_the_module_keeps_the_rounded_weights(tmp_path, scramble):
    module = scramble(DecoderLM(ModelConfig(**SIZES)))
    exact = module.head.weight.detach().clone()
    card = save_shipped(module, card_of("lm", "DecoderLM", SIZES, {}, None), tmp_path)
    assert torch.equal(module.head.weight, exact.half().float()) and not torch.equal(module.head.weight, exact)
    assert load_shipped("lm", tmp_path).card.code == card.code


def test_no_card_says_which_there_are(tmp_path):
    assert not is_shipped("mini-gpt", tmp_path)
    with pytest.raises(NoCard, match="copycat"):
        read_card("mini-gpt", tmp_path)
    with pytest.raises(NoCard, match="mini-gpt"):
        load_shipped("mini-gpt", tmp_path)


def spoil_weights(folder):
    file = folder / "lm.safetensors"
    file.write_bytes(file.read_bytes()[:-2] + b"xx")


def spoil_json(folder):
    (folder / "lm.json").write_text("{")


def change(**fields):
    def changed(folder):
        told = json.loads((folder / "lm.json").read_text(encoding="utf-8"))
        (folder / "lm.json").write_text(json.dumps(told | fields), encoding="utf-8")

    return changed


@pytest.mark.parametrize(
    "spoil",
    [
        spoil_weights,
        spoil_json,
        change(name="other"),
        change(class_name="os.system"),
        change(format=0),
        change(surplus=1),
        change(config=SIZES | {"d_model": 35}),
        change(config=SIZES | {"n_layers": 4}),
        change(config=SIZES | {"layers": 4}),
        change(arguments={"n_classes": 2}),
    ],
)
def test_what_does_not_belong_together_is_refused(tmp_path, spoil):
    save_shipped(DecoderLM(ModelConfig(**SIZES)), card_of("lm", "DecoderLM", SIZES, {}, None), tmp_path)
    spoil(tmp_path)
    with pytest.raises(CardDamaged, match="lm"):
        load_shipped("lm", tmp_path)


def test_missing_weights_are_no_model(tmp_path):
    save_shipped(DecoderLM(ModelConfig(**SIZES)), card_of("lm", "DecoderLM", SIZES, {}, None), tmp_path)
    (tmp_path / "lm.safetensors").unlink()
    assert not is_shipped("lm", tmp_path)
    with pytest.raises(NoCard):
        load_shipped("lm", tmp_path)


def test_code_that_computes_something_else_is_noticed(shipped):
    _, card, folder = shipped
    loaded = load_shipped(card.name, folder)
    with torch.no_grad():
        loaded.module.blocks[0].norm1.weight.mul_(1.2) if hasattr(loaded.module, "blocks") else (
            loaded.module.encoder.blocks[0].norm1.weight.mul_(1.2)
        )
    with pytest.raises(CodeChanged, match=card.name):
        check_code(loaded)


def test_a_number_that_is_none_is_no_agreement(tmp_path):
    card = save_shipped(DecoderLM(ModelConfig(**SIZES)), card_of("lm", "DecoderLM", SIZES, {}, None), tmp_path)
    loaded = load_shipped("lm", tmp_path)
    broken = replace(loaded, card=replace(card, code=[float("nan")] * len(card.code)))
    with pytest.raises(CodeChanged):
        check_code(broken)


@pytest.mark.parametrize("name", [name for name in NAMES if is_shipped(name)])
def test_what_is_shipped_belongs_to_this_code(name):
    loaded = load_shipped(name)
    check_code(loaded)
    assert loaded.card.parameters == sum(one.numel() for one in loaded.module.parameters())
    assert loaded.tokenizer is None or loaded.tokenizer.vocab_size == loaded.module.config.vocab_size
