"""The feed-forward part of a block: the same small network for every token (Vaswani et al. 2017, section 3.3)."""

from torch import Tensor, nn

from transformer.config import ModelConfig


class FeedForward(nn.Module):
    """Up to d_ff, through an activation, down again.

        plain:   down(activation(up(x)))              Vaswani et al. 2017, equation 2 (ReLU); GELU in GPT-2 and BERT
        SwiGLU:  down(SiLU(gate(x)) · up(x))          Shazeer 2020, equation 6; Llama

    What enters `down` is the hidden layer, (batch, position, d_ff). `gate` is None in the plain form.
    """

    def __init__(self, config: ModelConfig) -> None:
        super().__init__()
        self.up = nn.Linear(config.d_model, config.ff_size, bias=config.ffn_bias)
        self.gate: nn.Linear | None = None
        if config.activation == "swiglu":
            self.gate = nn.Linear(config.d_model, config.ff_size, bias=config.ffn_bias)
        self.activation = make_activation(config)
        self.down = nn.Linear(config.ff_size, config.d_model, bias=config.ffn_bias)

    def forward(self, x: Tensor) -> Tensor:
        """(batch, position, d_model) to (batch, position, d_model)."""
        up = self.up(x)  # (batch, position, d_ff)
        hidden = self.activation(up) if self.gate is None else self.activation(self.gate(x)) * up
        return self.down(hidden)  # (batch, position, d_model)


def make_activation(config: ModelConfig) -> nn.Module:
    """A module and not a function, so that whoever records a run can see what goes in and comes out."""
    match config.activation:
        case "relu":
            return nn.ReLU()
        case "gelu":
            return nn.GELU()
        case "gelu_tanh":
            return nn.GELU(approximate="tanh")  # Hendrycks & Gimpel 2016, section 2; Hugging Face calls it "gelu_new"
        case "swiglu":
            return nn.SiLU()
