"""The compiled part of temporal-difference learning: games played greedily, then learned from backward.

One template, compiled per game with its rules and its n-tuple functions injected.
"""

from __future__ import annotations

import functools
from types import SimpleNamespace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from leafwise.envs.core.game import Game
from leafwise.envs.core.jit import specialise
from leafwise.envs.core.rules import CHANCE, TERMINAL, copy_row
from leafwise.envs.core.stream import new_stream
from leafwise.models.ntuple import compiled as ntuple_functions

HERE, AFTER, FIRST = np.uint64(0), np.uint64(1), np.uint64(2)
"""Rows: the decision, the row after an action, the first outcome of chance."""
MOVES, GAMES, FRESH_GAMES, RESTARTED = 0, 1, 2, 3
"""Counters: actions, trajectories, games played from a start, and whether this trajectory began in mid-game."""
LONGEST = 30_000
"""Longest trajectory that is kept; a longer game is learned from in parts."""


class Trainer(NamedTuple):
    """State and scratch of one learner."""

    S: NDArray[np.uint64]
    A: NDArray[np.int64]
    P: NDArray[np.float64]
    R: NDArray[np.uint64]
    H: NDArray[np.uint64]
    """Rows of the trajectory, each at the stage that is valued."""
    counts: NDArray[np.int64]
    sums: NDArray[np.float64]
    """Sum of returns and of squared errors, since the caller last cleared them."""


def new_trainer(game: Game, seed: int) -> Trainer:
    """Returns a learner that is about to start its first game."""
    return Trainer(
        S=game.rows(3 + game.max_outcomes),
        A=np.zeros(game.max_actions, dtype=np.int64),
        P=np.zeros(3 + game.max_outcomes),
        R=new_stream(seed),
        H=game.rows(LONGEST),
        counts=np.zeros(4, dtype=np.int64),
        sums=np.zeros(2),
    )


def settle(S, R, T):
    """Draws every chance stage up to the next decision or end of row HERE."""
    while current_player(S, HERE, T) == CHANCE:
        sample_outcome(S, HERE, R, T)


def best_action(S, A, P, T):
    """Returns the action of row HERE with the best expected value right after its first chance stage."""
    n = legal_actions(S, HERE, A, T)
    best, chosen = 0.0, A[0]
    for k in range(n):
        apply_action(S, HERE, A[k], AFTER, T)
        total = 0.0
        if current_player(S, AFTER, T) != CHANCE or stage(S, AFTER, T) == VALUED_STAGE:
            total = ntuple_value(S, AFTER, T)
        else:
            outcomes = np.uint64(chance_outcomes(S, AFTER, P, FIRST, T))
            for o in range(FIRST, FIRST + outcomes):
                total += P[o] * ntuple_value(S, o, T)
        if k == 0 or total > best:
            best, chosen = total, A[k]
    return chosen


def act(S, R, a, T):
    """Plays an action at row HERE and draws chance up to the stage that is valued."""
    apply_action(S, HERE, a, AFTER, T)
    copy_row(S, AFTER, HERE)
    while current_player(S, HERE, T) == CHANCE and stage(S, HERE, T) != VALUED_STAGE:
        sample_outcome(S, HERE, R, T)


def learn(L, length, rate, decay, T):
    """Updates the weights backward along a trajectory; `rate` is per active weight."""
    last = np.uint64(length - 1)
    later = 0.0 if current_player(L.H, last, T) == TERMINAL else to_come(L.H, last, T)
    target, later_potential = later, potential(L.H, last, T)
    for back in range(1, length):
        t = np.uint64(length - 1 - back)
        own_potential = potential(L.H, t, T)
        target = later_potential - own_potential + (1.0 - decay) * later + decay * target
        later = to_come(L.H, t, T)
        error = target - later
        L.sums[1] += error * error
        add_to_weights(L.H, t, rate * error, T)
        later_potential = own_potential


def td_games(L, moves, rate, decay, restart, T):
    """Plays and learns until `moves` actions more have been played, up to the end of a trajectory.

    `rate` is the step per active weight, `decay` the lambda of TD(lambda). A trajectory longer than `restart` actions is
    followed by one from its middle (0: never).
    """
    goal = L.counts[MOVES] + moves
    while L.counts[MOVES] < goal and not T.stop[0]:
        if L.counts[RESTARTED] == 0:
            initial_state(L.S, HERE, T)
        settle(L.S, L.R, T)
        length = 0
        while current_player(L.S, HERE, T) != TERMINAL and length < L.H.shape[0]:
            act(L.S, L.R, best_action(L.S, L.A, L.P, T), T)
            for w in range(L.S.shape[1]):
                L.H[length, w] = L.S[HERE, w]
            length += 1
            settle(L.S, L.R, T)
        L.counts[MOVES] += length
        L.counts[GAMES] += 1
        if L.counts[RESTARTED] == 0:
            L.counts[FRESH_GAMES] += 1
            L.sums[0] += returns(L.S, HERE, T)
        learn(L, length, rate, decay, T)
        L.counts[RESTARTED] = 0
        if restart > 0 and length > restart:
            L.counts[RESTARTED] = 1
            for w in range(L.S.shape[1]):
                L.S[HERE, w] = L.H[length // 2, w]


def greedy_games(L, keys, scores, T):
    """Plays one game per key of `keys` without learning; writes the returns."""
    for g in range(keys.shape[0]):
        L.R[0], L.R[1] = keys[g], np.uint64(0)
        initial_state(L.S, HERE, T)
        settle(L.S, L.R, T)
        while current_player(L.S, HERE, T) != TERMINAL and not T.stop[0]:
            act(L.S, L.R, best_action(L.S, L.A, L.P, T), T)
            settle(L.S, L.R, T)
        scores[g] = returns(L.S, HERE, T)


@functools.cache
def kernels(game: Game, most_runs: int) -> SimpleNamespace:
    """Returns td_games and greedy_games compiled for a game and for tuples of at most `most_runs` runs."""
    scope = dict(ntuple_functions(game, most_runs))
    name = f"{game.name}_{most_runs}"
    scope["VALUED_STAGE"] = game.stages.index(game.cells.stage) if game.cells else 0
    for template in (settle, best_action, act, learn, td_games, greedy_games):
        scope[template.__name__] = specialise(
            template, name, scope, game.room, inline=template not in (td_games, greedy_games)
        )
    return SimpleNamespace(td_games=scope["td_games"], greedy_games=scope["greedy_games"])
