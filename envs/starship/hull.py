"""Hulls: random ones of modules, filled and carved in compiled code, and hulls that are given instead."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import groupby

import numpy as np

from leafwise.envs.core.arrays import Bools
from leafwise.envs.core.compile.jit import jit
from leafwise.envs.core.contract.stream import below
from leafwise.envs.core.errors import UserError
from leafwise.envs.starship import tables as at
from leafwise.envs.starship.board import ONE, ZERO, bit, copy_words, lowest, popcount, span

u64 = np.uint64


@jit(inline=True)
def between(R, low, high):
    """Returns a random integer in low..high from stream `R`."""
    return low + np.int64(below(R, u64(high - low + 1)))


@jit
def draw_module(T):
    """Draws a random module into the first rows of plane SPARE, from column 0 on; returns its width and height."""
    planes, shape = T.planes, T.stages[at.STAGE_SHAPE]
    circle, rectangle = shape[at.WEIGHTS], shape[at.WEIGHTS + 1]
    if np.int64(below(T.request, u64(circle + rectangle))) < circle:
        radius = between(T.request, shape[at.WEIGHTS + 2], shape[at.WEIGHTS + 3])
        for y in range(2 * radius + 1):
            row = ZERO
            for x in range(2 * radius + 1):
                if (x - radius) ** 2 + (y - radius) ** 2 <= radius * radius + radius:
                    row |= bit(x)
            planes[at.SPARE, y] = row
        return 2 * radius + 1, 2 * radius + 1
    width = between(T.request, shape[at.WEIGHTS + 4], shape[at.WEIGHTS + 5])
    height = between(T.request, shape[at.WEIGHTS + 6], shape[at.WEIGHTS + 7])
    for y in range(height):
        planes[at.SPARE, y] = span(0, width)
    return width, height


@jit
def pick_cell(T, plane, first, last, R):
    """Returns the column and the row index of a random set bit of a plane, in rows first..last-1.

    At least one bit must be set.
    """
    total = 0
    for row in range(first, last):
        total += popcount(T.planes[plane, row])
    k = np.int64(below(R, u64(total)))
    for row in range(first, last):
        bits = T.planes[plane, row]
        in_row = popcount(bits)
        if k < in_row:
            for _ in range(k):
                bits &= bits - ONE
            return lowest(bits), row
        k -= in_row
    return -1, -1


@jit
def join_module(T, width, height, left, right):
    """Lays a random cell of the module on a random hull cell, within columns left..right.

    Tries as many positions as `max_redraws` says, then drops the module.
    """
    planes = T.planes
    for _ in range(T.stages[at.STAGE_SHAPE, at.REACH]):
        hx, hy = pick_cell(T, at.HULL, 1, T.grid + 1, T.place)
        mx, my = pick_cell(T, at.SPARE, 0, height, T.place)
        x, y = hx - mx, hy - 1 - my
        if x >= left and y >= 1 and x + width - 1 <= right and y + height <= T.grid - 1:
            for k in range(height):
                planes[at.HULL, y + 1 + k] |= planes[at.SPARE, k] << u64(x)
            return


@jit
def draw_hull(T):
    """Stage 1: draws the hull into plane HULL, with numbers from the streams `request` and `place`."""
    planes, shape = T.planes, T.stages[at.STAGE_SHAPE]
    planes[at.HULL, :] = ZERO
    modules = between(T.request, shape[at.LOW], shape[at.HIGH])
    mirrored, seam = shape[at.LAYERS] != 0, shape[at.LAYERS] == at.MIRROR_PAIRS
    left, right, axis = 1, T.grid - 2, 0
    for number in range(modules):
        width, height = draw_module(T)
        if number == 0:
            x, y = (T.grid - width) // 2, (T.grid - height) // 2
            for k in range(height):
                planes[at.HULL, y + 1 + k] = planes[at.SPARE, k] << u64(x)
            if mirrored:  # the mirror image must stay inside too
                axis = 2 * x + width - 1
                axis += 1 if seam and width % 2 == 1 else 0
                left, right = max(1, axis - (T.grid - 2)), min(T.grid - 2, axis - 1)
        else:
            join_module(T, width, height, left, right)
    if mirrored:
        for row in range(1, T.grid + 1):
            bits = planes[at.HULL, row]
            for x in range(left, right + 1):
                if (bits >> u64(x)) & ONE != ZERO:
                    planes[at.HULL, row] |= bit(axis - x)


@jit
def seen_directions(north, east, south, west, least):
    """Returns the bits that are set in at least `least` (1 to 4) of four words."""
    two_a, two_b, any_a, any_b = north & east, south & west, north | east, south | west
    if least == 1:
        return any_a | any_b
    if least == 2:
        return two_a | two_b | (any_a & any_b)
    if least == 3:
        return (two_a & any_b) | (two_b & any_a)
    return two_a & two_b


@jit
def scan(T, stage, sought_hull):
    """Marks in plane SPARE the cells that see hull (or space) in enough directions; returns how many cells that are.

    `sought_hull` says whether hull or space is looked for; the marked cells hold the other.
    """
    planes, reach, least = T.planes, T.stages[stage, at.REACH], T.stages[stage, at.LOW]
    whole, changes = span(0, T.grid) if T.grid < 64 else ~ZERO, 0
    flip = ZERO if sought_hull else ~ZERO  # space is sought as the hull of the inverted board
    for row in range(1, T.grid + 1):
        north, east, south, west = ZERO, ZERO, ZERO, ZERO
        row_bits = planes[at.HULL, row] ^ flip
        for k in range(1, min(reach, T.grid) + 1):
            if row - k >= 0:
                north |= planes[at.HULL, row - k] ^ flip
            if row + k < at.MARGIN_ROWS:
                south |= planes[at.HULL, row + k] ^ flip
            east |= row_bits >> u64(k)
            west |= row_bits << u64(k)
        marked = seen_directions(north, east, south, west, least) & ~row_bits
        inner = span(1, T.grid - 2) if 1 < row < T.grid else ZERO
        planes[at.SPARE, row] = marked & (inner if sought_hull else whole)
        changes += popcount(planes[at.SPARE, row])
    return changes


@jit
def fill_gaps(T, stage):
    """Stage 2: turns space with hull in enough directions into hull, all at once, as often as `iterations` says."""
    planes = T.planes
    copy_words(planes[at.HULL], planes[at.OTHER])
    for _ in range(T.stages[stage, at.LAYERS]):
        if scan(T, stage, True) == 0:
            break
        for row in range(1, T.grid + 1):
            planes[at.HULL, row] |= planes[at.SPARE, row]
    drop_islands(T)


@jit
def drop_islands(T):
    """Takes away filled cells that are cut off from a hull that was connected before (plane OTHER).

    A cell can see hull at a distance on two sides while the cells between do not. This happens to about one ship in ten
    thousand.
    """
    planes, start = T.planes, 1
    while start <= T.grid and planes[at.OTHER, start] == ZERO:
        start += 1
    if start > T.grid:
        return
    flood(planes, T.grid, start, lowest(planes[at.OTHER, start]))
    missed = ZERO
    for row in range(1, T.grid + 1):
        missed |= planes[at.OTHER, row] & ~planes[at.SEEN, row]
    if missed == ZERO:
        for row in range(1, T.grid + 1):
            planes[at.HULL, row] &= planes[at.SEEN, row]


@jit
def flood(planes, grid, row, x):
    """Sets plane SEEN to the 4-connected piece of plane HULL that holds cell `x` of row `row`; returns its area."""
    planes[at.SEEN, :] = ZERO
    planes[at.SEEN, row] = bit(x)
    area, before = 1, 0
    while area > before:
        before, area = area, 0
        for k in range(1, grid + 1):
            old = planes[at.SEEN, k]
            planes[at.SEEN, k] |= (old << ONE | old >> ONE | planes[at.SEEN, k - 1] | planes[at.SEEN, k + 1]) & planes[
                at.HULL, k
            ]
            area += popcount(planes[at.SEEN, k])
    return area


@jit
def carve(T, stage):
    """Turns hull that sees space in enough directions into space, all at once, as often as `iterations` says.

    Keeps the largest piece.
    """
    for _ in range(T.stages[stage, at.LAYERS]):
        if scan(T, stage, False) == 0:
            break
        for row in range(1, T.grid + 1):
            T.planes[at.HULL, row] &= ~T.planes[at.SPARE, row]
    keep_largest(T)


@jit
def keep_largest(T):
    """Keeps the largest 4-connected piece of plane HULL; of equal ones the first in raster order."""
    planes, best = T.planes, 0
    planes[at.OTHER, :] = ZERO
    for start in range(1, T.grid + 1):
        while planes[at.HULL, start] != ZERO:
            area = flood(planes, T.grid, start, lowest(planes[at.HULL, start]))
            for row in range(1, T.grid + 1):
                planes[at.HULL, row] &= ~planes[at.SEEN, row]
                if area > best:
                    planes[at.OTHER, row] = planes[at.SEEN, row]
            best = max(best, area)
    copy_words(planes[at.OTHER], planes[at.HULL])


Hull = Sequence[str] | Bools
RUN_LENGTHS = r"([1-9][0-9]?[_.])+"
"""A row of a hull in run lengths: 3_12.9_"""


def hull_mask(hull: Hull, grid: int) -> Bools:
    """Returns a given hull as booleans [grid, grid].

    Raises ValueError unless it is one 4-connected piece and leaves the outermost ring of the grid free.
    """
    if isinstance(hull, np.ndarray):
        mask = hull.astype(bool)
    else:
        lines = [str(line) for line in hull]
        if wrong := [line for line in lines if len(line) != len(lines[0]) or set(line) - {".", " "}]:
            raise UserError(f"expected a hull as rows of {len(lines[0])} cells, each '.' or ' ', got {wrong[0][:60]!r}")
        mask = np.array([[c == "." for c in line] for line in lines], dtype=bool)
    if mask.shape != (grid, grid):
        raise UserError(f"expected a hull of {grid} by {grid} cells, got shape {mask.shape!r}")
    if mask[[0, -1], :].any() or mask[:, [0, -1]].any():
        raise UserError("expected a hull that leaves the outermost ring of the grid free, got cells in it")
    from scipy.ndimage import label  # slow to import

    if (pieces := label(mask)[1]) != 1:
        raise UserError(f"expected a hull of one 4-connected piece, got {pieces} pieces")
    return mask


def lines_of(text: str, grid: int) -> list[str]:
    """Returns the rows of a hull file, filled up with space to a grid of this side."""
    lines = text.rstrip("\n").split("\n")
    return [line.ljust(grid) for line in lines] + [" " * grid] * (grid - len(lines))


def run_lengths(mask: Bools) -> str:
    """Returns a hull in run lengths, its rows separated by "/": 24_/3_12.9_/..."""
    return "/".join(
        "".join(f"{len([*run])}{'.' if inside else '_'}" for inside, run in groupby(line)) for line in mask.tolist()
    )


def from_run_lengths(text: str, grid: int) -> Bools:
    """Returns the hull that run lengths describe; raises ValueError, `expected ..., got ...`, for another text."""
    rows = text.split("/", grid)
    if len(text) > 8 * grid**2 or len(rows) != grid:
        raise UserError(f"expected {grid} rows of the hull separated by '/', got {text[:60]!r}")
    lines = []
    for row in rows:
        if not re.fullmatch(RUN_LENGTHS, row):
            raise UserError(f"expected a row of the hull in runs like 3_12.9_, got {row[:60]!r}")
        lines.append(re.sub(r"([0-9]+)(.)", lambda run: int(run[1]) * run[2], row))
        if len(lines[-1]) != grid:
            raise UserError(f"expected a row of {grid} cells, got {row[:60]!r}")
    try:
        return hull_mask(np.frombuffer("".join(lines).encode(), np.uint8).reshape(grid, grid) == ord("."), grid)
    except UserError as problem:
        raise UserError(f"{problem}: {text[:60]!r}") from None
