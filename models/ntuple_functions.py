"""Compiled functions of n-tuple networks: reading a board, the value of a row, and the values of siblings.

A network reads the board under each symmetry. If the room returns the board's word under each (`CellFeatures.boards`), tuples are
read off these words, in runs of neighbouring cells. Otherwise a symmetry is a number, and each has its own cells for every tuple.

Siblings are boards that differ from a common board in one cell, for example in the tile that chance has added. All entries of the
common board are looked up once; for each sibling only the entries of tuples with the changed cell. Entries of int16 are added as
integers, in any order, and the sums of the tables in the order of `ntuple_value`: values are equal to the last bit. Float32 sums
depend on the order, so networks of float32 do not value siblings together.
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

SCRATCH = ("lookups.indices", "lookups.units", "lookups.sums", "lookups.small", "lookups.lines")
"""The scratch, by its path in the network's weights."""
FAR = np.uint64(1 << 18)
"""Tables with more entries are prefetched, as they do not stay in the cache."""


EXTRACTED = 0
"""Instead of a number of runs: one instruction reads each tuple by the mask of its cells."""
POINTS, RETURNS, NOTHING = "points", "returns", "nothing"
"""The potential to which a network adds its value: points of the board, the return so far, or nothing."""


class BoardFunctions(NamedTuple):
    """Compiled functions on the board of row i of S [rows, width], to be inlined; `T.leaf` are the network's weights."""

    seen: Compiled
    """`(S, i, T)` -> a tuple with the board under each symmetry: its word, or the number of the symmetry."""
    tuple_index: Compiled
    """`(S, i, b, t, T)` -> the index of tuple t in a stage's tables, for one `b` of `seen`."""
    highest: Compiled
    """`(S, i, T)` -> the highest value of a cell, uint64."""
    potential: Compiled
    """`(S, i, T)` -> the potential of the board so far, float64."""


def make_board(cells: CellFeatures, runs: int, worth: str, returns: Compiled, room: Path) -> BoardFunctions:
    """Compiles the functions for networks with tuples of at most `runs` runs; `worth` is POINTS, RETURNS or NOTHING.

    Where the room gives the board's word under a symmetry, `b` is that word; else it is the number of the symmetry.
    """
    inlined = bind(room, inline=True)
    cell, words, count, in_word = cells.cell, cells.words, cells.cells, cells.in_word
    first, bits, mask = (*words, 0)[0], np.uint64(cells.bits), np.uint64(cells.values - 1)
    seen, numbers, board_highest = cells.boards, tuple(range(len(cells.views))), cells.highest

    # The index of a tuple in the tables

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

    if board_highest is not None:

        @inlined
        def highest(S, i, T):
            return board_highest(S[i, first])

    elif cell is not None:

        @inlined
        def highest(S, i, T):
            highest_value = np.uint64(0)
            for k in range(count):
                highest_value = max(highest_value, np.uint64(cell(S, i, k, T)))
            return highest_value

    else:

        @inlined
        def highest(S, i, T):
            highest_value = np.uint64(0)
            for k in range(count):
                word = np.uint64(S[i, words[k // in_word]])
                highest_value = max(highest_value, (word >> (bits * np.uint64(k % in_word))) & mask)
            return highest_value

    # The potential: the table `T.leaf.potential` added up over cells, or over lines of cells

    in_line, n_words = line_length(cells), -(-count // in_word)
    line, lines, line_mask = (
        np.uint64(in_line) * bits,
        -(-in_word // in_line),
        np.uint64((1 << in_line * cells.bits) - 1),
    )
    full = np.uint64((1 << in_word * cells.bits) - 1)
    last = np.uint64((1 << (count - (n_words - 1) * in_word) * cells.bits) - 1)
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
            for w in range(n_words):
                word = np.uint64(S[i, words[w]]) & (last if w == n_words - 1 else full)
                for k in range(lines):
                    total += np.float64(T.leaf.potential[(word >> (line * np.uint64(k))) & line_mask])
            return total

    return BoardFunctions(seen, tuple_index, highest, potential)


def line_length(cells: CellFeatures) -> int:
    """Returns the number of neighbouring cells for which `potential` has one look-up."""
    return 1 if cells.cell is not None else max(1, 16 // cells.bits)


def points_table(cells: CellFeatures, power: float) -> Floats32:
    """Returns the sum of points**power of each line of cells, [2**bits of a line]."""
    if not power or not cells.points:
        return np.zeros(1, dtype=np.float32)
    points, in_line = np.array(cells.points) ** power, line_length(cells)
    lines = np.arange(1 << in_line * cells.bits)
    total = sum(points[(lines >> cells.bits * k) & cells.values - 1] for k in range(in_line))
    return np.asarray(total, dtype=np.float32)


def pieces_of(cells: CellFeatures, tuples: Sequence[Sequence[int]]) -> Words:
    """Returns how to compute each tuple's index: (shift right, mask, shift left, word) of each run of cells.

    Shape [symmetries * tuples, runs, 4], with one symmetry if the room returns the boards; unused runs have mask 0. If cells are
    read one by one, each is a run and its number replaces the word.
    """
    if extracted(cells, tuples):
        masks = [sum((cells.values - 1) << cells.bits * c for c in t) for t in tuples]
        return np.array([[(0, mask, 0, cells.words[0])] for mask in masks], dtype=np.uint64)
    views = cells.views[:1] if cells.boards is not None else cells.views
    pieces = [runs(cells, [view[c] for c in t]) for view in views for t in tuples]
    most = max(map(len, pieces))
    padded = [one + [(0, 0, 0, one[0][3])] * (most - len(one)) for one in pieces]
    return np.array(padded, dtype=np.uint64)


def extracted(cells: CellFeatures, tuples: Sequence[Sequence[int]]) -> bool:
    """Whether the cells of every tuple, in their order, can be read off a board's word by a mask."""
    return EXTRACTS and cells.boards is not None and all(tuple(t) == tuple(sorted(t)) for t in tuples)


def runs(cells: CellFeatures, cells_of_tuple: Sequence[int]) -> list[tuple[int, int, int, int]]:
    """Splits a tuple into runs of neighbouring cells in one word."""
    bits, in_word = cells.bits, 1 if cells.cell is not None else cells.in_word
    shifts = [math.prod(cells.sizes_of(cells_of_tuple[:k])).bit_length() - 1 for k in range(len(cells_of_tuple))]
    pieces: list[tuple[int, int, int, int]] = []
    start = 0
    for k in range(1, len(cells_of_tuple) + 1):
        if (
            k == len(cells_of_tuple)
            or cells_of_tuple[k] != cells_of_tuple[k - 1] + 1
            or cells_of_tuple[k] % in_word == 0
        ):
            word, place = divmod(cells_of_tuple[start], in_word)
            column = word if cells.cell is not None else cells.words[word]
            pieces.append((bits * place, (1 << bits * (k - start)) - 1, shifts[start], column))
            start = k
    return pieces


def worth_of(cells: CellFeatures, power: float) -> str:
    """Returns the kind of potential (POINTS, RETURNS or NOTHING) for an exponent of points (0: none)."""
    if not power:
        return NOTHING
    return POINTS if cells.points else RETURNS


def spread(table: Array, cells: Sequence[int], wider: Sequence[int], sizes_of: Callable[..., tuple[int, ...]]) -> Array:
    """Reshapes a tuple's table to an axis for each cell of a wider tuple, last cell first, of length 1 for cells it lacks."""
    axes = [len(cells) - 1 - cells.index(c) for c in reversed(wider) if c in cells]
    shape = [sizes_of([c])[0] if c in cells else 1 for c in reversed(wider)]
    return table.reshape(sizes_of(cells)[::-1]).transpose(axes).reshape(shape)


class NTupleWeights(NamedTuple):
    """The evaluator's part of `T`: tables, and how to compute each tuple's index."""

    table: Floats32 | NDArray[np.int16]
    """All tables one after another, once per stage."""
    scales: Floats32
    """The value of one unit of a table's entries, [tuples + small tables]."""
    offsets: Words
    """Start of each tuple's table, then of each small table; last the size of a stage."""
    tuples: int
    """Number of tuples."""
    pieces: Words
    """Runs of neighbouring cells in each tuple, as `pieces_of` returns them."""
    splits: Words
    """Highest values of a cell from which on the second, third, ... stage is used, ascending."""
    potential: Floats32
    """Potential of each line of cells, as `points_table` returns it."""
    constants: Floats
    """The initial value of every state, and the reward of every move."""
    lookups: CellLookups
    """The look-ups of each cell."""


class Layout(NamedTuple):
    """The properties of a network that its compiled code depends on, besides the game."""

    runs: int
    """Maximum number of runs of neighbouring cells in a tuple; `EXTRACTED` if masks replace runs."""
    small: tuple[str, ...]
    """Names of the small tables."""
    packed: bool
    """Whether tables are int16."""
    staged: bool
    """Whether there is more than one stage."""
    prefetches: bool
    """Whether some tables are large enough to be prefetched."""
    worth: str
    """The kind of potential: POINTS, RETURNS or NOTHING."""


class NTupleFunctions(NamedTuple):
    """Compiled functions of one layout of networks, to be inlined, on row i of S [rows, width]; `T.leaf` are the weights."""

    board: BoardFunctions
    sibling_values: dict[str, Compiled]
    """`Speed.sibling_values` by the stage of the leaves; empty if it would save nothing."""
    stage_start: Compiled
    """`(S, i, T)` -> the start of the tables of the board's stage."""
    prefetch: Compiled
    """`(S, i, T)`: starts to load the entries that the value of row i will read."""
    to_come: Compiled
    """`(S, i, T)` -> the learned potential still to come at row i, even of a finished game."""
    ntuple_value: Compiled
    """`(S, i, T)` -> the potential so far plus the learned potential still to come."""


def no_index(S, i, k, T):
    """Stands in for a game without small tables; never reached."""
    return np.uint64(0)


def small_bits(cells: CellFeatures, small: Sequence[str]) -> int:
    """Returns the small tables of the room that a network has, as bits."""
    return sum(1 << k for k, name in enumerate(cells.tables) if name in small)


def compiled(game: Game, layout: Layout) -> NTupleFunctions:
    """Returns the compiled functions for one layout of n-tuple networks."""
    return _compiled(game.with_defaults, features(game), layout)


@functools.cache
def _compiled(game: Game, cells: CellFeatures, layout: Layout) -> NTupleFunctions:
    current_player, room = game.rules.current_player, game.room
    staged, prefetches, packed = layout.staged, layout.prefetches, layout.packed
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
    def prefetch_row(S, i, T):
        """Starts to load the entries of row i, so that those of neighbouring rows load at the same time."""
        W = T.leaf
        if prefetches:
            start = stage_start(S, i, T)
            boards_seen = boards(S, i, T)
            for t in range(W.tuples):
                if W.offsets[t + 1] - W.offsets[t] > FAR:
                    for b in boards_seen:
                        prefetch(W.table, start + tuple_index(S, i, b, t, T))

    @bind(room, inline=True)
    def to_come(S, i, T):
        """Returns the learned potential still to come at row i, even of a finished game."""
        W = T.leaf
        start = stage_start(S, i, T)
        total = np.float32(W.constants[0])
        boards_seen = boards(S, i, T)
        for t in range(W.tuples):
            if packed:
                units = np.int64(0)
                for b in boards_seen:
                    units += W.table[start + tuple_index(S, i, b, t, T)]
                total += np.float32(units) * W.scales[t]
            else:
                for b in boards_seen:
                    total += W.table[start + tuple_index(S, i, b, t, T)]
        # The small tables
        place = W.tuples
        for k in range(tables):
            if small >> k & 1:
                total += np.float32(W.table[start + W.offsets[place] + index_of(S, i, k, T)]) * W.scales[place]
                place += 1
        return np.float64(total)

    @bind(room, inline=True)
    def ntuple_value(S, i, T):
        """Returns the potential so far plus the learned potential still to come."""
        so_far = potential(S, i, T)
        if current_player(S, i, T) == TERMINAL:
            return so_far
        return so_far + to_come(S, i, T)

    sibling_values = {}
    if packed and cells.boards is not None and game.rules.afterstates is not None:
        for valued in cells.stages:
            stage = game.stages.index(valued)
            sibling_values[valued] = make_ntuple_siblings(game, cells, board, stage_start, index_of, layout, stage)
    return NTupleFunctions(board, sibling_values, stage_start, prefetch_row, to_come, ntuple_value)


def features(game: Game) -> CellFeatures:
    """Returns the game's cell features; raises ValueError for two-player games and games without cell features."""
    if "ntuple" not in game.features or game.players != 1:
        raise UserError(f"n-tuple networks: expected a single-player game with cell features, got {game.name!r}")
    cells: CellFeatures = game.features["ntuple"]
    return cells


ZERO, ONE = np.uint64(0), np.uint64(1)


class CellLookups(NamedTuple):
    """The look-ups that read each cell, and scratch for those of the common board of siblings.

    A look-up is a tuple under a symmetry, with the number tuple * symmetries + symmetry.
    """

    starts: Words
    """Where in `seeing` the look-ups of cell c and tuple t start, at index c * tuples + t; [(cells + 1) * tuples + 1]. The cell
    numbered `cells` has none."""
    seeing: Words
    """Look-ups, sorted by cell and tuple."""
    shifts: Words
    """Shift of the cell's value in the index, for each of `seeing`."""
    indices: Words
    """Scratch: the index of each look-up of the common board, [tuples * symmetries]."""
    units: Ints
    """Scratch: the entry of each look-up."""
    sums: Ints
    """Scratch: sums of entries by tuple; the last is 1 once they are computed. [tuples + 1]"""
    small: Floats32
    """Scratch: the value of each small table."""
    lines: Floats
    """Scratch: the potential of each line of cells of the common board."""


def cell_lookups(cells: CellFeatures, tuples: Sequence[Sequence[int]], small: int) -> CellLookups:
    """Returns the look-ups that read each cell, with scratch for `small` small tables."""
    views, n = cells.views, len(tuples)
    by_cell: list[list[tuple[int, int]]] = [[] for _ in range((cells.cells + 1) * n)]
    for t, cells_of_tuple in enumerate(tuples):
        for s, view in enumerate(views):
            for k, cell in enumerate(cells_of_tuple):
                by_cell[view[cell] * n + t].append((t * len(views) + s, cells.bits * k))
    flat = [pair for pairs in by_cell for pair in pairs]
    return CellLookups(
        starts=np.cumsum([0, *map(len, by_cell)]).astype(np.uint64),
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
    """Compiles `Speed.sibling_values` for networks of int16, in rooms that return the board's word under each symmetry.

    `index_of` is the room's index into its small tables, `valued` the stage of the leaves.
    """
    rules, room, prefetches, small = game.rules, game.room, layout.prefetches, small_bits(cells, layout.small)
    current_player, chance_outcomes, stage = rules.current_player, rules.chance_outcomes, rules.stage
    apply_outcome: Any = rules.apply_outcome
    boards, tuple_index, _, potential = board
    tables, by_lines, in_line = len(cells.tables), layout.worth == POINTS, np.uint64(line_length(cells))
    first, bits, mask = cells.words[0], np.uint64(cells.bits), np.uint64(cells.values - 1)
    full, none = np.uint64((1 << cells.bits * cells.cells) - 1), np.uint64(cells.cells)
    line, line_mask = in_line * bits, np.uint64((1 << line_length(cells) * cells.bits) - 1)
    place_matters = any(small >> k & 1 and table.placed for k, table in enumerate(cells.tables.values()))

    @bind(room, inline=True)
    def find_lines(S, j, T):
        """Looks up the potential of each line of the common board."""
        if by_lines:
            word, lines = S[j, first] & full, T.leaf.lookups.lines
            for k in range(lines.shape[0]):
                lines[k] = T.leaf.potential[(word >> (line * np.uint64(k))) & line_mask]

    @bind(room, inline=True)
    def potential_of(S, i, cell, T):
        """Returns the potential of row i, which differs from the common board only in `cell`."""
        if not by_lines:
            return potential(S, i, T)
        word, lines, own_line = S[i, first] & full, T.leaf.lookups.lines, cell // in_line
        total, new_value = 0.0, np.float64(T.leaf.potential[(word >> (line * own_line)) & line_mask])
        for k in range(np.uint64(lines.shape[0])):
            total += new_value if k == own_line else lines[k]
        return total

    @bind(room, inline=True)
    def find_small(S, i, start, T):
        """Looks up the values of small tables at row i."""
        W = T.leaf
        place = W.tuples
        for k in range(tables):
            if small >> k & 1:
                entry = W.table[start + W.offsets[place] + index_of(S, i, k, T)]
                W.lookups.small[place - W.tuples] = np.float32(entry) * W.scales[place]
                place += 1

    @bind(room, inline=True)
    def shared_by_tuples(S, j, T):
        """Prefetches the entries of the common board, row j; returns the board, and the start of the tables of its stage."""
        W, lookups = T.leaf, T.leaf.lookups
        start, look = stage_start(S, j, T), ZERO
        seen = boards(S, j, T)
        for t in range(W.tuples):
            for b in seen:
                index = start + tuple_index(S, j, b, t, T)
                if prefetches:
                    prefetch(W.table, index)
                lookups.indices[look] = index
                look += ONE
        lookups.sums[W.tuples] = 0
        find_lines(S, j, T)
        return S[j, first] & full, start

    @bind(room, inline=True)
    def add_up(lookups, W):
        """Looks up and sums the entries of the common board, unless that is done."""
        if lookups.sums[W.tuples]:
            return
        lookups.sums[W.tuples], look = 1, ZERO
        each = lookups.indices.shape[0] // W.tuples
        for t in range(W.tuples):
            total = np.int64(0)
            for _ in range(each):
                lookups.units[look] = W.table[lookups.indices[look]]
                total += lookups.units[look]
                look += ONE
            lookups.sums[t] = total

    @bind(room, inline=True)
    def rise_of(S, i, before):
        """Compares the board of row i with the common board `before`.

        Returns the cell that differs (`none`: no cell), by how much its value is higher, and whether no other cell differs.
        """
        after = S[i, first] & full
        change = after ^ before
        if change == ZERO:
            return none, ZERO, True
        cell = count_bits((change - ONE) & ~change) // bits
        place = bits * cell
        return cell, ((after >> place) & mask) - ((before >> place) & mask), change >> place <= mask

    @bind(room, inline=True)
    def worth_of(S, i, cell, rise, T):
        """Returns the learned value of row i, an unfinished game in which `cell` is higher by `rise`.

        `find_small` has looked up the small tables.
        """
        W, lookups = T.leaf, T.leaf.lookups
        cell_start, total = cell * np.uint64(W.tuples), np.float32(W.constants[0])
        for t in range(np.uint64(W.tuples)):
            units = lookups.sums[t]
            for e in range(lookups.starts[cell_start + t], lookups.starts[cell_start + t + ONE]):
                look = lookups.seeing[e]
                units += W.table[lookups.indices[look] + (rise << lookups.shifts[e])] - lookups.units[look]
            total += np.float32(units) * W.scales[t]
        for k in range(W.lookups.small.shape[0]):
            total += W.lookups.small[k]
        return np.float64(total)

    @bind(room, inline=True)
    def mean_of_tuples(S, j, shared, P, o, T):
        """Returns the number of outcomes of chance row j and the mean of their values; 0 if it cannot value them."""
        # Each outcome must differ from the common board in one cell only; its entries are prefetched
        before, start = shared
        W, lookups = T.leaf, T.leaf.lookups
        end = o + np.uint64(chance_outcomes(S, j, P, o, T))
        for i in range(o, end):
            cell, rise, alone = rise_of(S, i, before)
            here = stage(S, i, T)
            if not alone or (here != valued and here != 0) or stage_start(S, i, T) != start:
                return 0, 0.0
            if prefetches:
                cell_start = cell * np.uint64(W.tuples)
                for e in range(lookups.starts[cell_start], lookups.starts[cell_start + np.uint64(W.tuples)]):
                    prefetch(W.table, lookups.indices[lookups.seeing[e]] + (rise << lookups.shifts[e]))
        # The values: that of a finished game is its potential; small tables are looked up if they may have changed
        add_up(lookups, W)
        total, last, known = 0.0, ZERO, False
        for i in range(o, end):
            cell, rise, _ = rise_of(S, i, before)
            worth = potential_of(S, i, cell, T)
            if current_player(S, i, T) != TERMINAL:
                same = known and rise == last
                for w in range(S.shape[1]):
                    same = same and (w == first or S[i, w] == S[i - ONE, w])
                if place_matters or not same:
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
