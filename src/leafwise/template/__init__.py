"""Template: fifteen stones; in turn two players take one to three of them, and who takes the last one has won.

What `leafwise new` writes is a copy of this file. A game is compiled functions on rows of a two-dimensional array `S`: a row is a
position, `T` holds what all positions share. `leafwise.authoring.Rules` says what each function takes and returns.
"""

from __future__ import annotations

import re
from typing import Any, NamedTuple

import gymnasium as gym
import numpy as np
from numpy.typing import NDArray

from leafwise.authoring import TERMINAL, Canvas, Evaluator, Game, Observation, Rules, Sizes, Text, jit

LEFT, PLAYER = 0, 1  # the words of a row: stones that are left, and who takes next, 0 or 1
STONES, MOST = 15, 3
SEATS = ("first", "second")


class Tables(NamedTuple):
    """`T`: add tables and options of the game here."""

    stop: NDArray[np.uint8]
    leaf: Any


@jit
def initial_state(S, i, T):
    S[i, LEFT] = STONES
    S[i, PLAYER] = 0


@jit
def current_player(S, i, T):
    return TERMINAL if S[i, LEFT] == 0 else S[i, PLAYER]


@jit
def legal_actions(S, i, A, T):
    n = min(S[i, LEFT], MOST)
    for k in range(n):
        A[k] = k
    return n


@jit
def apply_action(S, i, a, j, T):
    S[j, LEFT] = S[i, LEFT] - (a + 1)
    S[j, PLAYER] = 1 - S[i, PLAYER]


@jit
def returns(S, i, T):
    """Says what the game is worth to the first player: 1 won, -1 lost, 0 not yet over."""
    if S[i, LEFT] > 0:
        return 0.0
    return 1.0 if S[i, PLAYER] == 1 else -1.0


@jit
def observe(S, i, O, e, T):
    O[e, 0] = S[i, LEFT]


@jit
def few(S, i, T):
    """Guesses that few stones are good for who takes next: a score to begin with."""
    return 1.0 - 2.0 * S[i, LEFT] / STONES


def write(row: NDArray[Any], T: Tables) -> str:
    return f"{row[LEFT]} {SEATS[row[PLAYER]]}"


def parse(text: str, T: Tables) -> NDArray[Any]:
    found = re.fullmatch(r"(\d\d?) (first|second)", text)
    if found is None or int(found[1]) > STONES:
        raise ValueError(f"expected 0 to {STONES} stones and first or second, got {text!r}")
    return np.array([int(found[1]), SEATS.index(found[2])], dtype=np.int64)


def draw(row: NDArray[Any], T: Tables) -> Canvas:
    canvas = Canvas(20 * STONES + 20, 60)
    for k in range(row[LEFT]):
        canvas.disc(20 + 20 * k, 20, 8, fill="#7a6a58")
    canvas.text(10 * STONES + 10, 48, f"{SEATS[row[PLAYER]]} player")
    return canvas


GAME = Game(
    name="template",
    title="Template, take one to three stones, who takes the last one wins (two players)",
    module=__name__,
    players=2,
    rules=Rules(initial_state, current_player, legal_actions, apply_action, returns, observe),
    sizes=Sizes(width=2, max_actions=MOST, dtype=np.int64),
    observation=Observation(gym.spaces.Box(0, STONES, (1,), np.float32)),
    make_tables=lambda options: Tables(np.zeros(1, dtype=np.uint8), ()),
    action_names=("1", "2", "3"),
    text=Text(write, parse),
    draw=draw,
    scores={"few": lambda options: Evaluator("few", few, low=-1.0, high=1.0)},
    ids={"Template": {}},
)
