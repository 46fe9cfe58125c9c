"""VisionTransformer: patches by hand, the convolution they stand for, places in the image, sizes that do not fit."""

import pytest
import torch
from torch import nn

from transformer.errors import ShapesDoNotFit
from transformer.vision import GridPositions, PatchEmbedding, VisionTransformer

SIZES = {"image_size": 6, "patch_size": 2, "channels": 3, "n_classes": 5}


@pytest.fixture
def make(tiny, scramble):
    def made(**changes: object) -> VisionTransformer:
        ours = {name: changes.pop(name) for name in ("positions_2d", "summary") if name in changes}
        config = tiny(**({"vocab_size": 1, "max_positions": 10, "positions": "learned"} | changes))
        return scramble(VisionTransformer(config, **SIZES, **ours))

    return made


@pytest.fixture
def pixels() -> torch.Tensor:
    return torch.rand(2, 3, 6, 6, generator=torch.Generator().manual_seed(3))


def test_patches_by_hand():
    """A 4 × 4 image numbered row by row, in two channels: from the top left, and one channel after the other."""
    image = torch.stack((torch.arange(16.0).view(4, 4), 100 + torch.arange(16.0).view(4, 4)))[None]
    patches = PatchEmbedding(2, 2, 5).patches(image)
    assert patches.shape == (1, 4, 8)
    assert patches[0, 0].tolist() == [0, 1, 4, 5, 100, 101, 104, 105]
    assert patches[0, 1].tolist() == [2, 3, 6, 7, 102, 103, 106, 107]
    assert patches[0, 2, :4].tolist() == [8, 9, 12, 13]


def test_the_linear_map_of_patches_is_a_convolution_as_wide_as_its_stride(scramble, pixels):
    embedding = scramble(PatchEmbedding(2, 3, 28))
    kernel = embedding.projection.weight.view(28, 3, 2, 2)
    by_convolution = nn.functional.conv2d(pixels, kernel, embedding.projection.bias, stride=2).flatten(2).mT
    out = embedding(pixels)
    assert out.shape == (2, 10, 28)
    torch.testing.assert_close(out[:, 1:], by_convolution, atol=1e-6, rtol=0)
    assert torch.equal(out[:, 0], embedding.cls[0, 0].expand(2, 28))


def test_grid_positions_are_a_row_and_a_column(scramble):
    grid = scramble(GridPositions(3, 3, 28))
    found = grid(torch.tensor([[0, 1, 6, 9]]))[0]
    assert torch.equal(found[0], grid.cls[0])
    torch.testing.assert_close(found[1], grid.rows[0] + grid.columns[0])
    torch.testing.assert_close(found[2], grid.rows[1] + grid.columns[2])  # patch 5 of 3 × 3
    torch.testing.assert_close(found[3], grid.rows[2] + grid.columns[2])


@pytest.mark.parametrize("summary", ["first", "mean"])
@pytest.mark.parametrize("norm", ["pre", "post"])
@torch.no_grad()
def test_the_forward_read_line_by_line(make, pixels, norm, summary):
    model = make(norm=norm, summary=summary)
    x = model.embedding(pixels) + model.positions.weight
    for block in model.blocks:
        x = block(x)
    x = model.norm(x) if norm == "pre" else x
    by_hand = model.head(x[:, 0] if summary == "first" else x.mean(1))
    torch.testing.assert_close(model(pixels).logits, by_hand, atol=1e-6, rtol=0)
    assert by_hand.shape == (2, 5) and by_hand.std() > 0.1


@pytest.mark.parametrize("kind", [{}, {"positions_2d": True}, {"positions": "sinusoidal"}])
@torch.no_grad()
def test_the_order_of_patches_counts_only_through_positions(make, pixels, kind):
    model = make(**kind)
    swapped = pixels.clone()
    swapped[:, :, :2, :2], swapped[:, :, 2:4, 4:] = pixels[:, :, 2:4, 4:], pixels[:, :, :2, :2]
    assert (model(swapped).logits - model(pixels).logits).abs().max() > 1e-4
    for one in model.positions.parameters():
        one.zero_()
    if kind.get("positions") != "sinusoidal":
        torch.testing.assert_close(model(swapped).logits, model(pixels).logits, atol=1e-5, rtol=0)


@pytest.mark.parametrize("summary", ["first", "mean"])
def test_every_pixel_has_a_say(make, pixels, summary):
    pixels.requires_grad_()
    make(summary=summary)(pixels).logits[:, 2].sum().backward()
    assert (pixels.grad.abs() > 0).all()


def test_positions_that_an_image_cannot_have_are_refused(make):
    for positions in ("rotary", "alibi", "none"):
        with pytest.raises(ShapesDoNotFit) as caught:
            make(positions=positions)
        assert caught.value.values["what"] == "positions"


@pytest.mark.parametrize(
    ("shape", "got"), [((2, 1, 6, 6), (2, 1, 6, 6)), ((3, 6, 6), (3, 6, 6)), ((2, 3, 8, 6), (2, 3, 8, 6))]
)
def test_images_of_another_size_are_refused(make, shape, got):
    with pytest.raises(ShapesDoNotFit) as caught:
        make()(torch.zeros(shape))
    assert caught.value.values == {"what": "pixel_values", "expected": ("batch", 3, 6, 6), "got": got}


def test_patches_must_fill_the_image_and_have_positions(tiny):
    with pytest.raises(ShapesDoNotFit) as caught:
        VisionTransformer(tiny(), image_size=7, patch_size=2)
    assert caught.value.values["what"] == "image_size"
    with pytest.raises(ShapesDoNotFit) as caught:
        VisionTransformer(tiny(), image_size=8, patch_size=2)
    assert (caught.value.values["what"], caught.value.values["expected"]) == ("max_positions", 17)
