"""All planted faults: a change of a sound game, and the message of `check_game` about it; `TABLE` has them all.

`@wrong(what, sentence)` patches one thing with the function below it, `planted(sentence, **patch)` anything. A sentence is a
regular expression. The games are the coins, Threes in what it does for many positions at once, and the dice race.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import gymnasium as gym
import numpy as np

from games import coins, dice
from games.coins import (
    DECIDING,
    LEFT,
    ONE,
    OVER,
    PHASE,
    RIGHT,
    STOP,
    TOSS_LEFT,
    TOSS_RIGHT,
    TOSSES,
    WIDTH,
    chance_outcomes,
    copy,
    current_player,
    land,
    legal_actions,
    stage,
    transform,
    write,
)
from leafwise.authoring import Evaluator, Game, below, bind, jit, prefetch, u64
from leafwise.envs.core.check.rule_caller import CHECKED, PLAIN, PLAYED
from leafwise.envs.core.contract.bits import FOUR, THREE
from leafwise.envs.core.contract.evaluator import Speed
from leafwise.envs.core.contract.features import SmallTable
from leafwise.envs.threes import GAME as THREES
from leafwise.envs.threes import rules
from leafwise.envs.threes.features import CELLS
from leafwise.envs.threes.lines import make_line_siblings
from leafwise.envs.threes.scores import ROOM
from leafwise.models.ntuple import NTupleNetwork, NTupleShape, parse_tuples


class Fault(NamedTuple):
    """A game with one mistake, and the message about it."""

    game: Game
    said: str
    task: dict[str, Any]
    """In which forms it is checked, and how."""
    is_apart: bool
    """Whether it has a process of its own, which it may end, or which prints the index that its sentence has."""


TABLE: dict[str, Fault] = {}
COINS = partial(coins.make, __name__)
PLAINLY: Mapping[str, Any] = {"seconds": {PLAIN: 0.5}}


def planted(
    said: str,
    *,
    make: Callable[..., Game] = COINS,
    task: Mapping[str, Any] = PLAINLY,
    is_apart: bool = False,
    **patch: Any,
) -> None:
    """Adds a mistake to the table under the name of its function."""
    names = [part.__name__ for part in patch.values() if hasattr(part, "__name__") and part.__name__ != "<lambda>"]
    name = (names or ["_".join(patch)])[0]
    name += f"_{len(TABLE)}" if name in TABLE else ""
    TABLE[name] = Fault(make(**patch), said, dict(task), is_apart)


def wrong(what: str, said: str, **how: Any) -> Callable[[Callable[..., Any]], Any]:
    """Returns a decorator that compiles a function and adds it to the table as a mistake."""

    def add(function: Callable[..., Any]) -> Any:
        rule = jit(function)
        how[what] = rule
        planted(said, **how)
        return rule

    return add


# sizes


planted(
    r"chance_outcomes: expected row 0 to 3 of S to be written, got 4.*max_outcomes = 1, at '\d \d \d [12]'",
    max_outcomes=1,
)

planted(
    r"legal_actions: expected index 0 to 1 of A to be written, got 2.*max_actions = 2, at '0 0 0 0'",
    max_actions=2,
    action_names=("left", "right"),
)

planted(r"initial_state: expected index 1 0 to 2 of S to be written, got 3", width=3)

planted(
    r"observe: expected O\[e, \d\] in 0..3 \(observation space\), got [456], at '\d \d \d \d'",
    space=gym.spaces.Box(0, 3, (WIDTH,), np.float32),
)

planted(r"returns: expected a number within return_range 0 to 4, got [56]", return_range=(0.0, 4.0))

planted(r"legal_actions: expected ids in 0..1 \(action names\), got \[0, 1, 2\]", action_names=("left", "right"))


@wrong("observe", r"observe: expected index 1 0 to 3 of O to be written, got 4.*the observation space")
def narrow_observation(S, i, O, e, T):
    for w in range(WIDTH + 1):
        O[e, w] = 0


@wrong("see", r"view onehot: expected O\[e, \d, 0\] in 0..1 \(observation space\), got [2-6]")
def counts_in_a_view(S, i, player, O, e, T):
    for w in range(WIDTH):
        O[e, w, :] = 0
        O[e, w, 0] = S[i, w]


@wrong("see", r"view onehot: expected every number to be written, got none in O of onehot\[\d, \d\]")
def leaves_a_number_of_a_view(S, i, player, O, e, T):
    for w in range(WIDTH):
        O[e, w, S[i, w]] = 1


# who acts, and when


@wrong("stage", r"stage: expected a chance stage, 1 or more .* where chance acts, got 0, at '0 0 0 [12]'")
def stage_never(S, i, T):
    return 0


@wrong("stage", r"stage: expected 0, 'decision', where a player acts, got 1")
def stage_always(S, i, T):
    return 1


@wrong("stage", r"stage: expected a stage in 0..1 .*, got 2")
def stage_beyond(S, i, T):
    return 2 * stage(S, i, T)


@wrong("current_player", r"current_player: expected 0, CHANCE \(-1\) or TERMINAL \(-4\), got 1, at '0 0 0 0'")
def second_player(S, i, T):
    return 1 if S[i, PHASE] == DECIDING else current_player(S, i, T)


@wrong("current_player", r"current_player: expected a whole number, got 0.5")
def half_players(S, i, T):
    return 0.5


# actions


@wrong("legal_actions", r"legal_actions: expected ids that ascend, each once, got \[2, 1, 0\]")
def descending(S, i, A, T):
    A[0], A[1], A[2] = STOP, RIGHT, LEFT
    return 3


@wrong("legal_actions", r"legal_actions: expected the same actions twice, each written, got \[0, 1, ")
def unwritten_action(S, i, A, T):
    A[0], A[1] = LEFT, RIGHT
    return 3


@wrong("legal_actions", r"legal_actions: expected at least one action at a decision, got none")
def no_action(S, i, A, T):
    return 0


@wrong("legal_actions", r"legal_actions: expected a number of actions in 0..3 \(max_actions\), got 4")
def too_many_actions(S, i, A, T):
    return 4


@wrong("apply_action", r"apply_action: expected every word of the row to be written.*got word 2")
def forgets_a_word(S, i, a, j, T):
    for w in range(WIDTH - 2):
        S[j, w] = S[i, w]
    S[j, PHASE] = OVER if a == STOP else TOSS_LEFT + a


@wrong("apply_action", r"apply_action: expected only rows \(2\) of S to be written, got row 1")
def changes_the_position(S, i, a, j, T):
    S[i, PHASE] = OVER if a == STOP else TOSS_LEFT + a
    copy(S, i, j)


@wrong("apply_action", r"apply_action: expected the same row where i and j are one, got another word 2")
def not_in_place(S, i, a, j, T):
    S[j, PHASE] = OVER if a == STOP else TOSS_LEFT + a
    for w in range(PHASE):
        S[j, w] = S[i, w]
    if S[i, PHASE] != DECIDING:
        S[j, TOSSES] = 9


@wrong(
    "apply_action",
    r"apply_action: expected index 1 0 to 3 of S to be written, got -1 in planted.py line \d+, `S\[j, -1\].*action 'left'",
)
def negative_index(S, i, a, j, T):
    copy(S, i, j)
    S[j, -1] = OVER if a == STOP else TOSS_LEFT + a


@wrong("apply_action", r"apply_action: expected a number in 0..65535 \(uint16\) in S\[2, 3\], got -1")
def does_not_fit(S, i, a, j, T):
    copy(S, i, j)
    S[j, PHASE] = a - 1


@wrong("apply_action", r"apply_action: expected a whole number in S\[2, 3\], got 0.5")
def fractions(S, i, a, j, T):
    copy(S, i, j)
    S[j, PHASE] = a + 0.5


@wrong(
    "apply_action",
    r"apply_action: expected a field of Tables among \(worth, limit, .*, leaf\), got 'limmit' in planted.py line \d+",
)
def misspelt(S, i, a, j, T):
    copy(S, i, j)
    S[j, PHASE] = OVER if a == STOP or S[j, TOSSES] == T.limmit else TOSS_LEFT + a


@wrong("action_cost", r"action_cost: expected 0 or 1, got 2.*action 'left'")
def costs_two(S, i, a, T):
    return 2


@wrong(
    "action_cost",
    r"action_cost: expected at most 1 decisions in one unit of search depth \(decisions_per_depth\), got 2",
)
def free_tosses(S, i, a, T):
    return 1 if a == STOP else 0


@wrong("candidates", r"candidates: expected some of the legal actions \[0, 1, 2\], got \[3\]")
def other_candidates(S, i, A, T):
    A[0] = LEFT if T.candidates == 0 else STOP + 1
    return 1 if T.candidates else legal_actions(S, i, A, T)


@wrong("candidates", r"candidates: expected all legal actions \[0, 1, 2\] under the first name, 'all', got \[0\]")
def never_all_candidates(S, i, A, T):
    A[0] = LEFT
    return 1


# chance


@wrong("outcomes", r"chance_outcomes: expected probabilities that sum to 1, got 1.0333")
def sums_to_more(S, j, P, o, T):
    n = chance_outcomes(S, j, P, o, T)
    P[o] = 0.7
    return n


@wrong("outcomes", r"chance_outcomes: expected probabilities above 0 and at most 1, got 0")
def impossible_outcome(S, j, P, o, T):
    n = chance_outcomes(S, j, P, o, T)
    P[o], P[o + ONE] = 1.0, 0.0
    return n


@wrong("outcomes", r"chance_outcomes: expected outcomes that differ, got one row twice")
def same_outcomes(S, j, P, o, T):
    for side in range(2):
        land(S, j, o + u64(side), 0, T)
        P[o + u64(side)] = 0.5
    return 2


@wrong("outcomes", r"chance_outcomes: expected only rows \(3, 4\) of S to be written, got row 0")
def from_the_first_row(S, j, P, o, T):
    for side in range(2):
        land(S, j, u64(side), side, T)
        P[side] = 0.5
    return 2


@wrong(
    "sample",
    r"sample_outcome: expected outcome [01] with the probability that chance_outcomes gives it, 0.[36]\d+, got it in 0.[45]",
)
def fair_coin(S, j, R, T):
    land(S, j, j, 1 if below(R, 2) == 1 else 0, T)


@wrong("sample", r"sample_outcome: expected one of the outcomes, got the row \[")
def other_outcome(S, j, R, T):
    land(S, j, j, 0, T)
    S[j, TOSSES] += 1


planted(r"outcome_name: expected names that differ, got 'coin' twice", outcome_name=lambda before, after, T: "coin")


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


# what is told of a position


@wrong("returns", r"returns: expected a number within return_range 0 to 6, got nan")
def returns_nothing_known(S, i, T):
    return np.nan


@wrong("returns", r"returns: expected the same answer twice \(no state of its own\), got \d.0, then")
def returns_of_before(S, i, T):
    T.seen[0] += 1
    return float(T.seen[0] % 5)


@wrong("returns", r"transform: expected the same returns, \d.0, got \d.0 \(symmetry 1\)")
def returns_one_pile(S, i, T):
    return float(S[i, 0])


@wrong("returns", r"returns: expected only arrays named in `scratch` to be written, got a write to T.worth")
def writes_tables(S, i, T):
    T.worth[0] = 1
    return float(S[i, 0] + S[i, 1])


@wrong("returns", r"returns: expected only rows \(1\) of S to be read, got row 0")
def looks_at_another_row(S, i, T):
    return float(S[i - ONE, 0] & 1)


@wrong("observe", r"observe: expected every number to be written, got none in O\[3\]")
def leaves_a_number(S, i, O, e, T):
    for w in range(WIDTH - 1):
        O[e, w] = S[i, w]


@wrong("observe", r"observe: expected only rows \(1\) of O to be written, got row 0")
def first_observation(S, i, O, e, T):
    for w in range(WIDTH):
        O[0, w] = S[i, w]


@wrong("returns", r"returns: expected an answer, got ZeroDivisionError")
def divides_by_zero(S, i, T):
    return 1 // int(S[i, TOSSES])


# texts, keys, symmetries


@jit
def worth_of(row, T):
    return T.worth[row[TOSSES]]


def writes_what_lies_beyond(row, T):
    worth_of(row, T)
    return write(row, T)


planted(
    r"text: expected every index within its array, got an IndexError .*planted.py line \d+, `return T.worth\[row\[TOSSES\]\]`, at ",
    write=writes_what_lies_beyond,
)


@wrong("key", r"key: expected another key for another row, got \d+")
def key_of_the_sum(S, i, T):
    return u64(S[i, 0] + S[i, 1] + 10 * S[i, PHASE])


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


@wrong("transform", r"transform: expected the image of what 'left' leads to, .*symmetry 1")
def forgets_the_phase(S, i, k, j, T):
    left, right = S[i, 0], S[i, 1]
    copy(S, i, j)
    if k == 1:
        S[j, 0], S[j, 1] = right, left


@wrong("transform_action", r"transform: expected the image of what 'left' leads to")
def same_actions(a, k, T):
    return a


@wrong("transform_action", r"transform_action: expected symmetry 0 to permute the 3 actions, got \[0, 0, 0\]")
def merges_actions(a, k, T):
    return 0


@wrong("transform", r"transform: expected symmetry 0 to leave the row, got another row")
def always_swaps(S, i, k, j, T):
    transform(S, i, 1, j, T)


planted(r"transform: expected symmetry 2 of 3 to change some position or action", count=3)

# scores


@wrong("score", r"score sum: expected a finite number in -1..100, got 101.5")
def too_high(S, i, T):
    return 101.5


# ends of the process


@wrong(
    "returns",
    r"returns: expected an answer from the plain build, got an end of the process \(exit status 3\)",
    is_apart=True,
)
def leaves(S, i, T):
    os._exit(3)


@wrong("returns", r"returns: expected an answer from the plain build, got no answer in 4 s", is_apart=True)
def hangs(S, i, T):
    while True:
        pass


@wrong("returns", r"returns: expected an answer, got MemoryError", is_apart=True)
def wants_memory(S, i, T):
    return float(len(bytearray(1 << 40)))


# rows and texts from outside


@jit
def is_valid(S, i, T):
    total, tosses, phase = np.int64(S[i, 0]) + np.int64(S[i, 1]), np.int64(S[i, TOSSES]), S[i, PHASE]
    if tosses > T.limit or phase > OVER or total < tosses or total > 2 * tosses:
        return False
    return phase == OVER or tosses < T.limit


VALID = coins.make(__name__, is_valid=is_valid)
"""Without a mistake, it says which rows are valid."""


@wrong("is_valid", r"is_valid: expected True for a row that play leads to, got False, at '\d \d \d \d'")
def valid_at_the_start(S, i, T):
    return S[i, TOSSES] == 0 and S[i, PHASE] == 0


@wrong(
    "is_valid",
    r"is_valid: expected False for a row that breaks a promise, got True \(\w+: expected .*, got .*\), at '\d+ ",
)
def always_valid(S, i, T):
    return True


@wrong("is_valid", r"is_valid: expected False for a row .*, got True \(\w+: expected .*\), at '\d+ ")
def valid_piles(S, i, T):
    tosses, phase = np.int64(S[i, TOSSES]), S[i, PHASE]
    return tosses <= T.limit and (phase == OVER or (tosses < T.limit and phase in (0, TOSS_LEFT, TOSS_RIGHT)))


@wrong("is_valid", r"is_valid: expected index 0 to 1 of T.worth to be read, got \d+ in planted.py line \d+")
def reads_beyond(S, i, T):
    return T.worth[S[i, TOSSES]] >= 0 and is_valid(S, i, T)


def parse_words_by_number(text, T):
    words = text.split()
    return np.array([int(words[k]) for k in range(coins.WIDTH)], dtype=np.uint16)


planted(
    r"parse: expected a position or a ValueError, got IndexError: list index out of range, at '",
    parse=parse_words_by_number,
)

# what compiled code alone shows

INDICES = {"seconds": {CHECKED: 0.5}}
OUTSIDE = r"expected every index within its array, got an IndexError"
compiled = partial(wrong, task=INDICES)


@compiled("returns", r"returns: two_types, planted.py line \d+, .* does not compile:\n.*unify.*numba's own words: ")
def two_types(S, i, T):
    return "none" if S[i, PHASE] > 9 else 1.0


@compiled("returns", rf"returns: {OUTSIDE} \(index 2 of axis 0 with size 2\)", is_apart=True)
def returns_from_beyond(S, i, T):
    return float(T.worth[u64(S[i, TOSSES])])


@compiled("returns", rf"returns: {OUTSIDE} \(index -1 of axis 0 with size 2\)", is_apart=True)
def returns_from_before(S, i, T):
    return float(T.worth[np.int64(S[i, TOSSES]) - 1])


@compiled("returns", rf"returns: {OUTSIDE}")
def prefetches_beyond(S, i, T):
    prefetch(T.worth, np.int64(S[i, TOSSES]))
    return 0.0


@jit
def worth_before(row, T):
    return T.worth[np.int64(row[TOSSES]) - 1]


def writes_what_lies_before(row, T):
    worth_before(row, T)
    return write(row, T)


planted(
    rf"text: {OUTSIDE} \(index -1 of axis 0 with size 2\)",
    task=INDICES,
    is_apart=True,
    write=writes_what_lies_before,
)


@compiled(
    "returns",
    r"returns: expected what plain Python answers, 0.0, got 1.0 in compiled code that checks indices, at '0 0 0 \d'$",
    task={"seconds": {PLAIN: 0.1, CHECKED: 0.0}},
)
def other_when_compiled(S, i, T):
    return 1.0 if u64(S[i, TOSSES]) - 1 < 0 else 0.0  # numba makes a float of an unsigned and a signed number


@compiled(
    "returns",
    r"returns: allocates, planted.py line \d+, .* does not compile:\nexpected no new arrays",
    task={"seconds": {PLAIN: 0.1, PLAYED: 0.0}},
)
def allocates(S, i, T):
    return np.zeros(3)[0]


# what Threes does for many positions at once

SIBLINGS: Any = THREES.score("rows").speed.sibling_values
TEXTS = [
    "48 24 12 6/3 1 2 0/3 0 1 0/2 0 0 0 deck=0,2,1",
    "48 24 12 6/3 1 2 0/3 0 1 0/2 0 0 0 next=+ deck=0,2,1 move=left lanes=12",
    "768 384 192 96/12 24 48 96/6 3 2 1/1 2 0 3 deck=0,1,2",
    "3 6 3 6/6 3 6 3/3 6 3 6/6 3 0 6 deck=4,4,3",
]
"""Before a draw; before a bonus enters; crowded; and a board that may die."""


def learned(tables: Mapping[str, SmallTable] = CELLS.tables) -> Evaluator:
    """Returns a random network of int16 for a room with these small tables."""
    room = replace(THREES, features={"ntuple": replace(CELLS, tables=tables)})
    shape = NTupleShape(
        parse_tuples("0123 0145 5a"), splits=(8,), small=("deck", "deck_empties", "large", "blank_merge")
    )
    units = np.random.default_rng(3).integers(
        -99, 99, sum(shape.check(room).sizes(room)) * shape.copies, dtype=np.int16
    )
    return NTupleNetwork.create(room, shape, units, [0.3, 0.7, 1.1, 0.9, 0.7, 0.1, 1.3]).evaluator("rows")


def of_another_tuple(leaf: Evaluator) -> Evaluator:
    """Returns a network that takes every cell as one of the first tuple."""
    lookups = leaf.weights.lookups
    lookups = lookups._replace(seeing=np.zeros_like(lookups.seeing))
    return replace(leaf, weights=leaf.weights._replace(lookups=lookups))


def make_threes(siblings: Any = None, leaf: Evaluator | None = None, **changes: Any) -> Game:
    """Returns Threes with a change in its rules of chance, in its leaf or in a leaf's siblings."""
    game = replace(THREES, module=__name__, rules=replace(THREES.rules, chance=replace(THREES.rules.chance, **changes)))
    if siblings is not None:
        leaf = replace(THREES.score("rows"), speed=Speed(sibling_values=siblings))
    return game if leaf is None else replace(game, scores={"rows": lambda options: leaf})


LEARNED = make_threes(leaf=learned())
"""Without a mistake, its leaf a network."""
HURRIED: dict[str, Any] = {"seconds": {PLAIN: 0.0}, "texts": TEXTS}
hurried = partial(wrong, make=make_threes, task=HURRIED)
planted_in_threes = partial(planted, make=make_threes, task=HURRIED)


@hurried("afterstates", r"afterstates: expected \d legal actions, got \d, at '")
def one_slide_less(S, i, j, T):
    return max(0, rules.afterstates(S, i, j, T) - 1)


@hurried("afterstates", r"afterstates: expected row 0 to 6 of S to be written, got 7")
def too_far(S, i, j, T):
    return rules.afterstates(S, i, j + ONE, T)


@hurried("afterstates", r"afterstates: expected outcomes that are decisions, got one")
def also_before_a_tile_enters(S, i, j, T):
    n = rules.afterstates(S, i, j, T)
    if S[i, 1] & THREE == rules.ENTER:
        S[j, 0], S[j, 1] = S[i, 0], S[i, 1]
        n = 1
    return n


@hurried("apply_outcome", r"apply_outcome: expected the row that apply_action writes, \[.*\(action '\w+'\)")
def of_another_card(S, k, o, j, T):
    S[j, 0] = S[k, 0]
    S[j, 1] = (S[o, 1] | S[k, 1]) ^ FOUR


@hurried("apply_outcome", r"apply_outcome: expected only rows \(3\) of S to be written, got row 2")
def over_the_outcome(S, k, o, j, T):
    S[o, 0] = S[k, 0]
    rules.apply_outcome(S, k, o, j, T)


@hurried("siblings", r"score rows: expected siblings to count \d+ leaves, got \d+")
def one_leaf_less(S, k, o, end, M, P, T):
    return SIBLINGS(S, k, o, end, M, P, T) - 1


@hurried("siblings", r"score rows: expected the mean of leaves one by one, .* of siblings")
def a_little_off(S, k, o, end, M, P, T):
    n = SIBLINGS(S, k, o, end, M, P, T)
    for q in range(o, end):
        M[q] *= 1.0 + 1e-15
    return n


@hurried("siblings", r"score rows: expected siblings to leave what is higher")
def whatever_was_known(S, k, o, end, M, P, T):
    for q in range(o, end):
        M[q] = -np.inf
    return SIBLINGS(S, k, o, end, M, P, T)


@hurried("siblings", r"score rows: expected only rows \(.*\) of S to be written, got row 1")
def over_the_afterstate(S, k, o, end, M, P, T):
    S[k, 1] |= S[o, 1]
    return SIBLINGS(S, k, o, end, M, P, T)


planted_in_threes(
    r"score rows: expected the mean of leaves", siblings=make_line_siblings(ROOM, loses=False, twice=False)
)
planted_in_threes(r"score rows: expected the mean of leaves", leaf=of_another_tuple(learned()))
planted_in_threes(
    r"score rows: expected the mean of leaves",
    leaf=learned({**CELLS.tables, "blank_merge": replace(CELLS.tables["blank_merge"], placed=False)}),
)

# draws that are off at some turns

FACE, FACE_PLAIN = u64(2), u64(11)
"""The phase of a race in which a face is drawn, and the bits of the phase and of the wild die."""


def make_race(turn: int) -> Game:
    """Returns the race whose plain die never busts at one turn of six."""
    sample, turn_of, with_face, off = dice.GAME.rules.sample_outcome, dice.turn, dice.with_face, u64(turn)

    @bind(Path(__file__))
    def sample_outcome(S, j, R, T):
        word = S[j, 0]
        if word & FACE_PLAIN == FACE and turn_of(word) % u64(6) == off:
            S[j, 0] = with_face(word, ONE + below(R, u64(2)))
        else:
            sample(S, j, R, T)

    chance = replace(dice.GAME.rules.chance, sample=sample_outcome)
    return replace(dice.GAME, module=__name__, ids={}, rules=replace(dice.GAME.rules, chance=chance))


for turn in (0, 3, 5):
    said = r"sample_outcome: expected outcome \d with the probability that chance_outcomes gives it, 0.\d+, got it in"
    planted(said, make=make_race, task={"seconds": {PLAIN: 30.0}}, turn=turn)

GAMES = {name: fault.game for name, fault in TABLE.items()}
"""The games of the table, where another process finds them."""
