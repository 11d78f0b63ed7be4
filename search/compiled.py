"""The compiled searches of a game and a leaf kind, from their factories."""

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


def no_means(S, k, o, end, M, P, T):
    """Of leaves that are valued each alone."""
    return 0


def make_last_decisions(
    rules: Rules,
    max_actions: int,
    siblings: Compiled | None,
    last_step: Compiled,
    room: Path,
) -> Compiled | None:
    """Compiles `last_decisions(S, B, row, top, T)`, to be inlined, for a game and a leaf kind; None: its outcomes share no actions.

    It returns whether the outcomes of a chance row are decisions of which all is known once, and if so their mean value with
    one decision to go. Rows from `top` on are free.
    """
    own = bind(room, inline=True)
    afterstates, apply_outcome, chance_outcomes = rules.afterstates, rules.apply_outcome, rules.chance_outcomes
    if afterstates is None or apply_outcome is None or rules.candidates is not None:
        return None
    means = siblings or own(no_means)
    needed = np.uint64(max_actions + 2 * rules.chance.max_outcomes + 2)

    @own
    def means_one_by_one(S, B, k, first, end, T):
        """Does what `siblings` does where that cannot say; returns whether there are only leaves, which it counts."""
        for o in range(first, end):
            apply_outcome(S, k, o, end, T)
            known, worth = last_step(S, B, end, end + ONE, -np.inf, np.inf, T)
            if not known:
                return False
            B.best[o] = max(B.best[o], worth)
        return True

    @own
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
        before = B.counts[NODES]
        B.counts[NODES] = before + np.int64(end - first)
        if (before ^ B.counts[NODES]) & ~np.int64(POLL) and (T.stop[0] or is_late(B.deadline)):
            B.counts[FAILED] = STOPPED
        return True, total

    return last_decisions


class CompiledSearch(NamedTuple):
    """Compiled functions; what is not called is not compiled. S [rows, width] are rows, B is `search_options.Buffers`."""

    plain: Callable[..., float]
    """`(S, B, i, top, depth, lower, upper, T)` -> the value of row i, whatever the window; without a table, unless searches of the
    game have one if nobody says otherwise."""
    plain_root: Callable[..., int]
    """`(S, B, actions, n, values, is_bound, depth, all_values, rounding, best, first, T)` -> how many actions of row 0 were
    searched by `plain`."""
    with_table: Callable[..., float]
    """`plain` with a table."""
    with_table_root: Callable[..., int]
    """The same by `with_table`."""
    pruning: Callable[..., float]
    """`(S, B, i, top, depth, lower, upper, T)` -> that value, or a bound beyond the window."""
    pruning_root: Callable[..., int]
    """The same by `pruning`."""
    leaf_value: Callable[..., float]
    """`(S, i, T)` -> the value of row i as a leaf."""
    last_step: Callable[..., tuple[bool, float]]
    """`(S, B, i, top, lower, upper, T)` -> whether row i, with no decision to go, is a leaf or has only leaves one chance stage
    on; and then what `pruning` returns. To be inlined."""


def compiled_search(game: Game, evaluator: Evaluator) -> CompiledSearch:
    """Returns the compiled searches for a game and a leaf kind; raises ValueError if they do not fit."""
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
    siblings: Compiled | None,
    spec: LeafSpec,
    room: Path,
) -> CompiledSearch:
    leaves = make_leaf_values(rules, players, value, spec, room)
    together = siblings is not None and rules.afterstates is not None

    def search_of(*, prunes: bool, remembers: bool = True) -> tuple[Compiled, Compiled]:
        """Returns `last_step` and the search, with pruning or without, with a table or without."""
        inline = prunes or not together
        last_step = make_last_step(rules, leaves, prefetch, room, prunes=prunes, inline=inline)
        last_decisions = None if prunes else make_last_decisions(rules, max_actions, siblings, last_step, room)
        parts = rules, symmetries.transform, leaves, last_step, last_decisions, room
        no_inline = players == 2 or together
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
        leaves.leaf_value,
        last_step,
    )
