"""One turn of Pig: roll a die up to five times and keep the sum, stop when you like, and lose all on a 1 (one player).

A whole game in one file. A row has three words: the sum, the number of rolls, and the phase: deciding, rolling or over.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import gymnasium as gym
import numpy as np
from numpy.typing import NDArray

from leafwise.authoring import (
    CHANCE,
    TERMINAL,
    Canvas,
    Chance,
    Evaluator,
    Game,
    Observation,
    Rules,
    Sizes,
    Text,
    below,
    jit,
)

ROLL, STOP = 0, 1
SUM, ROLLS, PHASE = 0, 1, 2
DECIDING, ROLLING, OVER = 0, 1, 2
PHASES = ("deciding", "rolling", "over")
MOST_ROLLS = 5


class Tables(NamedTuple):
    stop: NDArray[np.uint8]
    leaf: Any


@jit
def initial_state(S, i, T):
    S[i, SUM] = 0
    S[i, ROLLS] = 0
    S[i, PHASE] = DECIDING


@jit
def current_player(S, i, T):
    return 0 if S[i, PHASE] == DECIDING else CHANCE if S[i, PHASE] == ROLLING else TERMINAL


@jit
def legal_actions(S, i, A, T):
    A[0], A[1] = ROLL, STOP
    return 2


@jit
def apply_action(S, i, a, j, T):
    for word in range(3):
        S[j, word] = S[i, word]
    S[j, PHASE] = ROLLING if a == ROLL else OVER


@jit
def land(S, i, j, pips):
    """Writes row i after a roll to row j."""
    S[j, SUM] = S[i, SUM] + pips if pips > 1 else 0
    S[j, ROLLS] = S[i, ROLLS] + 1
    S[j, PHASE] = OVER if pips == 1 or S[j, ROLLS] == MOST_ROLLS else DECIDING


@jit
def chance_outcomes(S, j, P, o, T):
    for pips in range(1, 7):
        land(S, j, o + np.uint64(pips - 1), pips)
        P[o + np.uint64(pips - 1)] = 1 / 6
    return 6


@jit
def sample_outcome(S, j, R, T):
    land(S, j, j, np.int64(below(R, 6)) + 1)


@jit
def returns(S, i, T):
    return float(S[i, SUM])


@jit
def observe(S, i, O, e, T):
    O[e, 0], O[e, 1] = S[i, SUM], S[i, ROLLS]


def write(row: NDArray[Any], T: Tables) -> str:
    return f"{row[SUM]} after {row[ROLLS]} rolls, {PHASES[row[PHASE]]}"


def parse(text: str, T: Tables) -> NDArray[Any]:
    words = text.replace(",", "").split()
    if (
        len(words) != 5
        or not (words[0] + words[2]).isdecimal()
        or words[1::2] != ["after", "rolls"]
        or words[4] not in PHASES
    ):
        raise ValueError(f"expected a position like '9 after 2 rolls, deciding', got {text!r}")
    total, rolls, phase = int(words[0]), int(words[2]), PHASES.index(words[4])
    is_bust = total == 0 and rolls > 0
    if rolls > MOST_ROLLS or not (is_bust or 2 * rolls <= total <= 6 * rolls):
        raise ValueError(f"expected at most {MOST_ROLLS} rolls of 2 to 6, or a sum of 0, got {text!r}")
    if (is_bust or rolls == MOST_ROLLS) and phase != OVER:
        raise ValueError(f"expected a turn that is over, got {text!r}")
    return np.array([total, rolls, phase], dtype=np.int64)


def outcome_name(before: NDArray[Any], after: NDArray[Any], T: Tables) -> str:
    return str(max(1, after[SUM] - before[SUM]))


def draw(row: NDArray[Any], T: Tables) -> Canvas:
    canvas = Canvas(180, 60)
    canvas.text(90, 30, write(row, T).partition(",")[0])
    return canvas


GAME = Game(
    name="pig",
    title="Pig, one turn of at most five rolls (one player)",
    module=__name__,
    players=1,
    rules=Rules(
        initial_state=initial_state,
        current_player=current_player,
        legal_actions=legal_actions,
        apply_action=apply_action,
        returns=returns,
        observe=observe,
        chance=Chance(chance_outcomes, sample_outcome, max_outcomes=6, stages=("decision", "roll")),
    ),
    sizes=Sizes(width=3, max_actions=2, dtype=np.int64),
    observation=Observation(gym.spaces.Box(0, 6 * MOST_ROLLS, (2,), np.float32)),
    make_tables=lambda options: Tables(np.zeros(1, dtype=np.uint8), ()),
    action_names=("roll", "stop"),
    text=Text(write, parse, outcome_name),
    draw=draw,
    scores={"sum": lambda options: Evaluator("sum", returns)},
    return_range=(0.0, 6.0 * MOST_ROLLS),
    ids={"Pig": {}},
)
