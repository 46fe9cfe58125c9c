"""VisionTransformer: an image in patches, which are read like the tokens of a text (Dosovitskiy et al. 2021, ViT)."""

import torch
from torch import Tensor, nn

from transformer.block import Block
from transformer.config import ModelConfig
from transformer.decoder_lm import ModelOutput
from transformer.errors import ShapesDoNotFit
from transformer.initial_weights import initialize
from transformer.norm import make_norm
from transformer.positions import LearnedPositions, SinusoidalPositions
from transformer.summary import Summary, SummaryKind


class PatchEmbedding(nn.Module):
    """Equation 1 of the paper: every patch's pixels through one linear map, and a learned [CLS] vector before them.

    A convolution with stride = kernel = patch size computes the same; here the patch is a row of numbers one can see.
    """

    def __init__(self, patch_size: int, channels: int, d_model: int) -> None:
        super().__init__()
        self.patch_size = patch_size
        self.projection = nn.Linear(channels * patch_size**2, d_model)
        self.cls = nn.Parameter(torch.zeros(1, 1, d_model))

    def forward(self, pixel_values: Tensor) -> Tensor:
        """(batch, channels, height, width) to (batch, 1 + patch, d_model)."""
        patches = self.projection(self.patches(pixel_values))  # (batch, patch, d_model)
        return torch.cat((self.cls.expand(len(patches), -1, -1), patches), dim=1)

    def patches(self, pixel_values: Tensor) -> Tensor:
        """(batch, patch, channels · patch_size²): row by row, from the top left."""
        rows = pixel_values.unfold(2, self.patch_size, self.patch_size)
        grid = rows.unfold(3, self.patch_size, self.patch_size)  # (batch, channels, row, column, height, width)
        return grid.permute(0, 2, 3, 1, 4, 5).flatten(3).flatten(1, 2)


class GridPositions(nn.Module):
    """Learned in two dimensions (Dosovitskiy et al. 2021, appendix D.4): a vector per row plus a vector per column.

    [CLS], which has no place in the image, has a vector of its own.
    """

    def __init__(self, n_rows: int, n_columns: int, d_model: int) -> None:
        super().__init__()
        self.rows = nn.Parameter(torch.zeros(n_rows, d_model))
        self.columns = nn.Parameter(torch.zeros(n_columns, d_model))
        self.cls = nn.Parameter(torch.zeros(1, d_model))

    def forward(self, position_ids: Tensor) -> Tensor:
        """(batch, position) whole numbers, 0 = [CLS], to (batch, position, d_model)."""
        grid = (self.rows[:, None] + self.columns[None]).flatten(0, 1)  # (patch, d_model)
        return torch.cat((self.cls, grid))[position_ids]


class VisionTransformer(nn.Module):
    """`model(pixel_values).logits`, (batch, n_classes).

        pixels ─▶ embedding ([CLS] and patches) + positions ─▶ blocks ─▶ norm (pre only) ─▶ summary ─▶ head ─▶ logits

    Of the config, `vocab_size` counts nothing and `max_positions` is 1 + the number of patches (`n_positions`).
    `positions_2d`: a row's and a column's vector instead of one per patch.
    """

    main_input_name = "pixel_values"

    def __init__(
        self,
        config: ModelConfig,
        *,
        image_size: int = 8,
        patch_size: int = 2,
        channels: int = 1,
        n_classes: int = 10,
        positions_2d: bool = False,
        summary: SummaryKind = "first",
        generator: torch.Generator | None = None,
    ) -> None:
        super().__init__()
        if patch_size < 1:
            raise ShapesDoNotFit(what="patch_size", expected="{1, 2, 3, …}", got=patch_size)
        if image_size % patch_size:
            raise ShapesDoNotFit(what="image_size", expected=f"% {patch_size} = 0 (patch_size)", got=image_size)
        self.config, self.image_size, self.patch_size, self.channels = config, image_size, patch_size, channels
        n_rows = image_size // patch_size
        if config.max_positions != 1 + n_rows**2:
            raise ShapesDoNotFit(what="max_positions", expected=1 + n_rows**2, got=config.max_positions)
        self.embedding = PatchEmbedding(patch_size, channels, config.d_model)
        self.positions = _positions(config, n_rows, positions_2d)
        self.dropout = nn.Dropout(config.dropout)
        self.blocks = nn.ModuleList(Block(config) for _ in range(config.n_layers))
        self.norm = make_norm(config) if config.norm == "pre" else None
        self.summary = Summary(config.d_model, summary)
        self.head = nn.Linear(config.d_model, n_classes)
        initialize(self, config, generator)

    def forward(self, pixel_values: Tensor) -> ModelOutput:
        """(batch, channels, height, width) floats to (batch, n_classes). Raises ShapesDoNotFit."""
        expected = (self.channels, self.image_size, self.image_size)
        if pixel_values.dim() != 4 or pixel_values.shape[1:] != expected:
            raise ShapesDoNotFit(what="pixel_values", expected=("batch", *expected), got=tuple(pixel_values.shape))
        x = self.embedding(pixel_values)  # (batch, 1 + patch, d_model)
        x = self.dropout(x + self.positions(torch.arange(x.shape[1], device=x.device)[None]))
        for block in self.blocks:
            x = block(x)
        x = x if self.norm is None else self.norm(x)
        return ModelOutput(self.head(self.summary(x)))  # (batch, n_classes)


def _positions(config: ModelConfig, n_rows: int, positions_2d: bool) -> nn.Module:
    if positions_2d:
        return GridPositions(n_rows, n_rows, config.d_model)
    if config.positions == "sinusoidal":
        return SinusoidalPositions(config.max_positions, config.d_model)
    if config.positions != "learned":
        raise ShapesDoNotFit(what="positions", expected="{sinusoidal, learned}", got=config.positions)
    return LearnedPositions(config.max_positions, config.d_model)
