"""A depth-limited search as plain recursion, over leaves in the words of the contract: what every exact search must agree with."""

from __future__ import annotations

import numpy as np

from leafwise.envs.core.compile.jit import bind
from leafwise.envs.core.contract.evaluator import EVALUATE, RETURNS, leaf_spec
from leafwise.envs.core.contract.rules import TERMINAL
from leafwise.search.expectiminimax import make_textbook


def make_naive(rules, value, spec, room):
    """Compiles the textbook's recursion for a game and an evaluator; kept nowhere, since it calls itself."""
    current_player, returns = rules.current_player, rules.returns
    leaf_stage, to_go, rule, win, draw, loss = spec
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

    return make_textbook(rules, leaf_stage, leaf_value, compiled)


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
