"""ModelConfig: every size and switch of a Transformer, checked when it is made."""

from dataclasses import dataclass
from typing import Literal, get_args

from transformer.errors import ShapesDoNotFit

NormPlace = Literal["pre", "post"]
NormKind = Literal["layernorm", "rmsnorm"]
PositionKind = Literal["sinusoidal", "learned", "rotary", "alibi", "none"]
ActivationKind = Literal["gelu", "gelu_tanh", "relu", "swiglu"]
InitKind = Literal["normal", "xavier"]


@dataclass(frozen=True)
class ModelConfig:
    """The plan of one model. The five sizes have no default: they are what makes a model this one and not another.

    Three sizes may be left out; `kv_heads`, `head_size` and `ff_size` say what they then are. They are worked out
    when asked and not stored, so `dataclasses.replace(config, n_heads=14)` does not keep the old `d_head`.

    Raises:
        ShapesDoNotFit: a size is not a positive whole number, a word is not one of the choices, or sizes do not divide.
    """

    vocab_size: int  # ids are 0 … vocab_size - 1
    max_positions: int  # tokens that fit in one text
    d_model: int  # numbers in one token's vector
    n_layers: int
    n_heads: int
    n_kv_heads: int | None = None  # n_heads (Vaswani et al. 2017, 3.2.2); fewer are shared (Ainslie et al. 2023)
    d_head: int | None = None  # d_model / n_heads (Vaswani et al. 2017, 3.2.2); Gemma and Qwen3 choose it freely
    d_ff: int | None = None  # 4 · d_model (Vaswani et al. 2017, 3.3: 2048 for 512)
    norm: NormPlace = "pre"  # Radford et al. 2019 (GPT-2), 2.3; why it trains more easily: Xiong et al. 2020
    norm_kind: NormKind = "layernorm"  # Ba et al. 2016; "rmsnorm": Zhang & Sennrich 2019
    norm_eps: float = 1e-5  # GPT-2's layer_norm_epsilon and torch.nn.LayerNorm
    positions: PositionKind = "sinusoidal"  # Vaswani et al. 2017, 3.5; "learned": GPT-2; "rotary": Su et al. 2021;
    #                                         "alibi": Press et al. 2022
    rotary_base: float = 10000.0  # Su et al. 2021, 3.2.2; Llama 1 and 2
    activation: ActivationKind = "gelu"  # Hendrycks & Gimpel 2016; "gelu_tanh": GPT-2; "swiglu": Shazeer 2020, Llama
    tied_embeddings: bool = True  # Press & Wolf 2017; Vaswani et al. 2017, 3.4; GPT-2
    attention_bias: bool = True  # GPT-2, BERT and torch.nn.MultiheadAttention; Llama has none
    ffn_bias: bool = True  # b₁ and b₂ of Vaswani et al. 2017, equation 2; Llama has none
    scale_embeddings: bool = False  # GPT-2 and Llama; True: × √d_model (Vaswani et al. 2017, 3.4)
    dropout: float = 0.0  # Touvron et al. 2023 (Llama) train without; Vaswani et al. 2017, 5.4: 0.1
    window: int | None = None  # causal and only the last `window` keys (Jiang et al. 2023); None: all earlier keys
    prefix: int = 0  # the first keys of a text, which every query sees even in a causal model (Raffel et al. 2020)
    embedding_norm: bool = False  # GPT-2, Llama; True: a norm on what enters the first block (BERT, BART)
    n_segments: int = 0  # BERT has 2: a learned vector that tells the first text from the second; 0: none
    init: InitKind = "normal"  # N(0, 0.02): Radford et al. 2018, 4.1; "xavier": Glorot & Bengio 2010, equation 16

    def __post_init__(self) -> None:
        _check_choices(self)
        _check_sizes(self)
        _check_heads(self)
        _check_pairs(self)
        _check_numbers(self)

    @property
    def kv_heads(self) -> int:
        """How many heads of keys and values there are."""
        return self.n_heads if self.n_kv_heads is None else self.n_kv_heads

    @property
    def head_size(self) -> int:
        """Numbers in one head's query, key and value."""
        return self.d_model // self.n_heads if self.d_head is None else self.d_head

    @property
    def ff_size(self) -> int:
        """Numbers in the hidden layer of the feed-forward part."""
        return 4 * self.d_model if self.d_ff is None else self.d_ff


def _check_choices(config: ModelConfig) -> None:
    """The words are ones we know. `expected` and `got` hold signs, no words: they read the same in any language."""
    choices = {
        "norm": NormPlace,
        "norm_kind": NormKind,
        "positions": PositionKind,
        "activation": ActivationKind,
        "init": InitKind,
    }
    for name, kind in choices.items():
        known, got = get_args(kind), getattr(config, name)
        if got not in known:
            raise ShapesDoNotFit(what=name, expected=f"{{{', '.join(known)}}}", got=repr(got))


def _check_sizes(config: ModelConfig) -> None:
    """Sizes are positive whole numbers; True, which Python counts as 1, is none."""
    may_be_left_out, may_be_zero = ("n_kv_heads", "d_head", "d_ff", "window"), ("prefix", "n_segments")
    needed = ("vocab_size", "max_positions", "d_model", "n_layers", "n_heads")
    for name in (*needed, *may_be_left_out, *may_be_zero):
        size, least = getattr(config, name), 0 if name in may_be_zero else 1
        left_out = size is None and name in may_be_left_out
        if not left_out and (not isinstance(size, int) or isinstance(size, bool) or size < least):
            raise ShapesDoNotFit(what=name, expected="{0, 1, 2, …}" if least == 0 else "{1, 2, 3, …}", got=repr(size))


def _check_heads(config: ModelConfig) -> None:
    """d_model = n_heads · d_head unless d_head was chosen freely, and every key head serves as many query heads."""
    if config.d_head is None and config.d_model % config.n_heads:
        raise ShapesDoNotFit(
            what="n_heads", expected=f"{_divisors(config.d_model)} (d_model = {config.d_model})", got=config.n_heads
        )
    if config.n_heads % config.kv_heads:
        raise ShapesDoNotFit(
            what="n_kv_heads", expected=f"{_divisors(config.n_heads)} (n_heads = {config.n_heads})", got=config.kv_heads
        )


def _check_pairs(config: ModelConfig) -> None:
    """Rotary and sinusoidal positions work on pairs of dimensions."""
    if config.positions == "rotary" and config.head_size % 2:
        raise ShapesDoNotFit(what="d_head", expected="{2, 4, 6, …} (rotary)", got=config.head_size)
    if config.positions == "sinusoidal" and config.d_model % 2:
        raise ShapesDoNotFit(what="d_model", expected="{2, 4, 6, …} (sinusoidal)", got=config.d_model)


def _check_numbers(config: ModelConfig) -> None:
    if not config.norm_eps > 0:
        raise ShapesDoNotFit(what="norm_eps", expected="> 0", got=config.norm_eps)
    if not config.rotary_base > 1:
        raise ShapesDoNotFit(what="rotary_base", expected="> 1", got=config.rotary_base)
    if not 0 <= config.dropout < 1:
        raise ShapesDoNotFit(what="dropout", expected="[0, 1)", got=config.dropout)


def _divisors(number: int) -> str:
    """What would have fitted, so that the message says what to do: 28 -> {1, 2, 4, 7, 14, 28}."""
    return "{" + ", ".join(str(n) for n in range(1, number + 1) if number % n == 0) + "}"
