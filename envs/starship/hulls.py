"""Hulls that are given in place of drawn ones: as booleans, as rows of "." and " ", as a text file of such rows, as run lengths."""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from leafwise.envs.core.errors import UserError
from leafwise.envs.starship.check import connected

Hull = Sequence[str] | NDArray[np.bool_]
RUN_LENGTHS = r"([1-9][0-9]?[_.])+"
"""A row of a hull in a position's text: 3_12.9_"""


def hull_mask(hull: Hull, grid: int) -> NDArray[np.bool_]:
    """Returns a supplied hull as booleans [grid, grid]; ValueError unless it is 4-connected and keeps off the ring."""
    if isinstance(hull, np.ndarray):
        mask = hull.astype(bool)
    else:
        lines = [str(line) for line in hull]
        if any(len(line) != len(lines[0]) or set(line) - {".", " "} for line in lines):
            raise UserError('hull should be rows of equal length of "." and " "')
        mask = np.array([[c == "." for c in line] for line in lines], dtype=bool)
    if mask.shape != (grid, grid):
        raise UserError(f"hull should be {grid} by {grid} cells, got shape {mask.shape!r}")
    if mask[[0, -1], :].any() or mask[:, [0, -1]].any():
        raise UserError("hull should leave the outermost ring of the grid free")
    cells = {(int(x), int(y)) for y, x in np.argwhere(mask)}
    if not cells or len(connected(cells)) != len(cells):
        raise UserError(f"hull should be one 4-connected piece, got {len(cells)} cells that are not")
    return mask


def lines_of(text: str, grid: int) -> list[str]:
    """Returns the rows of a hull file, filled up with space on the right and below."""
    lines = text.rstrip("\n").split("\n")
    return [line.ljust(grid) for line in lines] + [" " * grid] * (grid - len(lines))


def run_lengths(mask: NDArray[np.bool_]) -> str:
    """Returns a hull in run lengths, its rows separated by "/": 24_/3_12.9_/..."""
    lines = ("".join("." if inside else "_" for inside in line) for line in mask)
    return "/".join(re.sub(r"(.)\1*", lambda run: f"{len(run[0])}{run[1]}", line) for line in lines)


def from_run_lengths(text: str, grid: int) -> NDArray[np.bool_]:
    """Returns the hull that run lengths describe; raises ValueError, `expected ..., got ...`, for another text."""
    rows = text.split("/", grid)
    if len(text) > 8 * grid**2 or len(rows) != grid:
        raise UserError(f"expected {grid} rows of the hull separated by '/', got {text[:60]!r}")
    lines = []
    for row in rows:
        if not re.fullmatch(RUN_LENGTHS, row):
            raise UserError(f"expected a row of the hull in runs like 3_12.9_, got {row[:60]!r}")
        runs = re.findall(r"([0-9]+)([_.])", row)
        if sum(int(count) for count, _ in runs) != grid:
            raise UserError(f"expected a row of {grid} cells, got {row[:60]!r}")
        lines.append("".join(int(count) * (" " if letter == "_" else ".") for count, letter in runs))
    try:
        return hull_mask(lines, grid)
    except UserError as problem:
        raise UserError(f"expected another hull: {problem}, got {text[:60]!r}") from None
