"""What follows an ability and a fight: paying, winning, losing, the next hazard, phase or pirate."""

from __future__ import annotations

from leafwise.envs.core.compile.jit import jit
from leafwise.envs.core.contract.stream import u64
from leafwise.envs.friday.fight import any_usable, can_end, can_pay, free_left, hazard_value, pirate, total
from leafwise.envs.friday.layout import (
    BEATEN_AT,
    CHOOSE,
    DEAL_HAZARD,
    DEBT_AT,
    DISCARD,
    DOUBLED,
    DOWN,
    FIGHT,
    FOUGHT_AT,
    HAZARD_AT,
    HAZARD_BITS,
    HAZARD_MASK,
    HAZARD_SHIFT,
    HAZARDS,
    IN_FIGHT,
    LEFT,
    LIFE_AT,
    LOST,
    M2,
    M4,
    M5,
    M6,
    MODE_AT,
    ONE,
    PHASE_AT,
    POINTS_AT,
    REMOVE,
    RUIN,
    STATUS,
    THREE,
    WON,
    ZERO,
    get,
    life,
    on_table,
    phase,
    set_status,
)
from leafwise.envs.friday.piles import (
    digest,
    hunger_of,
    one_card,
)

BASICS = u64(2**17 - 1)
"""The fields of FIGHT that outlast an ability."""


@jit
def lose(S, j, debt):
    """Ends the game; `debt` is the life that could not be paid, 0 if no action was left."""
    set_status(S, j, DEBT_AT, M6, debt)
    set_status(S, j, MODE_AT, M4, LOST)


@jit
def pay(S, j, n):
    """Pays life, a uint64; returns whether there was enough, else the game is lost."""
    here = life(S, j)
    if here < n:
        set_status(S, j, LIFE_AT, M5, ZERO)
        lose(S, j, min(n - here, RUIN - ONE))
        return False
    set_status(S, j, LIFE_AT, M5, here - n)
    return True


@jit
def go_on(S, j, T):
    """Ends what was under way and returns to the fight, which is lost if it leaves a player without an action."""
    S[j, FIGHT] &= BASICS
    set_status(S, j, MODE_AT, M4, IN_FIGHT)
    if pirate(S, j) != ZERO and not (free_left(S, j, T) or can_pay(S, j, T) or can_end(S, j, T) or any_usable(S, j, T)):
        lose(S, j, ZERO)


@jit
def clear_table(S, j):
    """Puts the table onto the discard and forgets the fight."""
    S[j, DISCARD] += on_table(S, j)
    for w in range(LEFT, DOWN + 1):
        S[j, w] = ZERO
    S[j, DOUBLED] = ZERO
    S[j, FIGHT] = ZERO


@jit
def end_turn(S, j):
    """Goes on to the next hazard, phase or the pirates."""
    set_status(S, j, HAZARD_AT, M6, ZERO)
    here = phase(S, j)
    mode = DEAL_HAZARD
    if S[j, HAZARDS] & HAZARD_MASK == ZERO:
        here += ONE
        if S[j, HAZARDS] == ZERO:
            here = THREE
        if here < THREE:
            S[j, HAZARDS] >>= HAZARD_BITS
        else:
            mode = CHOOSE
    set_status(S, j, PHASE_AT, M2, here)
    set_status(S, j, MODE_AT, M4, mode)


@jit(inline=True)
def discard_hazard(S, j, kind, T):
    """Puts a hazard onto the hazard discard."""
    S[j, HAZARDS] += (one_card(kind, T) >> HAZARD_SHIFT) << HAZARD_BITS


@jit
def end_hazard(S, j, T):
    """Settles the fight against a hazard."""
    if not pay(S, j, u64(hunger_of(digest(on_table(S, j), T)))):
        return
    missing = hazard_value(S, j, T) - total(S, j, T)
    kind = get(S[j, STATUS], HAZARD_AT, M6) - ONE
    if missing <= 0:
        S[j, DISCARD] += one_card(kind, T)
        clear_table(S, j)
        end_turn(S, j)
    elif pay(S, j, u64(missing)):
        discard_hazard(S, j, kind, T)
        table = on_table(S, j)
        set_status(S, j, HAZARD_AT, M6, ZERO)
        for w in range(LEFT, DOWN + 1):
            S[j, w] = ZERO
        S[j, LEFT] = table
        S[j, DOUBLED] = ZERO
        S[j, FIGHT] = u64(missing) << POINTS_AT
        set_status(S, j, MODE_AT, M4, REMOVE)


@jit
def end_pirate(S, j, T):
    """Settles the fight against a pirate, which is won."""
    pay(S, j, u64(hunger_of(digest(on_table(S, j), T))))
    clear_table(S, j)
    beaten = get(S[j, STATUS], BEATEN_AT, M2) | get(S[j, STATUS], FOUGHT_AT, M2)
    set_status(S, j, BEATEN_AT, M2, beaten)
    set_status(S, j, FOUGHT_AT, M2, THREE & ~beaten)
    if beaten == THREE:
        set_status(S, j, MODE_AT, M4, WON)
    else:
        go_on(S, j, T)
