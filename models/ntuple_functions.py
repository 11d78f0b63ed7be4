"""Compiled functions of n-tuple networks: how they read a board, the value of a row, and the values of siblings.

A board is seen once for each symmetry. Where a room gives the board's word under each of them (`CellFeatures.boards`), a tuple is
read off these words, in runs of neighbouring cells; else a symmetry is a number, and each has the tuples' cells where it sees them.

Siblings are boards that differ in one cell from a board before them, as those do in which a tile has entered. What the board before
holds is looked up once; of each board after, only the look-ups that see the cell that changed. Entries of int16 add up in whole
numbers, in whatever order, and the sums of the tables are then added in the order of `ntuple_value`: values are the same to the
last bit. Entries of float32 are not added in another order, so that their networks have no such siblings.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from leafwise.envs.core.arrays import Array, Floats, Floats32, Ints, Words
from leafwise.envs.core.compile.intrinsics import EXTRACTS, extract_bits, prefetch
from leafwise.envs.core.compile.jit import bind
from leafwise.envs.core.contract.bits import count_bits
from leafwise.envs.core.contract.features import CellFeatures
from leafwise.envs.core.contract.game import Game
from leafwise.envs.core.contract.rules import TERMINAL, Compiled
from leafwise.envs.core.errors import UserError

SCRATCH = ("near.indices", "near.units", "near.sums", "near.small", "near.lines")
"""The scratch, by its path in the network's weights."""
FAR = np.uint64(1 << 18)
"""Tables with more entries are fetched ahead: they do not stay in the cache."""


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


def points_table(cells: CellFeatures, power: float) -> Floats32:
    """Returns the sum of (points)**power of each line of cells; shape [2**bits of a line]."""
    if not power or not cells.points:
        return np.zeros(1, dtype=np.float32)
    points, in_line = np.array(cells.points) ** power, line_length(cells)
    lines = np.arange(1 << in_line * cells.bits)
    total = sum(points[(lines >> cells.bits * k) & cells.values - 1] for k in range(in_line))
    return np.asarray(total, dtype=np.float32)


def pieces_of(cells: CellFeatures, tuples: Sequence[Sequence[int]]) -> Words:
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
    below = [math.prod(cells.sizes_of(places[:k])).bit_length() - 1 for k in range(len(places))]
    pieces: list[tuple[int, int, int, int]] = []
    start = 0
    for k in range(1, len(places) + 1):
        if k == len(places) or places[k] != places[k - 1] + 1 or places[k] % in_word == 0:
            word, place = divmod(places[start], in_word)
            column = word if cells.cell is not None else cells.words[word]
            pieces.append((bits * place, (1 << bits * (k - start)) - 1, below[start], column))
            start = k
    return pieces


def worth_of(cells: CellFeatures, power: float) -> str:
    """Returns what values begin with, by the exponent of points in the potential (0: none)."""
    if not power:
        return NOTHING
    return POINTS if cells.points else RETURNS


def spread(table: Array, cells: Sequence[int], wider: Sequence[int], sizes_of: Callable[..., tuple[int, ...]]) -> Array:
    """Returns a tuple's table with an axis for each cell of a wider tuple, last cell first, of length 1 for cells it lacks."""
    axes = [len(cells) - 1 - cells.index(c) for c in reversed(wider) if c in cells]
    shape = [sizes_of([c])[0] if c in cells else 1 for c in reversed(wider)]
    return table.reshape(sizes_of(cells)[::-1]).transpose(axes).reshape(shape)


class NTupleWeights(NamedTuple):
    """The evaluator's part of `T`: tables, and where each tuple's index comes from."""

    table: Floats32 | NDArray[np.int16]
    """All tables one after another, once per stage."""
    scales: Floats32
    """What one unit of a table's entries is worth, [tuples + small tables]."""
    offsets: Words
    """Start of each tuple's table, then of each small table; last the size of a stage."""
    tuples: int
    """How many tuples there are."""
    pieces: Words
    """Runs of neighbouring cells in each tuple, as `pieces_of` says."""
    splits: Words
    """Highest values of a cell at which the second, third, ... stage begins, ascending."""
    potential: Floats32
    """Potential of each line of cells, as `points_table` says."""
    constants: Floats
    """What every state is worth before anything is learned, and what every move counts."""
    near: Near
    """Which look-ups see a cell."""


class Layout(NamedTuple):
    """What compiled code depends on, besides the game."""

    runs: int
    """Most runs of neighbouring cells in a tuple; `EXTRACTED` where a mask takes their place."""
    small: tuple[str, ...]
    """Names of the small tables."""
    packed: bool
    """Whether tables are of int16."""
    staged: bool
    """Whether there is more than one stage."""
    fetched: bool
    """Whether tables are large enough to be fetched ahead."""
    worth: str
    """What values begin with: POINTS, RETURNS or NOTHING."""


class NTupleFunctions(NamedTuple):
    """Compiled functions of one layout of networks, to be inlined, on row i of S [rows, width]; `T.leaf` are the weights."""

    board: BoardFunctions
    siblings: dict[str, Compiled]
    """By the stage at which values are asked; none where nothing is to be gained."""
    stage_start: Compiled
    """`(S, i, T)` -> where the tables of the board's stage begin."""
    fetch: Compiled
    """`(S, i, T)`: starts to load what the value of row i will read."""
    to_come: Compiled
    """`(S, i, T)` -> the learned potential still to come at row i, finished or not."""
    ntuple_value: Compiled
    """`(S, i, T)` -> the potential so far plus what is still to come."""


def no_index(S, i, k, T):
    """Stands in for a game without small tables; never reached."""
    return np.uint64(0)


def small_bits(cells: CellFeatures, small: Sequence[str]) -> int:
    """Returns which of the room's small tables a network has, a bit each."""
    return sum(1 << k for k, own in enumerate(cells.tables) if own in small)


def compiled(game: Game, layout: Layout) -> NTupleFunctions:
    """Returns the compiled functions for one layout of n-tuple networks."""
    return _compiled(game.with_defaults, features(game), layout)


@functools.cache
def _compiled(game: Game, cells: CellFeatures, layout: Layout) -> NTupleFunctions:
    current_player, room = game.rules.current_player, game.room
    staged, fetched, packed = layout.staged, layout.fetched, layout.packed
    board = make_board(cells, layout.runs, layout.worth, game.rules.returns, room)
    boards, tuple_index, highest, potential = board
    index_of = cells.index or bind(room, inline=True)(no_index)
    small, tables = small_bits(cells, layout.small), len(cells.tables)

    @bind(room, inline=True)
    def stage_start(S, i, T):
        W = T.leaf
        start = np.uint64(0)
        if staged:
            value = highest(S, i, T)
            for k in range(W.splits.shape[0]):
                if value >= W.splits[k]:
                    start += W.offsets[W.offsets.shape[0] - 1]
        return start

    @bind(room, inline=True)
    def fetch(S, i, T):
        """Starts to load what row i finds; the rows beside a row are then loaded at the same time."""
        W = T.leaf
        if fetched:
            start = stage_start(S, i, T)
            seen = boards(S, i, T)
            for t in range(W.tuples):
                if W.offsets[t + 1] - W.offsets[t] > FAR:
                    for b in seen:
                        prefetch(W.table, start + tuple_index(S, i, b, t, T))

    @bind(room, inline=True)
    def to_come(S, i, T):
        """Returns the learned potential still to come at row i, finished or not."""
        W = T.leaf
        start = stage_start(S, i, T)
        total = np.float32(W.constants[0])
        seen = boards(S, i, T)
        for t in range(W.tuples):
            if packed:
                units = np.int64(0)
                for b in seen:
                    units += W.table[start + tuple_index(S, i, b, t, T)]
                total += np.float32(units) * W.scales[t]
            else:
                for b in seen:
                    total += W.table[start + tuple_index(S, i, b, t, T)]
        # What the small tables add
        place = W.tuples
        for k in range(tables):
            if small >> k & 1:
                total += np.float32(W.table[start + W.offsets[place] + index_of(S, i, k, T)]) * W.scales[place]
                place += 1
        return np.float64(total)

    @bind(room, inline=True)
    def ntuple_value(S, i, T):
        """Returns the potential so far plus what is still to come."""
        so_far = potential(S, i, T)
        if current_player(S, i, T) == TERMINAL:
            return so_far
        return so_far + to_come(S, i, T)

    siblings = {}
    if packed and cells.boards is not None and game.rules.afterstates is not None:
        for valued in cells.stages:
            stage = game.stages.index(valued)
            siblings[valued] = make_ntuple_siblings(game, cells, board, stage_start, index_of, layout, stage)
    return NTupleFunctions(board, siblings, stage_start, fetch, to_come, ntuple_value)


def features(game: Game) -> CellFeatures:
    """Returns the game's cell features; raises ValueError for a game without, or not for one player."""
    if "ntuple" not in game.features or game.players != 1:
        raise UserError(f"n-tuple networks: expected a single-player game with cell features, got {game.name!r}")
    found: CellFeatures = game.features["ntuple"]
    return found


ZERO, ONE = np.uint64(0), np.uint64(1)


class Near(NamedTuple):
    """Which look-ups see a cell, and what those of the board before have found. A look-up is a tuple under a symmetry: tuple *
    symmetries + symmetry."""

    starts: Words
    """Where in `seeing` those of cell c and tuple t begin, at c * tuples + t; [(cells + 1) * tuples + 1]. No tuple has a cell
    numbered `cells`."""
    seeing: Words
    """Look-ups."""
    shifts: Words
    """For each of `seeing` how far the cell's value is shifted in the index."""
    indices: Words
    """Scratch: the index of each look-up, [tuples * symmetries]."""
    units: Ints
    """Scratch: what it finds."""
    sums: Ints
    """Scratch: the sum of what a tuple finds; last whether there is one yet. [tuples + 1]"""
    small: Floats32
    """Scratch: what each small table adds."""
    lines: Floats
    """Scratch: the potential of each line of cells that is looked up at a time."""


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


def make_ntuple_siblings(
    game: Game,
    cells: CellFeatures,
    board: BoardFunctions,
    stage_start: Compiled,
    index_of: Compiled,
    layout: Layout,
    valued: int,
) -> Compiled:
    """Compiles the siblings of networks of int16 whose rooms give the board's word under each symmetry.

    `index_of` is the room's index into its small tables, and `valued` is the stage of the leaves.
    """
    rules, room, fetched, small = game.rules, game.room, layout.fetched, small_bits(cells, layout.small)
    current_player, chance_outcomes, stage = rules.current_player, rules.chance_outcomes, rules.stage
    apply_outcome: Any = rules.apply_outcome
    boards, tuple_index, _, potential = board
    tables, by_lines, in_line = len(cells.tables), layout.worth == POINTS, np.uint64(line_length(cells))
    first, bits, mask = cells.words[0], np.uint64(cells.bits), np.uint64(cells.values - 1)
    full, none = np.uint64((1 << cells.bits * cells.cells) - 1), np.uint64(cells.cells)
    line, line_mask = in_line * bits, np.uint64((1 << line_length(cells) * cells.bits) - 1)
    placed = any(small >> k & 1 and table.placed for k, table in enumerate(cells.tables.values()))

    @bind(room, inline=True)
    def find_lines(S, j, T):
        """Looks up the potential of each line of the board before."""
        if by_lines:
            word, lines = S[j, first] & full, T.leaf.near.lines
            for k in range(lines.shape[0]):
                lines[k] = T.leaf.potential[(word >> (line * np.uint64(k))) & line_mask]

    @bind(room, inline=True)
    def potential_of(S, i, cell, T):
        """Returns what `potential` does of row i, where only a cell differs from the board before."""
        if not by_lines:
            return potential(S, i, T)
        word, lines, own = S[i, first] & full, T.leaf.near.lines, cell // in_line
        total, found = 0.0, np.float64(T.leaf.potential[(word >> (line * own)) & line_mask])
        for k in range(np.uint64(lines.shape[0])):
            total += found if k == own else lines[k]
        return total

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
    def worth_of(S, i, cell, rise, T):
        """Returns the value of row i, which is not over, where a cell has risen; what small tables add is known."""
        W, near = T.leaf, T.leaf.near
        own, total = cell * np.uint64(W.tuples), np.float32(W.constants[0])
        for t in range(np.uint64(W.tuples)):
            units = near.sums[t]
            for e in range(near.starts[own + t], near.starts[own + t + ONE]):
                look = near.seeing[e]
                units += W.table[near.indices[look] + (rise << near.shifts[e])] - near.units[look]
            total += np.float32(units) * W.scales[t]
        for k in range(W.near.small.shape[0]):
            total += W.near.small[k]
        return np.float64(total)

    @bind(room, inline=True)
    def mean_of_tuples(S, j, shared, P, o, T):
        """Returns how many outcomes chance row j has, 0 where it cannot say, and the mean of their values."""
        # Each outcome has to differ from the board before in one cell alone; what it looks up is asked for ahead
        before, start = shared
        W, near = T.leaf, T.leaf.near
        end = o + np.uint64(chance_outcomes(S, j, P, o, T))
        for i in range(o, end):
            cell, rise, alone = rise_of(S, i, before)
            here = stage(S, i, T)
            if not alone or (here != valued and here != 0) or stage_start(S, i, T) != start:
                return 0, 0.0
            if fetched:
                own = cell * np.uint64(W.tuples)
                for e in range(near.starts[own], near.starts[own + np.uint64(W.tuples)]):
                    prefetch(W.table, near.indices[near.seeing[e]] + (rise << near.shifts[e]))
        # The values: finished games are worth their points, small tables are looked up where they may have changed
        add_up(near, W)
        total, last, known = 0.0, ZERO, False
        for i in range(o, end):
            cell, rise, _ = rise_of(S, i, before)
            worth = potential_of(S, i, cell, T)
            if current_player(S, i, T) != TERMINAL:
                same = known and rise == last
                for w in range(S.shape[1]):
                    same = same and (w == first or S[i, w] == S[i - ONE, w])
                if placed or not same:
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
