"""The contract of a rules core: what every game's compiled functions take and return.

The functions work on rows of a 2-D array `S` of `game.dtype`, shape [rows, game.width], and on one NamedTuple `T`
that carries tables, run-time options, weights and the stop byte. Row indices are uint64. They are the fast door: they
trust their caller, allocate nothing and never raise. The checked door is `leafwise.envs.core.contract.state.State`.

A row holds what the player knows; chance holds the rest. Equal situations are equal rows. `game` has what else a game says.
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
"""What `current_player` answers where chance acts next."""
TERMINAL = -4
"""What `current_player` answers where the game is over (OpenSpiel's number)."""

DEFAULT_VIEW = "default"
"""The name of a game's own observation among its views."""

Compiled = Callable[..., Any]
"""A compiled function: what it takes and returns stands below the field that holds it.

`S` [rows, width] are rows and i, j, k numbers of rows (uint64), `P` (float64) probabilities, `A` (int64) action ids, `R` (uint64) a
random stream, `T` the game's tables. For actions, players and symmetries a game says which type of whole numbers it takes.
"""


def unit_cost(S, i, a, T):
    """Counts every action as one step of search depth."""
    return 1


def no_chance_outcomes(S, j, P, o, T):
    """Stands in for a game without chance; never reached."""
    return 0


def no_sample(S, j, R, T):
    """Stands in for a game without chance; never reached."""


def no_stage(S, i, T):
    """Answers the only stage of a game without chance: decisions."""
    return 0


def one_stage(S, i, T):
    """Stands in where chance has one stage: a `Game` compiles `make_one_stage` of it."""
    raise NotImplementedError


def same_for_both(S, i, player, O, e, T):
    """Stands in where all see the same: a `Game` compiles `make_same_for_both` of it."""
    raise NotImplementedError


def no_progress(S, i, T):
    """Tells no lost game from another."""
    return 0.0


def row_hash(S, i, T):
    """Hashes every word of a row; equal situations are equal rows."""
    h = np.uint64(0x243F6A8885A308D3)
    for w in range(S.shape[1]):
        h = mix(h ^ np.uint64(S[i, w]))
    return h


def same_row(S, i, k, j, T):
    """Copies row i to row j: the identity, symmetry 0 of every game."""
    for w in range(S.shape[1]):
        S[j, w] = S[i, w]


def same_action(a, k, T):
    """Leaves an action as it is: the identity, symmetry 0 of every game."""
    return a


def make_one_stage(current_player: Compiled) -> Compiled:
    """Returns the `stage` of a game whose chance has one stage: 1 where chance acts, else 0."""

    def stage(S, i, T):
        return 1 if current_player(S, i, T) == CHANCE else 0

    return stage


def make_same_for_both(observe: Compiled) -> Compiled:
    """Returns the `observe_as` of a game whose observations do not depend on who looks."""

    def observe_as(S, i, player, O, e, T):
        observe(S, i, O, e, T)

    return observe_as


@jit(inline=True)
def copy_row(S, i, j):
    """Copies row i of S [rows, width] to row j."""
    for w in range(S.shape[1]):
        S[j, w] = S[i, w]


def make_observe(current_player: Compiled, observe_as: Compiled) -> Compiled:
    """Returns the `observe` that shows who acts what `observe_as` shows a player, and player 0 a game that is over."""

    def observe(S, i, O, e, T):
        observe_as(S, i, max(np.int64(current_player(S, i, T)), np.int64(0)), O, e, T)

    return observe


DEFAULTS = (unit_cost, no_chance_outcomes, no_sample, no_stage, no_progress, row_hash, same_row, same_action)
"""Plain functions; a `Game` compiles its own copies, so that nothing of a game gets into another's cache."""
STAND_INS = (*DEFAULTS, one_stage, same_for_both)
"""What a rule is that a game leaves out."""


@dataclass(frozen=True)
class Chance:
    """What chance does, in one stage or several."""

    outcomes: Compiled
    """`(S, j, P, o, T)` -> n: n successors of row j to rows o, o+1, ..., their probabilities to P[o], P[o+1], ...

    One stage: a successor may be CHANCE again. The probabilities are positive and sum to 1. The rows o to
    o + max_outcomes - 1 are its scratch: those after the n successors hold nothing.
    """
    sample: Compiled
    """`(S, j, R, T)`: draws one stage in place from stream R, without enumerating."""
    max_outcomes: int
    """Most successors that one stage can have."""
    max_stages: int = 1
    """Most stages in a row between two decisions."""
    stages: tuple[str, ...] = ("decision", "chance")
    """Names of the stages: decisions first, chance's after it."""
    stage: Compiled = one_stage
    """`(S, i, T)` -> index into `stages`; 0 at decisions, and at a terminal row the stage it ended in.

    May be left out where chance has one stage: it is then told from `current_player`.
    """
    afterstates: Compiled | None = None
    """`(S, i, j, T)` -> n, where outcomes leave the actions alone, as a card that is drawn does: what the n legal actions, in
    ascending order, make of all outcomes of row i, to rows j, j+1, ... to be read by `apply_outcome` alone; 0: not here.

    May be left out, with `apply_outcome`: it spares searches of single-player games to act anew for each outcome. Where it
    answers, every outcome is a decision with these n actions, each of which leads to a chance stage and costs 1.
    """
    apply_outcome: Compiled | None = None
    """`(S, k, o, j, T)`: writes to row j what an action, of which `afterstates` wrote row k, makes of outcome o: just what
    `apply_action` would."""
    make_expected: Callable[[Compiled], tuple[Compiled, Compiled]] | None = None
    """Makes, where actions have outcomes in common, as throws that may land on the same cell, code that values each of them once:
    of `row_value`, `(S, i, player, T)` -> value of row i where `player` acts, it makes `prepare` and `expected`.

    `prepare`, `(S, i, o, P, T)`, values what the actions of row i have in common, and `expected`, `(S, i, a, o, P, T)` -> the
    expected value of action a, to the bit what `apply_action` and `outcomes` would come to; S from row o on and P [rows] from o on,
    at least 1 + max_actions of each, are theirs. May be left out: it spares players that choose greedily.
    """


NO_CHANCE = Chance(no_chance_outcomes, no_sample, 0, 0, ("decision",), no_stage)
"""Of games without chance."""


@dataclass(frozen=True)
class Symmetries:
    """How positions look turned, mirrored or renamed; symmetry 0 is the identity."""

    count: Any = 1
    """How many there are, a number or a function of the options."""
    transform: Compiled = same_row
    """`(S, i, k, j, T)`: writes row i under symmetry k to row j."""
    transform_action: Compiled = same_action
    """`(a, k, T)` -> the action that matches `a` after symmetry k."""


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
"""What each compiled function of a game takes."""
CALLED = ("initial_state", "current_player", "legal_actions", "apply_action", "sample_outcome", "returns")
"""Those that Python calls whenever a game is played; others are compiled for Python once it asks for them."""


@dataclass(frozen=True)
class Rules:
    """One game's compiled functions (all plain Python under NUMBA_DISABLE_JIT=1)."""

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
    """`(S, i, player, O, e, T)`: writes the observation of row i, seen by player 0 or 1, to O[e]: where that player acts, what
    `observe` writes, and also where the other acts or the game is over.

    May be left out where all see the same: it is then `observe`.
    """
    chance: Chance = NO_CHANCE
    action_cost: Compiled = unit_cost
    """`(S, i, a, T)` -> 0 or 1: what the action counts in search depth."""
    candidates: Compiled | None = None
    """`(S, i, A, T)` -> n: the actions that a search considers, as `T.candidates` says, in A; None: always all legal ones."""
    progress: Compiled = no_progress
    """`(S, i, T)` -> how far a finished game got that was not won, 0 to 1: learners may give credit for it while wins are rare."""
    key: Compiled = row_hash
    """`(S, i, T)` -> uint64 hash of everything the future depends on."""

    is_valid: Compiled | None = None
    """`(S, i, T)` -> whether row i, which may come from anywhere and hold anything, is one that the rules can go on from.

    Where it says so, no rule may read or write outside the arrays, run for ever or break a promise, there or later on; so it
    looks at no array by an index of the row that it has not checked. It holds for every row that play leads to. Python alone asks
    it: it may be compiled or plain Python. None: a row from outside is read once by the rules as plain Python, on arrays that check
    every index, which takes a thousand times as long and sees only that row.
    """
    figures: Compiled | None = None
    """`(S, i, N, T)`: writes the numbers named by `text.figures`, which follow from the rules and which people are told, to N
    (int64): an exported page has no Python to work them out. May be left out."""

    chance_outcomes = property(attrgetter("chance.outcomes"))
    sample_outcome = property(attrgetter("chance.sample"))
    stage = property(attrgetter("chance.stage"))
    afterstates = property(attrgetter("chance.afterstates"))
    apply_outcome = property(attrgetter("chance.apply_outcome"))
    """What `chance` has, by the names that compiled code gives it."""

    def functions(self) -> dict[str, Compiled]:
        """Returns all functions by name that compiled code calls; `is_valid` is none of them."""
        found = {name: getattr(self, name, None) for name in PARAMETERS if name != "is_valid"}
        return {name: function for name, function in found.items() if function is not None}

    def completed(self, own: Callable[[Compiled], Compiled]) -> Rules:
        """Returns the rules with `own` of every default function."""
        chance = self.chance
        if chance.stage is one_stage:
            chance = replace(chance, stage=own(make_one_stage(self.current_player)))
        seen = {"observe_as": own(make_same_for_both(self.observe))} if self.observe_as is same_for_both else {}
        chance = replace(chance, **_own_defaults(chance, ("outcomes", "sample", "stage"), own))
        return replace(self, chance=chance, **seen, **_own_defaults(self, ("action_cost", "progress", "key"), own))


def completed_symmetries(symmetries: Symmetries, own: Callable[[Compiled], Compiled]) -> Symmetries:
    """Returns the symmetries with `own` of every default function."""
    return replace(symmetries, **_own_defaults(symmetries, ("transform", "transform_action"), own))


def _own_defaults(part, names: tuple[str, ...], own: Callable[[Compiled], Compiled]) -> dict[str, Any]:
    return {name: own(getattr(part, name)) for name in names if getattr(part, name) in DEFAULTS}
