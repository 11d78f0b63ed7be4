"""A depth-limited search as plain recursion, over leaves in the words of the contract: what every exact search must agree with."""

from __future__ import annotations

import numpy as np

from leafwise.envs.core.compile.jit import bind
from leafwise.envs.core.contract.evaluator import EVALUATE, RETURNS, leaf_spec
from leafwise.envs.core.contract.rules import CHANCE, TERMINAL

ONE = np.uint64(1)


def make_naive(rules, value, spec, room):
    """Compiles the textbook's recursion for a game and an evaluator; kept nowhere, since it calls itself."""
    returns = rules.returns
    current_player, stage, chance_outcomes = rules.current_player, rules.stage, rules.chance_outcomes
    legal_actions, apply_action, action_cost = rules.legal_actions, rules.apply_action, rules.action_cost
    asked, to_go, rule, win, draw, loss = spec
    compiled = bind(room, cache=False)

    @compiled
    def leaf_value(S, i, T):
        """Returns player 0's value of a leaf, finished or not."""
        player = current_player(S, i, T)
        if player == TERMINAL and rule != EVALUATE:
            outcome = returns(S, i, T)
            if rule == RETURNS:
                return outcome
            return win if outcome > 0 else (loss if outcome < 0 else draw)
        worth = value(S, i, T)
        if player == 1:
            worth = -worth
        return worth + returns(S, i, T) if to_go else worth

    @compiled
    def expectiminimax(S, A, P, i, top, depth, lower, upper, T):
        """Returns player 0's value of row i of S [rows, width], `depth` decisions deep, or a bound outside the window.

        Rows from `top` on are free; A [rows, actions] and P [rows] are scratch.
        """
        player = current_player(S, i, T)
        if player == TERMINAL or (depth == 0 and (stage(S, i, T) == 0 or asked >> np.int64(stage(S, i, T)) & 1)):
            return leaf_value(S, i, T)
        if player == CHANCE:
            mean, end = 0.0, top + np.uint64(chance_outcomes(S, i, P, top, T))
            for o in range(top, end):
                mean += P[o] * expectiminimax(S, A, P, o, end, depth, -np.inf, np.inf, T)
            return mean
        best = np.inf if player == 1 else -np.inf
        for k in range(legal_actions(S, i, A[top], T)):
            a = A[top, k]
            apply_action(S, i, a, top, T)
            value = expectiminimax(S, A, P, top, top + ONE, depth - action_cost(S, i, a, T), lower, upper, T)
            if player == 1:
                best = min(best, value)
                upper = min(upper, best)
            else:
                best = max(best, value)
                lower = max(lower, best)
            if lower >= upper:
                break
        return best

    return expectiminimax


class Naive:
    """The recursion for a game and an evaluator."""

    def __init__(self, game, evaluator):
        spec = leaf_spec(evaluator, game.stages)
        self.run = make_naive(game.rules, evaluator.compiled, spec, game.room)
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
            found[a] = sign * float(self.run(self.S, self.A, self.P, one, two, left, -np.inf, np.inf, self.T))
        return found
