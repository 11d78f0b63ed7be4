"""Compiled functions of n-tuple networks: the value of a row, and where in the tables it comes from."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from leafwise.envs.core.compile.intrinsics import prefetch
from leafwise.envs.core.compile.jit import bind
from leafwise.envs.core.contract.features import CellFeatures
from leafwise.envs.core.contract.game import Game
from leafwise.envs.core.contract.rules import TERMINAL, Compiled
from leafwise.envs.core.errors import UserError
from leafwise.models.boards import BoardFunctions, make_board
from leafwise.models.ntuple_siblings import Near, make_ntuple_siblings

FAR = np.uint64(1 << 18)
"""Tables with more entries are fetched ahead: they do not stay in the cache."""


class NTupleWeights(NamedTuple):
    """The evaluator's part of `T`: tables, and where each tuple's index comes from."""

    table: NDArray[np.float32] | NDArray[np.int16]
    """All tables one after another, once per stage."""
    scales: NDArray[np.float32]
    """What one unit of a table's entries is worth, [tuples + small tables]."""
    offsets: NDArray[np.uint64]
    """Start of each tuple's table, then of each small table; last the size of a stage."""
    tuples: int
    """How many tuples there are."""
    pieces: NDArray[np.uint64]
    """Runs of neighbouring cells in each tuple, as `boards.pieces_of` says."""
    splits: NDArray[np.uint64]
    """Highest values of a cell at which the second, third, ... stage begins, ascending."""
    potential: NDArray[np.float32]
    """Potential of each line of cells, as `boards.points_table` says."""
    constants: NDArray[np.float64]
    """What every state is worth before anything is learned, and what every move counts."""
    near: Near
    """Which look-ups see a cell."""


class Layout(NamedTuple):
    """What compiled code depends on, besides the game."""

    runs: int
    """Most runs of neighbouring cells in a tuple; `boards.EXTRACTED` where a mask takes their place."""
    small: tuple[str, ...]
    """Names of the small tables."""
    packed: bool
    """Whether tables are of int16."""
    staged: bool
    """Whether there is more than one stage."""
    fetched: bool
    """Whether tables are large enough to be fetched ahead."""
    worth: str
    """What values begin with; see `boards`."""


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


def make_stage_start(highest: Compiled, staged: bool, room: Path) -> Compiled:
    """Compiles `stage_start`."""

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

    return stage_start


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
    current_player, returns = game.rules.current_player, game.rules.returns
    board = make_board(cells, layout.runs, layout.worth, returns, game.room)
    stage_start = make_stage_start(board.highest, layout.staged, game.room)
    fetch = make_fetch(board, stage_start, layout.fetched, game.room)
    index_of = cells.index or bind(game.room, inline=True)(no_index)
    add_small = make_add_small(cells, index_of, layout, game.room)
    to_come = make_to_come(board, stage_start, add_small, layout, game.room)
    siblings, bits = {}, small_bits(cells, layout.small)
    if layout.packed and cells.boards is not None and game.rules.afterstates is not None:
        for valued in cells.stages:
            stage = game.stages.index(valued)
            siblings[valued] = make_ntuple_siblings(
                game.rules,
                cells,
                board,
                stage_start,
                index_of,
                bits,
                layout.worth,
                layout.fetched,
                stage,
                game.room,
            )
    potential = board.potential

    @bind(game.room, inline=True)
    def ntuple_value(S, i, T):
        """Returns the potential so far plus what is still to come."""
        so_far = potential(S, i, T)
        if current_player(S, i, T) == TERMINAL:
            return so_far
        return so_far + to_come(S, i, T)

    return NTupleFunctions(board, siblings, stage_start, fetch, to_come, ntuple_value)


def make_fetch(board: BoardFunctions, stage_start: Compiled, fetched: bool, room: Path) -> Compiled:
    """Compiles `fetch`: the rows beside a row are then loaded at the same time."""
    boards, tuple_index = board.seen, board.tuple_index

    @bind(room, inline=True)
    def fetch(S, i, T):
        W = T.leaf
        if fetched:
            start = stage_start(S, i, T)
            seen = boards(S, i, T)
            for t in range(W.tuples):
                if W.offsets[t + 1] - W.offsets[t] > FAR:
                    for b in seen:
                        prefetch(W.table, start + tuple_index(S, i, b, t, T))

    return fetch


def make_add_small(cells: CellFeatures, index_of: Compiled, layout: Layout, room: Path) -> Compiled:
    """Compiles `add_small(S, i, start, total, T)`: a float32 sum, and what row i finds in the small tables; returned as float64."""
    small, tables = small_bits(cells, layout.small), len(cells.tables)

    @bind(room, inline=True)
    def add_small(S, i, start, total, T):
        W = T.leaf
        place = W.tuples
        for k in range(tables):
            if small >> k & 1:
                total += np.float32(W.table[start + W.offsets[place] + index_of(S, i, k, T)]) * W.scales[place]
                place += 1
        return np.float64(total)

    return add_small


def make_to_come(
    board: BoardFunctions, stage_start: Compiled, add_small: Compiled, layout: Layout, room: Path
) -> Compiled:
    """Compiles `to_come`."""
    boards, tuple_index, packed = board.seen, board.tuple_index, layout.packed

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
        return add_small(S, i, start, total, T)

    return to_come


def features(game: Game) -> CellFeatures:
    """Returns the game's cell features; raises ValueError for a game without, or not for one player."""
    if "ntuple" not in game.features or game.players != 1:
        raise UserError(f"n-tuple networks: expected a game for one with cell features, got {game.name!r}")
    found: CellFeatures = game.features["ntuple"]
    return found
