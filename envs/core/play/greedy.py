"""The greedy choice: the action whose expected value after the chance that follows is highest.

It looks one decision ahead with an `Evaluator`, in compiled code without recursion: the open chance stages of one
action lie on a stack of rows. It is the built-in opponent of the environments.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any
from zlib import crc32

import numpy as np

from leafwise.envs.core.compile.jit import specialise
from leafwise.envs.core.contract.evaluator import Evaluator, for_player_zero
from leafwise.envs.core.contract.rules import CHANCE, TERMINAL, Rules
from leafwise.envs.core.contract.stream import below, u64

if TYPE_CHECKING:
    from leafwise.envs.core.contract.game import Game

EVALUATE, RETURNS, OUTCOME = 0, 1, 2
"""What a finished game is worth: asked like any leaf, the return, or a number for won, drawn, lost."""


def asking(evaluator: Evaluator, stages: tuple[str, ...]) -> dict[str, Any]:
    """Returns the evaluator's statements as constants; raises ValueError for a stage that the game lacks."""
    if evaluator.stage not in stages:
        expected = ", ".join(stages)
        raise ValueError(f"evaluator {evaluator.name!r}: expected a stage among {expected}, got {evaluator.stage!r}")
    rule = {"evaluate": EVALUATE, "returns": RETURNS}.get(str(evaluator.terminal), OUTCOME)
    win, draw, loss = evaluator.terminal if isinstance(evaluator.terminal, tuple) else (0.0, 0.0, 0.0)
    return {
        "evaluate": evaluator.compiled,
        "LEAF_STAGE": stages.index(evaluator.stage),
        "TO_GO": evaluator.to_go,
        "TERMINAL_RULE": rule,
        "WIN": float(win),
        "DRAW": float(draw),
        "LOSS": float(loss),
    }


def rows_needed(game: Game) -> int:
    """Returns how many scratch rows one greedy choice takes: the action's, and every open outcome."""
    return 1 + game.max_stages * game.max_outcomes


def row_value(S, i, player, T):
    """Returns player 0's value of row i, at which `player` acts (or TERMINAL, or CHANCE at the asked stage)."""
    if player == TERMINAL and TERMINAL_RULE != EVALUATE:
        result = returns(S, i, T)
        if TERMINAL_RULE == RETURNS:
            return result
        if result > 0.0:
            return WIN
        return DRAW if result == 0.0 else LOSS
    value = for_player_zero(evaluate(S, i, T), player)
    if TO_GO:
        value += returns(S, i, T)
    return value


def expected_value(S, o, P, T):
    """Returns player 0's expected value of row o; rows and P from o on are scratch."""
    total = 0.0
    top = o
    P[top] = 1.0
    while True:
        share = P[top]
        if share == 0.0:  # counted; probabilities are positive, so 0 can mark it
            if top == o:
                return total
            top -= u64(1)
            continue
        P[top] = 0.0
        player = current_player(S, top, T)
        if player == CHANCE and stage(S, top, T) != LEAF_STAGE:
            first = top + u64(1)
            n = u64(chance_outcomes(S, top, P, first, T))
            for k in range(n):
                P[first + u64(k)] *= share
            top += n
        else:
            total += share * row_value(S, top, player, T)


def greedy_action(S, i, o, L, P, R, T):
    """Returns the best action of the decision at row i, ties broken by stream R; rows from o on are scratch."""
    player = current_player(S, i, T)
    n = legal_actions(S, i, L, T)
    best = -np.inf
    choice = L[0]
    ties = 0
    for k in range(n):
        apply_action(S, i, L[k], o, T)
        value = expected_value(S, o, P, T)
        if player == 1:
            value = -value
        if value > best or ties == 0:
            best, choice, ties = value, L[k], 1
        elif value == best:
            ties += 1
            if below(R, ties) == u64(0):
                choice = L[k]
    return choice


def compiled_greedy(game: Game, evaluator: Evaluator) -> Callable[..., Any]:
    """Returns the compiled `greedy_action` of a game and one of its hand-made scores."""
    constants = asking(evaluator, game.stages)
    # a variant may state other things under the same name: the name must tell them apart on disk
    stated = repr([evaluator.compiled.__qualname__, *list(constants.values())[1:]])
    name = f"{game.name}_{evaluator.name}_{crc32(stated.encode()):08x}"
    return _compiled(game.rules, name, game.room, tuple(constants.items()))


@cache
def _compiled(rules: Rules, name: str, room: Path, constants: tuple[tuple[str, Any], ...]) -> Callable[..., Any]:
    scope = rules.injected() | dict(constants)
    for template in (row_value, expected_value):
        scope[template.__name__] = specialise(template, name, scope, room, inline=True)
    return specialise(greedy_action, name, scope, room)
