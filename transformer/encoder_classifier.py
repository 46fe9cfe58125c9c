"""EncoderClassifier: an encoder, a summary of the whole text, and a score for each class (Devlin et al. 2019, BERT)."""

import torch
from torch import Tensor, nn

from transformer.config import ModelConfig
from transformer.decoder_lm import ModelOutput
from transformer.encoder import Encoder
from transformer.errors import ShapesDoNotFit
from transformer.initial_weights import initialize
from transformer.summary import Summary, SummaryKind


class EncoderClassifier(nn.Module):
    """`model(input_ids, attention_mask=...).logits`, (batch, n_classes).

    ids ─▶ encoder ─▶ summary (position 0, or the mean) ─▶ head ─▶ logits
    """

    def __init__(
        self,
        config: ModelConfig,
        n_classes: int = 2,
        *,
        summary: SummaryKind = "first",
        pooler: bool = False,
        generator: torch.Generator | None = None,
    ) -> None:
        super().__init__()
        if n_classes < 1:
            raise ShapesDoNotFit(what="n_classes", expected="{1, 2, 3, …}", got=n_classes)
        self.config = config
        self.encoder = Encoder(config)
        self.summary = Summary(config.d_model, summary, pooler=pooler)
        self.head = nn.Linear(config.d_model, n_classes)
        initialize(self, config, generator)

    def forward(
        self, input_ids: Tensor, attention_mask: Tensor | None = None, token_type_ids: Tensor | None = None
    ) -> ModelOutput:
        """(batch, position) ids to (batch, n_classes). `attention_mask`: 1 = real token, 0 = padding.

        Raises what `Encoder` raises.
        """
        x = self.encoder(input_ids, attention_mask, token_type_ids).last_hidden_state
        return ModelOutput(self.head(self.summary(x, attention_mask)))  # (batch, n_classes)
