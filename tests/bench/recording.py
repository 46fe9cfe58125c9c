"""What recording costs: time as a ratio to the bare pass, and peak memory beside what others add (GPT-2-small's shape).

Memory is measured in a process of its own for each way (the kernel counts the peak of a whole process), time in one
process with the ways taking turns, so that a busy machine slows all of them.
"""

import gc
import json
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory

import torch

LENGTHS = (64, 512, 1024)
MEMORY_LENGTH = 1024
ROUNDS = {64: 31, 512: 9, 1024: 7}


def gpt2_small(attention: str = "sdpa"):
    """GPT-2-small's shape (12 layers, 12 heads, d_model 768, 50,257 tokens) with random weights."""
    from transformers import GPT2Config, GPT2LMHeadModel

    torch.manual_seed(0)
    return GPT2LMHeadModel(GPT2Config(attn_implementation=attention)).eval()


def token_ids(length: int) -> list[int]:
    return torch.randint(0, 50257, (length,), generator=torch.Generator().manual_seed(1)).tolist()


def recorded(record: set[str] | None = None) -> Callable[[list[int]], object]:
    from transformer import run, wrap
    from transformer.capture import EVERYTHING

    model = wrap(gpt2_small())
    return lambda ids: run(model, ids=ids, record=record or EVERYTHING)


def bare(attention: str = "sdpa", **wanted: bool) -> Callable[[list[int]], object]:
    module = gpt2_small(attention)

    def forward(ids: list[int]) -> object:
        with torch.inference_mode():
            return module(torch.tensor([ids]), use_cache=False, **wanted)

    return forward


def transformer_lens() -> Callable[[list[int]], object]:
    """The same model in TransformerLens 4, every activation cached."""
    from tokenizers import Tokenizer, models
    from transformer_lens import TransformerBridge
    from transformers import AutoTokenizer, PreTrainedTokenizerFast

    # It wants a tokenizer that lies in a folder, though only ids are given; one word is enough.
    words = Tokenizer(models.WordLevel({"a": 0}, unk_token="a"))
    saved = PreTrainedTokenizerFast(tokenizer_object=words, bos_token="a", eos_token="a", pad_token="a")
    with TemporaryDirectory() as folder:
        saved.save_pretrained(folder)
        tokenizer = AutoTokenizer.from_pretrained(folder)
        module = TransformerBridge.boot_transformers("gpt2", hf_model=gpt2_small("eager"), tokenizer=tokenizer)

    def forward(ids: list[int]) -> object:
        with torch.inference_mode():
            return module.run_with_cache(torch.tensor([ids]))

    return forward


WAYS: dict[str, Callable[[], Callable[[list[int]], object]]] = {
    "bare": bare,
    "everything": recorded,
    "attention": lambda: recorded({"attention"}),
    "eager": lambda: bare("eager", output_attentions=True, output_hidden_states=True),
    "transformer_lens": transformer_lens,
}


def peak_megabytes(way: str) -> float:
    """Peak memory that a pass adds to a process that has the model and has run 8 tokens: the median of three processes,
    for the allocator's holes differ by tens of megabytes from one to the next."""
    return statistics.median(_peak_of_a_process(way) for _ in range(3))


def _peak_of_a_process(way: str) -> float:
    code = f"from tests.bench.recording import measure_peak; measure_peak({way!r})"
    done = subprocess.run([sys.executable, "-W", "ignore", "-c", code], capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(done.stderr[-600:])
    return float(json.loads(done.stdout.splitlines()[-1]))


def measure_peak(way: str) -> None:
    torch.set_num_threads(2)
    forward = WAYS[way]()
    forward(token_ids(8))
    gc.collect()
    Path("/proc/self/clear_refs").write_text("5")  # Linux: forget the peak so far, which was building the model
    before = peak_of_this_process()
    kept = forward(token_ids(MEMORY_LENGTH))
    print(json.dumps(peak_of_this_process() - before))
    del kept


def peak_of_this_process() -> float:
    """Megabytes of resident memory at most since the last reset."""
    status = Path("/proc/self/status").read_text()
    return int(next(line for line in status.splitlines() if line.startswith("VmHWM")).split()[1]) / 1024


def time_ratios() -> dict[int, tuple[float, float]]:
    """length -> (median of recorded / bare, bare seconds); the two take turns."""
    plain, recording, found = bare(), recorded(), {}
    for length in LENGTHS:
        ids, ratios, seconds = token_ids(length), [], []
        for _ in range(ROUNDS[length]):
            one, other = _seconds(plain, ids), _seconds(recording, ids)
            ratios.append(other / one)
            seconds.append(one)
        found[length] = (statistics.median(ratios[1:]), statistics.median(seconds[1:]))
    return found


def _seconds(forward: Callable[[list[int]], object], ids: list[int]) -> float:
    start = time.perf_counter()
    forward(ids)
    return time.perf_counter() - start


def report() -> None:
    for length, (ratio, seconds) in time_ratios().items():
        print(f"time      T={length:5d}  recorded / bare = {ratio:.3f}   (bare {seconds * 1000:.0f} ms; aim ≤ 1.10)")
    peaks = {}
    for way in WAYS:
        try:
            peaks[way] = peak_megabytes(way)
        except RuntimeError as error:
            print(f"memory    {way}: not measured ({str(error).strip().splitlines()[-1]})")
    extra = {way: peak - peaks["bare"] for way, peak in peaks.items()}
    listed = ", ".join(f"{way} {megabytes:.0f}" for way, megabytes in extra.items())
    print(f"memory    T={MEMORY_LENGTH}, MB over the bare pass: {listed}")
    pairs = (("attention", "eager", "1/4"), ("everything", "eager", "2/3"), ("attention", "transformer_lens", "1/8"))
    for ours, theirs, aim in pairs:
        if theirs in extra:
            print(f"memory    {ours} / {theirs} = {extra[ours] / extra[theirs]:.3f}   (aim ≤ {aim})")
