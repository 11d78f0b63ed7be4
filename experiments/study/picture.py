"""Pictures of figures, 800 pixels wide unless they need more."""

from __future__ import annotations

import io
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from leafwise.envs.core.errors import UserError
from leafwise.models.files import write_atomically

DPI = 100
"""Pixels an inch: text of 8 points is 11 pixels high."""


@contextmanager
def picture(path: Path, rows: int = 1, columns: int = 1, *, size: tuple[float, float] = (8, 4)) -> Iterator[Any]:
    """Yields the axes of a picture of that size in inches, one or an array of them; then writes it as PNG.

    Raises ValueError if matplotlib is not installed.
    """
    try:
        import matplotlib
    except ImportError:
        raise UserError(
            f"expected matplotlib for {path.name}, found none: pip install 'leafwise[experiments]'"
        ) from None

    matplotlib.use("Agg")
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(rows, columns, figsize=size, layout="constrained")
    try:
        yield axes
        file = io.BytesIO()
        figure.savefig(file, format="png", dpi=DPI, metadata={"Software": None})
    finally:
        pyplot.close(figure)
    write_atomically(path, file.getvalue())


def with_bars(
    axis: Any, x: Sequence[float], y: Sequence[float], low: Sequence[float], high: Sequence[float], **style: Any
) -> Any:
    """Draws points with the bars of their intervals; joins neighbours only where the bars lie apart. Returns the colour."""
    below, above = ([b - a for a, b in zip(low, y, strict=True)], [b - a for a, b in zip(y, high, strict=True)])
    drawn = axis.errorbar(x, y, yerr=(below, above), **{"fmt": "o", "markersize": 4, "capsize": 2, **style})
    colour = drawn[0].get_color()
    for k in range(len(x) - 1):
        if high[k] < low[k + 1] or high[k + 1] < low[k]:
            axis.plot(x[k : k + 2], y[k : k + 2], color=colour, linewidth=1)
    return colour
