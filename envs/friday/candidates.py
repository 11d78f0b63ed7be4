"""Which actions a search considers: all legal ones, or those that the public engine's filters leave."""

from __future__ import annotations

import numpy as np

from leafwise.envs.core.compile.jit import jit
from leafwise.envs.core.contract.stream import u64
from leafwise.envs.friday import layout as at
from leafwise.envs.friday.cards import DOUBLE
from leafwise.envs.friday.fight import can_end, pirate
from leafwise.envs.friday.layout import ONE, ZERO, get, mode
from leafwise.envs.friday.piles import kind_in, reference
from leafwise.envs.friday.rules import legal_actions
from leafwise.envs.friday.tables import ABILITY, AMOUNT, RATING, VALUE, fact

CANDIDATES = ("all", "few")


@jit(inline=True)
def distinct(S, i, A, n, T):
    """Keeps one of several unused cards with the same ability where it has no target; returns how many are left."""
    kept = 0
    seen = ZERO
    for k in range(n):
        if A[k] >= at.USE:
            kind = kind_in(reference(S, i, u64(A[k] - at.USE), T))
            ability, amount = fact(kind, ABILITY, T), fact(kind, AMOUNT, T)
            bit = ONE << u64(4 * ability + amount)
            if seen & bit:
                continue
            seen |= bit
        A[kept] = A[k]
        kept += 1
    return kept


@jit(inline=True)
def best_to_double(S, i, A, n, T):
    """Keeps the target of the highest printed value, if it is above 0; returns how many are left."""
    best, choice = 0, np.int64(-1)
    for k in range(n):
        value = fact(kind_in(reference(S, i, u64(A[k] - at.CARD), T)), VALUE, T)
        if value > best:
            best, choice = value, A[k]
    A[0] = choice
    return 0 if choice < 0 else 1


@jit(inline=True)
def removable(S, i, A, n, T):
    """Keeps the end and the cards rated 0 or less; returns how many are left."""
    kept = 0
    for k in range(n):
        if A[k] == at.END or fact(kind_in(reference(S, i, u64(A[k] - at.CARD), T)), RATING, T) <= 0:
            A[kept] = A[k]
            kept += 1
    return kept


@jit
def few(S, i, A, T):
    """Writes the actions that the source's filters leave: for searches, as a turn has more orders than a search can bear.

    A pirate who can be beaten is; of unused cards with the same ability one is used; the card of the highest value above 0 is
    doubled, which may leave nothing; cards rated 0 or less are removed.
    """
    here = mode(S, i)
    if here == at.IN_FIGHT and pirate(S, i) != ZERO and can_end(S, i, T):
        A[0] = at.END
        return 1
    n = legal_actions(S, i, A, T)
    if here == at.IN_FIGHT:
        return distinct(S, i, A, n, T)
    if here == at.REMOVE:
        return removable(S, i, A, n, T)
    if here == at.TARGET and get(S, i, at.KIND_AT) == u64(DOUBLE):
        return best_to_double(S, i, A, n, T)
    return n


@jit
def candidates(S, i, A, T):
    n = few(S, i, A, T) if T.candidates else 0
    return n if n > 0 else legal_actions(S, i, A, T)  # a doubling that was begun needs a target, be it worth nothing
