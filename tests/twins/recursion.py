"""A depth-limited search as plain recursion, in the words of the contract: what every exact search must agree with."""

from __future__ import annotations

import numpy as np

from leafwise.envs.core.compile.jit import bind
from leafwise.envs.core.contract.rules import CHANCE, TERMINAL
from leafwise.envs.core.contract.statement import EVALUATE, RETURNS, statement


def make_naive(rules, value, stated, name, room):
    """Compiles the recursion for a game and an evaluator; kept nowhere, since it calls itself."""
    current_player, stage, returns = rules.current_player, rules.stage, rules.returns
    legal_actions, apply_action, action_cost = rules.legal_actions, rules.apply_action, rules.action_cost
    chance_outcomes = rules.chance_outcomes
    leaf_stage, to_go, rule, win, draw, loss = stated

    @bind(name, room, cache=False)
    def naive(S, A, P, i, top, depth, T):
        """Returns player 0's value of row i of S [rows, width]; rows from `top` on are free."""
        player = current_player(S, i, T)
        if player == TERMINAL and rule != EVALUATE:
            outcome = returns(S, i, T)
            if rule == RETURNS:
                return outcome
            return win if outcome > 0 else (loss if outcome < 0 else draw)
        if player == TERMINAL or (depth == 0 and (stage(S, i, T) == 0 or stage(S, i, T) == leaf_stage)):
            worth = value(S, i, T)
            if player == 1:
                worth = -worth
            return worth + returns(S, i, T) if to_go else worth
        total = 0.0
        if player == CHANCE:
            n = np.uint64(chance_outcomes(S, i, P, top, T))
            for o in range(top, top + n):
                total += P[o] * naive(S, A, P, o, top + n, depth, T)
            return total
        n = legal_actions(S, i, A[top], T)
        for k in range(n):
            apply_action(S, i, A[top, k], top, T)
            below = naive(S, A, P, top, top + np.uint64(1), depth - action_cost(S, i, A[top, k], T), T)
            if k == 0 or (below < total if player == 1 else below > total):
                total = below
        return total

    return naive


class Naive:
    """The recursion for a game and an evaluator."""

    def __init__(self, game, evaluator):
        stated = statement(evaluator, game.stages)
        self.run = make_naive(game.rules, evaluator.compiled, stated, f"{game.name}_{evaluator.name}", game.room)
        self.game, self.T = game, game.tables(evaluator)
        n = 1000 + 40 * game.max_outcomes
        self.S, self.P, self.A = game.rows(n), np.zeros(n), np.zeros((n, game.max_actions), dtype=np.int64)

    def values(self, state, depth):
        """Returns the value of every action for the player to move, `depth` decisions deep."""
        sign = -1.0 if state.current_player == 1 else 1.0
        self.S[0] = state.row
        rules, zero, one, two = self.game.rules, np.uint64(0), np.uint64(1), np.uint64(2)
        found = {}
        for a in state.legal_actions:
            rules.apply_action(self.S, zero, a, one, self.T)
            left = depth - int(rules.action_cost(self.S, zero, a, self.T))
            found[a] = sign * float(self.run(self.S, self.A, self.P, one, two, left, self.T))
        return found
