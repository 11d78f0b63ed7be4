"""The greedy choice: the action whose expected value after the chance that follows is highest.

It looks one decision ahead with an `Evaluator`, in compiled code without recursion: the open chance stages of one
action lie on a stack of rows. It is the built-in opponent of the environments.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from leafwise.envs.core.compile.jit import bind
from leafwise.envs.core.contract.evaluator import (
    EVALUATE,
    Evaluator,
    LeafSpec,
    finished_value,
    for_player_zero,
    leaf_spec,
)
from leafwise.envs.core.contract.rules import CHANCE, TERMINAL, Compiled, Rules
from leafwise.envs.core.contract.stream import below, u64

if TYPE_CHECKING:
    from leafwise.envs.core.contract.game import Game


def rows_needed(game: Game) -> int:
    """Returns how many scratch rows one greedy choice takes: the action's, and every open outcome."""
    return 1 + game.max_stages * game.max_outcomes


def compiled_greedy(game: Game, evaluator: Evaluator) -> Compiled:
    """Returns the compiled `greedy_action` of a game and one of its hand-made scores."""
    spec = leaf_spec(evaluator, game.stages)
    return make_greedy(game.rules, evaluator.compiled, spec, game.room)


@cache
def make_greedy(rules: Rules, value: Compiled, spec: LeafSpec, room: Path) -> Compiled:
    """Compiles `greedy_action` by an evaluator's `value`."""
    current_player, stage, returns = rules.current_player, rules.stage, rules.returns
    legal_actions, apply_action, chance_outcomes = rules.legal_actions, rules.apply_action, rules.chance_outcomes
    leaf_stage, to_go, rule = spec.stage, spec.to_go, spec.rule
    win, draw, loss = spec.win, spec.draw, spec.loss

    @bind(room, inline=True)
    def row_value(S, i, player, T):
        """Returns player 0's value of row i, at which `player` acts (or TERMINAL, or CHANCE at the asked stage)."""
        if player == TERMINAL and rule != EVALUATE:
            return finished_value(rule, win, draw, loss, returns(S, i, T))
        worth = for_player_zero(value(S, i, T), player)
        if to_go:
            worth += returns(S, i, T)
        return worth

    @bind(room, inline=True)
    def expected_value(S, o, P, T):
        """Returns player 0's expected value of row o of S [rows, width]; rows and P [rows] from o on are scratch."""
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
            # Chance opens its outcomes on the stack, each with its share; other rows are valued
            P[top] = 0.0
            player = current_player(S, top, T)
            if player == CHANCE and stage(S, top, T) != leaf_stage:
                first = top + u64(1)
                n = u64(chance_outcomes(S, top, P, first, T))
                for k in range(n):
                    P[first + u64(k)] *= share
                top += n
            else:
                total += share * row_value(S, top, player, T)

    @bind(room)
    def greedy_action(S, i, o, A, P, R, T):
        """Returns the best action of the decision at row i of S [rows, width], ties broken by stream R [2].

        Rows from o on, A [actions] and P [rows] are scratch.
        """
        player = current_player(S, i, T)
        n = legal_actions(S, i, A, T)
        best = -np.inf
        choice = A[0]
        ties = 0
        for k in range(n):
            apply_action(S, i, A[k], o, T)
            worth = expected_value(S, o, P, T)
            if player == 1:
                worth = -worth
            if worth > best or ties == 0:
                best, choice, ties = worth, A[k], 1
            elif worth == best:
                ties += 1
                if below(R, ties) == u64(0):
                    choice = A[k]
        return choice

    return greedy_action
