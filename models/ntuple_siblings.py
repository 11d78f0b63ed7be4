"""Values of boards that differ in one cell from a board before them, as those do in which a tile has entered.

What the board before holds is looked up once; of each board after, only the look-ups that see the cell that changed. Entries of
int16 add up in whole numbers, in whatever order, and the sums of the tables are then added in the order of `ntuple_value`: values
are the same to the last bit. Entries of float32 are not added in another order, so that their networks have no such siblings.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from leafwise.envs.core.compile.intrinsics import prefetch
from leafwise.envs.core.compile.jit import bind
from leafwise.envs.core.contract.bits import count_bits
from leafwise.envs.core.contract.features import CellFeatures
from leafwise.envs.core.contract.rules import TERMINAL, Compiled, Rules
from leafwise.models.boards import POINTS, BoardFunctions, line_length

ZERO, ONE = np.uint64(0), np.uint64(1)


class Near(NamedTuple):
    """Which look-ups see a cell, and what those of the board before have found. A look-up is a tuple under a symmetry: tuple *
    symmetries + symmetry."""

    starts: NDArray[np.uint64]
    """Where in `seeing` those of cell c and tuple t begin, at c * tuples + t; [(cells + 1) * tuples + 1]. No tuple has a cell
    numbered `cells`."""
    seeing: NDArray[np.uint64]
    """Look-ups."""
    shifts: NDArray[np.uint64]
    """For each of `seeing` how far the cell's value is shifted in the index."""
    indices: NDArray[np.uint64]
    """Scratch: the index of each look-up, [tuples * symmetries]."""
    units: NDArray[np.int64]
    """Scratch: what it finds."""
    sums: NDArray[np.int64]
    """Scratch: the sum of what a tuple finds; last whether there is one yet. [tuples + 1]"""
    small: NDArray[np.float32]
    """Scratch: what each small table adds."""
    lines: NDArray[np.float64]
    """Scratch: the potential of each line of cells that is looked up at a time."""


SCRATCH = ("near.indices", "near.units", "near.sums", "near.small", "near.lines")
"""The scratch, by its path in the network's weights."""


def near_cells(cells: CellFeatures, tuples: Sequence[Sequence[int]], small: int) -> Near:
    """Returns which look-ups of a network with so many small tables see each cell."""
    views, n = cells.views, len(tuples)
    seen: list[list[tuple[int, int]]] = [[] for _ in range((cells.cells + 1) * n)]
    for t, places in enumerate(tuples):
        for s, view in enumerate(views):
            for k, place in enumerate(places):
                seen[view[place] * n + t].append((t * len(views) + s, cells.bits * k))
    flat = [pair for pairs in seen for pair in pairs]
    return Near(
        starts=np.cumsum([0, *map(len, seen)]).astype(np.uint64),
        seeing=np.array([look for look, _ in flat], dtype=np.uint64),
        shifts=np.array([shift for _, shift in flat], dtype=np.uint64),
        indices=np.zeros(n * len(views), dtype=np.uint64),
        units=np.zeros(n * len(views), dtype=np.int64),
        sums=np.zeros(n + 1, dtype=np.int64),
        small=np.zeros(small, dtype=np.float32),
        lines=np.zeros(-(-cells.in_word // line_length(cells))),
    )


def make_near_potential(
    cells: CellFeatures, board: BoardFunctions, worth: str, room: Path
) -> tuple[Compiled, Compiled]:
    """Compiles `find_lines(S, j, T)`, which is told the board before, and `potential_of(S, i, cell, T)`, which is `potential` where
    a cell differs from it."""
    first, potential = cells.words[0], board.potential
    size = line_length(cells) * cells.bits
    line, mask = np.uint64(size), np.uint64((1 << size) - 1)
    full, in_line = np.uint64((1 << cells.bits * cells.cells) - 1), np.uint64(line_length(cells))
    by_lines = worth == POINTS

    @bind(room, inline=True)
    def find_lines(S, j, T):
        if by_lines:
            word, lines = S[j, first] & full, T.leaf.near.lines
            for k in range(lines.shape[0]):
                lines[k] = T.leaf.potential[(word >> (line * np.uint64(k))) & mask]

    @bind(room, inline=True)
    def potential_of(S, i, cell, T):
        if not by_lines:
            return potential(S, i, T)
        word, lines, own = S[i, first] & full, T.leaf.near.lines, cell // in_line
        total, found = 0.0, np.float64(T.leaf.potential[(word >> (line * own)) & mask])
        for k in range(np.uint64(lines.shape[0])):
            total += found if k == own else lines[k]
        return total

    return find_lines, potential_of


def make_ntuple_siblings(
    rules: Rules,
    cells: CellFeatures,
    board: BoardFunctions,
    stage_start: Compiled,
    index_of: Compiled,
    small: int,
    worth: str,
    fetched: bool,
    valued: int,
    room: Path,
) -> Compiled:
    """Compiles the siblings of networks of int16 whose rooms give the board's word under each symmetry.

    `index_of` is the room's index into its small tables, `small` has a bit for each of them that the network has, values begin with
    `worth`, tables are large where `fetched`, and `valued` is the stage of the leaves.
    """
    current_player, chance_outcomes, stage = rules.current_player, rules.chance_outcomes, rules.stage
    apply_outcome: Any = rules.apply_outcome
    boards, tuple_index, tables = board.seen, board.tuple_index, len(cells.tables)
    first, bits, mask = cells.words[0], np.uint64(cells.bits), np.uint64(cells.values - 1)
    full, none = np.uint64((1 << cells.bits * cells.cells) - 1), np.uint64(cells.cells)
    placed = any(small >> k & 1 and table.placed for k, table in enumerate(cells.tables.values()))
    find_lines, potential_of = make_near_potential(cells, board, worth, room)

    @bind(room, inline=True)
    def find_small(S, i, start, T):
        """Looks up what small tables add at row i."""
        W = T.leaf
        place = W.tuples
        for k in range(tables):
            if small >> k & 1:
                entry = W.table[start + W.offsets[place] + index_of(S, i, k, T)]
                W.near.small[place - W.tuples] = np.float32(entry) * W.scales[place]
                place += 1

    @bind(room, inline=True)
    def shared_by_tuples(S, j, T):
        """Asks for what the board of row j finds; returns the board, and where the tables of its stage begin."""
        W, near = T.leaf, T.leaf.near
        start, look = stage_start(S, j, T), ZERO
        seen = boards(S, j, T)
        for t in range(W.tuples):
            for b in seen:
                index = start + tuple_index(S, j, b, t, T)
                if fetched:
                    prefetch(W.table, index)
                near.indices[look] = index
                look += ONE
        near.sums[W.tuples] = 0
        find_lines(S, j, T)
        return S[j, first] & full, start

    @bind(room, inline=True)
    def add_up(near, W):
        """Looks up what the board before finds, unless that is done."""
        if near.sums[W.tuples]:
            return
        near.sums[W.tuples], look = 1, ZERO
        each = near.indices.shape[0] // W.tuples
        for t in range(W.tuples):
            total = np.int64(0)
            for _ in range(each):
                near.units[look] = W.table[near.indices[look]]
                total += near.units[look]
                look += ONE
            near.sums[t] = total

    @bind(room, inline=True)
    def rise_of(S, i, before):
        """Returns the cell in which the board of row i differs from the one before (`none`: in no cell), what its value rises
        by, and whether that is all that differs."""
        after = S[i, first] & full
        change = after ^ before
        if change == ZERO:
            return none, ZERO, True
        cell = count_bits((change - ONE) & ~change) // bits
        place = bits * cell
        return cell, ((after >> place) & mask) - ((before >> place) & mask), change >> place <= mask

    @bind(room, inline=True)
    def ask_for(cell, rise, W):
        """Starts to load what the look-ups that see a cell will find once it has risen."""
        near, own = W.near, cell * np.uint64(W.tuples)
        for e in range(near.starts[own], near.starts[own + np.uint64(W.tuples)]):
            prefetch(W.table, near.indices[near.seeing[e]] + (rise << near.shifts[e]))

    @bind(room, inline=True)
    def same_beside(S, i, k):
        """Whether two rows are the same beside the board."""
        same = True
        for w in range(S.shape[1]):
            same = same and (w == first or S[i, w] == S[k, w])
        return same

    @bind(room, inline=True)
    def units_of(t, own, rise, W):
        """Returns the sum of tuple t where the cell whose look-ups begin at `own` has risen."""
        near = W.near
        units = near.sums[t]
        for e in range(near.starts[own + t], near.starts[own + t + ONE]):
            look = near.seeing[e]
            units += W.table[near.indices[look] + (rise << near.shifts[e])] - near.units[look]
        return units

    @bind(room, inline=True)
    def worth_of(S, i, cell, rise, T):
        """Returns the value of row i, which is not over, where a cell has risen; what small tables add is known."""
        W = T.leaf
        own, total = cell * np.uint64(W.tuples), np.float32(W.constants[0])
        for t in range(np.uint64(W.tuples)):
            total += np.float32(units_of(t, own, rise, W)) * W.scales[t]
        for k in range(W.near.small.shape[0]):
            total += W.near.small[k]
        return np.float64(total)

    @bind(room, inline=True)
    def mean_of_tuples(S, j, shared, P, o, T):
        """Returns how many outcomes chance row j has, 0 where it cannot say, and the mean of their values."""
        # Each outcome has to differ from the board before in one cell alone; what it looks up is asked for ahead
        before, start = shared
        end = o + np.uint64(chance_outcomes(S, j, P, o, T))
        for i in range(o, end):
            cell, rise, alone = rise_of(S, i, before)
            here = stage(S, i, T)
            if not alone or (here != valued and here != 0) or stage_start(S, i, T) != start:
                return 0, 0.0
            if fetched:
                ask_for(cell, rise, T.leaf)
        # The values: finished games are worth their points, small tables are looked up where they may have changed
        add_up(T.leaf.near, T.leaf)
        total, last, known = 0.0, ZERO, False
        for i in range(o, end):
            cell, rise, _ = rise_of(S, i, before)
            worth = potential_of(S, i, cell, T)
            if current_player(S, i, T) != TERMINAL:
                if placed or not known or rise != last or not same_beside(S, i, i - ONE):
                    find_small(S, i, start, T)
                    last, known = rise, True
                worth += worth_of(S, i, cell, rise, T)
            total += P[i] * worth
        return np.int64(end - o), total

    @bind(room, inline=True)
    def means_of_tuples(S, k, o, end, M, P, T):
        apply_outcome(S, k, o, end, T)
        shared, count = shared_by_tuples(S, end, T), 0
        for q in range(o, end):
            apply_outcome(S, k, q, end, T)
            n, mean = mean_of_tuples(S, end, shared, P, end + ONE, T)
            if n == 0:
                return 0
            M[q] = max(M[q], mean)
            count += n
        return count

    return means_of_tuples
