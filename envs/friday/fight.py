"""Fights: what hazards and pirates ask for, what the table is worth, and what follows a fight."""

from __future__ import annotations

import numpy as np

from leafwise.envs.core.compile.jit import jit
from leafwise.envs.core.contract.bits import count_bits
from leafwise.envs.core.contract.stream import u64
from leafwise.envs.friday.cards import (
    AGED,
    COPY,
    COSTLY,
    CROWD,
    DOUBLE,
    DRAW,
    EXCHANGE,
    FIRST_AGING,
    HALF,
    LIFE,
    NONE,
    PHASE,
    REST,
    SORT,
    STOP,
)
from leafwise.envs.friday.layout import (
    DOUBLED,
    ENTRIES,
    ENTRY_BITS,
    ENTRY_MASK,
    FIGHT,
    FOUGHT_AT,
    FREE_AT,
    HAZARD_AT,
    HAZARD_BITS,
    HAZARD_MASK,
    HAZARD_SHIFT,
    HAZARDS,
    LEFT,
    LOWERED_AT,
    M2,
    M3,
    M4,
    M6,
    M7,
    MAX_USES,
    ONE,
    PIRATE_AT,
    SECOND_PIRATE_AT,
    STATUS,
    THREE,
    TWO,
    USES_AT,
    ZERO,
    aging_pile,
    get,
    life,
    on_table,
    phase,
    table_word,
)
from leafwise.envs.friday.piles import (
    aged_of,
    can_draw,
    can_exchange,
    code_of,
    copies_in,
    count_entries,
    count_of,
    digest,
    entries_of,
    hunger_of,
    scared_of,
    value_of,
)
from leafwise.envs.friday.tables import (
    ABILITY,
    FREE_CARDS,
    GREEN,
    IS_AGING,
    RED,
    VALUE,
    at_start,
    fact,
    first_kind,
    group,
    mask_of,
    printed,
    shift_of,
)


@jit(inline=True)
def pirate(S, i):
    """Returns the number of the pirate who is fought, 0 for none."""
    fought = get(S[i, STATUS], FOUGHT_AT, M2)
    if fought == ZERO:
        return ZERO
    return get(S[i, STATUS], PIRATE_AT if fought == ONE else SECOND_PIRATE_AT, M4)


@jit
def rest(S, i, column, T):
    """Adds up a column over all hazards that are not beaten, those in the stack and in the discard."""
    total = 0
    word = (S[i, HAZARDS] & HAZARD_MASK) + (S[i, HAZARDS] >> HAZARD_BITS)
    word <<= HAZARD_SHIFT
    while word:
        kind = first_kind(word, T)
        total += fact(kind, column, T) * np.int64((word & mask_of(kind, T)) >> shift_of(kind, T))
        word &= ~mask_of(kind, T)
    return total


@jit(inline=True)
def lowerings(S, i):
    """Counts the cards that lower the phase."""
    return count_bits(get(S[i, FIGHT], LOWERED_AT, M3))


@jit
def free_cards(S, i, T):
    """Returns the number of free cards of the hazard or pirate that is fought."""
    number = pirate(S, i)
    if number == ZERO:
        return fact(get(S[i, STATUS], HAZARD_AT, M6) - ONE, FREE_CARDS, T)
    if number == u64(REST):
        return max(rest(S, i, FREE_CARDS, T), 1)
    return printed(number, 0, T)


@jit
def pirate_value(S, i, number, T):
    """Returns what a pirate asks for now."""
    if number == u64(REST):
        return rest(S, i, RED, T)
    if number == u64(AGED):
        gone = count_of(digest(at_start(2, T), T)) - count_of(digest(aging_pile(S, i), T))
        return 2 * gone
    return printed(number, 1, T)


@jit
def hazard_value(S, i, T):
    """Returns what the hazard or pirate that is fought asks for."""
    number = pirate(S, i)
    if number != ZERO:
        return pirate_value(S, i, number, T)
    column = np.int64(phase(S, i)) - np.int64(lowerings(S, i))
    return fact(get(S[i, STATUS], HAZARD_AT, M6) - ONE, GREEN + (column if column > 0 else 0), T)


@jit
def best(S, i, most, aging, floor, T):
    """Adds up the highest effective values of plain (0) or aging (1) cards, at most so many, each at least `floor`."""
    table, doubled = on_table(S, i), S[i, DOUBLED]
    total = 0
    left = most
    for k in range(19):
        value = 8 - k
        n = np.int64(0)
        if value >= -5 and value < 5:
            n = count_of(digest(table & group(aging, value + 5, T), T))
        entries = doubled
        while entries:
            kind = ((entries & ENTRY_MASK) >> u64(4)) - ONE
            if fact(kind, IS_AGING, T) == aging:
                printed = fact(kind, VALUE, T)
                n += np.int64(2 * printed == value) - np.int64(printed == value)
            entries >>= ENTRY_BITS
        taken = min(n, left)
        left -= taken
        total += taken * max(value, floor)
    return total


@jit
def total(S, i, T):
    """Returns what the face-up cards on the table score in this fight."""
    sums = digest(on_table(S, i), T)
    number = pirate(S, i)
    scared = scared_of(sums)
    if T.scared_once and scared > 1:
        scared = np.int64(1)
    if number == u64(HALF):
        places = (count_of(sums) + 1) >> 1
        aged = aged_of(sums)
        if aged >= places:
            return best(S, i, places, 1, -10, T)
        plain = places - aged
        return best(S, i, aged, 1, -10, T) + best(S, i, plain, 0, -10, T) - best(S, i, min(scared, plain), 0, 0, T)
    points = value_of(sums)
    doubled = S[i, DOUBLED]
    while doubled:
        points += fact(((doubled & ENTRY_MASK) >> u64(4)) - ONE, VALUE, T)
        doubled >>= ENTRY_BITS
    if scared:
        points -= best(S, i, scared, 0, 0, T)
    if number == u64(CROWD):
        points += count_of(sums)
    return points


@jit(inline=True)
def free_made(S, i):
    return np.int64(get(S[i, FIGHT], FREE_AT, M7))


@jit(inline=True)
def free_left(S, i, T):
    """Whether a free card may be drawn; the first must be, even if that loses the game."""
    made = free_made(S, i)
    stopped = S[i, LEFT] & mask_of(STOP, T)
    return made == 0 or (made < free_cards(S, i, T) and stopped == ZERO and can_draw(S, i, T))


@jit(inline=True)
def price(S, i):
    """Returns what a paid card costs."""
    return TWO if pirate(S, i) == u64(COSTLY) else ONE


@jit(inline=True)
def can_pay(S, i, T):
    """Whether a card may be paid for, no free one being available."""
    return life(S, i) >= price(S, i) and can_draw(S, i, T)


@jit
def can_end(S, i, T):
    """Whether the fight may be ended: any hazard's after a card, a pirate's only if it is won."""
    if free_made(S, i) == 0:
        return False
    if pirate(S, i) == ZERO:
        return True
    hunger = hunger_of(digest(on_table(S, i), T))
    return total(S, i, T) >= hazard_value(S, i, T) and np.int64(life(S, i)) >= hunger


@jit
def usable_itself(S, i, ability, doubled, T):
    """Whether an ability other than copy, of a card that is doubled (1) or not (0), can be used with the table as it is."""
    if ability in (DRAW, SORT):
        return can_draw(S, i, T)
    if ability == PHASE:
        return phase(S, i) < THREE and lowerings(S, i) < phase(S, i)
    if ability == LIFE:
        return True
    others = count_of(digest(on_table(S, i), T)) - 1
    if ability == EXCHANGE:
        return others > 0 and can_exchange(S, i, T)
    if ability == DOUBLE:
        entries = count_entries(S[i, DOUBLED])
        return entries < ENTRIES and others - entries + doubled > 0
    return others > 0


@jit
def usable(S, i, ability, doubled, T):
    """Whether an ability of an unused card on the table can be used."""
    if ability != COPY:
        return usable_itself(S, i, ability, doubled, T)
    table = on_table(S, i)
    for other in range(LIFE, SORT + 1):
        if other != COPY and table & group(2, other, T) and usable_itself(S, i, other, doubled, T):
            return True
    return False


@jit
def any_usable(S, i, T):
    """Whether any card on the table can be used."""
    if get(S[i, FIGHT], USES_AT, M7) >= MAX_USES:
        return False
    for s in range(2):
        side = u64(s)
        kinds = S[i, table_word(side, ZERO)] & ~group(2, NONE, T)
        while kinds:
            kind = first_kind(kinds, T)
            n = copies_in(S[i, table_word(side, ZERO)], kind, T)
            kinds &= ~mask_of(kind, T)
            if kind >= u64(FIRST_AGING):
                break
            entries = entries_of(S[i, DOUBLED], code_of(kind, side, ZERO))
            ability = fact(kind, ABILITY, T)
            if (n > entries and usable(S, i, ability, 0, T)) or (entries > ZERO and usable(S, i, ability, 1, T)):
                return True
    return False
