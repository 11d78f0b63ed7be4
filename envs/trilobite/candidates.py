"""Moves of Trilobite that a search may be told to consider: those that do not lose at once."""

from __future__ import annotations

from leafwise.envs.core.compile.jit import jit
from leafwise.envs.trilobite.rules import ONE, ZERO, landing_cells, legal_actions, mover, threats, write_columns

CANDIDATES = ("all", "safe")


@jit(inline=True)
def lowest(cells):
    """Returns one of some cells."""
    return cells & (~cells + ONE)


@jit(inline=True)
def worth_trying(S, i, T):
    """Returns the cells that chips of a `safe` move land on; of moves that come to the same, one."""
    player = mover(S, i)
    filled = S[i, 0] | S[i, 1]
    empty = T.board & ~filled
    landing = landing_cells(filled, T)
    wins = threats(S[i, player], empty, T) & landing
    if wins:
        return lowest(wins)
    losses = threats(S[i, 1 - player], empty, T)
    hindered = landing & losses
    if hindered:  # where there are two, the other wins all the same
        return lowest(hindered)
    safe = landing & ~(losses >> ONE)
    return safe if safe != ZERO else lowest(landing)


@jit(inline=True)
def candidates(S, i, A, T):
    """Writes the actions that a search considers: with `safe` a move that wins, else one that keeps the other from winning at
    once, else all after which the other does not win on top of the chip; where every move loses, one of them."""
    if T.candidates == 0:
        return legal_actions(S, i, A, T)
    return write_columns(worth_trying(S, i, T), A, T)
