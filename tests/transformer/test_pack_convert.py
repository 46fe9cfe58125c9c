"""The real packs: what comes out of the conversion is the model, fast to load, with its own tokenizer."""

import struct
import time
from pathlib import Path

import pytest

from transformer.pack_convert import pre_tokenizer_name

TEXTS = [
    "The capital of France is",
    "the cat the\n dog\t  two",
    "a  2 x 1²½ 12a 3.5",
    "我爱北京天安门，你好！",
    "👩‍👩‍👧 e\u0301 café \u202e abc",
]


def test_the_header_names_its_pre_tokenizer(tmp_path: Path) -> None:
    key, name = b"tokenizer.ggml.pre", b"smollm"
    file = tmp_path / "small.gguf"
    file.write_bytes(b"GGUF" + struct.pack("<Q", len(key)) + key + struct.pack("<IQ", 8, len(name)) + name + b"rest")
    assert pre_tokenizer_name(file) == "smollm"
    file.write_bytes(b"GGUF without it")
    assert pre_tokenizer_name(file) is None


@pytest.mark.weights
def test_smollm2_loads_fast_and_knows_paris(smollm2_folder: Path) -> None:
    import torch
    from transformers import AutoModelForCausalLM, AutoTokenizer

    took = []
    for _ in range(2):  # the better of two: another program may be busy
        begin = time.monotonic()
        model = AutoModelForCausalLM.from_pretrained(smollm2_folder)
        tokenizer = AutoTokenizer.from_pretrained(smollm2_folder)
        took.append(time.monotonic() - begin)
    assert min(took) < 4
    assert model.dtype == torch.float32
    assert (model.config.num_hidden_layers, model.config.num_attention_heads, model.config.hidden_size) == (30, 9, 576)
    with torch.inference_mode():
        logits = model(**tokenizer("The capital of France is", return_tensors="pt")).logits[0, -1]
    best = logits.softmax(-1).max(-1)
    assert tokenizer.decode([int(best.indices)]) == " Paris"
    assert float(best.values) == pytest.approx(0.7725, abs=0.002)


@pytest.mark.weights
@pytest.mark.parametrize("text", TEXTS)
def test_smollm2_gives_every_text_back(smollm2_folder: Path, text: str) -> None:
    from transformers import AutoTokenizer

    tokenizer = AutoTokenizer.from_pretrained(smollm2_folder)
    assert tokenizer.decode(tokenizer(text)["input_ids"]) == text


@pytest.mark.weights
def test_smollm2_sets_digits_apart_before_it_joins_blanks(smollm2_folder: Path) -> None:
    from transformers import AutoTokenizer

    tokenizer = AutoTokenizer.from_pretrained(smollm2_folder)
    tokens = tokenizer.convert_ids_to_tokens(tokenizer("a  25")["input_ids"])
    assert tokens == ["a", "ĠĠ", "2", "5"]  # GPT-2's own rule would give "a", "Ġ", "Ġ", "2", "5"


@pytest.mark.weights
def test_minilm_finds_what_is_alike(minilm_folder: Path) -> None:
    import torch
    from transformers import AutoModel, AutoTokenizer

    model, tokenizer = AutoModel.from_pretrained(minilm_folder), AutoTokenizer.from_pretrained(minilm_folder)
    batch = tokenizer(["A cat sits.", "A kitten is sitting.", "Stocks fell today."], padding=True, return_tensors="pt")
    with torch.inference_mode():
        states = model(**batch).last_hidden_state  # (text, position, d_model)
    shown = batch["attention_mask"][..., None]
    cat, kitten, stocks = torch.nn.functional.normalize((states * shown).sum(1) / shown.sum(1))
    assert cat @ kitten > 0.6 > 0.2 > cat @ stocks
