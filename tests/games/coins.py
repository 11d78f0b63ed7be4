"""A tiny game for tests of `check_game`: toss a coin up to three times onto a left or a right pile, stop when you like.

A head counts 2 (1/3), a tail 1 (2/3). `GAME` is sound; `PLANTED` holds variants of it with one mistake each, and what is said.
"""

from __future__ import annotations

import os
from typing import Any, NamedTuple

import gymnasium as gym
import numpy as np

from leafwise.envs.core.compile.intrinsics import prefetch
from leafwise.envs.core.compile.jit import jit
from leafwise.envs.core.contract.evaluator import Evaluator
from leafwise.envs.core.contract.game import Game
from leafwise.envs.core.contract.parts import Observation, Sizes, Text
from leafwise.envs.core.contract.rules import CHANCE, TERMINAL, Chance, Rules, Symmetries
from leafwise.envs.core.contract.stream import below, u64
from leafwise.envs.core.pictures.canvas import Canvas

LEFT, RIGHT, STOP = range(3)
TOSSES, PHASE, WIDTH = 2, 3, 4  # words of a row: both piles, tosses so far, phase
DECIDING, TOSS_LEFT, TOSS_RIGHT, OVER = range(4)
ONE = u64(1)


class Tables(NamedTuple):
    worth: Any
    limit: int
    seen: Any
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
    """Lets the coin of row i fall on a side in row j."""
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
    return Tables(np.array([1, 2]), 3, np.zeros(4, dtype=np.uint8), np.zeros(1, dtype=np.uint8), ())


def make(**changes: Any) -> Game:
    """Returns the game with some of its rules, sizes or texts changed, each given by its name."""
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
        module=__name__,
        players=1,
        rules=Rules(
            chance=Chance(stages=("decision", "toss"), **some("outcomes", "sample", "stage", "max_outcomes")),
            **some("initial_state", "current_player", "legal_actions", "apply_action", "returns", "observe"),
            **some("action_cost", "candidates", "key"),
        ),
        sizes=Sizes(dtype=np.uint16, **some("width", "max_actions")),
        observation=Observation(**some("space")),
        text=Text(**some("write", "parse", "outcome_name")),
        symmetries=Symmetries(**some("count", "transform", "transform_action")),
        make_tables=make_tables,
        draw=draw,
        scores={"sum": lambda options: Evaluator("sum", has["score"], low=-1.0, high=100.0)},
        scratch=("seen",),
        **some("action_names", "return_range"),
    )


GAME = make()

PLANTED: dict[str, Game] = {}
"""The game with a mistake each."""
SAID: dict[str, str] = {}
"""What is said of each mistake, as a regular expression: the rule, and what was expected and got."""


def planted(said: str, **changes: Any) -> None:
    """Adds a mistake, named after the change unless a function brings its own name."""
    function = next((f for f in changes.values() if hasattr(f, "__name__") and f.__name__ != "<lambda>"), None)
    name = getattr(function, "__name__", "_".join(changes))
    name += f"_{len(PLANTED)}" if name in PLANTED else ""
    PLANTED[name], SAID[name] = make(**changes), said


# sizes


planted(
    r"chance_outcomes: expected row 0 to 3 of S to be written, got 4.*max_outcomes = 1, at '\d \d \d [12]'",
    max_outcomes=1,
)
planted(r"legal_actions: expected index 0 to 1 of A to be written, got 2.*max_actions = 2, at '0 0 0 0'", max_actions=2)
planted(r"initial_state: expected index 1 0 to 2 of S to be written, got 3", width=3)
planted(
    r"observe: expected O\[e, 0\] in 0..3 \(observation space\), got [456], at '[456] \d \d \d'",
    space=gym.spaces.Box(0, 3, (WIDTH,), np.float32),
)
planted(r"returns: expected a number within return_range 0 to 4, got [56]", return_range=(0.0, 4.0))
planted(
    r"legal_actions: expected ids in 0..1 \(action names\), got \[0, 1, 2\]",
    action_names=("left", "right"),
)


@jit
def narrow_observation(S, i, O, e, T):
    for w in range(WIDTH + 1):
        O[e, w] = 0


planted(
    r"observe: expected index 1 0 to 3 of O to be written, got 4.*the observation space", observe=narrow_observation
)

# who acts, and when


@jit
def stage_never(S, i, T):
    return 0


planted(r"stage: expected a chance stage, 1 or more .* where chance acts, got 0, at '0 0 0 [12]'", stage=stage_never)


@jit
def stage_always(S, i, T):
    return 1


planted(r"stage: expected 0, 'decision', where a player acts, got 1", stage=stage_always)


@jit
def stage_beyond(S, i, T):
    return 2 * stage(S, i, T)


planted(r"stage: expected a stage in 0..1 .*, got 2", stage=stage_beyond)


@jit
def second_player(S, i, T):
    return 1 if S[i, PHASE] == DECIDING else current_player(S, i, T)


planted(
    r"current_player: expected 0, CHANCE \(-1\) or TERMINAL \(-4\), got 1, at '0 0 0 0'", current_player=second_player
)


@jit
def never_over(S, i, T):
    return CHANCE if S[i, PHASE] == OVER else current_player(S, i, T)


planted(r"stage: expected a chance stage", current_player=never_over)


@jit
def half_players(S, i, T):
    return 0.5


planted(r"current_player: expected a whole number, got 0.5", current_player=half_players)

# actions


@jit
def descending(S, i, A, T):
    A[0], A[1], A[2] = STOP, RIGHT, LEFT
    return 3


planted(r"legal_actions: expected ids that ascend, each once, got \[2, 1, 0\]", legal_actions=descending)


@jit
def unwritten_action(S, i, A, T):
    A[0], A[1] = LEFT, RIGHT
    return 3


planted(r"legal_actions: expected the same actions twice, each written, got \[0, 1, ", legal_actions=unwritten_action)


@jit
def no_action(S, i, A, T):
    return 0


planted(r"legal_actions: expected at least one action at a decision, got none", legal_actions=no_action)


@jit
def too_many_actions(S, i, A, T):
    return 4


planted(r"legal_actions: expected a number of actions in 0..3 \(max_actions\), got 4", legal_actions=too_many_actions)


@jit
def forgets_a_word(S, i, a, j, T):
    for w in range(WIDTH - 2):
        S[j, w] = S[i, w]
    S[j, PHASE] = OVER if a == STOP else TOSS_LEFT + a


planted(r"apply_action: expected every word of the row to be written.*got word 2", apply_action=forgets_a_word)


@jit
def changes_the_position(S, i, a, j, T):
    S[i, PHASE] = OVER if a == STOP else TOSS_LEFT + a
    copy(S, i, j)


planted(r"apply_action: expected only rows \(2\) of S to be written, got row 1", apply_action=changes_the_position)


@jit
def not_in_place(S, i, a, j, T):
    S[j, PHASE] = OVER if a == STOP else TOSS_LEFT + a
    for w in range(PHASE):
        S[j, w] = S[i, w]
    if S[i, PHASE] != DECIDING:
        S[j, TOSSES] = 9


planted(r"apply_action: expected the same row where i and j are one, got another word 2", apply_action=not_in_place)


@jit
def negative_index(S, i, a, j, T):
    copy(S, i, j)
    S[j, -1] = OVER if a == STOP else TOSS_LEFT + a


planted(
    r"apply_action: expected index 1 0 to 3 of S to be written, got -1 in coins.py line \d+, `S\[j, -1\].*action 'left'",
    apply_action=negative_index,
)


@jit
def does_not_fit(S, i, a, j, T):
    copy(S, i, j)
    S[j, PHASE] = a - 1


planted(r"apply_action: expected a number in 0..65535 \(uint16\) in S\[2, 3\], got -1", apply_action=does_not_fit)


@jit
def fractions(S, i, a, j, T):
    copy(S, i, j)
    S[j, PHASE] = a + 0.5


planted(r"apply_action: expected a whole number in S\[2, 3\], got 0.5", apply_action=fractions)


@jit
def misspelt(S, i, a, j, T):
    copy(S, i, j)
    S[j, PHASE] = OVER if a == STOP or S[j, TOSSES] == T.limmit else TOSS_LEFT + a


planted(
    r"apply_action: expected a field of Tables among \(worth, limit, seen, stop, leaf\), got 'limmit' in coins.py line \d+",
    apply_action=misspelt,
)


@jit
def no_tables(S, i, a, j):
    copy(S, i, j)


planted(r"apply_action: expected the arguments \(S, i, a, j, T\), got \(S, i, a, j\)", apply_action=no_tables)


@jit
def costs_two(S, i, a, T):
    return 2


planted(r"action_cost: expected 0 or 1, got 2.*action 'left'", action_cost=costs_two)


@jit
def free_tosses(S, i, a, T):
    return 1 if a == STOP else 0


planted(
    r"action_cost: expected at most 1 decisions in one unit of search depth \(decisions_per_depth\), got 2",
    action_cost=free_tosses,
)


@jit
def other_candidates(S, i, A, T):
    A[0] = STOP + 1
    return 1


planted(r"candidates: expected some of the legal actions \[0, 1, 2\], got \[3\]", candidates=other_candidates)

# chance


@jit
def sums_to_more(S, j, P, o, T):
    n = chance_outcomes(S, j, P, o, T)
    P[o] = 0.7
    return n


planted(r"chance_outcomes: expected probabilities that sum to 1, got 1.0333", outcomes=sums_to_more)


@jit
def impossible_outcome(S, j, P, o, T):
    n = chance_outcomes(S, j, P, o, T)
    P[o], P[o + ONE] = 1.0, 0.0
    return n


planted(r"chance_outcomes: expected probabilities above 0 and at most 1, got 0", outcomes=impossible_outcome)


@jit
def same_outcomes(S, j, P, o, T):
    for side in range(2):
        land(S, j, o + u64(side), 0, T)
        P[o + u64(side)] = 0.5
    return 2


planted(r"chance_outcomes: expected outcomes that differ, got one row twice", outcomes=same_outcomes)


@jit
def from_the_first_row(S, j, P, o, T):
    for side in range(2):
        land(S, j, u64(side), side, T)
        P[side] = 0.5
    return 2


planted(r"chance_outcomes: expected only rows \(3, 4\) of S to be written, got row 0", outcomes=from_the_first_row)


@jit
def fair_coin(S, j, R, T):
    land(S, j, j, 1 if below(R, 2) == 1 else 0, T)


planted(
    r"sample_outcome: expected outcome [01] with the probability that chance_outcomes gives it, 0.[36]\d+, got it in 0.[45]",
    sample=fair_coin,
)


@jit
def other_outcome(S, j, R, T):
    land(S, j, j, 0, T)
    S[j, TOSSES] += 1


planted(r"sample_outcome: expected one of the outcomes, got the row \[", sample=other_outcome)
planted(r"outcome_name: expected names that differ, got 'coin' twice", outcome_name=lambda before, after, T: "coin")


@jit
def two_stages(S, i, T):
    return 1


@jit
def tosses_again(S, j, P, o, T):
    for side in range(2):
        land(S, j, o + u64(side), side, T)
        if S[j, TOSSES] == 0:
            S[o + u64(side), PHASE] = TOSS_LEFT
        P[o + u64(side)] = (2 - side) / 3
    return 2


@jit
def samples_again(S, j, R, T):
    before = S[j, TOSSES]
    land(S, j, j, 1 if below(R, 3) == 2 else 0, T)
    if before == 0:
        S[j, PHASE] = TOSS_LEFT


planted(
    r"stage: expected at most 1 chance stages in a row \(max_stages\), got 2",
    outcomes=tosses_again,
    sample=samples_again,
    count=1,
)

# returns and observations


@jit
def returns_nothing_known(S, i, T):
    return np.nan


planted(r"returns: expected a number within return_range 0 to 6, got nan", returns=returns_nothing_known)


@jit
def returns_of_before(S, i, T):
    T.seen[0] += 1
    return float(T.seen[0] % 5)


planted(r"returns: expected the same answer twice \(no state of its own\), got \d.0, then", returns=returns_of_before)


@jit
def returns_one_pile(S, i, T):
    return float(S[i, 0])


planted(r"transform: expected the same returns, \d.0, got \d.0 \(symmetry 1\)", returns=returns_one_pile)


@jit
def writes_tables(S, i, T):
    T.worth[0] = 1
    return float(S[i, 0] + S[i, 1])


planted(
    r"returns: expected only arrays named in `scratch` to be written, got a write to T.worth", returns=writes_tables
)


@jit
def looks_at_another_row(S, i, T):
    return float(S[i - ONE, 0] & 1)


planted(r"returns: expected only rows \(1\) of S to be read, got row 0", returns=looks_at_another_row)


@jit
def leaves_a_number(S, i, O, e, T):
    for w in range(WIDTH - 1):
        O[e, w] = S[i, w]


planted(r"observe: expected every number to be written, got none in O\[3\]", observe=leaves_a_number)


@jit
def first_observation(S, i, O, e, T):
    for w in range(WIDTH):
        O[0, w] = S[i, w]


planted(r"observe: expected only rows \(1\) of O to be written, got row 0", observe=first_observation)


@jit
def divides_by_zero(S, i, T):
    return 1 // int(S[i, TOSSES])


planted(r"returns: expected an answer, got ZeroDivisionError", returns=divides_by_zero)

# keys, texts, symmetries


@jit
def key_of_the_sum(S, i, T):
    return u64(S[i, 0] + S[i, 1] + 10 * S[i, PHASE])


planted(r"key: expected another key for another row, got \d+", key=key_of_the_sum)
planted(
    r"text: expected another text for another row",
    write=lambda row, T: " ".join(str(int(word)) for word in row[:3]) + " 0",
)
planted(
    r"parse: expected the row back that was written, \[0, 0, 0, 0\], got \[0, 0, 0, 1\]",
    parse=lambda text, T: [0, 0, 0, 1],
)
planted(
    r"text: expected one line of text, got '0\\n0\\n0\\n0'",
    write=lambda row, T: "\n".join(str(int(word)) for word in row),
)


@jit
def forgets_the_phase(S, i, k, j, T):
    left, right = S[i, 0], S[i, 1]
    copy(S, i, j)
    if k == 1:
        S[j, 0], S[j, 1] = right, left


planted(r"transform: expected the image of what 'left' leads to, .*symmetry 1", transform=forgets_the_phase)


@jit
def same_actions(a, k, T):
    return a


planted(r"transform: expected the image of what 'left' leads to", transform_action=same_actions)


@jit
def merges_actions(a, k, T):
    return 0


planted(
    r"transform_action: expected symmetry 0 to permute the 3 actions, got \[0, 0, 0\]", transform_action=merges_actions
)


@jit
def always_swaps(S, i, k, j, T):
    transform(S, i, 1, j, T)


planted(r"transform: expected symmetry 0 to leave the row, got another row", transform=always_swaps)
planted(r"transform: expected symmetry 2 of 3 to change some position or action", count=3)

# scores, and ends of the process


@jit
def boundless(S, i, T):
    return 1.0 / (float(S[i, 0]) - float(S[i, 0]))


@jit
def too_high(S, i, T):
    return 101.5


planted(
    r"score sum: expected a finite number in -1..100, got 101.5",
    score=too_high,
)


def leaves(S, i, T):
    os._exit(3)


planted(
    r"returns: expected an answer from the plain build, got an end of the process \(exit status 3\)", returns=leaves
)


def hangs(S, i, T):
    while True:
        pass


planted(r"returns: expected an answer from the plain build, got no answer in 4 s", returns=hangs)


def wants_memory(S, i, T):
    return float(len(bytearray(1 << 40)))


planted(r"returns: expected an answer, got MemoryError", returns=wants_memory)

# what compiled code alone shows


@jit
def two_types(S, i, T):
    return "none" if S[i, PHASE] > 9 else 1.0


@jit
def allocates(S, i, T):
    return np.zeros(3)[0]


@jit
def reads_beyond(S, i, T):
    return float(T.worth[u64(S[i, TOSSES])])


@jit
def reads_before(S, i, T):
    return float(T.worth[np.int64(S[i, TOSSES]) - 1])


@jit
def prefetches_beyond(S, i, T):
    prefetch(T.worth, np.int64(S[i, TOSSES]))
    return 0.0


@jit
def other_when_compiled(S, i, T):
    return 1.0 if u64(S[i, TOSSES]) - 1 < 0 else 0.0  # numba makes a float of an unsigned and a signed number


COMPILED: dict[str, Game] = {
    function.__name__: make(returns=function) for function in (two_types, reads_beyond, reads_before, prefetches_beyond)
}
"""Mistakes for the compiled build that checks indices."""
SAID_COMPILED = {
    "two_types": r"returns: two_types, coins.py line \d+, .* does not compile:\n.*unify.*numba's own words: ",
    "reads_beyond": r"returns: expected every index within its array, got an IndexError \(index 2 of axis 0 with size 2\)",
    "reads_before": r"returns: expected every index within its array, got an IndexError \(index -1 of axis 0 with size 2\)",
    "prefetches_beyond": r"returns: expected every index within its array, got an IndexError",
}
UNALIKE = make(returns=other_when_compiled)
"""Plain Python and compiled code answer differently."""
ALLOCATING = make(returns=allocates)
"""Cannot be compiled as it is played."""
