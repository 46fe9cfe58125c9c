"""Rows of tokens with numbers in narrow columns: how long names and numbers may be, and where colours end."""

import numpy as np

NUMBERS_UP_TO = 48  # rows: more are too low for numbers beside them
MOST_ROWS_HIGH = 640  # pixels of all rows together
LONGEST_NAME = 10  # character widths of a token beside its row
CAPTION = 44  # character widths of a line below: it begins behind the labels, and a phone is narrow


def compact(value: float) -> str:
    """Three digits or fewer, for narrow columns: "23.8", "0.46", "2e-13"."""
    size = abs(value)
    if size == 0 or 0.005 <= size < 99_999.5:
        text = f"{value:.2f}" if size < 9.995 else f"{value:.1f}" if size < 99.95 else f"{value:.0f}"
    else:
        text = f"{value:.0e}".replace("e-0", "e-").replace("e+0", "e").replace("e+", "e")
    return text.replace("-", "−")


def scale_of(values: np.ndarray) -> float:
    """Where colours end: the largest size, so that 0 is the middle; 1 where all is 0."""
    return float(np.abs(values).max(initial=0)) or 1.0
