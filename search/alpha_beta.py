"""The alpha-beta search over max, min and chance nodes, written once and compiled per (game, leaf).

Decisions prune with a window (fail-soft), chance nodes by Star1 where the leaf has bounds: an average whose outcomes
still open cannot bring it into the window is left. Values inside the window are those of `templates.depth_first`.
Source: Ballard, "The *-minimax search procedure for trees containing chance nodes", Artificial Intelligence 21, 1983.
"""

from __future__ import annotations

import numpy as np

from leafwise.envs.core.evaluator import Evaluator
from leafwise.envs.core.game import Game
from leafwise.envs.core.rules import CHANCE, TERMINAL
from leafwise.search.templates import (
    AVERAGE,
    DEPTH,
    END,
    FAILED,
    FREE,
    LEAVES,
    NEXT,
    NO_ROWS,
    NODES,
    ONE,
    POLL,
    ROW,
    STOPPED,
    ZERO,
    open_frame,
)

BEST, LOWER, UPPER, REST = 0, 1, 2, 3
"""Columns of `Buffers.worth` here: best or summed value, the window, the probability of the outcomes still open."""


def alpha_beta(S, B, i, top, depth, lower, upper, least, most, T):
    """Returns player 0's value of row i if it lies between `lower` and `upper`, else a bound beyond the one it passes.

    No leaf is worth less than `least` or more than `most` (infinite: not known, and no pruning at chance nodes).
    """
    bounded = least > -np.inf and most < np.inf
    open_nodes = 0
    row, left, value = i, np.int64(depth), 0.0
    while True:
        opened = False
        player = current_player(S, row, T)
        if player == TERMINAL:
            B.counts[LEAVES] += 1
            value = finished_value(S, row, T)
        elif left == 0 and is_leaf(S, row, T):
            B.counts[LEAVES] += 1
            value = leaf_value(S, row, T)
        else:
            if open_nodes >= B.frames.shape[0] or top + ONE + MAX_OUTCOMES > np.uint64(S.shape[0]):
                B.counts[FAILED] = NO_ROWS
                return 0.0
            if player == CHANCE:
                n = np.uint64(chance_outcomes(S, row, B.P, top, T))
                open_frame(B, open_nodes, top, top + n, left, row, top + n, AVERAGE, lower)
            else:
                B.counts[NODES] += 1
                if B.counts[NODES] & POLL == 0 and T.stop[0]:
                    B.counts[FAILED] = STOPPED
                if B.counts[FAILED]:
                    return 0.0
                n = np.uint64(legal_actions(S, row, B.A[open_nodes], T))
                open_frame(B, open_nodes, ZERO, n, left, row, top, np.uint64(player), lower)
                B.worth[open_nodes, BEST] = np.inf if player == 1 else -np.inf
            B.worth[open_nodes, UPPER] = upper
            B.worth[open_nodes, REST] = 1.0
            open_nodes += 1
            opened = True
        # give the value to the node above, close every node that is complete or cut, and find the next row to value
        while True:
            if open_nodes == 0:
                return value
            f = open_nodes - 1
            next_child, end, kind = B.frames[f, NEXT], B.frames[f, END], B.frames[f, 5]
            best, lower, upper = B.worth[f, BEST], B.worth[f, LOWER], B.worth[f, UPPER]
            top, left = B.frames[f, FREE], np.int64(B.frames[f, DEPTH])
            cut = False
            if kind == AVERAGE:
                rest = B.worth[f, REST]
                if not opened:
                    best += B.P[next_child - ONE] * value
                    rest -= B.P[next_child - ONE]
                    B.worth[f, BEST], B.worth[f, REST] = best, rest
                    if bounded and next_child < end:
                        if best + rest * least >= upper:
                            best += rest * least
                            cut = True
                        elif best + rest * most <= lower:
                            best += rest * most
                            cut = True
                if not cut and next_child < end:
                    row = next_child
                    p = B.P[row]
                    others = max(rest - p, 0.0)
                    lower = (lower - best - others * most) / p if bounded else -np.inf
                    upper = (upper - best - others * least) / p if bounded else np.inf
                    B.frames[f, NEXT] = next_child + ONE
                    break
            else:
                if not opened:
                    best = min(best, value) if kind == ONE else max(best, value)
                    B.worth[f, BEST] = best
                    if kind == ONE:
                        upper = min(upper, best)
                        B.worth[f, UPPER] = upper
                    else:
                        lower = max(lower, best)
                        B.worth[f, LOWER] = lower
                    cut = lower >= upper
                if not cut and next_child < end:
                    a = B.A[f, next_child]
                    here = B.frames[f, ROW]
                    apply_action(S, here, a, top, T)
                    left -= action_cost(S, here, a, T)
                    row = top
                    top += ONE
                    B.frames[f, NEXT] = next_child + ONE
                    break
            value = best
            opened = False
            open_nodes -= 1


def bounds(game: Game, evaluator: Evaluator) -> tuple[float, float]:
    """Returns the least and the most that player 0 can get from a leaf, infinite if the evaluator states no bounds."""
    if evaluator.low is None or evaluator.high is None or evaluator.to_go:
        return -np.inf, np.inf
    worths = [evaluator.low, evaluator.high]
    if isinstance(evaluator.terminal, tuple):
        worths += evaluator.terminal
    elif evaluator.terminal == "returns":
        worths += game.return_range
    if game.players == 2:
        worths += [-w for w in worths]
    return float(min(worths)), float(max(worths))
