"""The smallest game: seven stones, take one to three, the player who takes the last one wins (two players)."""

from __future__ import annotations

import gymnasium as gym
import numpy as np

from leafwise.authoring import TERMINAL, Game, Observation, Rules, Sizes, jit

STONES, PLAYER = 0, 1


@jit
def initial_state(S, i, T):
    S[i, STONES], S[i, PLAYER] = 7, 0


@jit
def current_player(S, i, T):
    return S[i, PLAYER] if S[i, STONES] else TERMINAL


@jit
def legal_actions(S, i, A, T):
    n = min(3, S[i, STONES])
    for k in range(n):
        A[k] = k
    return n


@jit
def apply_action(S, i, a, j, T):
    S[j, STONES], S[j, PLAYER] = S[i, STONES] - a - 1, 1 - S[i, PLAYER]


@jit
def returns(S, i, T):
    return 0.0 if S[i, STONES] else 2.0 * S[i, PLAYER] - 1.0


@jit
def observe(S, i, O, e, T):
    O[e, 0] = S[i, STONES]


GAME = Game(
    name="nim",
    title="Nim with seven stones (two players)",
    module=__name__,
    players=2,
    rules=Rules(initial_state, current_player, legal_actions, apply_action, returns, observe),
    sizes=Sizes(width=2, max_actions=3, dtype=np.int64),
    observation=Observation(gym.spaces.Box(0, 7, (1,), np.float32)),
)
