"""Moves of Trilobite that a search considers: those that do not lose at once, and what they count in depth."""

from __future__ import annotations

from leafwise.envs.core.compile.jit import jit
from leafwise.envs.core.contract.stream import u64
from leafwise.envs.trilobite.rules import ONE, ZERO, landing_cells, legal_actions, mover, threats

CANDIDATES = ("all", "safe", "safe+forced", "safe+threats", "safe+both")


@jit(inline=True)
def worth_trying(S, i, T):
    """Returns the landing cells of the moves to consider."""
    player = mover(S, i)
    filled = S[i, 0] | S[i, 1]
    empty = T.board & ~filled
    landing = landing_cells(filled, T)
    wins = threats(S[i, player], empty, T) & landing
    if wins:
        return wins & (~wins + ONE)
    losses = threats(S[i, 1 - player], empty, T)
    forced = landing & losses
    if forced:
        return forced & (~forced + ONE)
    safe = landing & ~(losses >> ONE)
    if safe:
        return safe
    return landing & (~landing + ONE)


@jit(inline=True)
def candidates(S, i, A, T):
    if T.candidates == 0:
        return legal_actions(S, i, A, T)
    cells = worth_trying(S, i, T)
    column = (ONE << (T.stride - ONE)) - ONE
    n = 0
    for c in range(T.width):
        if cells & column:
            A[n] = c
            n += 1
        column <<= T.stride
    return n


@jit(inline=True)
def action_cost(S, i, a, T):
    if T.candidates < 2:
        return 1
    if T.candidates != 3:
        cells = worth_trying(S, i, T)
        if cells & (cells - ONE) == ZERO:
            return 0
    if T.candidates > 2:
        player = mover(S, i)
        filled = S[i, 0] | S[i, 1]
        chip = (filled + (ONE << (T.stride * u64(a)))) & ~filled
        after = filled | chip
        if threats(S[i, player] | chip, T.board & ~after, T) & landing_cells(after, T):
            return 0
    return 1
