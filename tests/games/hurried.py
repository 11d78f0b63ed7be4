"""Threes with mistakes in what it does for many positions at once, to be faster."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from leafwise.envs.core.compile.jit import jit
from leafwise.envs.core.contract.evaluator import Evaluator, Speed
from leafwise.envs.core.contract.features import SmallTable
from leafwise.envs.core.contract.game import Game
from leafwise.envs.threes import GAME, rules
from leafwise.envs.threes import row as r
from leafwise.envs.threes.features import CELLS
from leafwise.envs.threes.lines import make_line_siblings
from leafwise.envs.threes.scores import ROOM
from leafwise.models.ntuple import NTupleNetwork, Shape, parse_tuples

TABLES = "deck", "deck_empties", "large", "blank_merge"
SPLITS = (8,)


def learned(tables: Mapping[str, SmallTable] = CELLS.tables) -> Evaluator:
    """Returns a network of int16 at random, for a room with these small tables."""
    room = replace(GAME, features={"ntuple": replace(CELLS, tables=tables)})
    shape = Shape(parse_tuples("0123 0145 5a"), splits=SPLITS, small=TABLES)
    units = np.random.default_rng(3).integers(
        -99, 99, sum(shape.check(room).sizes(room)) * shape.copies, dtype=np.int16
    )
    return NTupleNetwork.create(room, shape, units, [0.3, 0.7, 1.1, 0.9, 0.7, 0.1, 1.3]).evaluator("rows")


def of_another_tuple(leaf: Evaluator) -> Evaluator:
    """Returns a network that takes every cell for one of the first tuple."""
    near = leaf.weights.near
    near = near._replace(seeing=np.zeros_like(near.seeing))
    return replace(leaf, weights=leaf.weights._replace(near=near))


PLANTED: dict[str, Game] = {}
SAID: dict[str, str] = {}
SOUND = GAME.score("rows")
SIBLINGS: Any = SOUND.speed.sibling_values


def planted(said: str, name: str, siblings: Any = None, leaf: Evaluator | None = None, **changes: Any) -> None:
    """Keeps the game with a mistake in its rules of chance, in its leaf or in the siblings of one; what `said` says is expected."""
    chance = replace(GAME.rules.chance, **changes)
    scores = GAME.scores
    if siblings is not None or leaf is not None:
        own = leaf or replace(SOUND, speed=Speed(sibling_values=siblings))
        scores = {"rows": lambda options: own}
    PLANTED[name] = replace(GAME, module=__name__, rules=replace(GAME.rules, chance=chance), scores=scores)
    SAID[name] = said


@jit
def one_slide_less(S, i, j, T):
    return max(0, rules.afterstates(S, i, j, T) - 1)


@jit
def too_far(S, i, j, T):
    return rules.afterstates(S, i, j + r.ONE, T)


@jit
def also_before_a_tile_enters(S, i, j, T):
    n = rules.afterstates(S, i, j, T)
    if S[i, 1] & r.THREE == r.ENTER:
        S[j, 0], S[j, 1] = S[i, 0], S[i, 1]
        n = 1
    return n


@jit
def of_another_card(S, k, o, j, T):
    S[j, 0] = S[k, 0]
    S[j, 1] = (S[o, 1] | S[k, 1]) ^ r.FOUR


@jit
def over_the_outcome(S, k, o, j, T):
    S[o, 0] = S[k, 0]
    rules.apply_outcome(S, k, o, j, T)


@jit
def one_leaf_less(S, k, o, end, M, P, T):
    return SIBLINGS(S, k, o, end, M, P, T) - 1


@jit
def a_little_off(S, k, o, end, M, P, T):
    n = SIBLINGS(S, k, o, end, M, P, T)
    for q in range(o, end):
        M[q] *= 1.0 + 1e-15
    return n


@jit
def all_as_the_first(S, k, o, end, M, P, T):
    n = SIBLINGS(S, k, o, end, M, P, T)
    for q in range(o, end):
        M[q] = M[o]
    return n


@jit
def whatever_was_known(S, k, o, end, M, P, T):
    for q in range(o, end):
        M[q] = -np.inf
    return SIBLINGS(S, k, o, end, M, P, T)


@jit
def over_the_afterstate(S, k, o, end, M, P, T):
    S[k, 1] |= S[o, 1]
    return SIBLINGS(S, k, o, end, M, P, T)


planted(r"afterstates: expected \d legal actions, got \d, at '", "fewer", afterstates=one_slide_less)
planted(r"afterstates: expected row 0 to 6 of S to be written, got 7", "too far", afterstates=too_far)
planted(
    r"afterstates: expected outcomes that are decisions, got one", "too early", afterstates=also_before_a_tile_enters
)
planted(
    r"apply_outcome: expected the row that apply_action writes, \[.*\(action '\w+'\)",
    "card",
    apply_outcome=of_another_card,
)
planted(
    r"apply_outcome: expected only rows \(3\) of S to be written, got row 2", "over", apply_outcome=over_the_outcome
)
planted(r"score rows: expected siblings to count \d+ leaves, got \d+", "n", one_leaf_less)
planted(r"score rows: expected the mean of leaves one by one, .* of siblings", "off", a_little_off)
planted(r"score rows: expected the mean of leaves", "first", all_as_the_first)
planted(r"score rows: expected siblings to leave what is higher", "lower", whatever_was_known)
planted(r"score rows: expected only rows \(.*\) of S to be written, got row 1", "afterstate", over_the_afterstate)
planted(
    r"score rows: expected the mean of leaves",
    "undying",
    make_line_siblings(ROOM, loses=False, twice=False),
)
planted(r"score rows: expected the mean of leaves", "another tuple", leaf=of_another_tuple(learned()))
planted(
    r"score rows: expected the mean of leaves",
    "a table that is not the same in all lanes",
    leaf=learned({**CELLS.tables, "blank_merge": replace(CELLS.tables["blank_merge"], placed=False)}),
)
LEARNED = replace(GAME, module=__name__, scores={"rows": lambda options: learned()})
"""Without a mistake, its leaf a network."""
