"""plain.py: dataclasses as JSON and back, arrays apart; what is no value of its type is refused."""

import json
from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest

from transformer.image import ImageEncoding, ImageShape
from transformer.maps import Attention
from transformer.parts import LinearPart, NormPart, Part, ProjectionPart
from transformer.plain import Apart, from_plain, to_plain
from transformer.rotation import Pairing
from transformer.structure import Box
from transformer.tokenizer import Encoding


def there_and_back(wanted: Any, value: Any) -> Any:
    apart = Apart()
    return from_plain(wanted, json.loads(json.dumps(to_plain(value, apart, "a"))), apart.arrays)


@pytest.mark.parametrize(
    ("wanted", "value"),
    [
        (int, 3),
        (float, 0.1),
        (float, float("inf")),
        (bool, False),
        (str, 'a"\n\ud800 小'),
        (bytes, b"\x00\xff"),
        (int | None, None),
        (tuple[int, ...], (1, 2, 3)),
        (tuple[int, ...], ()),
        (tuple[tuple[int, int] | None, ...], ((0, 2), None)),
        (Mapping[str, tuple[str, str]], {"a.b": ("c", "d")}),
        (Pairing, Pairing("halves", 4)),
        (Box, Box("norm", "decoder.0.norm1", {"kind": "rmsnorm", "pair": ((Box("add", "x"),), (1, None))})),
        (Encoding, Encoding.from_ids([5, 7, 5], padding=[True, False, False])),
    ],
)
def test_a_value_comes_back_as_it_was(wanted: Any, value: Any) -> None:
    found = there_and_back(wanted, value)
    assert found == value and type(found) is type(value)


def test_an_image_stays_an_image() -> None:
    shape = ImageShape(1, 4, 6, 2)
    image = ImageEncoding.of(np.linspace(0, 1, 24, dtype=np.float32).reshape(1, 4, 6), shape)
    assert there_and_back(Encoding, image) == image


def test_arrays_stand_apart_each_once() -> None:
    weight = np.arange(6, dtype=np.float32).reshape(2, 3)
    parts = {"one": LinearPart(weight, weight[0]), "two": LinearPart(weight.T, None), "three": LinearPart(weight, None)}
    apart = Apart()
    plain = to_plain(parts, apart, "")
    assert sorted(apart.arrays) == ["one.bias", "one.weight", "two.weight"]  # a view in another order is another array
    back = from_plain(Mapping[str, Part], plain, apart.arrays)
    assert back["three"].weight is back["one"].weight or np.shares_memory(back["three"].weight, back["one"].weight)
    assert np.array_equal(back["two"].weight, weight.T) and back["two"].bias is None


def test_what_was_stretched_is_kept_small() -> None:
    row, apart = np.array([True, False, True]), Apart()
    how = Attention(0.5, 2, 1, allowed=np.broadcast_to(row, (5, 3)), bias=np.zeros((1, 5, 3), np.float32))
    back = from_plain(Attention, to_plain(how, apart, "a"), apart.arrays)
    assert apart.arrays["a.allowed"].shape == (1, 3) and apart.arrays["a.bias"].shape == (1, 5, 3)
    assert np.array_equal(back.allowed, how.allowed) and back.allowed.strides[0] == 0 and back.heads == 2


@pytest.mark.parametrize(
    ("wanted", "plain"),
    [
        (int, True),
        (int, 1.0),
        (int, "1"),
        (bool, 1),
        (str, None),
        (float, "x"),
        (bytes, "zz"),
        (bytes, 5),
        (int | None, "x"),
        (tuple[int, ...], [1, "2"]),
        (tuple[int, ...], {"0": 1}),
        (tuple[str, str], ["a"]),
        (tuple[str, str], ["a", "b", "c"]),
        (Mapping[str, int], [["a", 1]]),
        (Mapping[str, int], {"a": None}),
        (Pairing, {"is": "Pairing", "kind": "halves"}),
        (Pairing, {"is": "Pairing", "kind": "halves", "turned": 4, "more": 1}),
        (Pairing, {"is": "Popen", "args": "ls"}),
        (Pairing, {"is": ["Pairing"], "kind": "halves", "turned": 4}),
        (Pairing, ["halves", 4]),
        (Part, {"is": "Encoding"}),
        (Part, None),
        (object, {"is": "NormPart"}),
        (np.ndarray, "a"),
        (np.ndarray, {"array": 5}),
        (np.ndarray, {"array": "a", "shape": [-1, 3]}),
        (np.ndarray, {"array": "a", "shape": "3"}),
        (np.ndarray, {"array": "a", "shape": [True]}),
        (np.ndarray, {"array": "a", "shape": [4]}),
    ],
)
def test_what_is_none_is_refused(wanted: Any, plain: Any) -> None:
    with pytest.raises(ValueError, match=r"."):
        from_plain(wanted, plain, {"a": np.zeros(3)})


def test_only_the_wanted_classes_are_made() -> None:
    norm = {"is": "NormPart", "kind": "rmsnorm", "weight": None, "bias": None, "eps": 1e-6}
    assert isinstance(from_plain(Part, norm, {}), NormPart)
    with pytest.raises(ValueError, match="ProjectionPart"):
        from_plain(ProjectionPart, norm, {})
