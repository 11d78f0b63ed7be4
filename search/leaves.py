"""What a leaf of a search is worth: the evaluator's number, or the outcome of a finished game; always player 0's."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import numpy as np

from leafwise.envs.core.compile.jit import bind
from leafwise.envs.core.contract.evaluator import Evaluator
from leafwise.envs.core.contract.game import Game
from leafwise.envs.core.contract.leaf_spec import EVALUATE, LeafSpec, finished_value
from leafwise.envs.core.contract.rules import TERMINAL, Compiled, Rules
from leafwise.search.table import second_hash

ZERO = np.uint64(0)
HIGH_BITS = np.uint64(20)
"""The bits of a hash from here on say where a leaf is remembered."""


class LeafValues(NamedTuple):
    """Compiled functions of a game and a leaf kind; S [rows, width], i a row."""

    is_leaf: Compiled
    """`(S, i, T)` -> whether the evaluator is asked at a row below the last decision."""
    leaf_value: Compiled
    """`(S, i, T)` -> the value of a leaf, finished or not."""
    terminal_value: Compiled
    """`(S, B, i, T)` -> the value of a finished game."""
    seen_value: Compiled
    """`(S, B, i, T)` -> `leaf_value`, remembered where there is a memory for it."""
    value_no_inline: Compiled
    """`seen_value`, not inlined: where few leaves are met, one copy of the evaluator's code is enough."""


def make_leaf_values(rules: Rules, players: int, value: Compiled, spec: LeafSpec, name: str, room: Path) -> LeafValues:
    """Compiles what leaves are worth by an evaluator's `value`, to be inlined."""
    current_player, stage, returns = rules.current_player, rules.stage, rules.returns
    leaf_stage, to_go, rule = spec.stage, spec.to_go, spec.rule
    win, draw, loss = spec.win, spec.draw, spec.loss
    may_be_over, may_be_other = players == 2 or rule != EVALUATE, players == 2

    @bind(name, room, inline=True)
    def is_leaf(S, i, T):
        here = stage(S, i, T)
        return here == leaf_stage or here == 0

    @bind(name, room, inline=True)
    def outcome_value(S, i, T):
        if rule == EVALUATE:
            return value(S, i, T) + returns(S, i, T) if to_go else value(S, i, T)
        return finished_value(rule, win, draw, loss, returns(S, i, T))

    @bind(name, room, inline=True)
    def leaf_value(S, i, T):
        player = 0
        if may_be_over:
            player = current_player(S, i, T)
            if player == TERMINAL:
                return outcome_value(S, i, T)
        worth = value(S, i, T)
        if may_be_other and player == 1:
            worth = -worth
        return worth + returns(S, i, T) if to_go else worth

    @bind(name, room, inline=True)
    def seen_value(S, B, i, T):
        """Rows that differ are told apart by 64 bits."""
        n = B.leaves.shape[0]
        h, e = ZERO, ZERO
        if n > 1:
            h = second_hash(S, i)
            e = (h >> HIGH_BITS) & np.uint64(n - 1)
            if B.leaves[e, 0] == h:
                return B.leaf_values[e, 1]
        worth = leaf_value(S, i, T)
        if n > 1:
            B.leaves[e, 0] = h
            B.leaf_values[e, 1] = worth
        return worth

    @bind(name, room)
    def value_no_inline(S, B, i, T):
        return seen_value(S, B, i, T)

    @bind(name, room, inline=True)
    def terminal_value(S, B, i, T):
        return value_no_inline(S, B, i, T) if rule == EVALUATE else outcome_value(S, i, T)

    return LeafValues(is_leaf, leaf_value, terminal_value, seen_value, value_no_inline)


def bounds(game: Game, evaluator: Evaluator) -> tuple[float, float]:
    """Returns the least and the most that player 0 can get from a leaf, infinite if the evaluator states no bounds."""
    if evaluator.low is None or evaluator.high is None:
        return -np.inf, np.inf
    worths = [evaluator.low, evaluator.high]
    if evaluator.to_go:
        worths = [evaluator.low + game.return_range[0], evaluator.high + game.return_range[1]]
    if isinstance(evaluator.terminal, tuple):
        worths += evaluator.terminal
    elif evaluator.terminal == "returns":
        worths += game.return_range
    if game.players == 2:
        worths += [-w for w in worths]
    return float(min(worths)), float(max(worths))
