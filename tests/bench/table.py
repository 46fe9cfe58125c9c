"""Tables on a terminal, and sizes and times as people read them."""

from collections.abc import Iterable, Iterator, Sequence


def lines(head: Sequence[str], rows: Iterable[Sequence[str]]) -> Iterator[str]:
    """The rows below their head; the first column on the left, numbers on the right."""
    everything = [list(head), *map(list, rows)]
    widths = [max(len(row[place]) for row in everything) for place in range(len(head))]
    for row in everything:
        cells = [
            cell.ljust(width) if not place else cell.rjust(width)
            for place, (cell, width) in enumerate(zip(row, widths, strict=True))
        ]
        yield "  ".join(cells).rstrip()


def milliseconds(seconds: float) -> str:
    return f"{seconds * 1000:.0f} ms" if seconds < 10 else f"{seconds:.0f} s"


def kilobytes(count: float) -> str:
    return f"{count / 1000:.1f} KB" if count < 100_000 else f"{count / 1000:,.0f} KB"


def times(now: float, before: float | None) -> str:
    """ "×2.1": how much more than in the row before."""
    return "" if not before else f"×{now / before:.1f}"
