"""image.py: an image as text, as patches, and through a recorded run of a vision model."""

import numpy as np
import pytest
import torch
from transformers import ViTConfig, ViTForImageClassification

from transformer import run, wrap
from transformer.decoder_lm import DecoderLM
from transformer.errors import ShapesDoNotFit
from transformer.image import ImageEncoding, ImageShape, NotAnImage, image_of, patch_names, text_of
from transformer.replay import replay
from transformer.rows import NotAVisionModel
from transformer.vision import VisionTransformer

SHAPE = ImageShape(channels=1, height=6, width=6, patch_size=2)
IMAGE = (np.arange(36).reshape(6, 6) % 17 / 16).astype(np.float32)


def test_pixels_survive_being_written_down() -> None:
    assert np.array_equal(image_of(text_of(IMAGE), SHAPE)[0], IMAGE)
    assert text_of(np.array([[0.0, 1.0], [0.5, 2.0]])) == "0g\n8g"


@pytest.mark.parametrize("text", ["", "the cat", "0" * 35, "0" * 37, "z" * 36])
def test_what_is_no_image_is_refused_and_says_what_is(text: str) -> None:
    with pytest.raises(NotAnImage) as caught:
        image_of(text, SHAPE)
    assert "36" in caught.value.text("en") and "6 × 6" in caught.value.text("zh")


def test_patches_are_named_row_by_row_after_cls() -> None:
    assert patch_names(SHAPE) == ("[CLS]", "1,1", "1,2", "1,3", "2,1", "2,2", "2,3", "3,1", "3,2", "3,3")
    encoding = ImageEncoding.of(IMAGE, SHAPE)
    assert encoding.special == (True, *[False] * 9)
    assert np.array_equal(encoding.image[0], IMAGE)


@pytest.mark.parametrize(
    "image",
    [np.zeros((5, 6)), np.zeros((3, 6, 6)), np.full((6, 6), np.nan), np.full((6, 6), 1e20), np.full((6, 6), "a")],
)
def test_pixels_that_do_not_fit_are_refused(image: np.ndarray) -> None:
    with pytest.raises(ShapesDoNotFit):
        ImageEncoding.of(image, SHAPE)


@pytest.fixture(scope="module", params=["pre", "post", "2d", "mean"])
def seeing(request, tiny, scramble):
    config = tiny(max_positions=10, positions="learned", norm="post" if request.param == "post" else "pre")
    extra = {"2d": {"positions_2d": True}, "mean": {"summary": "mean"}}.get(request.param, {})
    return wrap(scramble(VisionTransformer(config, image_size=6, patch_size=2, n_classes=5, **extra)), name="seeing")


def test_a_run_of_an_image_is_recorded_and_sealed(seeing) -> None:
    trace = run(seeing, image=IMAGE)
    assert trace.is_classified and trace.tokens("encoder.0.self", "key") == patch_names(SHAPE)
    with torch.inference_mode():
        logits = seeing.module(torch.from_numpy(IMAGE)[None, None]).logits[0].softmax(-1).numpy()
    ids, shares = trace.probabilities(0)
    np.testing.assert_allclose(shares, logits[ids], atol=1e-6)
    found = replay(trace)
    assert all(one.holds for one in found)
    assert {"encoder.summary.vector", "logits", "encoder.embed.sum"} <= {one.site for one in found}


def test_an_image_as_text_is_the_same_run(seeing) -> None:
    by_text, by_pixels = run(seeing, text_of(IMAGE)), run(seeing, image=IMAGE)
    assert by_text.key == by_pixels.key
    changed = IMAGE.copy()
    changed[3, 3] = 1 - changed[3, 3]
    assert run(seeing, image=changed).key != by_pixels.key


def test_the_diagram_shows_patches_a_summary_and_classes(seeing) -> None:
    stack = seeing.structure.stacks[0]
    facts = [dict(box.label_values) for box in (*stack.before, *stack.after)]
    assert {"table": "patches"} in facts and {"classes": 5} in facts
    assert any(box.kind == "summary" and box.label_values["kind"] in ("first", "mean") for box in stack.after)


def test_hugging_faces_vit_runs_too(scramble) -> None:
    config = ViTConfig(
        hidden_size=28, num_hidden_layers=3, num_attention_heads=7, intermediate_size=31, image_size=6, patch_size=2,
        num_channels=3, num_labels=5,
    )  # fmt: skip
    model = wrap(scramble(ViTForImageClassification(config)))
    trace = run(model, image=np.stack([IMAGE, IMAGE[::-1], IMAGE.T]))
    assert all(one.holds for one in replay(trace))
    assert trace.top is not None and trace.top.vocabulary == 5


@pytest.mark.parametrize("wrong", [{}, {"text": 5}, {"text": [None]}, {"ids": [1, 2]}, {"image": [[1, 2], [3]]}])
def test_what_is_no_image_is_a_named_error(seeing, wrong: dict) -> None:
    with pytest.raises(ShapesDoNotFit):
        run(seeing, **wrong)


def test_a_tensor_with_a_gradient_is_an_image(seeing) -> None:
    assert run(seeing, image=torch.from_numpy(IMAGE).requires_grad_()).key == run(seeing, image=IMAGE).key


def test_a_text_model_reads_no_image(tiny) -> None:
    with pytest.raises(NotAVisionModel):
        run(wrap(DecoderLM(tiny()), name="reader"), image=IMAGE)
