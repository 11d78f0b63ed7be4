"""The hand-made evaluator of Cassis: the difference in safe edges."""

from __future__ import annotations

import numpy as np

from leafwise.envs.cassis.rules import mover, spoiled
from leafwise.envs.cassis.tables import Options
from leafwise.envs.core.compile.jit import jit
from leafwise.envs.core.contract.bits import count_bits
from leafwise.envs.core.contract.evaluator import Evaluator


@jit(inline=True)
def safe_edges(S, i, T):
    player = mover(S, i)
    own, other = S[i, player], S[i, 1 - player]
    free = T.all & ~(own | other)
    mine, theirs = count_bits(free & ~spoiled(own, T)), count_bits(free & ~spoiled(other, T))
    return (np.float64(mine) - np.float64(theirs)) / np.float64(T.edges + 1)


def make_safe_edges(options: Options) -> Evaluator:
    """Returns the evaluator `safe_edges`: own safe edges minus the other player's, divided by the number of edges + 1.

    An edge is safe for a player if it would not complete a triangle of their own. Renaming the points does not change the
    value. Many moves have equal values. The search chooses among them, the first by number or a random one, which does depend
    on the names of the points.
    """
    return Evaluator("safe_edges", safe_edges, low=-1.0, high=1.0)


SCORES = {"safe_edges": make_safe_edges}
