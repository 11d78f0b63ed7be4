"""Where the compiled games that learn begin: at a start, in the middle of a long one, or in turn at highest cells.

Source of the latter: Jaskowski, "Mastering 2048 with delayed temporal coherence learning", TCIAIG 2018 (carousel shaping).
"""

from __future__ import annotations

import numpy as np

from leafwise.envs.core.compile.jit import bind
from leafwise.envs.core.contract.game import Game
from leafwise.envs.core.contract.rules import Compiled
from leafwise.envs.core.contract.stream import below
from leafwise.training.games.steps import HERE, make_settle, put_row

MOVES, GAMES, FRESH_GAMES, RESTARTED = 0, 1, 2, 3
"""Counters: actions, trajectories, games played from a start, and where this trajectory began: 0 at a start, else in mid-game, with
a carousel at its first, second, ... mark."""
RETURNS, SQUARED_ERRORS = 0, 1
"""Sums."""
CAROUSEL = 1000
"""Positions that are kept of each mark of a carousel, the last ones."""


def make_trajectories(game: Game, highest: Compiled) -> tuple[Compiled, Compiled]:
    """Returns `open_trajectory(trainer, T)`, which puts the start of the next one to row HERE, and `close_trajectory(trainer,
    length, restart, T)`, which counts one of `length` actions and says where the next begins: in turn at each of the trainer's
    marks that was met, or in the middle of one of more than `restart` actions."""
    initial_state, returns, settle = game.rules.initial_state, game.rules.returns, make_settle(game)

    @bind(game.room, inline=True)
    def open_trajectory(trainer, T):
        if trainer.counts[RESTARTED] == 0:
            initial_state(trainer.S, HERE, T)
        settle(trainer.S, trainer.R, T)

    @bind(game.room)
    def keep_firsts(trainer, length, T):
        before = highest(trainer.trajectory, np.uint64(0), T)
        for i in range(1, length):
            now = highest(trainer.trajectory, np.uint64(i), T)
            for k in range(trainer.marks.shape[0]):
                if before < trainer.marks[k] <= now:
                    put_row(trainer.trajectory, i, trainer.firsts[k], trainer.met[k] % CAROUSEL)
                    trainer.met[k] += 1
            before = max(before, now)

    @bind(game.room, inline=True)
    def close_trajectory(trainer, length, restart, T):
        counts, marks = trainer.counts, trainer.marks.shape[0]
        counts[MOVES] += length
        counts[GAMES] += 1
        if counts[RESTARTED] == 0:
            counts[FRESH_GAMES] += 1
            trainer.sums[RETURNS] += returns(trainer.S, HERE, T)
        if marks > 0:
            keep_firsts(trainer, length, T)
            k = counts[RESTARTED]
            counts[RESTARTED] = k + 1 if k < marks and trainer.met[k] > 0 else 0
            if counts[RESTARTED] > 0:
                put_row(trainer.firsts[k], below(trainer.R, min(trainer.met[k], CAROUSEL)), trainer.S, HERE)
            return
        counts[RESTARTED] = 0
        if restart > 0 and length > restart:
            counts[RESTARTED] = 1
            put_row(trainer.trajectory, length // 2, trainer.S, HERE)

    return open_trajectory, close_trajectory
