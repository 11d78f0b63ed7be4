"""A choice drawn from an evaluator's policy: the opponent of a learner that plays against itself."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from leafwise.envs.core.compile.jit import bind
from leafwise.envs.core.contract.evaluator import Evaluator
from leafwise.envs.core.contract.rules import Compiled, Rules
from leafwise.envs.core.contract.stream import uniform
from leafwise.envs.core.errors import UserError
from leafwise.envs.core.softmax import softmax_term

if TYPE_CHECKING:
    from leafwise.envs.core.contract.game import Game


def compiled_sampled(game: Game, evaluator: Evaluator) -> Compiled:
    """Returns the compiled `sampled_action` of a game and an evaluator; raises ValueError for one without a policy."""
    if evaluator.policy is None:
        raise UserError(f"{game.name}: expected an evaluator with a policy, got {evaluator.name!r}")
    return make_sampled(game.rules, evaluator.policy, game.room)


@cache
def make_sampled(rules: Rules, policy: Compiled, room: Path) -> Compiled:
    """Compiles `sampled_action` by an evaluator's `policy`."""
    legal_actions = rules.legal_actions

    @bind(room)
    def sampled_action(S, i, o, A, P, R, T):
        """Returns an action of row i of S [rows, width] drawn from stream R [2], each as probable as the policy says.

        A [actions] and P, of at least as many numbers, are scratch.
        """
        policy(S, i, P, T)
        n = legal_actions(S, i, A, T)
        most, total = P[A[0]], 0.0
        for k in range(1, n):
            most = max(most, P[A[k]])
        for k in range(n):
            P[A[k]] = softmax_term(P[A[k]], most)
            total += P[A[k]]
        left = uniform(R) * total
        for k in range(n - 1):
            left -= P[A[k]]
            if left < 0:
                return A[k]
        return A[n - 1]

    return sampled_action
