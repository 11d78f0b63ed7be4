"""The alpha-beta search over max, min and chance nodes, written once and compiled per (game, leaf).

Decisions prune with a window (fail-soft). Chance nodes prune by Star1 where the leaf has bounds: an average whose
outcomes still open cannot bring it into the window is left; Star2 first probes one action of every outcome. Values inside
the window are those of `templates.depth_first`, whatever the options; only a cutoff and a width limit change values.
Source: Ballard, "The *-minimax search procedure for trees containing chance nodes", Artificial Intelligence 21, 1983.
"""

from __future__ import annotations

import numpy as np

from leafwise.envs.core.evaluator import Evaluator
from leafwise.envs.core.game import Game
from leafwise.envs.core.jit import jit
from leafwise.envs.core.rules import CHANCE
from leafwise.envs.core.stream import mix
from leafwise.search.frames import (
    ALL,
    AVERAGE,
    BEST,
    CHECK,
    DEPTH,
    END,
    ENTRY_LOWER,
    ENTRY_UPPER,
    FREE,
    GIVEN_UP,
    HASH,
    HITS,
    KIND,
    LEAF,
    LOWER,
    MOVE,
    NEXT,
    ONE,
    OPEN_HIGH,
    OPEN_LOW,
    ORDERED,
    PHASE,
    PROBED,
    REACH,
    ROW,
    SCORED,
    UPPER,
    ZERO,
    open_frame,
)
from leafwise.search.table import DATA, DEPTH_MASK, HIGH, LOW, MOVE_AT, MOVE_MASK, find_entry, second_hash, store_entry

SEARCHING, ORDERING, PROBING = np.uint64(0), np.uint64(1), np.uint64(2)
"""What the open child of a node is for: its value, its one-ply value, a bound of it."""


def alpha_beta(S, B, i, top, depth, lower, upper, T):
    """Returns player 0's value of row i if it lies between `lower` and `upper`, else a bound beyond the one it passes."""
    least, most = B.options.least, B.options.most
    bounded = least > -np.inf and most < np.inf
    open_nodes = 0
    row, left, reach = i, np.int64(depth), 1.0
    probing = False
    while True:
        f = open_nodes
        player, value = arrive(S, B, f, row, top, left, reach, T)
        if player == GIVEN_UP:
            return 0.0
        told = np.int64(player)
        opened = player != LEAF
        if player == CHANCE:
            B.frames[f, PHASE] = PROBING if bounded and left >= B.options.probe_from else SEARCHING
            B.frames[f, MOVE] = B.frames[f, NEXT]
            low, high = least, most
            opened = not probing  # nothing can be said of an average by one action
        elif opened:
            low, high = -np.inf, np.inf
            if probing and player == 1:
                upper = np.inf
            elif probing:
                lower = -np.inf
            h, check, move = ZERO, ZERO, MOVE_MASK
            if B.table.shape[0] > 1 and left > 1:
                h, check = mix(key(S, row, T)), second_hash(S, row)
                e = find_entry(S, B, row, h, check)
                if e >= 0:
                    if B.options.table_move:
                        move = (B.table[e, DATA] >> MOVE_AT) & MOVE_MASK
                    if np.int64(B.table[e, DATA] & DEPTH_MASK) == left:
                        low, high = B.proven[e, LOW], B.proven[e, HIGH]
                        if low >= upper or low >= high:
                            value = low
                            opened = False
                        elif high <= lower:
                            value = high
                            opened = False
                        if not opened:
                            B.counts[HITS] += 1
            if opened:
                n = np.uint64(legal_actions(S, row, B.A[f], T))
                open_frame(B, f, ZERO, n, left, row, top, np.uint64(player), reach)
                B.frames[f, HASH], B.frames[f, CHECK] = h, check
                B.worth[f, BEST] = np.inf if player == 1 else -np.inf
                prepare(B, f, n, left, np.int64(move), probing)
        if opened:
            B.worth[f, LOWER], B.worth[f, UPPER] = lower, upper
            B.worth[f, ENTRY_LOWER], B.worth[f, ENTRY_UPPER] = lower, upper
            B.worth[f, OPEN_LOW], B.worth[f, OPEN_HIGH] = low, high
            open_nodes += 1
        probing = False
        # give the value to the node above, close every node that is complete or cut, and find the next row to value
        while True:
            if open_nodes == 0:
                return value
            f = open_nodes - 1
            next_child, end, kind = B.frames[f, NEXT], B.frames[f, END], B.frames[f, KIND]
            best, lower, upper = B.worth[f, BEST], B.worth[f, LOWER], B.worth[f, UPPER]
            top, left, reach = B.frames[f, FREE], np.int64(B.frames[f, DEPTH]), B.worth[f, REACH]
            phase = B.frames[f, PHASE]
            cut, descend = False, False
            if kind == AVERAGE:
                low, high = B.worth[f, OPEN_LOW], B.worth[f, OPEN_HIGH]
                probed = bounded and left >= B.options.probe_from
                if not opened:
                    p = B.P[next_child - ONE]
                    if phase == PROBING:
                        low_here = value if told == LEAF or told == 0 else least
                        high_here = value if told == LEAF or told == 1 else most
                        B.between[next_child - ONE, 0], B.between[next_child - ONE, 1] = low_here, high_here
                        low += p * (low_here - least)
                        high += p * (high_here - most)
                    else:
                        best += p * value
                        if bounded:
                            low -= p * (B.between[next_child - ONE, 0] if probed else least)
                            high -= p * (B.between[next_child - ONE, 1] if probed else most)
                    if bounded and (next_child < end or phase == PROBING):
                        cut = best + low >= upper or best + high <= lower
                        if cut:
                            best += low if best + low >= upper else high
                if phase == PROBING and next_child == end:
                    phase = SEARCHING
                    B.frames[f, PHASE] = SEARCHING
                    next_child = B.frames[f, MOVE]
                if phase == SEARCHING and probed and not cut:
                    while next_child < end and B.between[next_child, 0] >= B.between[next_child, 1]:
                        # probing has found its value
                        p, value = B.P[next_child], B.between[next_child, 0]
                        best += p * value
                        low -= p * value
                        high -= p * value
                        next_child += ONE
                if not cut and next_child < end:
                    row = next_child
                    p = B.P[row]
                    low_here = high_here = 0.0
                    if bounded:
                        searched_after = probed and phase == SEARCHING
                        low_here = B.between[row, 0] if searched_after else least
                        high_here = B.between[row, 1] if searched_after else most
                        lower = (lower - best - (high - p * high_here)) / p
                        upper = (upper - best - (low - p * low_here)) / p
                    else:
                        lower, upper = -np.inf, np.inf
                    next_child += ONE
                    reach *= p
                    probing = phase == PROBING
                    descend = True
                B.worth[f, OPEN_LOW], B.worth[f, OPEN_HIGH] = low, high
            else:
                ordered = B.frames[f, ORDERED]
                if not opened and phase == ORDERING:
                    B.scores[f, ordered] = -value if kind == ONE else value
                    ordered += ONE
                    B.frames[f, ORDERED] = ordered
                elif not opened:
                    if value < best if kind == ONE else value > best:
                        best = value
                        B.frames[f, MOVE] = np.uint64(B.A[f, next_child - ONE])
                    if B.options.prune:
                        if kind == ONE:
                            upper = min(upper, best)
                        else:
                            lower = max(lower, best)
                        cut = lower >= upper
                        if cut and B.options.killers:
                            remember_killer(B, left, B.A[f, next_child - ONE])
                if not cut and next_child < end:
                    descend = True
                    k = next_child
                    here = B.frames[f, ROW]
                    if ordered < B.frames[f, ALL] and (phase == ORDERING or next_child >= ordered):
                        B.frames[f, PHASE] = ORDERING
                        k = ordered
                    else:
                        B.frames[f, PHASE] = SEARCHING
                        if B.frames[f, SCORED]:
                            bring_best(B, f, next_child)
                        next_child += ONE
                    a = B.A[f, k]
                    apply_action(S, here, a, top, T)
                    if B.frames[f, PHASE] == ORDERING:
                        left = 0
                        B.worth[f, LOWER], B.worth[f, UPPER] = lower, upper
                        lower, upper = -np.inf, np.inf
                    else:
                        left -= action_cost(S, here, a, T)
                        B.worth[f, LOWER], B.worth[f, UPPER] = lower, upper
                    row = top
                    top += ONE
            B.frames[f, NEXT] = next_child
            B.worth[f, BEST] = best
            opened = False
            if descend:
                break
            if kind != AVERAGE and B.frames[f, CHECK] != ZERO:
                conclude(S, B, f, left, best)
            value = best
            told = np.int64(kind)
            open_nodes -= 1


@jit(inline=True)
def prepare(B, f, n, left, move, probing):
    """Sets in which order the n actions of decision f are searched, and how many of them."""
    B.frames[f, ALL], B.frames[f, MOVE], B.frames[f, PROBED] = n, MOVE_MASK, np.uint64(probing)
    B.frames[f, PHASE] = SEARCHING
    first = ZERO
    for k in range(n):
        if B.A[f, k] == move:
            B.A[f, k] = B.A[f, 0]
            B.A[f, 0] = move
            B.scores[f, 0] = np.inf
            first = ONE
    limited = left > 1 and np.uint64(B.options.width) < n
    if limited:
        B.frames[f, END] = np.uint64(B.options.width)
    by_value = limited or (left >= B.options.values_from and n > ONE)
    B.frames[f, ORDERED] = first if by_value else n
    B.frames[f, SCORED] = np.uint64(by_value or B.options.killers)
    if B.options.killers and not by_value:
        for k in range(first, n):
            B.scores[f, k] = 2.0 if B.A[f, k] == B.killers[left, 0] else 1.0 if B.A[f, k] == B.killers[left, 1] else 0.0
    if probing:
        B.frames[f, END] = ONE


@jit(inline=True)
def bring_best(B, f, k):
    """Swaps the action with the highest score, among equals the one with the least id, to place k."""
    best = k
    for j in range(k + ONE, B.frames[f, ALL]):
        gain = B.scores[f, j] - B.scores[f, best]
        if gain > 0.0 or (gain == 0.0 and B.A[f, j] < B.A[f, best]):
            best = j
    B.A[f, k], B.A[f, best] = B.A[f, best], B.A[f, k]
    B.scores[f, k], B.scores[f, best] = B.scores[f, best], B.scores[f, k]


@jit(inline=True)
def remember_killer(B, left, a):
    """Puts an action that cut a decision before the one that did so earlier."""
    if B.killers[left, 0] != a:
        B.killers[left, 1] = B.killers[left, 0]
        B.killers[left, 0] = a


@jit(inline=True)
def conclude(S, B, f, left, best):
    """Stores in the table what the search of decision f has proven, beside what was known before."""
    low, high = B.worth[f, OPEN_LOW], B.worth[f, OPEN_HIGH]
    if B.frames[f, PROBED]:  # one action of several
        if B.frames[f, KIND] == ONE:
            high = min(high, best)
        else:
            low = max(low, best)
    elif best >= B.worth[f, ENTRY_UPPER]:
        low = best
    elif best <= B.worth[f, ENTRY_LOWER]:
        high = best
    else:
        low, high = best, best
    h, check = B.frames[f, HASH], B.frames[f, CHECK]
    store_entry(S, B, B.frames[f, ROW], h, check, left, B.frames[f, MOVE], low, high)


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
