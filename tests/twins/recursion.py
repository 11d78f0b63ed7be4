"""A depth-limited search as plain recursion, in the words of the contract: what every exact search must agree with."""

from __future__ import annotations

import numpy as np

from leafwise.envs.core.compile.jit import specialise
from leafwise.envs.core.contract.rules import CHANCE, TERMINAL

EVALUATE, RETURNS, TRIPLE = 0, 1, 2


def naive(S, A, P, i, top, depth, T):
    """Returns player 0's value of row i; rows from `top` on are free."""
    player = current_player(S, i, T)
    if player == TERMINAL and RULE != EVALUATE:
        outcome = returns(S, i, T)
        if RULE == RETURNS:
            return outcome
        return WIN if outcome > 0 else (LOSS if outcome < 0 else DRAW)
    if player == TERMINAL or (depth == 0 and (stage(S, i, T) == 0 or stage(S, i, T) == LEAF_STAGE)):
        worth = value(S, i, T)
        if player == 1:
            worth = -worth
        return worth + returns(S, i, T) if TO_GO else worth
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


class Naive:
    """The recursion for a game and an evaluator."""

    def __init__(self, game, evaluator):
        rule, triple = TRIPLE, (0.0, 0.0, 0.0)
        if isinstance(evaluator.terminal, tuple):
            triple = evaluator.terminal
        else:
            rule = EVALUATE if evaluator.terminal == "evaluate" else RETURNS
        names = {
            **game.rules.injected(),
            "value": evaluator.compiled,
            "LEAF_STAGE": game.stages.index(evaluator.stage),
            "TO_GO": evaluator.to_go,
            "RULE": rule,
            "WIN": float(triple[0]),
            "DRAW": float(triple[1]),
            "LOSS": float(triple[2]),
        }
        self.run = specialise(naive, f"{game.name}_{evaluator.name}", names, game.room, cache=False)
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
