"""The image in patches: the drawn pixels are the image's, and every token is one thing to click."""

import re
import zlib
from base64 import b64decode
from xml.etree.ElementTree import Element, fromstring

import numpy as np
import pytest

from viz.figures import theme
from viz.figures.image import GAP, WIDTH, image_patches

GRID = 3, 2  # rows, columns
NAMES = ("[CLS]", "1,1", "1,2", "2,1", "2,2", "3,1", "3,2")


def picture(channels: int = 1) -> np.ndarray:
    """6 × 10 pixels: patches of 2 × 5, no two sizes alike; with runs of equal pixels and empty ones."""
    levels = np.random.default_rng(53).integers(0, 4, size=(channels, 6, 10))
    return levels / 4


def weights() -> np.ndarray:
    return np.array([0.05, 0.1, 0.4, 0.15, 0.0, 0.2, 0.1])


def drawn(**options: object) -> Element:
    return fromstring(image_patches(picture(), GRID, NAMES, **options))


def tokens(page: Element) -> list[Element]:
    return [part for part in page.iter() if "data-token" in part.attrib]


def by_class(page: Element, name: str) -> list[Element]:
    return [part for part in page.iter() if name in part.get("class", "").split()]


def place(patch: Element) -> tuple[float, float]:
    return tuple(map(float, re.findall(r"[\d.]+", patch.get("transform"))))


def test_every_pixel_is_drawn_where_it_lies() -> None:
    page, unit, shown = drawn(), WIDTH / 10, np.zeros((6, 10))
    for patch in by_class(page, "stt-patch"):
        left, top = place(patch)
        column, row = round(left / (5 * unit + GAP)), round(top / (2 * unit + GAP))
        assert NAMES[int(patch.get("data-token"))] == f"{row + 1},{column + 1}"
        for ink in by_class(patch, "stt-pixel"):
            x, y, wide, high = (float(ink.get(name)) / unit for name in ("x", "y", "width", "height"))
            assert high == 1 and x + wide <= 5
            shown[row * 2 + round(y), column * 5 + round(x) : column * 5 + round(x + wide)] = ink.get("fill-opacity")
    assert np.allclose(shown, picture()[0], atol=1e-4)
    box = list(map(float, by_class(page, "stt-image-patches")[0].get("viewBox").split()))
    assert box == pytest.approx([0, 0, WIDTH + GAP, 6 * unit + 2 * GAP])


def test_colours_are_drawn_as_they_are() -> None:
    image = picture(3)
    page = fromstring(image_patches(image, GRID, NAMES))
    parts = [b64decode(part.get("href").removeprefix("data:image/png;base64,")) for part in page.iter("image")]
    shown = np.zeros((6, 10, 3), np.uint8)
    for number, data in enumerate(parts):
        row, column = divmod(number, 2)
        assert data[:8] == b"\x89PNG\r\n\x1a\n"
        assert (int.from_bytes(data[16:20]), int.from_bytes(data[20:24])) == (5, 2)  # width, height
        length = int.from_bytes(data[33:37])
        lines = np.frombuffer(zlib.decompress(data[41 : 41 + length]), np.uint8).reshape(2, 1 + 15)
        shown[row * 2 : row * 2 + 2, column * 5 : column * 5 + 5] = lines[:, 1:].reshape(2, 5, 3)
    assert len(parts) == 6 and (shown == np.rint(image * 255).transpose(1, 2, 0)).all()
    assert not by_class(page, "stt-image-legend"), "a scale of ink says nothing about colours"


def test_every_token_is_one_button_that_says_what_it_is() -> None:
    page = drawn(selected=4, weights=weights())
    assert [int(part.get("data-token")) for part in tokens(page)] == list(range(7))
    assert [part.get("aria-pressed") for part in tokens(page)] == ["true" if at == 4 else "false" for at in range(7)]
    for at, part in enumerate(tokens(page)):
        facts = part.get("aria-label").split(" | ")
        assert facts[0] == ("[CLS]" if at == 0 else f"patch {NAMES[at]}") and facts[1] == f"token {at}"
        assert facts[-1] == f"weight {weights()[at]:.3f}"
        assert part.get("title", part.findtext("title")) == part.get("aria-label")
        assert part.tag == "button" or (part.get("role"), part.get("tabindex")) == ("button", "0")
    assert f"mean of its pixels {picture()[0, 2:4, 5:].mean():.2f}" in tokens(page)[4].get("aria-label")


def test_few_pixels_are_named_one_by_one() -> None:
    page = fromstring(image_patches(np.array([[[0, 0.25], [1, 0.0625]]]), (1, 1), ["1,1"], language="zh"))
    (patch,) = tokens(page)
    assert "0 0.25 1 0.0625" in patch.get("aria-label") and not by_class(page, "stt-image-chips")


def test_weights_shade_from_zero_to_the_largest_and_the_legend_says_so() -> None:
    page = drawn(selected=0, weights=weights())
    backs = [by_class(patch, "stt-patch-back")[0].get("style") for patch in by_class(page, "stt-patch")]
    assert backs == [f"fill:{theme.weight_css(share / 0.4)}" for share in weights()[1:]]
    assert [part.text for part in by_class(page, "stt-patch-number")] == [".10", ".40", ".15", ".00", ".20", ".10"]
    chip = tokens(page)[0]
    assert "".join(chip.itertext()) == "[CLS]0.05"
    assert by_class(chip, "stt-swatch")[0].get("style") == f"background:{theme.weight_css(0.05 / 0.4)}"
    (legend,) = by_class(page, "stt-image-legend")
    assert [part.text for part in legend.iter("span")] == ["attention weight", "0", "0.40"]
    assert "What [CLS] looks at" in by_class(page, "stt-image-caption")[0].text


def test_the_shade_is_seen_pure_around_the_pixels() -> None:
    for patch in by_class(drawn(weights=weights()), "stt-patch"):
        (pixels,) = by_class(patch, "stt-patch-pixels")
        left, top, across, down = map(float, re.findall(r"[\d.]+", pixels.get("transform")))
        back = by_class(patch, "stt-patch-back")[0]
        for start, shrink, whole in ((left, across, back.get("width")), (top, down, back.get("height"))):
            assert start > 1 and start + shrink * float(whole) == pytest.approx(float(whole) - start, rel=1e-4)


def test_many_patches_carry_no_numbers() -> None:
    names = ["[CLS]", *(f"{row},{column}" for row in range(1, 8) for column in range(1, 8))]
    page = image_patches(np.zeros((1, 7, 7)), (7, 7), names, weights=np.full(50, 0.02))
    assert "stt-patch-number" not in page and page.count("data-token") == 50


def test_the_caption_says_what_is_overlaid() -> None:
    def said(**options: object) -> str:
        return by_class(drawn(**options), "stt-image-caption")[0].text.replace("\u00a0", " ")

    assert said() == "6 × 10 pixels. Each of the 6 patches of 2 × 5 pixels is one token."
    assert said(weights=weights(), selected=4).startswith("What patch 2,2 looks at")
    assert "2,2" in said(weights=weights(), selected=4, language="zh")
    assert "attention weight" in said(weights=weights())
    assert by_class(drawn(), "stt-image-legend")[0].findtext("span") == "ink"


def test_names_come_back_character_for_character(hostile: tuple[str, ...]) -> None:
    page = fromstring(image_patches(np.zeros((1, 1, 1)), (1, 1), [*hostile, "1,1"]))
    assert [part.findtext("bdi") for part in tokens(page)[:-1]] == list(hostile)


def test_inputs_stay_as_they_are_and_half_precision_will_do() -> None:
    image, row = picture().astype(np.float16), weights().astype(np.float16)
    before = image.copy(), row.copy()
    image_patches(image, GRID, NAMES, weights=row)
    assert (image == before[0]).all() and (row == before[1]).all()
    assert "NaN" not in image_patches(image, GRID, NAMES, weights=np.zeros(7))


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"image": np.zeros((2, 6, 10))}, "cannot be cut"),
        ({"image": np.zeros((6, 10))}, "cannot be cut"),
        ({"grid": (4, 2)}, "cannot be cut"),
        ({"image": np.full((1, 6, 10), 1.5)}, "0 … 1"),
        ({"image": np.full((1, 6, 10), np.nan)}, "0 … 1"),
        ({"names": NAMES[:5]}, "5 names"),
        ({"weights": np.zeros(6)}, "7 tokens"),
        ({"weights": np.full(7, np.nan)}, "0 … 1"),
        ({"weights": np.full(7, -0.1)}, "0 … 1"),
    ],
)
def test_what_does_not_fit_is_refused(change: dict, reason: str) -> None:
    fitting = {"image": picture(), "grid": GRID, "names": NAMES}
    with pytest.raises(ValueError, match=reason):
        image_patches(**{**fitting, **change})
