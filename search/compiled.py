"""Puts together the compiled searches for a game and a kind of evaluator."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import NamedTuple

import numpy as np

from leafwise.envs.core.compile.intrinsics import is_late
from leafwise.envs.core.compile.jit import bind
from leafwise.envs.core.contract.evaluator import Evaluator, LeafSpec, leaf_spec
from leafwise.envs.core.contract.game import Game
from leafwise.envs.core.contract.rules import Compiled, Rules, Symmetries
from leafwise.search.expectiminimax import (
    FAILED,
    LEAVES,
    NODES,
    ONE,
    POLL,
    STOPPED,
    make_last_step,
    make_leaf_values,
    make_root,
    make_search,
)


def no_sibling_values(S, k, o, end, M, P, T):
    """Stands in for `sibling_values` of evaluators without: it values nothing."""
    return 0


def make_last_decisions(
    rules: Rules,
    max_actions: int,
    sibling_values: Compiled | None,
    last_step: Compiled,
    room: Path,
) -> Compiled | None:
    """Compiles `last_decisions(S, B, row, top, T)`, to be inlined; returns None for games whose outcomes share no actions.

    It values a chance node with one decision left. It returns whether all its outcomes are decisions that lead to leaves, and if
    so their mean value. Rows from `top` on are free.
    """
    inlined = bind(room, inline=True)
    afterstates, apply_outcome, chance_outcomes = rules.afterstates, rules.apply_outcome, rules.chance_outcomes
    if afterstates is None or apply_outcome is None or rules.candidates is not None:
        return None
    means = sibling_values or inlined(no_sibling_values)
    needed = np.uint64(max_actions + 2 * rules.chance.max_outcomes + 2)

    @inlined
    def means_one_by_one(S, B, k, first, end, T):
        """Does the work of `sibling_values` leaf by leaf; returns whether there are only leaves, which it counts."""
        for o in range(first, end):
            apply_outcome(S, k, o, end, T)
            known, worth = last_step(S, B, end, end + ONE, -np.inf, np.inf, T)
            if not known:
                return False
            B.best[o] = max(B.best[o], worth)
        return True

    @inlined
    def last_decisions(S, B, row, top, T):
        if top + needed > np.uint64(S.shape[0]) or B.counts[FAILED]:
            return False, 0.0
        actions = np.uint64(afterstates(S, row, top, T))
        if actions == np.uint64(0):
            return False, 0.0
        first = top + actions
        end = first + np.uint64(chance_outcomes(S, row, B.P, first, T))
        leaves = B.counts[LEAVES]
        for o in range(first, end):
            B.best[o] = -np.inf
        for k in range(top, first):
            count = means(S, k, first, end, B.best, B.P, T)
            B.counts[LEAVES] += count
            if count == 0 and not means_one_by_one(S, B, k, first, end, T):
                B.counts[LEAVES] = leaves
                return False, 0.0
        total = 0.0
        for o in range(first, end):
            total += B.P[o] * B.best[o]
        nodes_before = B.counts[NODES]
        B.counts[NODES] = nodes_before + np.int64(end - first)
        if (nodes_before ^ B.counts[NODES]) & ~np.int64(POLL) and (T.stop[0] or is_late(B.deadline)):
            B.counts[FAILED] = STOPPED
        return True, total

    return last_decisions


class CompiledSearch(NamedTuple):
    """Compiled functions, each compiled at its first call. S [rows, width] are rows, B is `search_options.SearchBuffers`."""

    plain: Callable[..., float]
    """`(S, B, i, top, depth, lower, upper, T)` -> the value of row i, whatever the window. It has a table only in games whose
    searches have one by default."""
    plain_root: Callable[..., int]
    """`(S, B, actions, n, values, is_bound, depth, all_values, rounding, best, first, T)` -> how many actions of row 0 `plain`
    searched; see `make_root`."""
    with_table: Callable[..., float]
    """`plain` with a table."""
    with_table_root: Callable[..., int]
    """`plain_root` by `with_table`."""
    pruning: Callable[..., float]
    """`(S, B, i, top, depth, lower, upper, T)` -> the value of row i, or a bound beyond the window."""
    pruning_root: Callable[..., int]
    """`plain_root` by `pruning`."""
    leaf_value: Callable[..., float]
    """`(S, i, T)` -> the value of row i as a leaf."""
    last_step: Callable[..., tuple[bool, float]]
    """`(S, B, i, top, lower, upper, T)` -> whether row i, with no decision left, is a leaf or a chance node with only leaves; and
    its value as `pruning` returns it. To be inlined."""


def compiled_search(game: Game, evaluator: Evaluator) -> CompiledSearch:
    """Returns the compiled searches for a game and a kind of evaluator; raises ValueError if the two do not fit."""
    spec, room = leaf_spec(evaluator, game.stages), evaluator.room or game.room
    leaf = evaluator.compiled, evaluator.speed.prefetch, evaluator.speed.sibling_values, spec
    has_table = game.search.decisions_per_depth > 1
    return _compiled(game.rules, game.symmetries, game.players, game.max_actions, has_table, *leaf, room)


@cache
def _compiled(
    rules: Rules,
    symmetries: Symmetries,
    players: int,
    max_actions: int,
    has_table: bool,
    value: Compiled,
    prefetch: Compiled | None,
    sibling_values: Compiled | None,
    spec: LeafSpec,
    room: Path,
) -> CompiledSearch:
    leaf_values = make_leaf_values(rules, players, value, spec, room)
    has_siblings = sibling_values is not None and rules.afterstates is not None

    def search_of(*, prunes: bool, remembers: bool = True) -> tuple[Compiled, Compiled]:
        """Returns `last_step` and the search, with pruning or without, with a table or without."""
        inline = prunes or not has_siblings
        last_step = make_last_step(rules, leaf_values, prefetch, room, prunes=prunes, inline=inline)
        last_decisions = None if prunes else make_last_decisions(rules, max_actions, sibling_values, last_step, room)
        parts = rules, symmetries.transform, leaf_values, last_step, last_decisions, room
        no_inline = players == 2 or has_siblings
        return last_step, make_search(*parts, prunes=prunes, remembers=remembers, no_inline=no_inline)

    _, plain = search_of(prunes=False, remembers=has_table)
    _, with_table = search_of(prunes=False)
    last_step, pruning = search_of(prunes=True)
    return CompiledSearch(
        plain,
        make_root(rules, plain, room),
        with_table,
        make_root(rules, with_table, room),
        pruning,
        make_root(rules, pruning, room),
        leaf_values.leaf_value,
        last_step,
    )
