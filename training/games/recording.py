"""Positions of games as they are recorded, and the lambda-returns of the root values that follow them, compiled."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from leafwise.envs.core.compile.jit import bind
from leafwise.envs.core.contract.evaluator import for_player_zero
from leafwise.envs.core.contract.game import Game
from leafwise.envs.core.contract.rules import Compiled

CHOSEN, EXPLORED, AFTERSTATE, EXACT = 0, 1, 2, 3
"""Kinds of positions: the search's action was played, another one was, chance was to act; the value is the true one."""


class Record(NamedTuple):
    """Positions learned from, in the order in which they were played."""

    rows: NDArray[Any]
    """[n, width]"""
    targets: NDArray[np.float64]
    """What the position is worth to the player who acts, [n]."""
    values: NDArray[np.float64]
    """Scratch: root value for player 0, [n]."""
    kinds: NDArray[np.int8]
    """Scratch: CHOSEN, EXPLORED, AFTERSTATE or EXACT, [n]."""
    first: NDArray[np.int64]
    """Scratch: which position is the first of the same game, [n]."""
    outcomes: NDArray[np.float64]
    """Scratch: how the game ended for player 0, [n]."""


def new_record(game: Game, n: int) -> Record:
    """Returns room for n positions."""
    return Record(
        game.rows(n), np.zeros(n), np.zeros(n), np.zeros(n, dtype=np.int8), np.zeros(n, dtype=np.int64), np.zeros(n)
    )


def make_write_targets(game: Game) -> Compiled:
    """Returns `write_targets(record, first, end, outcome, trace_decay, T)`.

    It writes the lambda-returns of one game's positions, `first` to `end` - 1, each for the player who acts there.
    """
    current_player = game.rules.current_player

    @bind(game.room, inline=True)
    def write_targets(record, first, end, outcome, trace_decay, T):
        target = outcome
        for back in range(end - first):
            t = end - 1 - back
            if record.kinds[t] == EXPLORED or record.kinds[t] == EXACT:
                target = record.values[t]
            elif record.kinds[t] != AFTERSTATE:
                target = (1.0 - trace_decay) * record.values[t] + trace_decay * target
            record.targets[t] = for_player_zero(target, current_player(record.rows, np.uint64(t), T))

    return write_targets
