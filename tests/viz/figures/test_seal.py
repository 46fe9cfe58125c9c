"""Lines of the seal: what was compared, and how it came out; what does not hold never gets a tick."""

from types import SimpleNamespace

import pytest

from viz.figures import compared_line


@pytest.mark.parametrize(
    ("difference", "holds", "said"),
    [(3e-7, True, "≤ 3.0e-07 apart"), (0.0, True, "no difference"), (0.5, False, "≤ 5.0e-01")],
)  # fmt: skip
def test_two_passes_that_were_compared(difference: float, holds: bool, said: str) -> None:
    html = compared_line("<b> the same", SimpleNamespace(difference=difference, holds=holds, compared=1234))
    assert said in html and "&lt;b&gt; the same" in html and "1,234" in html and "NumPy" not in html
    assert ("✓" in html, "✗" in html, "stt-seal-bad" in html) == (holds, not holds, not holds)
