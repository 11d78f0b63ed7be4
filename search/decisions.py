"""Decisions of the alpha-beta search: the order of actions, the window, and what is remembered."""

from __future__ import annotations

import numpy as np

from leafwise.envs.core.compile.jit import jit
from leafwise.search import frames as F
from leafwise.search.frames import ONE, ORDERING, SEARCHING, ZERO
from leafwise.search.table import MOVE_MASK, store_entry


@jit(inline=True)
def prepare(B, f, n, left, move, probing):
    """Sets in which order the n actions of decision f are searched, and how many of them."""
    B.frames[f, F.ALL], B.frames[f, F.MOVE], B.frames[f, F.PROBED] = n, MOVE_MASK, np.uint64(probing)
    B.frames[f, F.PHASE] = SEARCHING
    first = ZERO
    limited = left > 1 and np.uint64(B.options.width) < n
    for k in range(n):
        if B.A[f, k] == move and not limited:  # which actions a width keeps is for their one-ply values alone to say
            B.A[f, k] = B.A[f, 0]
            B.A[f, 0] = move
            B.scores[f, 0] = np.inf
            first = ONE
    if limited:
        B.frames[f, F.END] = np.uint64(B.options.width)
    by_value = limited or (left >= B.options.values_from and n > ONE)
    B.frames[f, F.ORDERED] = first if by_value else n
    B.frames[f, F.SCORED] = np.uint64(by_value or B.options.killers)
    if B.options.killers and not by_value:
        for k in range(first, n):
            B.scores[f, k] = 2.0 if B.A[f, k] == B.killers[left, 0] else 1.0 if B.A[f, k] == B.killers[left, 1] else 0.0
    if probing:
        B.frames[f, F.END] = ONE


@jit(inline=True)
def bring_best(B, f, k):
    """Swaps the action with the highest score, among equals the one with the least id, to place k."""
    best = k
    for j in range(k + ONE, B.frames[f, F.ALL]):
        gain = B.scores[f, j] - B.scores[f, best]
        if gain > 0.0 or (gain == 0.0 and B.A[f, j] < B.A[f, best]):
            best = j
    B.A[f, k], B.A[f, best] = B.A[f, best], B.A[f, k]
    B.scores[f, k], B.scores[f, best] = B.scores[f, best], B.scores[f, k]


@jit(inline=True)
def choose_action(B, f):
    """Returns the action of decision f to be tried next, -1 if there is none, for its value or (PHASE) its score."""
    following, ordered = B.frames[f, F.NEXT], B.frames[f, F.ORDERED]
    if following == B.frames[f, F.END]:
        return np.int64(-1)
    if (B.frames[f, F.PHASE] == ORDERING or following >= ordered) and ordered < B.frames[f, F.ALL]:
        B.frames[f, F.PHASE] = ORDERING
        return B.A[f, ordered]
    B.frames[f, F.PHASE] = SEARCHING
    if B.frames[f, F.SCORED]:
        bring_best(B, f, following)
    B.frames[f, F.NEXT] = following + ONE
    return B.A[f, following]


@jit(inline=True)
def take_action(B, f, value):
    """Takes the value, or the score, of the action tried last; returns whether decision f is cut."""
    minimises = B.frames[f, F.KIND] == ONE
    if B.frames[f, F.PHASE] == ORDERING:
        B.scores[f, B.frames[f, F.ORDERED]] = -value if minimises else value
        B.frames[f, F.ORDERED] += ONE
        return False
    a, best = B.A[f, B.frames[f, F.NEXT] - ONE], B.worth[f, F.BEST]
    if value < best if minimises else value > best:
        best = value
        B.worth[f, F.BEST] = best
        B.frames[f, F.MOVE] = np.uint64(a)
    if not B.options.prune:
        return False
    if minimises:
        B.worth[f, F.UPPER] = min(B.worth[f, F.UPPER], best)
    else:
        B.worth[f, F.LOWER] = max(B.worth[f, F.LOWER], best)
    cut = B.worth[f, F.LOWER] >= B.worth[f, F.UPPER]
    if cut and B.options.killers:
        remember_killer(B, np.int64(B.frames[f, F.DEPTH]), a)
    return cut


@jit(inline=True)
def remember_killer(B, left, a):
    """Puts an action that cut a decision before the one that did so earlier."""
    if B.killers[left, 0] != a:
        B.killers[left, 1] = B.killers[left, 0]
        B.killers[left, 0] = a


@jit(inline=True)
def conclude(S, B, f):
    """Returns the value of frame f, complete or cut; the table gets what is proven of it, beside what was known before."""
    best = B.worth[f, F.BEST]
    if B.frames[f, F.CHECK] == ZERO or B.frames[f, F.CUTS_BEFORE] != np.uint64(B.counts[F.CUTS]):
        return best
    low, high = B.worth[f, F.OPEN_LOW], B.worth[f, F.OPEN_HIGH]
    if B.frames[f, F.PROBED]:  # one action of several
        if B.frames[f, F.KIND] == ONE:
            high = min(high, best)
        else:
            low = max(low, best)
    elif best >= B.worth[f, F.ENTRY_UPPER]:
        low = best
    elif best <= B.worth[f, F.ENTRY_LOWER]:
        high = best
    else:
        low, high = best, best
    h, check = B.frames[f, F.HASH], B.frames[f, F.CHECK]
    store_entry(S, B, B.frames[f, F.ROW], h, check, B.frames[f, F.DEPTH], B.frames[f, F.MOVE], low, high)
    return best
