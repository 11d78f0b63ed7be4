"""The alpha-beta search over max, min and chance nodes, written once and compiled per (game, leaf).

Decisions prune with a window (fail-soft). Chance nodes prune by Star1 where the leaf has bounds: an average whose
outcomes still open cannot bring it into the window is left; Star2 first probes one action of every outcome. Values inside
the window are those of `templates.depth_first`, whatever the options; only a cutoff, rare outcomes valued at once and limits
of width and nodes change values.
Source: Ballard, "The *-minimax search procedure for trees containing chance nodes", Artificial Intelligence 21, 1983.
"""

from __future__ import annotations

import numpy as np

from leafwise.envs.core.compile.jit import jit
from leafwise.envs.core.contract.evaluator import Evaluator
from leafwise.envs.core.contract.game import Game
from leafwise.envs.core.contract.rules import CHANCE, TERMINAL, copy_row
from leafwise.envs.core.contract.stream import mix
from leafwise.search.frames import (
    ALL,
    AVERAGE,
    BEST,
    CHECK,
    CUTS,
    CUTS_BEFORE,
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
    LEAVES,
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
    open_nodes = np.int64(0)  # typed: a literal 0 compiles `arrive` twice
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
            if opened and left > 0 and B.options.rare > 0.0:
                value, share = settle_rare(S, B, f, T)
                opened = share < 1.0
                low, high = (1.0 - share) * least, (1.0 - share) * most
                B.worth[f, BEST] = value
                told = np.int64(LEAF)
        elif opened:
            low, high = -np.inf, np.inf
            if probing and player == 1:
                upper = np.inf
            elif probing:
                lower = -np.inf
            h, check, move = ZERO, ZERO, MOVE_MASK
            if B.table.shape[0] > 1 and left >= B.options.table_from:
                entry = row
                if B.options.symmetric:
                    entry = top
                    write_canonical(S, row, top, T)
                h, check = mix(key(S, entry, T)), second_hash(S, entry)
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
                B.frames[f, CUTS_BEFORE] = np.uint64(B.counts[CUTS])
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
            best, low, high = B.worth[f, BEST], B.worth[f, OPEN_LOW], B.worth[f, OPEN_HIGH]
            here, phase = B.frames[f, ROW], B.frames[f, PHASE]
            reach = B.worth[f, REACH]
            probed = bounded and kind == AVERAGE and np.int64(B.frames[f, DEPTH]) >= B.options.probe_from
            cut, descend, given = False, False, not opened
            while True:
                lower, upper = B.worth[f, LOWER], B.worth[f, UPPER]
                top, left = B.frames[f, FREE], np.int64(B.frames[f, DEPTH])
                if kind == AVERAGE:
                    if given:
                        o = next_child - ONE
                        if phase == PROBING:
                            B.between[o, 0] = value if told == LEAF or told == 0 else least
                            B.between[o, 1] = value if told == LEAF or told == 1 else most
                            low += B.P[o] * (B.between[o, 0] - least)
                            high += B.P[o] * (B.between[o, 1] - most)
                        else:
                            best += B.P[o] * value
                            if bounded:
                                low -= B.P[o] * (B.between[o, 0] if probed else least)
                                high -= B.P[o] * (B.between[o, 1] if probed else most)
                        if bounded and (next_child < end or phase == PROBING):
                            cut = best + low >= upper or best + high <= lower
                    if cut:
                        best += low if best + low >= upper else high
                        break
                    if phase == PROBING and next_child == end:
                        phase = SEARCHING
                        next_child = B.frames[f, MOVE]
                    if next_child == end:
                        break
                    row = next_child
                    next_child += ONE
                    if bounded:
                        p = B.P[row]
                        aside = phase == SEARCHING and probed
                        lower = (lower - best - (high - p * (B.between[row, 1] if aside else most))) / p
                        upper = (upper - best - (low - p * (B.between[row, 0] if aside else least))) / p
                        if aside and B.between[row, 0] >= B.between[row, 1]:  # probing has found its value
                            value = B.between[row, 0]
                            given = True
                            continue
                    else:
                        lower, upper = -np.inf, np.inf
                else:
                    if given and phase == ORDERING:
                        B.scores[f, B.frames[f, ORDERED]] = -value if kind == ONE else value
                        B.frames[f, ORDERED] += ONE
                    elif given:
                        if value < best if kind == ONE else value > best:
                            best = value
                            B.frames[f, MOVE] = np.uint64(B.A[f, next_child - ONE])
                        if B.options.prune:
                            if kind == ONE:
                                upper = min(upper, best)
                                B.worth[f, UPPER] = upper
                            else:
                                lower = max(lower, best)
                                B.worth[f, LOWER] = lower
                            if lower >= upper:
                                if B.options.killers:
                                    remember_killer(B, left, B.A[f, next_child - ONE])
                                break
                    if next_child == end:
                        break
                    k = next_child
                    if phase == ORDERING or next_child >= B.frames[f, ORDERED]:
                        k = B.frames[f, ORDERED]
                    phase = ORDERING if k < B.frames[f, ALL] and k == B.frames[f, ORDERED] else SEARCHING
                    if phase == SEARCHING:
                        k = next_child
                        if B.frames[f, SCORED]:
                            bring_best(B, f, k)
                        next_child += ONE
                    a = B.A[f, k]
                    row = top
                    top += ONE
                    apply_action(S, here, a, row, T)
                    if phase == SEARCHING:
                        left -= action_cost(S, here, a, T)
                    else:
                        left = np.int64(0)
                        lower, upper = -np.inf, np.inf
                given = False
                if left == 0:
                    given, value = last_step(S, B, row, top, lower, upper, T)
                if not given:
                    descend = True
                    break
            opened = False
            if descend:
                B.frames[f, NEXT], B.frames[f, PHASE] = next_child, phase
                B.worth[f, BEST], B.worth[f, OPEN_LOW], B.worth[f, OPEN_HIGH] = best, low, high
                if kind == AVERAGE:
                    reach *= B.P[row]
                    probing = phase == PROBING
                elif B.options.toll > 0.0:
                    reach = (reach - B.options.toll) / np.float64(end)
                break
            if kind != AVERAGE and B.frames[f, CHECK] != ZERO and B.frames[f, CUTS_BEFORE] == np.uint64(B.counts[CUTS]):
                conclude(S, B, f, best)
            value = best
            told = np.int64(kind)
            open_nodes -= 1


def write_canonical(S, i, j, T):
    """Writes the least of all rows symmetric to row i to row j, whose next row is scratch."""
    copy_row(S, i, j)
    for k in range(1, SYMMETRIES):
        transform(S, i, k, j + ONE, T)
        w = 0
        while w < S.shape[1] - 1 and S[j + ONE, w] == S[j, w]:
            w += 1
        if S[j + ONE, w] < S[j, w]:
            copy_row(S, j + ONE, j)


def settle_rare(S, B, f, T):
    """Values the rare outcomes of chance node f by the leaf and strikes them out; returns their sum and probability.

    A chance stage that follows another stays; where every outcome is rare, all count, and the probability is 1.
    """
    first, end = B.frames[f, NEXT], B.frames[f, END]
    kept, total, share = first, 0.0, 0.0
    for o in range(first, end):
        if B.P[o] < B.options.rare and (is_leaf(S, o, T) or current_player(S, o, T) == TERMINAL):
            B.counts[LEAVES] += 1
            total += B.P[o] * seen_value(S, B, o, T)
            share += B.P[o]
        else:
            for w in range(S.shape[1]):
                S[kept, w] = S[o, w]
            B.P[kept] = B.P[o]
            kept += ONE
    B.frames[f, END] = kept
    return total, 1.0 if kept == first else share


def last_step(S, B, row, top, lower, upper, T):
    """Returns whether a row, with no decision to go, is a leaf or has only leaves one chance stage on; and its value.

    Like `alpha_beta`, a bound if the value lies outside the window and the leaf has bounds.
    """
    least, most = B.options.least, B.options.most
    bounded = least > -np.inf and most < np.inf
    first, n = row, ONE
    if not is_leaf(S, row, T):
        if current_player(S, row, T) != CHANCE or top + MAX_OUTCOMES > np.uint64(S.shape[0]):
            return False, 0.0
        first, n = top, np.uint64(chance_outcomes(S, row, B.P, top, T))
    total, rest = 0.0, 1.0
    for o in range(first, first + n):
        if not is_leaf(S, o, T):
            return False, 0.0
        B.counts[LEAVES] += 1
        worth = seen_value(S, B, o, T)
        if first == row:
            return True, worth
        total += B.P[o] * worth
        if bounded and o + ONE < first + n:
            rest -= B.P[o]
            if total + rest * least >= upper:
                return True, total + rest * least
            if total + rest * most <= lower:
                return True, total + rest * most
    return True, total


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
def conclude(S, B, f, best):
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
    store_entry(S, B, B.frames[f, ROW], h, check, B.frames[f, DEPTH], B.frames[f, MOVE], low, high)


def bounds(game: Game, evaluator: Evaluator) -> tuple[float, float]:
    """Returns the least and the most that player 0 can get from a leaf, infinite if the evaluator states no bounds."""
    if evaluator.low is None or evaluator.high is None:
        return -np.inf, np.inf
    worths = [evaluator.low, evaluator.high]
    if evaluator.to_go:
        worths = [evaluator.low + game.return_range[0], evaluator.high + game.return_range[1]]
    if isinstance(evaluator.terminal, tuple):
        worths += evaluator.terminal
    elif evaluator.terminal == "returns":
        worths += game.return_range
    if game.players == 2:
        worths += [-w for w in worths]
    return float(min(worths)), float(max(worths))
