"""What follows an ability and a fight: paying, winning, losing, the next hazard, phase or pirate."""

from __future__ import annotations

from leafwise.envs.core.compile.jit import jit
from leafwise.envs.core.contract.stream import u64
from leafwise.envs.friday import layout as at
from leafwise.envs.friday.fight import any_usable, can_end, can_pay, free_left, hazard_value, pirate, total
from leafwise.envs.friday.layout import ONE, ZERO, get, life, on_table, phase, put
from leafwise.envs.friday.piles import (
    digest,
    hunger_of,
    one_card,
)

BASICS = u64(2**17 - 1)
"""The fields of FIGHT that outlast an ability."""


@jit(inline=True)
def lose(S, j, debt):
    """Ends the game; `debt` is the life that could not be paid, 0 if no action was left."""
    put(S, j, at.DEBT_AT, debt)
    put(S, j, at.MODE_AT, at.LOST)


@jit(inline=True)
def pay(S, j, n):
    """Pays life, a uint64; returns whether there was enough, else the game is lost."""
    here = life(S, j)
    if here < n:
        put(S, j, at.LIFE_AT, ZERO)
        lose(S, j, min(n - here, at.RUIN - ONE))
        return False
    put(S, j, at.LIFE_AT, here - n)
    return True


@jit
def lose_if_stuck(S, j, T):
    """Ends the game if a fight against a pirate leaves a player without an action."""
    if not (free_left(S, j, T) or can_pay(S, j, T) or can_end(S, j, T) or any_usable(S, j, T)):
        lose(S, j, ZERO)


@jit(inline=True)
def go_on(S, j, T):
    """Ends what was under way and returns to the fight, which is lost if it leaves a player without an action."""
    S[j, at.FIGHT] &= BASICS
    put(S, j, at.MODE_AT, at.IN_FIGHT)
    if pirate(S, j) != ZERO:
        lose_if_stuck(S, j, T)


@jit(inline=True)
def clear_table(S, j):
    """Puts the table onto the discard and forgets the fight."""
    S[j, at.DISCARD] += on_table(S, j)
    for w in range(at.LEFT, at.DOWN + 1):
        S[j, w] = ZERO
    S[j, at.DOUBLED] = ZERO
    S[j, at.FIGHT] = ZERO


@jit(inline=True)
def end_turn(S, j):
    """Goes on to the next hazard, phase or the pirates."""
    put(S, j, at.HAZARD_AT, ZERO)
    here = phase(S, j)
    mode = at.DEAL_HAZARD
    if get(S, j, at.HAZARDS_AT) == ZERO:
        here += ONE
        if S[j, at.HAZARDS] == ZERO:
            here = at.THREE
        if here < at.THREE:
            S[j, at.HAZARDS] >>= at.AWAY_AT.shift
        else:
            mode = at.CHOOSE
    put(S, j, at.PHASE_AT, here)
    put(S, j, at.MODE_AT, mode)


@jit(inline=True)
def discard_hazard(S, j, kind, T):
    """Puts a hazard onto the hazard discard."""
    S[j, at.HAZARDS] += (one_card(kind, T) >> at.HAZARD_SHIFT) << at.AWAY_AT.shift


@jit(inline=True)
def end_hazard(S, j, T):
    """Settles the fight against a hazard."""
    if not pay(S, j, u64(hunger_of(digest(on_table(S, j), T)))):
        return
    missing = hazard_value(S, j, T) - total(S, j, T)
    kind = get(S, j, at.HAZARD_AT) - ONE
    if missing <= 0:
        S[j, at.DISCARD] += one_card(kind, T)
        clear_table(S, j)
        end_turn(S, j)
    elif pay(S, j, u64(missing)):
        discard_hazard(S, j, kind, T)
        table = on_table(S, j)
        put(S, j, at.HAZARD_AT, ZERO)
        for w in range(at.LEFT, at.DOWN + 1):
            S[j, w] = ZERO
        S[j, at.LEFT] = table
        S[j, at.DOUBLED] = ZERO
        S[j, at.FIGHT] = ZERO
        put(S, j, at.POINTS_AT, u64(missing))
        put(S, j, at.MODE_AT, at.REMOVE)


@jit
def end_pirate(S, j, T):
    """Settles the fight against a pirate, which is won."""
    pay(S, j, u64(hunger_of(digest(on_table(S, j), T))))
    clear_table(S, j)
    beaten = get(S, j, at.BEATEN_AT) | get(S, j, at.FOUGHT_AT)
    put(S, j, at.BEATEN_AT, beaten)
    put(S, j, at.FOUGHT_AT, at.THREE & ~beaten)
    if beaten == at.THREE:
        put(S, j, at.MODE_AT, at.WON)
    else:
        go_on(S, j, T)
