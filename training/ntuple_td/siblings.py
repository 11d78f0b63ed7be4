"""The values of all positions that can follow a decision, found together.

Table by table instead of position by position: what one table holds for all of them is asked for at once, so that the waits for
memory and for the sums of one position overlap with those of the others. The values are, to the bit, those of `ntuple_value`.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from leafwise.envs.core.compile.intrinsics import prefetch
from leafwise.envs.core.compile.jit import bind
from leafwise.envs.core.contract.game import Game
from leafwise.envs.core.contract.rules import CHANCE, TERMINAL, Compiled, copy_row
from leafwise.models.ntuple_functions import FAR, Layout, NTupleFunctions, features, no_index, small_bits
from leafwise.training.games.steps import AFTER, FREE, HERE

AHEAD = 5
"""How many tables before it is read a table's entries are asked for, position by position with those of the table that is read:
few loads can be under way at once, and so many requests in a row would hold up all that follows."""


class Siblings(NamedTuple):
    """Scratch for the n positions that can follow a decision, at most; their rows are those from FREE on."""

    P: NDArray[np.float64]
    """Probabilities, as `chance_outcomes` writes them, [FREE + n]."""
    ends: NDArray[np.int64]
    """Behind the last position of each action, counted from FREE, [actions]."""
    seen: NDArray[Any]
    """What stands for each board under each symmetry, [n, symmetries]."""
    starts: NDArray[np.uint64]
    """Where the tables of each board's stage begin, [n]."""
    totals: NDArray[np.float32]
    """What is still to come, as far as it is added up, [n]."""
    values: NDArray[np.float64]
    """[n]"""


def most_siblings(game: Game) -> int:
    """Returns how many positions can follow a decision: an action's outcomes, for all actions."""
    return game.max_actions * max(1, game.max_outcomes)


def new_siblings(game: Game) -> Siblings:
    """Returns the scratch for a game with cell features."""
    cells, n = features(game), most_siblings(game)
    views = len(cells.views)
    return Siblings(
        P=np.zeros(int(FREE) + n),
        ends=np.zeros(game.max_actions, dtype=np.int64),
        seen=np.zeros((n, views), dtype=np.int64 if cells.boards is None else np.uint64),
        starts=np.zeros(n, dtype=np.uint64),
        totals=np.zeros(n, dtype=np.float32),
        values=np.zeros(n),
    )


def make_best_sibling(game: Game, network: NTupleFunctions, layout: Layout, valued: int) -> Compiled:
    """Returns `best_action(trainer, T)`: the action of row HERE with the best expected value, and that value.

    Values are asked right after an action, or after the one stage of chance that comes before the stage `valued`.
    """
    open_rows, value_rows = make_open_rows(game, valued), make_value_rows(game, network, layout)

    @bind(game.room, inline=True)
    def best_action(trainer, T):
        A, P, ends, values = trainer.A, trainer.siblings.P, trainer.siblings.ends, trainer.siblings.values
        n = open_rows(trainer, T)
        value_rows(trainer, ends[n - 1], T)
        best, chosen, r = 0.0, A[0], 0
        for k in range(n):
            total = 0.0
            while r < ends[k]:
                total += P[FREE + np.uint64(r)] * values[r]
                r += 1
            if k == 0 or total > best:
                best, chosen = total, A[k]
        return chosen, best

    return best_action


def make_open_rows(game: Game, valued: int) -> Compiled:
    """Returns `open_rows(trainer, T)`: writes what can follow row HERE to the rows from FREE on, returns the number of actions."""
    current_player, stage, chance_outcomes = game.rules.current_player, game.rules.stage, game.rules.chance_outcomes
    legal_actions, apply_action = game.rules.legal_actions, game.rules.apply_action

    @bind(game.room, inline=True)
    def open_rows(trainer, T):
        S, A, P, ends = trainer.S, trainer.A, trainer.siblings.P, trainer.siblings.ends
        n, last = legal_actions(S, HERE, A, T), FREE
        for k in range(n):
            apply_action(S, HERE, A[k], AFTER, T)
            if current_player(S, AFTER, T) != CHANCE or stage(S, AFTER, T) == valued:
                copy_row(S, AFTER, last)
                P[last] = 1.0
                last += np.uint64(1)
            else:
                last += np.uint64(chance_outcomes(S, AFTER, P, last, T))
            ends[k] = np.int64(last - FREE)
        return n

    return open_rows


def make_value_rows(game: Game, network: NTupleFunctions, layout: Layout) -> Compiled:
    """Returns `value_rows(trainer, n, T)`: writes the values of n rows from FREE on to `trainer.siblings.values`."""
    cells, board, stage_start = features(game), network.board, network.stage_start
    boards, tuple_index, potential, packed = board.seen, board.tuple_index, board.potential, layout.packed
    views, small, tables = len(cells.views), small_bits(cells, layout.small), len(cells.tables)
    index_of = cells.index or bind(game.room, inline=True)(no_index)
    current_player = game.rules.current_player

    @bind(game.room, inline=True)
    def look_at(trainer, n, T):
        """Sees every board under every symmetry."""
        S, M = trainer.S, trainer.siblings
        for r in range(n):
            i = FREE + np.uint64(r)
            M.starts[r] = stage_start(S, i, T)
            M.totals[r] = np.float32(T.leaf.constants[0])
            for view, b in enumerate(boards(S, i, T)):
                M.seen[r, view] = b

    @bind(game.room, inline=True)
    def far(t, T):
        """Whether the entries of tuple t are asked for ahead."""
        W = T.leaf
        return t < W.tuples and W.offsets[t + 1] - W.offsets[t] > FAR

    @bind(game.room, inline=True)
    def ask(trainer, r, t, T):
        """Starts to load the entries of tuple t for one position."""
        S, W, M = trainer.S, T.leaf, trainer.siblings
        for view in range(views):
            prefetch(W.table, M.starts[r] + tuple_index(S, FREE + np.uint64(r), M.seen[r, view], t, T))

    @bind(game.room, inline=True)
    def add(trainer, r, t, T):
        """Adds the entries of tuple t for one position."""
        S, W, M = trainer.S, T.leaf, trainer.siblings
        i, start = FREE + np.uint64(r), M.starts[r]
        if packed:
            units = np.int64(0)
            for view in range(views):
                units += W.table[start + tuple_index(S, i, M.seen[r, view], t, T)]
            M.totals[r] += np.float32(units) * W.scales[t]
        else:
            total = M.totals[r]
            for view in range(views):
                total += W.table[start + tuple_index(S, i, M.seen[r, view], t, T)]
            M.totals[r] = total

    @bind(game.room, inline=True)
    def add_small(trainer, r, T):
        """Adds the entries of the small tables."""
        S, W, M = trainer.S, T.leaf, trainer.siblings
        place, total = W.tuples, M.totals[r]
        for k in range(tables):
            if small >> k & 1:
                index = M.starts[r] + W.offsets[place] + index_of(S, FREE + np.uint64(r), k, T)
                total += np.float32(W.table[index]) * W.scales[place]
                place += 1
        return np.float64(total)

    @bind(game.room, inline=True)
    def value_rows(trainer, n, T):
        S, M, tuples = trainer.S, trainer.siblings, T.leaf.tuples
        look_at(trainer, n, T)
        # Large tables are asked for AHEAD tuples before they are read
        for t in range(AHEAD):
            if far(t, T):
                for r in range(n):
                    ask(trainer, r, t, T)
        # Each tuple, for all positions
        for t in range(tuples):
            if far(t + AHEAD, T):
                for r in range(n):
                    ask(trainer, r, t + AHEAD, T)
                    add(trainer, r, t, T)
            else:
                for r in range(n):
                    add(trainer, r, t, T)
        # What is not learned, and the small tables where the game goes on
        for r in range(n):
            i = FREE + np.uint64(r)
            M.values[r] = potential(S, i, T)
            if current_player(S, i, T) != TERMINAL:
                M.values[r] += add_small(trainer, r, T)

    return value_rows
