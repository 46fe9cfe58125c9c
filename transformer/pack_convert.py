"""Turns a pack's GGUF file into a plain safetensors folder, once: a GGUF load takes 15 s each time, the folder 1.5 s.

Runs as its own process, `python -m transformer.pack_convert FILE.gguf FOLDER`: the gigabyte it needs is given back at
the end, nothing global in `transformers` is touched while visitors run models, and it can be stopped at any moment.
"""

import json
import struct
import sys
from pathlib import Path

# The file's header names its pre-tokenizer, but the GGUF loader of `transformers` always builds GPT-2's. "smollm" first
# sets every digit apart (llama.cpp, `LLAMA_VOCAB_PRE_TYPE_SMOLLM`; SmolLM2's tokenizer.json): "a  2" differs otherwise.
_PRE_TOKENIZERS = {
    "smollm": [
        {"type": "Digits", "individual_digits": True},
        {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": True},
    ],
}
_HEADER_BYTES = 1 << 24  # the header with all of its words ends well before this
_NOTES_OF_THIS_LOAD = ("is_local", "local_files_only")


def convert(gguf: Path, folder: Path) -> None:
    """Writes config, float32 safetensors and tokenizer of `gguf` into `folder` (made when it is not there)."""
    import torch
    from transformers import AutoModelForCausalLM, AutoTokenizer

    loaded = AutoModelForCausalLM.from_pretrained(gguf.parent, gguf_file=gguf.name, dtype=torch.float32)
    # `save_pretrained` refuses what came from a GGUF as quantized, although its numbers are plain float32 by now:
    # the same numbers in a model built anew from the config can be saved.
    settings = {name: value for name, value in loaded.config.to_dict().items() if name != "quantization_config"}
    with torch.device("meta"):
        plain = AutoModelForCausalLM.from_config(type(loaded.config).from_dict(settings))
    plain.load_state_dict(loaded.state_dict(), assign=True)
    plain.tie_weights()
    plain.save_pretrained(folder)
    AutoTokenizer.from_pretrained(gguf.parent, gguf_file=gguf.name).save_pretrained(folder)
    _mend_tokenizer(folder, pre_tokenizer_name(gguf))


def pre_tokenizer_name(gguf: Path) -> str | None:
    """What the file's header calls its pre-tokenizer, or `None`. (Layout: GGUF specification, version 3.)"""
    key = b"tokenizer.ggml.pre"
    with gguf.open("rb") as file:
        header = file.read(_HEADER_BYTES)
    at = header.find(key)
    if at < 0:
        return None
    at += len(key)
    _kind, length = struct.unpack_from("<IQ", header, at)
    return header[at + 12 : at + 12 + length].decode("utf-8")


def _mend_tokenizer(folder: Path, name: str | None) -> None:
    config = folder / "tokenizer_config.json"
    notes = json.loads(config.read_text(encoding="utf-8"))
    kept = {key: value for key, value in notes.items() if key not in _NOTES_OF_THIS_LOAD}
    config.write_text(json.dumps(kept, indent=2), encoding="utf-8")
    if name in _PRE_TOKENIZERS:
        path = folder / "tokenizer.json"
        tokenizer = json.loads(path.read_text(encoding="utf-8"))
        tokenizer["pre_tokenizer"] = {"type": "Sequence", "pretokenizers": _PRE_TOKENIZERS[name]}
        path.write_text(json.dumps(tokenizer, ensure_ascii=False), encoding="utf-8")


if __name__ == "__main__":
    convert(Path(sys.argv[1]), Path(sys.argv[2]))
