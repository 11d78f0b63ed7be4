"""A tiny game for tests of `check_game`: toss a coin up to three times onto a left or a right pile, or stop before.

A head counts 2 (1/3), a tail 1 (2/3). `GAME` is sound; `planted.py` has variants of it with a mistake each.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import gymnasium as gym
import numpy as np

from leafwise.authoring import (
    CHANCE,
    TERMINAL,
    Canvas,
    Chance,
    Evaluator,
    Game,
    Observation,
    Rules,
    SearchDefaults,
    Sizes,
    Symmetries,
    Text,
    View,
    below,
    jit,
    u64,
)

LEFT, RIGHT, STOP = range(3)
TOSSES, PHASE, WIDTH = 2, 3, 4  # words of a row: both piles, tosses so far, phase
DECIDING, TOSS_LEFT, TOSS_RIGHT, OVER = range(4)
ONE = u64(1)
ONEHOT = gym.spaces.Box(0, 1, (4, 7), np.float32)


class Tables(NamedTuple):
    worth: Any
    limit: int
    seen: Any
    candidates: int
    stop: Any
    leaf: Any


@jit
def initial_state(S, i, T):
    for w in range(WIDTH):
        S[i, w] = 0


@jit
def current_player(S, i, T):
    phase = S[i, PHASE]
    return 0 if phase == DECIDING else TERMINAL if phase == OVER else CHANCE


@jit
def stage(S, i, T):
    return 1 if S[i, PHASE] == TOSS_LEFT or S[i, PHASE] == TOSS_RIGHT else 0


@jit
def legal_actions(S, i, A, T):
    A[0], A[1], A[2] = LEFT, RIGHT, STOP
    return 3


@jit
def copy(S, i, j):
    for w in range(WIDTH):
        S[j, w] = S[i, w]


@jit
def apply_action(S, i, a, j, T):
    copy(S, i, j)
    S[j, PHASE] = OVER if a == STOP else TOSS_LEFT + a


@jit
def land(S, i, j, side, T):
    """Puts the coin of row i on a side in row j."""
    pile = np.int64(S[i, PHASE]) - TOSS_LEFT
    copy(S, i, j)
    S[j, pile] = S[i, pile] + T.worth[side]
    S[j, TOSSES] = S[i, TOSSES] + 1
    S[j, PHASE] = OVER if S[j, TOSSES] == T.limit else DECIDING


@jit
def chance_outcomes(S, j, P, o, T):
    for side in range(2):
        land(S, j, o + u64(side), side, T)
        P[o + u64(side)] = (2 - side) / 3
    return 2


@jit
def sample_outcome(S, j, R, T):
    land(S, j, j, 1 if below(R, 3) == 2 else 0, T)


@jit
def returns(S, i, T):
    return float(S[i, 0] + S[i, 1])


@jit
def observe(S, i, O, e, T):
    for w in range(WIDTH):
        O[e, w] = S[i, w]


@jit
def see(S, i, player, O, e, T):
    """Writes each word with one number of 1."""
    for w in range(WIDTH):
        for k in range(7):
            O[e, w, k] = S[i, w] == k


@jit
def transform(S, i, k, j, T):
    """Swaps the piles."""
    left, right, phase = S[i, 0], S[i, 1], S[i, PHASE]
    copy(S, i, j)
    if k == 1:
        S[j, 0], S[j, 1] = right, left
        if phase in (TOSS_LEFT, TOSS_RIGHT):
            S[j, PHASE] = TOSS_LEFT + TOSS_RIGHT - phase


@jit
def transform_action(a, k, T):
    return 1 - a if k == 1 and a < STOP else a


def write(row, T):
    return " ".join(str(int(word)) for word in row)


def parse(text, T):
    words = text.split()
    if len(words) != WIDTH or not all(word.isascii() and word.isdigit() and len(word) < 3 for word in words):
        raise ValueError(f"coins: expected four numbers, got {text!r}")
    return np.array([int(word) for word in words], dtype=np.uint16)


def outcome_name(before, after, T):
    return "head" if sum(map(int, after[:2])) - sum(map(int, before[:2])) == 2 else "tail"


def draw(row, T):
    canvas = Canvas(160, 60)
    canvas.text(80, 30, write(row, T))
    return canvas


def make_tables(options):
    return Tables(np.array([1, 2]), 3, np.zeros(4, dtype=np.uint8), 0, np.zeros(1, dtype=np.uint8), ())


def make(module: str = __name__, **changes: Any) -> Game:
    """Returns the game in a module, with some of its rules, sizes or texts replaced, each given by its name."""
    has: dict[str, Any] = {
        "initial_state": initial_state,
        "current_player": current_player,
        "legal_actions": legal_actions,
        "apply_action": apply_action,
        "returns": returns,
        "observe": observe,
        "outcomes": chance_outcomes,
        "sample": sample_outcome,
        "stage": stage,
        "max_outcomes": 2,
        "transform": transform,
        "transform_action": transform_action,
        "count": 2,
        "width": WIDTH,
        "max_actions": 3,
        "space": gym.spaces.Box(0, 6, (WIDTH,), np.float32),
        "see": see,
        "action_names": ("left", "right", "stop"),
        "write": write,
        "parse": parse,
        "outcome_name": outcome_name,
        "score": returns,
        "return_range": (0.0, 6.0),
        **changes,
    }

    def some(*names: str) -> dict[str, Any]:
        return {name: has[name] for name in names if name in has}

    return Game(
        name="coins",
        title="A tiny game for tests",
        module=module,
        players=1,
        rules=Rules(
            chance=Chance(stages=("decision", "toss"), **some("outcomes", "sample", "stage", "max_outcomes")),
            **some("initial_state", "current_player", "legal_actions", "apply_action", "returns", "observe"),
            **some("action_cost", "candidates", "key", "is_valid"),
        ),
        sizes=Sizes(dtype=np.uint16, **some("width", "max_actions")),
        observation=Observation(**some("space"), views={"onehot": View(ONEHOT, has["see"])}),
        text=Text(**some("write", "parse", "outcome_name")),
        symmetries=Symmetries(**some("count", "transform", "transform_action")),
        search=SearchDefaults(candidates=("all", "some") if "candidates" in has else ()),
        make_tables=make_tables,
        draw=draw,
        scores={"sum": lambda options: Evaluator("sum", has["score"], low=-1.0, high=100.0)},
        scratch=("seen",),
        **some("action_names", "return_range"),
    )


GAME = make()
