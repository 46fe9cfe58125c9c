"""One logit by hand, and its code run."""

import contextlib
import io
import re
from html import unescape

import numpy as np
import pytest

from viz.figures import logit_arithmetic

HIDDEN, ROW = np.array([1.0, -2.0, 0.5]), np.array([3.0, 0.25, 2.0])


@pytest.mark.parametrize("language", ["en", "zh"])
@pytest.mark.parametrize(("bias", "scale", "softcap"), [(0.0, 1.0, None), (0.75, 0.5, None), (0.75, 2.0, 5.0)])
def test_the_panel_and_its_code_give_the_logit(bias: float, scale: float, softcap: float | None, language: str) -> None:
    raw = (3 - 0.5 + 1 + bias) * scale
    logit = raw if softcap is None else softcap * np.tanh(raw / softcap)
    html = logit_arithmetic(
        HIDDEN, ROW, bias=bias, scale=scale, softcap=softcap, logit=logit, logsumexp=logit + np.log(4), token="<s>",
        n_vocabulary=53, language=language,
    )  # fmt: skip
    assert "stt-bad" not in html and "<s>" not in html and "0.250" in html
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(unescape(re.search(r'data-copy="([^"]*)"', html).group(1)), {"__name__": "__main__"})
    found = [float(number) for number in printed.getvalue().split()]
    assert found == pytest.approx([logit, 0.25], abs=1e-6)


def test_a_logit_that_is_not_the_product_is_told() -> None:
    html = logit_arithmetic(HIDDEN, ROW, logit=4.5, logsumexp=9, token="x", n_vocabulary=53)
    assert "stt-bad" in html
