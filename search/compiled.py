"""The compiled searches of a game and a leaf kind, from their factories."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import NamedTuple

from leafwise.envs.core.contract.evaluator import Evaluator, LeafSpec, leaf_spec
from leafwise.envs.core.contract.game import Game
from leafwise.envs.core.contract.rules import Compiled, Rules, Symmetries
from leafwise.search.expectiminimax import (
    make_last_step,
    make_leaf_values,
    make_root,
    make_search,
)
from leafwise.search.siblings import make_last_decisions


class CompiledSearch(NamedTuple):
    """Compiled functions; what is not called is not compiled. S [rows, width] are rows, B is `search_options.Buffers`."""

    plain: Callable[..., float]
    """`(S, B, i, top, depth, lower, upper, T)` -> the value of row i, whatever the window."""
    plain_root: Callable[..., int]
    """`(S, B, actions, n, values, is_bound, depth, all_values, rounding, best, first, T)` -> how many actions of row 0 were
    searched by `plain`."""
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
    return _compiled(game.rules, game.symmetries, game.players, game.max_actions, *leaf, room)


@cache
def _compiled(
    rules: Rules,
    symmetries: Symmetries,
    players: int,
    max_actions: int,
    value: Compiled,
    prefetch: Compiled | None,
    siblings: Compiled | None,
    spec: LeafSpec,
    room: Path,
) -> CompiledSearch:
    leaves = make_leaf_values(rules, players, value, spec, room)
    together = siblings is not None and rules.afterstates is not None

    def search_of(prunes: bool) -> tuple[Compiled, Compiled]:
        """Returns `last_step` and the search, with pruning or without."""
        inline = prunes or not together
        last_step = make_last_step(rules, leaves, prefetch, room, prunes=prunes, inline=inline)
        last_decisions = None if prunes else make_last_decisions(rules, max_actions, siblings, last_step, room)
        parts = rules, symmetries.transform, leaves, last_step, last_decisions, room
        return last_step, make_search(*parts, prunes=prunes, no_inline=players == 2 or together)

    (_, plain), (last_step, pruning) = search_of(False), search_of(True)
    return CompiledSearch(
        plain,
        make_root(rules, plain, room),
        pruning,
        make_root(rules, pruning, room),
        leaves.leaf_value,
        last_step,
    )
