"""What all compiled games of learning share: the rows that they are played in, and the steps between two decisions."""

from __future__ import annotations

import numpy as np

from leafwise.envs.core.compile.jit import bind, jit
from leafwise.envs.core.contract.game import Game
from leafwise.envs.core.contract.rules import CHANCE, Compiled

HERE, AFTER, FREE = np.uint64(0), np.uint64(1), np.uint64(2)
"""Rows: the position played, the one after an action, the first that a search may use."""


@jit(inline=True)
def put_row(S, i, rows, j):
    """Copies row i of `S` [n, width] to row j of `rows` [m, width]."""
    for w in range(rows.shape[1]):
        rows[j, w] = S[i, w]


def make_settle(game: Game) -> Compiled:
    """Returns `settle(S, R, T)`: draws every chance stage up to the next decision or end of row HERE from stream `R`."""
    current_player, sample_outcome = game.rules.current_player, game.rules.sample_outcome

    @bind(game.room, inline=True)
    def settle(S, R, T):
        while current_player(S, HERE, T) == CHANCE:
            sample_outcome(S, HERE, R, T)

    return settle


def make_settle_to_stage(game: Game, valued: int) -> Compiled:
    """Returns `settle_to_stage(S, R, T)`: draws chance as `settle` does, but only up to the stage that is valued."""
    rules = game.rules
    current_player, stage, sample_outcome = rules.current_player, rules.stage, rules.sample_outcome

    @bind(game.room, inline=True)
    def settle_to_stage(S, R, T):
        while current_player(S, HERE, T) == CHANCE and stage(S, HERE, T) != valued:
            sample_outcome(S, HERE, R, T)

    return settle_to_stage
