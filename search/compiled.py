"""The compiled searches of a game and a leaf kind, from their factories."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from leafwise.envs.core.compile.fingerprint import label
from leafwise.envs.core.compile.jit import bind
from leafwise.envs.core.contract.evaluator import Evaluator, nothing_to_fetch
from leafwise.envs.core.contract.game import Game
from leafwise.envs.core.contract.rules import Compiled, Rules, Symmetries
from leafwise.envs.core.contract.statement import Statement, statement
from leafwise.search.alpha_beta import make_alpha_beta, make_shortcuts
from leafwise.search.depth_first import make_depth_first
from leafwise.search.leaves import make_leaf_values
from leafwise.search.nodes import make_arrive
from leafwise.search.root import make_plain_root, make_search_root


class CompiledSearch(NamedTuple):
    """Compiled functions; what is not called is not compiled. S [rows, width] are rows, B is `frames.Buffers`."""

    depth_first: Callable[..., float]
    """`(S, B, i, top, depth, T)` -> the value of row i."""
    plain_root: Callable[..., int]
    """`(S, B, actions, values, depth, T)` -> how many actions of row 0 were searched by `depth_first`."""
    alpha_beta: Callable[..., float]
    """`(S, B, i, top, depth, lower, upper, T)` -> that value, or a bound beyond the window."""
    search_root: Callable[..., int]
    """`(S, B, actions, values, is_bound, depth, all_values, rounding, T)` -> how many actions were searched."""
    leaf_value: Callable[..., float]
    """`(S, i, T)` -> the value of row i as a leaf."""
    last_step: Callable[..., tuple[bool, float]]
    """`(S, B, i, top, lower, upper, T)` -> whether row i, with no decision to go, is a leaf or has only leaves one chance stage
    on; and then what `alpha_beta` returns. To be inlined."""


def compiled_search(game: Game, evaluator: Evaluator) -> CompiledSearch:
    """Returns the compiled searches for a game and a leaf kind; raises ValueError if they do not fit."""
    stated, room = statement(evaluator, game.stages), evaluator.room or game.room
    sizes = game.players, game.max_actions, game.max_outcomes
    leaf = evaluator.compiled, evaluator.fetch, evaluator.siblings, stated
    return _compiled(game.rules, game.symmetries, game.name, *sizes, *leaf, room)


@cache
def _compiled(
    rules: Rules,
    symmetries: Symmetries,
    game: str,
    players: int,
    max_actions: int,
    max_outcomes: int,
    value: Compiled,
    fetch: Compiled | None,
    siblings: Compiled | None,
    stated: Statement,
    room: Path,
) -> CompiledSearch:
    sizes = max_actions, max_outcomes
    given = value, fetch, siblings, stated
    bound = label(*rules.functions().values(), symmetries.transform, players, *sizes, *given)
    name = f"{game}_{getattr(value, '__qualname__', '')}_{bound}"
    any_leaf = f"{game}_{label(*rules.functions().values(), symmetries.transform)}"
    fetch = fetch or bind(name, room, inline=True)(nothing_to_fetch)
    leaves = make_leaf_values(rules, players, value, stated, name, room)
    together = siblings is not None and rules.afterstates is not None
    arrive = make_arrive(rules, leaves, max_outcomes, name, room, apart=players == 2 or together)
    depth_first = make_depth_first(rules, leaves, stated.stage, arrive, fetch, siblings, sizes, (name, any_leaf), room)
    shortcuts = make_shortcuts(rules, leaves, max_outcomes, name, room)
    alpha_beta: Any = make_alpha_beta(rules, symmetries.transform, arrive, shortcuts, (name, any_leaf), room)
    return CompiledSearch(
        depth_first,
        make_plain_root(rules, depth_first, name, room),
        alpha_beta,
        make_search_root(rules, alpha_beta, name, room),
        leaves.leaf_value,
        shortcuts.last_step,
    )
