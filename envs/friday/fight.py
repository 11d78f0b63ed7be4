"""Fights: what hazards and pirates ask for, what the table is worth, and what follows an ability and a fight."""

from __future__ import annotations

import numpy as np

from leafwise.envs.core.compile.jit import jit
from leafwise.envs.core.contract.bits import count_bits
from leafwise.envs.core.contract.stream import u64
from leafwise.envs.friday import cards
from leafwise.envs.friday import layout as at
from leafwise.envs.friday.layout import (
    ONE,
    ZERO,
    aging_pile,
    digest,
    fact,
    first_kind,
    get,
    hunger_of,
    life,
    mask_of,
    on_table,
    one_card,
    phase,
    put,
    turn_to,
)


@jit(inline=True)
def pirate(S, i):
    """Returns the number of the pirate who is fought, 0 for none."""
    fought = get(S, i, at.FOUGHT_AT)
    if fought == ZERO:
        return ZERO
    return get(S, i, at.PIRATE_AT if fought == ONE else at.SECOND_PIRATE_AT)


@jit(inline=True)
def rest(S, i, column, T):
    """Adds up a column over all hazards that are not beaten, those in the stack and in the discard."""
    word = get(S, i, at.HAZARDS_AT) + get(S, i, at.AWAY_AT)
    return (at.sum_of_bytes(word, at.HALVES_AT, 4, T) >> (at.COLUMN_BITS * (column - at.FREE_CARDS))) & 0xFFFF


@jit(inline=True)
def lowerings(S, i):
    """Counts the cards that lower the phase."""
    return count_bits(get(S, i, at.LOWERED_AT))


@jit(inline=True)
def free_cards(S, i, T):
    """Returns the number of free cards of the hazard or pirate that is fought."""
    number = pirate(S, i)
    if number == ZERO:
        return fact(get(S, i, at.HAZARD_AT) - ONE, at.FREE_CARDS, T)
    if number == cards.REST:
        return max(rest(S, i, at.FREE_CARDS, T), 1)
    return at.printed(number, 0, T)


@jit(inline=True)
def pirate_value(S, i, number, T):
    """Returns what a pirate asks for now."""
    if number == cards.REST:
        return rest(S, i, at.RED, T)
    if number == cards.AGED:
        gone = at.count_of(at.digest(at.at_start(2, T), T)) - at.count_of(at.digest(aging_pile(S, i), T))
        return 2 * gone
    return at.printed(number, 1, T)


@jit(inline=True)
def hazard_value(S, i, T):
    """Returns what the hazard or pirate that is fought asks for."""
    number = pirate(S, i)
    if number != ZERO:
        return pirate_value(S, i, number, T)
    column = np.int64(phase(S, i)) - np.int64(lowerings(S, i))
    return fact(get(S, i, at.HAZARD_AT) - ONE, at.GREEN + (column if column > 0 else 0), T)


@jit
def best(S, i, most, aging, floor, T):
    """Adds up the highest effective values of plain (0) or aging (1) cards, at most so many, each at least `floor`."""
    table, doubled = on_table(S, i), S[i, at.DOUBLED]
    total = 0
    left = most
    for k in range(19):
        value = 8 - k
        n = np.int64(0)
        if value >= -5 and value < 5:
            n = at.count_of(at.digest(table & at.group(aging, value + 5, T), T))
        entries = doubled
        while entries:
            kind = ((entries & at.ENTRY_MASK) >> u64(4)) - ONE
            if fact(kind, at.IS_AGING, T) == aging:
                own = fact(kind, at.VALUE, T)
                n += np.int64(2 * own == value) - np.int64(own == value)
            entries >>= at.ENTRY_BITS
        taken = min(n, left)
        left -= taken
        total += taken * max(value, floor)
    return total


@jit
def total(S, i, T):
    """Returns what the face-up cards on the table score in this fight."""
    sums = at.digest(on_table(S, i), T)
    number = pirate(S, i)
    scared = at.scared_of(sums)
    if T.scared_once and scared > 1:
        scared = np.int64(1)
    if number == cards.HALF:
        places = (at.count_of(sums) + 1) >> 1
        aged = at.aged_of(sums)
        if aged >= places:
            return best(S, i, places, 1, -10, T)
        plain = places - aged
        return best(S, i, aged, 1, -10, T) + best(S, i, plain, 0, -10, T) - best(S, i, min(scared, plain), 0, 0, T)
    points = at.value_of(sums)
    doubled = S[i, at.DOUBLED]
    while doubled:
        points += fact(((doubled & at.ENTRY_MASK) >> u64(4)) - ONE, at.VALUE, T)
        doubled >>= at.ENTRY_BITS
    if scared:
        points -= best(S, i, scared, 0, 0, T)
    if number == cards.CROWD:
        points += at.count_of(sums)
    return points


@jit(inline=True)
def free_made(S, i):
    return np.int64(get(S, i, at.FREE_AT))


@jit(inline=True)
def free_left(S, i, T):
    """Whether a free card may be drawn; the first must be, even if that loses the game."""
    made = free_made(S, i)
    stopped = S[i, at.LEFT] & mask_of(cards.STOP, T)
    return made == 0 or (made < free_cards(S, i, T) and stopped == ZERO and at.can_draw(S, i, T))


@jit(inline=True)
def price(S, i):
    """Returns what a paid card costs."""
    return at.TWO if pirate(S, i) == cards.COSTLY else ONE


@jit(inline=True)
def can_pay(S, i, T):
    """Whether a card may be paid for, no free one being available."""
    return life(S, i) >= price(S, i) and at.can_draw(S, i, T)


@jit(inline=True)
def can_end(S, i, T):
    """Whether the fight may be ended: any hazard's after a card, a pirate's only if it is won."""
    if free_made(S, i) == 0:
        return False
    if pirate(S, i) == ZERO:
        return True
    hunger = at.hunger_of(at.digest(on_table(S, i), T))
    return total(S, i, T) >= hazard_value(S, i, T) and np.int64(life(S, i)) >= hunger


@jit
def usable_itself(S, i, ability, doubled, T):
    """Whether an ability other than copy, of a card that is doubled (1) or not (0), can be used with the table as it is."""
    if ability in (cards.DRAW, cards.SORT):
        return at.can_draw(S, i, T)
    if ability == cards.PHASE:
        return phase(S, i) < at.THREE and lowerings(S, i) < phase(S, i)
    if ability == cards.LIFE:
        return True
    others = at.count_of(at.digest(on_table(S, i), T)) - 1
    if ability == cards.EXCHANGE:
        return others > 0 and at.can_draw(S, i, T, ONE)
    if ability == cards.DOUBLE:
        entries = np.int64(at.count_entries(S[i, at.DOUBLED], ZERO, at.ENTRY_MASK))
        return entries < at.ENTRIES and others - entries + doubled > 0
    return others > 0


@jit
def usable(S, i, ability, doubled, T):
    """Whether an ability of an unused card on the table can be used."""
    if ability != cards.COPY:
        return usable_itself(S, i, ability, doubled, T)
    table = on_table(S, i)
    for other in range(cards.LIFE, cards.SORT + 1):
        if other != cards.COPY and table & at.group(2, other, T) and usable_itself(S, i, other, doubled, T):
            return True
    return False


@jit(inline=True)
def may_be_target(S, i, ref, n, ability, T):
    """Whether one of n cards of a reference may be the target of the ability under way."""
    acting = at.acting_reference(S, i)
    if ref == acting and n == ONE:
        return False
    if ability == cards.COPY:
        copied = fact(at.kind_in(ref), at.ABILITY, T)
        doubled = 1 if acting & at.M3 else 0
        return copied > 0 and copied != cards.COPY and usable_itself(S, i, copied, doubled, T)
    return ability != cards.DOUBLE or ref & at.M3 == ZERO


@jit
def offer_cards(S, i, here, A, n, T):
    """Adds the slots of cards on the table that may be used, aimed at or removed; of cards alike only the first.

    Returns how many actions there are then; without an array of actions no more than one is counted.
    """
    slot, able = ZERO, ((ONE << at.AGING_SHIFT) - ONE) & ~at.group(2, cards.NONE, T)
    ability, lowest = get(S, i, at.KIND_AT), get(S, i, at.FROM_AT)
    points = np.int64(get(S, i, at.POINTS_AT))
    if here == at.IN_FIGHT and (S[i, at.LEFT] | S[i, at.RIGHT]) & able == ZERO:
        return n
    doubled = S[i, at.DOUBLED]
    for s in range(2):
        side = u64(s)
        kinds = S[i, at.table_word(side, ZERO)] | S[i, at.table_word(side, ONE)]
        while kinds:
            kind = first_kind(kinds, T)
            kinds &= ~mask_of(kind, T)
            for u in range(2):
                used = u64(u)
                of_kind = at.copies_in(S[i, at.table_word(side, used)], kind, T)
                if of_kind == ZERO:
                    continue
                code = at.code_of(kind, side, used)
                entries = at.entries_of(doubled, code)
                for d in range(5 if entries else 1):
                    alike = of_kind - entries if d == 0 else ZERO
                    if d > 0:
                        entry = (code << at.TWO) | u64(d - 1)
                        alike = at.count_entries(doubled, entry, entry)
                    if alike == ZERO:
                        continue
                    if here == at.IN_FIGHT:
                        own = fact(kind, at.ABILITY, T)
                        legal = u == 0 and own > 0 and usable(S, i, own, min(d, 1), T)
                    elif here == at.TARGET:
                        legal = may_be_target(S, i, (code << at.THREE) | u64(d), alike, ability, T)
                    else:
                        legal = kind >= lowest and fact(kind, at.COST, T) <= points
                    if legal:
                        if A is None:
                            return n + 1
                        A[n] = np.int64(slot) + (at.USE if here == at.IN_FIGHT else at.CARD)
                        n += 1
                    slot += alike
    return n


@jit
def any_usable(S, i, T):
    """Whether any card on the table can be used."""
    return get(S, i, at.USES_AT) < at.MAX_USES and offer_cards(S, i, at.IN_FIGHT, None, 0, T) > 0


BASICS = u64(2**17 - 1)
"""The fields of FIGHT that outlast an ability."""


@jit(inline=True)
def lose(S, j, debt):
    """Ends the game; `debt` is the life that could not be paid, 0 if no action was left."""
    put(S, j, at.DEBT_AT, debt)
    turn_to(S, j, at.LOST)


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
    turn_to(S, j, at.IN_FIGHT)
    if pirate(S, j) != ZERO:
        lose_if_stuck(S, j, T)


@jit(inline=True)
def clear_table(S, j):
    """Forgets the fight; returns the cards that lay on the table."""
    table = on_table(S, j)
    for w in range(at.LEFT, at.DOWN + 1):
        S[j, w] = ZERO
    S[j, at.DOUBLED] = S[j, at.FIGHT] = ZERO
    return table


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
    turn_to(S, j, mode)


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
        S[j, at.DISCARD] += clear_table(S, j) + one_card(kind, T)
        end_turn(S, j)
    elif pay(S, j, u64(missing)):
        discard_hazard(S, j, kind, T)
        put(S, j, at.HAZARD_AT, ZERO)
        S[j, at.LEFT] = clear_table(S, j)
        put(S, j, at.POINTS_AT, u64(missing))
        turn_to(S, j, at.REMOVE)


@jit
def end_pirate(S, j, T):
    """Settles the fight against a pirate, which is won."""
    pay(S, j, u64(hunger_of(digest(on_table(S, j), T))))
    S[j, at.DISCARD] += clear_table(S, j)
    beaten = get(S, j, at.BEATEN_AT) | get(S, j, at.FOUGHT_AT)
    put(S, j, at.BEATEN_AT, beaten)
    put(S, j, at.FOUGHT_AT, at.THREE & ~beaten)
    if beaten == at.THREE:
        turn_to(S, j, at.WON)
    else:
        go_on(S, j, T)
