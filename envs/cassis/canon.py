"""A true canonical form of Cassis boards: equal if and only if a renaming of the points maps one board to the other.

Individualisation and refinement, as in McKay, "Practical graph isomorphism" (1981): points are split into cells
by what they are joined to; where cells with several points remain, each point of the first one is tried in front of
its cell, and the least board wins. Points that may be swapped without any change (twins) are tried once.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from leafwise.envs.cassis.options import MAX_POINTS
from leafwise.envs.cassis.rules import LOST, ONE, ZERO, Tables
from leafwise.envs.core.compile.jit import jit
from leafwise.envs.core.contract.stream import u64

S3, S24, S28, S51 = u64(3), u64(24), u64(28), u64(51)
SEVEN = u64(7)


class Scratch(NamedTuple):
    """Buffers of the canonical form; one set per thread."""

    cell: NDArray[np.uint64]
    """Level, point [10, 8] -> its cell, named by the cell's first place."""
    trying: NDArray[np.int64]
    """Level [10, 2]: the cell that is split there, the next point to try."""
    label: NDArray[np.uint64]
    """Point [8]: its refined label, then its place; bits 0 to 2 are the point."""
    place: NDArray[np.int64]
    """Point [8] -> its new name in the best board so far: the renaming."""


def make_scratch() -> Scratch:
    """Returns new buffers."""
    return Scratch(
        cell=np.zeros((MAX_POINTS + 2, MAX_POINTS), dtype=np.uint64),
        trying=np.zeros((MAX_POINTS + 2, 2), dtype=np.int64),
        label=np.zeros(MAX_POINTS, dtype=np.uint64),
        place=np.zeros(MAX_POINTS, dtype=np.int64),
    )


@jit(inline=True)
def renamed(own, other, cell, T):
    """Returns a board (other's edges from bit 28 on) after every point has taken the name `cell[point]`."""
    result = ZERO
    for e in range(T.edges):
        bit = u64(e)
        colours = ((own >> bit) & ONE) | (((other >> bit) & ONE) << S28)
        if colours:
            result |= colours << u64(T.edge_of[cell[T.ends[e, 0]], cell[T.ends[e, 1]]])
    return result


@jit(inline=True)
def refine(own, other, level, scratch, T):
    """Splits the cells of a level until nothing changes; returns the number of cells.

    A point's label is its cell and, for either colour, how many edges it has into each cell (three bits a cell).
    """
    cells = 0
    while True:
        for v in range(T.n):
            scratch.label[v] = (scratch.cell[level, v] << S51) | u64(v)
        for e in range(T.edges):
            bit = u64(e)
            shift = ZERO
            if (other >> bit) & ONE:
                shift = S24
            elif (own >> bit) & ONE == ZERO:
                continue
            a, b = T.ends[e, 0], T.ends[e, 1]
            scratch.label[a] += ONE << (shift + S3 * scratch.cell[level, b] + S3)
            scratch.label[b] += ONE << (shift + S3 * scratch.cell[level, a] + S3)
        for v in range(1, T.n):
            label = scratch.label[v]
            k = v
            while k > 0 and scratch.label[k - 1] > label:
                scratch.label[k] = scratch.label[k - 1]
                k -= 1
            scratch.label[k] = label
        before = cells
        cells = 0
        first = ZERO
        for k in range(T.n):
            if k == 0 or (scratch.label[k] ^ scratch.label[k - 1]) > SEVEN:
                cells += 1
                first = u64(k)
            scratch.cell[level, np.int64(scratch.label[k] & SEVEN)] = first
        if cells == before or cells == T.n:
            return cells


@jit(inline=True)
def are_twins(own, other, a, b, T):
    """Whether swapping two points leaves the board as it is."""
    for c in range(T.n):
        if c != a and c != b:
            d, e = u64(T.edge_of[a, c]), u64(T.edge_of[b, c])
            if ((own >> d) ^ (own >> e)) & ONE or ((other >> d) ^ (other >> e)) & ONE:
                return False
    return True


@jit
def canonical(own, other, scratch, T):
    """Returns the least renamed board, own edges in bits 0 to 27, the other's from bit 28 on; `scratch.place` renames."""
    for v in range(T.n):
        scratch.cell[0, v] = ZERO
    best = ~ZERO
    level = 0
    cells = refine(own, other, 0, scratch, T)
    while True:
        if cells == T.n:
            board = renamed(own, other, scratch.cell[level], T)
            if board < best:
                best = board
                for v in range(T.n):
                    scratch.place[v] = np.int64(scratch.cell[level, v])
            level -= 1
        else:
            # the first cell with several points: the least name that two points share
            split = T.n
            for a in range(T.n):
                for b in range(a):
                    if scratch.cell[level, a] == scratch.cell[level, b]:
                        split = min(split, np.int64(scratch.cell[level, a]))
            scratch.trying[level, 0] = split
            scratch.trying[level, 1] = 0
        cells = 0
        while level >= 0 and cells == 0:
            v = scratch.trying[level, 1]
            scratch.trying[level, 1] = v + 1
            if v >= T.n:
                level -= 1
                continue
            split = u64(scratch.trying[level, 0])
            if scratch.cell[level, v] != split:
                continue
            twin = False
            for a in range(v):
                if scratch.cell[level, a] == split and are_twins(own, other, a, v, T):
                    twin = True
            if twin:
                continue
            for a in range(T.n):
                name = scratch.cell[level, a]
                scratch.cell[level + 1, a] = name + ONE if name == split and a != v else name
            level += 1
            cells = refine(own, other, level, scratch, T)
        if level < 0:
            return best


def canonical_form(row: NDArray[np.uint64], T: Tables) -> tuple[NDArray[np.uint64], tuple[int, ...]]:
    """Returns the canonical board of a row, and the renaming that leads there: point -> new name.

    Two rows have the same canonical board if and only if a renaming of the points maps one to the other.
    """
    scratch = make_scratch()
    board = int(canonical(row[0] & ~LOST, row[1] & ~LOST, scratch, T))
    sides = np.array([board & (1 << 28) - 1, board >> 28], dtype=np.uint64)
    return sides | (row & LOST), tuple(int(place) for place in scratch.place[: T.n])


def renamed_edge(edge: int, renaming: tuple[int, ...], T: Tables) -> int:
    """Returns the edge that an edge becomes under a renaming of the points."""
    a, b = T.ends[edge]
    return int(T.edge_of[renaming[a], renaming[b]])


def inverse(renaming: tuple[int, ...]) -> tuple[int, ...]:
    """Returns the renaming that undoes another: it maps an edge of the canonical board back."""
    return tuple(sorted(range(len(renaming)), key=lambda point: renaming[point]))
