"""The contract of a game's rules: what its compiled functions take and return.

The functions work on rows of a 2-D array `S` of `game.dtype`, shape [rows, game.width], and on one NamedTuple `T` with tables,
run-time options, weights and the stop byte. Row indices are uint64. The functions trust their caller, allocate nothing and
never raise. For checked calls use `leafwise.envs.core.contract.state.State`.

A row holds what the player knows; chance holds the rest. Equal situations are equal rows. `game` defines the rest of a game.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from operator import attrgetter
from typing import Any

import numpy as np

from leafwise.envs.core.compile.jit import jit
from leafwise.envs.core.contract.stream import mix

CHANCE = -1
"""The result of `current_player` if chance acts next."""
TERMINAL = -4
"""The result of `current_player` if the game is over (OpenSpiel's number)."""

DEFAULT_VIEW = "default"
"""The name of the game's own observation among its views."""

Compiled = Callable[..., Any]
"""A compiled function; its parameters and result are documented below the field that holds it.

`S` [rows, width] are rows and i, j, k their numbers (uint64), `P` (float64) probabilities, `A` (int64) action ids, `R` (uint64)
a random stream, `T` the game's tables. For actions, players and symmetries each field names the integer type.
"""


def unit_cost(S, i, a, T):
    """Returns 1: every action is one step of search depth."""
    return 1


def no_chance_outcomes(S, j, P, o, T):
    """Replaces the outcomes of a game without chance; never called."""
    return 0


def no_sample(S, j, R, T):
    """Replaces the draw of a game without chance; never called."""


def no_stage(S, i, T):
    """Returns 0, the only stage of a game without chance."""
    return 0


def one_stage(S, i, T):
    """Marks a game with one chance stage: `Game` compiles `make_one_stage` instead."""
    raise NotImplementedError


def same_for_both(S, i, player, O, e, T):
    """Marks a game in which all players see the same: `Game` compiles `make_same_for_both` instead."""
    raise NotImplementedError


def no_progress(S, i, T):
    """Returns 0 for every lost game."""
    return 0.0


def row_hash(S, i, T):
    """Hashes every word of a row; equal situations are equal rows."""
    h = np.uint64(0x243F6A8885A308D3)
    for w in range(S.shape[1]):
        h = mix(h ^ np.uint64(S[i, w]))
    return h


def same_row(S, i, k, j, T):
    """Copies row i to row j: symmetry 0, the identity."""
    for w in range(S.shape[1]):
        S[j, w] = S[i, w]


def same_action(a, k, T):
    """Returns the action unchanged: symmetry 0, the identity."""
    return a


def make_one_stage(current_player: Compiled) -> Compiled:
    """Returns the `stage` of a game with one chance stage: 1 if chance acts, else 0."""

    def stage(S, i, T):
        return 1 if current_player(S, i, T) == CHANCE else 0

    return stage


def make_same_for_both(observe: Compiled) -> Compiled:
    """Returns the `observe_as` of a game whose observations do not depend on the player."""

    def observe_as(S, i, player, O, e, T):
        observe(S, i, O, e, T)

    return observe_as


@jit(inline=True)
def copy_row(S, i, j):
    """Copies row i of S [rows, width] to row j."""
    for w in range(S.shape[1]):
        S[j, w] = S[i, w]


def make_observe(current_player: Compiled, observe_as: Compiled) -> Compiled:
    """Returns the `observe` that shows a row to the player who acts, and a finished game to player 0."""

    def observe(S, i, O, e, T):
        observe_as(S, i, max(np.int64(current_player(S, i, T)), np.int64(0)), O, e, T)

    return observe


DEFAULTS = (unit_cost, no_chance_outcomes, no_sample, no_stage, no_progress, row_hash, same_row, same_action)
"""Plain functions; a `Game` compiles its own copies, so that each game's code stays in its own cache."""
STAND_INS = (*DEFAULTS, one_stage, same_for_both)
"""Values of rules that a game leaves out."""


@dataclass(frozen=True)
class Chance:
    """The rules of chance, in one stage or several."""

    outcomes: Compiled
    """`(S, j, P, o, T)` -> n: writes the n successors of row j to rows o, o+1, ..., and their probabilities to P[o], P[o+1],
    ...

    One stage: a successor may be CHANCE again. The probabilities are positive and sum to 1. The rows o to o + max_outcomes - 1
    are scratch: those after the n successors have no meaning.
    """
    sample: Compiled
    """`(S, j, R, T)`: draws one stage in place from stream R, without enumerating."""
    max_outcomes: int
    """The largest number of successors of one stage."""
    max_stages: int = 1
    """The largest number of consecutive stages between two decisions."""
    stages: tuple[str, ...] = ("decision", "chance")
    """Names of the stages: decisions first, then those of chance."""
    stage: Compiled = one_stage
    """`(S, i, T)` -> index into `stages`; 0 at decisions, and at a terminal row the stage in which it ended.

    Optional if chance has one stage: `current_player` then defines it.
    """
    afterstates: Compiled | None = None
    """`(S, i, j, T)` -> n, for outcomes that do not change what the actions do, such as a drawn card. Applies the n legal actions
    to row i before its outcome is drawn. Writes the results to rows j, j+1, ..., in ascending order of the actions. Only
    `apply_outcome` reads these rows. n is 0 if this does not work for row i.

    Optional, together with `apply_outcome`. In single-player games a search then applies each action once, not once for each
    outcome. If n > 0, every outcome must be a decision with these n actions, each of which leads to a chance stage and costs 1.
    """
    apply_outcome: Compiled | None = None
    """`(S, k, o, j, T)`: row k is the result of an action that `afterstates` wrote. Writes to row j the same action after outcome
    o, exactly as `apply_action` would.
    """
    make_expected: Callable[[Compiled], tuple[Compiled, Compiled]] | None = None
    """Makes code that values an outcome once if several actions can lead to it. In Trap, throws at neighbouring cells can land on
    the same cell. From `row_value`, `(S, i, player, T)` -> value of row i with `player` to act, it makes `prepare` and
    `expected`.

    `prepare`, `(S, i, o, P, T)`, values what the actions of row i have in common. `expected`, `(S, i, a, o, P, T)`, returns the
    expected value of action a, to the last bit the one that `apply_action` and `outcomes` give. S from row o on and P [rows] from
    o on, at least 1 + max_actions of each, are scratch. Optional: it makes greedy players faster.
    """


NO_CHANCE = Chance(no_chance_outcomes, no_sample, 0, 0, ("decision",), no_stage)
"""The rules of chance for games without it."""


@dataclass(frozen=True)
class Symmetries:
    """The symmetries of a game, which turn, mirror or rename positions; symmetry 0 is the identity."""

    count: Any = 1
    """Number of symmetries, an integer or a function of the options."""
    transform: Compiled = same_row
    """`(S, i, k, j, T)`: writes row i under symmetry k to row j."""
    transform_action: Compiled = same_action
    """`(a, k, T)` -> the action that matches `a` under symmetry k."""


PARAMETERS = {
    "initial_state": "S, i, T", "current_player": "S, i, T", "legal_actions": "S, i, A, T",
    "apply_action": "S, i, a, j, T", "returns": "S, i, T", "observe": "S, i, O, e, T",
    "observe_as": "S, i, player, O, e, T",
    "chance_outcomes": "S, j, P, o, T", "sample_outcome": "S, j, R, T", "stage": "S, i, T",
    "afterstates": "S, i, j, T", "apply_outcome": "S, k, o, j, T",
    "action_cost": "S, i, a, T", "candidates": "S, i, A, T", "progress": "S, i, T", "key": "S, i, T",
    "transform": "S, i, k, j, T", "transform_action": "a, k, T", "is_valid": "S, i, T",
    "figures": "S, i, N, T",
}  # fmt: skip
"""The parameters of each compiled function."""
CALLED = ("initial_state", "current_player", "legal_actions", "apply_action", "sample_outcome", "returns")
"""The functions that Python calls in every game; the others are compiled for Python at their first call."""


@dataclass(frozen=True)
class Rules:
    """The compiled functions of one game (plain Python under NUMBA_DISABLE_JIT=1)."""

    initial_state: Compiled
    """`(S, i, T)`: writes the start, which may be a chance stage, to row i."""
    current_player: Compiled
    """`(S, i, T)` -> 0, 1, CHANCE or TERMINAL."""
    legal_actions: Compiled
    """`(S, i, A, T)` -> n: writes the n legal action ids, ascending, to A (int64); at least one at a decision."""
    apply_action: Compiled
    """`(S, i, a, j, T)`: copies row i to row j and acts there; never draws; i and j may be the same row."""
    returns: Compiled
    """`(S, i, T)` -> float: player 0's undiscounted return so far, defined at every row."""
    observe: Compiled
    """`(S, i, O, e, T)`: writes the observation of row i, seen by the player who acts, to O[e]."""
    observe_as: Compiled = same_for_both
    """`(S, i, player, O, e, T)`: writes the observation of row i, seen by player 0 or 1, to O[e]. Where that player acts it
    writes the same as `observe`; it also works where the other player acts or the game is over.

    Optional if all players see the same: it is then `observe`.
    """
    chance: Chance = NO_CHANCE
    action_cost: Compiled = unit_cost
    """`(S, i, a, T)` -> 0 or 1: the cost of the action in search depth."""
    candidates: Compiled | None = None
    """`(S, i, A, T)` -> n: writes the actions that a search considers under `T.candidates` to A; None: all legal ones."""
    progress: Compiled = no_progress
    """`(S, i, T)` -> how far a lost game got, 0 to 1: learners may give credit for it while wins are rare."""
    key: Compiled = row_hash
    """`(S, i, T)` -> uint64 hash of everything that the future depends on."""

    is_valid: Compiled | None = None
    """`(S, i, T)` -> whether the rules can go on from row i, which may come from anywhere and hold anything.

    If it returns True, no rule may access memory outside the arrays, run for ever or break a promise, now or later. So it must
    check every index that it reads from the row. It is True for every row that play leads to. Only Python calls it: it may be
    compiled or plain Python. None: the rules run once on each row from outside, as plain Python on arrays that check every index.
    This takes a thousand times as long, and checks only that row.
    """
    figures: Compiled | None = None
    """`(S, i, N, T)`: writes the numbers named by `text.figures` to N (int64). They follow from the rules and are shown to
    people; an exported page has no Python to compute them. Optional.
    """

    chance_outcomes = property(attrgetter("chance.outcomes"))
    sample_outcome = property(attrgetter("chance.sample"))
    stage = property(attrgetter("chance.stage"))
    afterstates = property(attrgetter("chance.afterstates"))
    apply_outcome = property(attrgetter("chance.apply_outcome"))
    """The functions of `chance`, by the names that compiled code uses."""

    def functions(self) -> dict[str, Compiled]:
        """Returns all functions that compiled code calls, by name; `is_valid` is not one of them."""
        functions = {name: getattr(self, name, None) for name in PARAMETERS if name != "is_valid"}
        return {name: function for name, function in functions.items() if function is not None}

    def completed(self, compile_default: Callable[[Compiled], Compiled]) -> Rules:
        """Returns the rules with `compile_default` of every default function."""
        chance = self.chance
        if chance.stage is one_stage:
            chance = replace(chance, stage=compile_default(make_one_stage(self.current_player)))
        seen = (
            {"observe_as": compile_default(make_same_for_both(self.observe))}
            if self.observe_as is same_for_both
            else {}
        )
        chance = replace(chance, **_compiled_defaults(chance, ("outcomes", "sample", "stage"), compile_default))
        return replace(
            self, chance=chance, **seen, **_compiled_defaults(self, ("action_cost", "progress", "key"), compile_default)
        )


def completed_symmetries(symmetries: Symmetries, compile_default: Callable[[Compiled], Compiled]) -> Symmetries:
    """Returns the symmetries with `compile_default` of every default function."""
    return replace(symmetries, **_compiled_defaults(symmetries, ("transform", "transform_action"), compile_default))


def _compiled_defaults(part, names: tuple[str, ...], compile_default: Callable[[Compiled], Compiled]) -> dict[str, Any]:
    return {name: compile_default(getattr(part, name)) for name in names if getattr(part, name) in DEFAULTS}
