"""Nim with a number of stones that a test may change.

With 0 stones nobody decides, with 1 the second player never does, and below the first player takes stones without end. A rule
of learning gets features too.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from games import nim
from leafwise.authoring import jit


class Tables(NamedTuple):
    """What the rules read."""

    stones: NDArray[np.int64]
    """[1]"""
    stop: NDArray[np.uint8]
    leaf: Any


@jit
def initial_state(S, i, T):
    S[i, nim.STONES], S[i, nim.PLAYER] = T.stones[0], 0


@jit
def apply_action(S, i, a, j, T):
    if S[i, nim.STONES] < 0:
        S[j, nim.STONES], S[j, nim.PLAYER] = -1, 0
    else:
        S[j, nim.STONES], S[j, nim.PLAYER] = S[i, nim.STONES] - a - 1, 1 - S[i, nim.PLAYER]


@jit
def legal_actions(S, i, A, T):
    n = 1 if S[i, nim.STONES] < 0 else min(3, S[i, nim.STONES])
    for k in range(n):
        A[k] = k
    return n


GAME = replace(
    nim.GAME,
    name="undecided",
    title="Nim with any number of stones (two players)",
    module=__name__,
    rules=replace(nim.GAME.rules, initial_state=initial_state, apply_action=apply_action, legal_actions=legal_actions),
    make_tables=lambda options: Tables(np.array([7]), np.zeros(1, dtype=np.uint8), ()),
)
