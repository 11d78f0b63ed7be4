"""How compiled n-tuple networks read a board: where in the tables its cells point, its highest value, its points.

A board is seen once for each symmetry. Where a room gives the board's word under each of them (`CellFeatures.boards`), a tuple is
read off these words, in runs of neighbouring cells; else a symmetry is a number, and each has the tuples' cells where it sees them.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from leafwise.envs.core.compile.intrinsics import EXTRACTS, extract_bits
from leafwise.envs.core.compile.jit import bind
from leafwise.envs.core.contract.features import CellFeatures
from leafwise.envs.core.contract.rules import Compiled

EXTRACTED = 0
"""In place of a number of runs: each tuple is read at once, by the mask of its cells."""
POINTS, RETURNS, NOTHING = "points", "returns", "nothing"
"""What a network's values begin with: the points of the board, the return, or nothing."""


class BoardFunctions(NamedTuple):
    """Compiled functions on the board of row i of S [rows, width], to be inlined; `T.leaf` are the network's weights."""

    seen: Compiled
    """`(S, i, T)` -> what stands for the board under each symmetry, a tuple."""
    tuple_index: Compiled
    """`(S, i, b, t, T)` -> the index of tuple t in a stage's tables, for one `b` of `seen`."""
    highest: Compiled
    """`(S, i, T)` -> the highest value of a cell, uint64."""
    potential: Compiled
    """`(S, i, T)` -> what the board is worth so far, float64."""


def make_board(cells: CellFeatures, runs: int, worth: str, returns: Compiled, room: Path) -> BoardFunctions:
    """Compiles the functions for networks with tuples of at most `runs` runs; `worth` is POINTS, RETURNS or NOTHING.

    Where the room gives the board's word under a symmetry, `b` is that word; else it is the number of the symmetry.
    """
    inlined = bind(room, inline=True)
    cell, words, count, in_word = cells.cell, cells.words, cells.cells, cells.in_word
    first, bits, mask = (*words, 0)[0], np.uint64(cells.bits), np.uint64(cells.values - 1)
    seen, numbers, own_highest = cells.boards, tuple(range(len(cells.views))), cells.highest

    # Where the tables of tuples are looked up

    if seen is not None and runs == EXTRACTED:

        @inlined
        def tuple_index(S, i, b, t, T):
            return T.leaf.offsets[t] + extract_bits(b, T.leaf.pieces[t, 0, 1])

    elif seen is not None:

        @inlined
        def tuple_index(S, i, b, t, T):
            W = T.leaf
            index = W.offsets[t]
            for p in range(runs):
                index += ((b >> W.pieces[t, p, 0]) & W.pieces[t, p, 1]) << W.pieces[t, p, 2]
            return index

    elif cell is not None:

        @inlined
        def tuple_index(S, i, b, t, T):
            W = T.leaf
            index, k = W.offsets[t], b * W.tuples + t
            for p in range(runs):
                if W.pieces[k, p, 1]:
                    index += np.uint64(cell(S, i, W.pieces[k, p, 3], T)) << W.pieces[k, p, 2]
            return index

    else:

        @inlined
        def tuple_index(S, i, b, t, T):
            W = T.leaf
            index, k = W.offsets[t], b * W.tuples + t
            for p in range(runs):
                word = np.uint64(S[i, W.pieces[k, p, 3]])
                index += ((word >> W.pieces[k, p, 0]) & W.pieces[k, p, 1]) << W.pieces[k, p, 2]
            return index

    if seen is None:

        @inlined
        def seen(S, i, T):
            return numbers

    # The highest value of a cell

    if own_highest is not None:

        @inlined
        def highest(S, i, T):
            return own_highest(S[i, first])

    elif cell is not None:

        @inlined
        def highest(S, i, T):
            found = np.uint64(0)
            for k in range(count):
                found = max(found, np.uint64(cell(S, i, k, T)))
            return found

    else:

        @inlined
        def highest(S, i, T):
            found = np.uint64(0)
            for k in range(count):
                word = np.uint64(S[i, words[k // in_word]])
                found = max(found, (word >> (bits * np.uint64(k % in_word))) & mask)
            return found

    # What the board is worth: the table `T.leaf.potential` added up over cells, or over lines of cells

    in_line, more = line_length(cells), -(-count // in_word)
    line, lines, line_mask = (
        np.uint64(in_line) * bits,
        -(-in_word // in_line),
        np.uint64((1 << in_line * cells.bits) - 1),
    )
    full = np.uint64((1 << in_word * cells.bits) - 1)
    last = np.uint64((1 << (count - (more - 1) * in_word) * cells.bits) - 1)
    if worth == NOTHING:

        @inlined
        def potential(S, i, T):
            return 0.0

    elif worth == RETURNS:

        @inlined
        def potential(S, i, T):
            return np.float64(returns(S, i, T))

    elif cell is not None:

        @inlined
        def potential(S, i, T):
            total = 0.0
            for k in range(count):
                total += np.float64(T.leaf.potential[np.uint64(cell(S, i, k, T))])
            return total

    else:

        @inlined
        def potential(S, i, T):
            total = 0.0
            for w in range(more):
                word = np.uint64(S[i, words[w]]) & (last if w == more - 1 else full)
                for k in range(lines):
                    total += np.float64(T.leaf.potential[(word >> (line * np.uint64(k))) & line_mask])
            return total

    return BoardFunctions(seen, tuple_index, highest, potential)


def line_length(cells: CellFeatures) -> int:
    """Returns how many neighbouring cells `potential` looks up at a time."""
    return 1 if cells.cell is not None else max(1, 16 // cells.bits)


def points_table(cells: CellFeatures, power: float) -> NDArray[np.float32]:
    """Returns the sum of (points)**power of each line of cells; shape [2**bits of a line]."""
    if not power or not cells.points:
        return np.zeros(1, dtype=np.float32)
    points, in_line = np.array(cells.points) ** power, line_length(cells)
    lines = np.arange(1 << in_line * cells.bits)
    total = sum(points[(lines >> cells.bits * k) & cells.values - 1] for k in range(in_line))
    return np.asarray(total, dtype=np.float32)


def pieces_of(cells: CellFeatures, tuples: Sequence[Sequence[int]]) -> NDArray[np.uint64]:
    """Returns where each tuple's index comes from: (shift right, mask, shift left, word) of each run of cells.

    Shape [symmetries * tuples, runs, 4], with one symmetry where the room gives the boards; unused runs have mask 0. Where cells
    are read one by one each is a run, and in place of the word stands its number.
    """
    if extracted(cells, tuples):
        masks = [sum((cells.values - 1) << cells.bits * c for c in t) for t in tuples]
        return np.array([[(0, mask, 0, cells.words[0])] for mask in masks], dtype=np.uint64)
    views = cells.views[:1] if cells.boards is not None else cells.views
    found = [runs(cells, [view[c] for c in t]) for view in views for t in tuples]
    most = max(map(len, found))
    padded = [pieces + [(0, 0, 0, pieces[0][3])] * (most - len(pieces)) for pieces in found]
    return np.array(padded, dtype=np.uint64)


def extracted(cells: CellFeatures, tuples: Sequence[Sequence[int]]) -> bool:
    """Returns whether the cells of every tuple, in their order, can be read off a board's word by a mask."""
    return EXTRACTS and cells.boards is not None and all(tuple(t) == tuple(sorted(t)) for t in tuples)


def runs(cells: CellFeatures, places: Sequence[int]) -> list[tuple[int, int, int, int]]:
    """Splits a tuple into runs of neighbouring cells in one word."""
    bits, in_word = cells.bits, 1 if cells.cell is not None else cells.in_word
    pieces: list[tuple[int, int, int, int]] = []
    start = 0
    for k in range(1, len(places) + 1):
        if k == len(places) or places[k] != places[k - 1] + 1 or places[k] % in_word == 0:
            word, place = divmod(places[start], in_word)
            column = word if cells.cell is not None else cells.words[word]
            pieces.append((bits * place, (1 << bits * (k - start)) - 1, bits * start, column))
            start = k
    return pieces


def worth_of(cells: CellFeatures, power: float) -> str:
    """Returns what values begin with, by the exponent of points in the potential (0: none)."""
    if not power:
        return NOTHING
    return POINTS if cells.points else RETURNS


def spread(table: NDArray[Any], cells: Sequence[int], wider: Sequence[int], values: int) -> NDArray[Any]:
    """Returns a tuple's table with an axis for each cell of a wider tuple, last cell first, of length 1 for cells it lacks."""
    axes = [len(cells) - 1 - cells.index(c) for c in reversed(wider) if c in cells]
    shape = [values if c in cells else 1 for c in reversed(wider)]
    return table.reshape((values,) * len(cells)).transpose(axes).reshape(shape)
