"""A recurrent network and our encoder side by side: time, work, and how many cells wait for each other, against length.

Vaswani et al. 2017, table 1 ("Sequential Operations"), measured. In a recurrent layer token t waits for token t − 1;
in a block all tokens are computed at once, and each looks at every other, which costs work that grows with length².
"""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial

import numpy as np
import torch
from torch import Tensor, nn

from transformer.block import Block
from transformer.config import ModelConfig
from transformer.errors import ShapesDoNotFit

KINDS = ("lstm", "encoder")


@dataclass(frozen=True)
class TimeSettings:
    """Both networks are `n_layers` deep and `d_model` wide, with about the same number of parameters."""

    lengths: tuple[int, ...] = (16, 32, 64, 128, 256, 512)  # tokens in one text
    d_model: int = 256
    n_layers: int = 2
    n_heads: int = 4
    batch: int = 1
    runs: int = 5  # that count; one more before them does not
    threads: int = 1  # of the processor; with several, each cell of an LSTM waits for the slowest, long on a busy one

    def __post_init__(self) -> None:
        if not self.lengths or min(*self.lengths, self.runs, self.batch, self.threads) < 1:
            raise ShapesDoNotFit(what="lengths, runs, batch, threads", expected="≥ 1", got=repr(self))


@dataclass(frozen=True, eq=False)
class TimeAgainstLength:
    """What was measured; the first axis is the network, in the order of `kinds`."""

    kinds: tuple[str, ...]
    lengths: np.ndarray  # (length,)
    forward_ms: np.ndarray  # (kind, run, length) milliseconds of a forward pass
    training_ms: np.ndarray  # (kind, run, length) of a forward and a backward pass
    waiting: np.ndarray  # (kind, length) cells in the longest chain where each waits for the one before: exact
    multiply_adds: np.ndarray  # (kind, length) multiplications of matrix products in a forward pass: exact
    parameters: np.ndarray  # (kind,)
    batch: int
    d_model: int
    n_layers: int
    threads: int  # of the processor; with one, nothing can run side by side, however little has to wait


class Recurrent(nn.Module):
    """`nn.LSTM` or `nn.RNN` as a block is called: (batch, position, d_model) to the same."""

    def __init__(self, kind: type[nn.LSTM] | type[nn.RNN], d_model: int, n_layers: int) -> None:
        super().__init__()
        self.layers = kind(d_model, d_model, n_layers, batch_first=True)

    def forward(self, x: Tensor) -> Tensor:
        return self.layers(x)[0]


def make_network(kind: str, d_model: int, n_layers: int, n_heads: int, generator: torch.Generator) -> nn.Module:
    """ "rnn", "lstm" or "encoder" with weights from `generator`: (batch, position, d_model) to the same.

    The blocks have no mask and d_ff = 2 · d_model. So a layer holds 8 d² + 8 d numbers as an LSTM and 8 d² + 11 d as a
    block: about the same. A plain RNN holds a quarter, 2 d² + 2 d.
    """
    network: nn.Module
    if kind == "encoder":
        config = ModelConfig(1, 1, d_model, n_layers, n_heads, d_ff=2 * d_model)  # no vocabulary: blocks alone
        network = nn.Sequential(*(Block(config) for _ in range(n_layers)))
    else:
        network = Recurrent({"lstm": nn.LSTM, "rnn": nn.RNN}[kind], d_model, n_layers)
    return initialize(network, generator)


def initialize(network: nn.Module, generator: torch.Generator) -> nn.Module:
    """Draw what torch draws by default, but from `generator`: U(±1/√inputs) and, for embeddings, N(0, 1)."""
    for module in network.modules():
        if isinstance(module, nn.Linear | nn.RNNBase):
            bound = (module.in_features if isinstance(module, nn.Linear) else module.hidden_size) ** -0.5
            for parameter in module.parameters(recurse=False):
                nn.init.uniform_(parameter, -bound, bound, generator=generator)
        elif isinstance(module, nn.Embedding):
            nn.init.normal_(module.weight, generator=generator)
    return network


def time_against_length(settings: TimeSettings, *, generator: torch.Generator) -> TimeAgainstLength:
    """Run both networks on random texts of each length, in turn, so that a busy machine slows both alike."""
    networks = {
        kind: make_network(kind, settings.d_model, settings.n_layers, settings.n_heads, generator) for kind in KINDS
    }
    lengths, depth = settings.lengths, settings.n_layers
    with _threads(settings.threads):
        times = np.array([_times(list(networks.values()), settings, length, generator) for length in lengths])
    return TimeAgainstLength(
        kinds=KINDS,
        lengths=np.array(lengths),
        forward_ms=times[..., 0, :].T,
        training_ms=times[..., 1, :].T,
        waiting=np.array([[waiting(kind, length, depth) for length in lengths] for kind in KINDS]),
        multiply_adds=np.array(
            [[settings.batch * multiply_adds(kind, n, settings.d_model, depth) for n in lengths] for kind in KINDS]
        ),
        parameters=np.array([sum(p.numel() for p in network.parameters()) for network in networks.values()]),
        batch=settings.batch,
        d_model=settings.d_model,
        n_layers=depth,
        threads=settings.threads,
    )


def waiting(kind: str, length: int, n_layers: int) -> int:
    """Cells in the longest chain in which each needs the one before.

    A recurrent cell needs its neighbour on the left and the cell below: from the first token of the first layer to the
    last token of the last one it is length + n_layers − 1. A block needs the block below, for all tokens at once.
    """
    return n_layers if kind == "encoder" else length + n_layers - 1


def multiply_adds(kind: str, length: int, d_model: int, n_layers: int) -> int:
    """Multiplications in the matrix products of one text: 8 d² per token and layer, with attention 2 · length · d more.

    An LSTM multiplies x and the state by four matrices each. A block has four projections (4 d²), two matrices of the
    feed-forward (4 d² at d_ff = 2 d), and q·k and weights·v with every token.
    """
    pairs = 2 * length * d_model if kind == "encoder" else 0
    return n_layers * length * (8 * d_model**2 + pairs)


@contextmanager
def _threads(count: int) -> Iterator[None]:
    """Torch's threads for a while, then as many as before."""
    before = torch.get_num_threads()
    torch.set_num_threads(count)
    try:
        yield
    finally:
        torch.set_num_threads(before)


def _times(networks: list[nn.Module], settings: TimeSettings, length: int, generator: torch.Generator) -> np.ndarray:
    """(run, pass, network) milliseconds at one length: forward, then forward and backward."""
    x = torch.randn(settings.batch, length, settings.d_model, generator=generator)
    taken = np.empty((settings.runs + 1, 2, len(networks)))
    for run in taken:
        for place, network in enumerate(networks):
            run[:, place] = [_milliseconds(partial(work, network, x)) for work in (_forward, _both)]
    return taken[1:]


def _forward(network: nn.Module, x: Tensor) -> None:
    with torch.no_grad():
        network(x)


def _both(network: nn.Module, x: Tensor) -> None:
    network.zero_grad()
    network(x).sum().backward()


def _milliseconds(work: Callable[[], None]) -> float:
    start = time.perf_counter()
    work()
    return 1000 * (time.perf_counter() - start)
