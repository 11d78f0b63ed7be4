"""Fights: the values of hazards and pirates, the score of the table, and what follows an ability or a fight."""

from __future__ import annotations

import numpy as np

from leafwise.envs.core.compile.jit import jit
from leafwise.envs.core.contract.bits import count_bits
from leafwise.envs.core.contract.stream import u64
from leafwise.envs.friday import cards
from leafwise.envs.friday.layout import (
    ABILITY,
    AGED_AT,
    AGING_SHIFT,
    AWAY_AT,
    BEATEN_AT,
    CARD,
    CHOOSE,
    COLUMN_BITS,
    COST,
    DEAL_HAZARD,
    DEBT_AT,
    DISCARD,
    DOUBLED,
    DOWN,
    ENTRIES,
    ENTRY_BITS,
    ENTRY_MASK,
    FIGHT,
    FOUGHT_AT,
    FREE_AT,
    FREE_CARDS,
    FROM_AT,
    GREEN,
    HALVES_AT,
    HAZARD_AT,
    HAZARD_SHIFT,
    HAZARDS,
    HAZARDS_AT,
    IN_FIGHT,
    IS_AGING,
    KIND_AT,
    LEFT,
    LIFE_AT,
    LOST,
    LOWERED_AT,
    M3,
    MAX_USES,
    ONE,
    PHASE_AT,
    PIRATE_AT,
    POINTS_AT,
    RED,
    REMOVE,
    RIGHT,
    RUIN,
    SCARED_AT,
    SECOND_PIRATE_AT,
    TARGET,
    THREE,
    TWO,
    USE,
    USES_AT,
    VALUE,
    WON,
    ZERO,
    acting_reference,
    aging_pile,
    at_start,
    can_draw,
    code_of,
    copies_in,
    count_entries,
    count_of,
    digest,
    entries_of,
    fact,
    first_kind,
    get,
    group,
    hunger_of,
    kind_in,
    life,
    mask_of,
    on_table,
    one_card,
    phase,
    printed,
    put,
    sum_of_bytes,
    table_word,
    turn_to,
    value_of,
)


@jit(inline=True)
def pirate(S, i):
    """Returns the number of the pirate in the current fight, 0 for none."""
    fought = get(S, i, FOUGHT_AT)
    if fought == ZERO:
        return ZERO
    return get(S, i, PIRATE_AT if fought == ONE else SECOND_PIRATE_AT)


@jit(inline=True)
def rest(S, i, column, T):
    """Returns the sum of a column over all unbeaten hazards, in the stack and in the discard."""
    word = get(S, i, HAZARDS_AT) + get(S, i, AWAY_AT)
    return (sum_of_bytes(word, HALVES_AT, 4, T) >> (COLUMN_BITS * (column - FREE_CARDS))) & 0xFFFF


@jit(inline=True)
def lowerings(S, i):
    """Returns the number of cards that lower the phase."""
    return count_bits(get(S, i, LOWERED_AT))


@jit(inline=True, ignores_leaf=True)
def free_cards(S, i, T):
    """Returns the number of free cards of the current hazard or pirate."""
    number = pirate(S, i)
    if number == ZERO:
        return fact(get(S, i, HAZARD_AT) - ONE, FREE_CARDS, T)
    if number == cards.REST:
        return max(rest(S, i, FREE_CARDS, T), 1)
    return printed(number, 0, T)


@jit(inline=True)
def pirate_value(S, i, number, T):
    """Returns the current hazard value of a pirate."""
    if number == cards.REST:
        return rest(S, i, RED, T)
    if number == cards.AGED:
        gone = count_of(digest(at_start(2, T), T)) - count_of(digest(aging_pile(S, i), T))
        return 2 * gone
    return printed(number, 1, T)


@jit(inline=True, ignores_leaf=True)
def hazard_value(S, i, T):
    """Returns the value of the current hazard or pirate."""
    number = pirate(S, i)
    if number != ZERO:
        return pirate_value(S, i, number, T)
    column = np.int64(phase(S, i)) - np.int64(lowerings(S, i))
    return fact(get(S, i, HAZARD_AT) - ONE, GREEN + (column if column > 0 else 0), T)


@jit(ignores_leaf=True)
def best(S, i, most, aging, floor, T):
    """Returns the sum of the highest effective values of plain (0) or aging (1) cards, at most `most`, each at least `floor`."""
    table, doubled = on_table(S, i), S[i, DOUBLED]
    total = 0
    remaining = most
    for k in range(19):
        value = 8 - k
        n = np.int64(0)
        if value >= -5 and value < 5:
            n = count_of(digest(table & group(aging, value + 5, T), T))
        entries = doubled
        while entries:
            kind = ((entries & ENTRY_MASK) >> u64(4)) - ONE
            if fact(kind, IS_AGING, T) == aging:
                card_value = fact(kind, VALUE, T)
                n += np.int64(2 * card_value == value) - np.int64(card_value == value)
            entries >>= ENTRY_BITS
        taken = min(n, remaining)
        remaining -= taken
        total += taken * max(value, floor)
    return total


@jit(ignores_leaf=True)
def total(S, i, T):
    """Returns the score of the face-up cards on the table in this fight."""
    sums = digest(on_table(S, i), T)
    number = pirate(S, i)
    scared = (sums >> SCARED_AT) & 3
    if T.scared_once and scared > 1:
        scared = np.int64(1)
    # Half of the cards count, aging cards first.
    if number == cards.HALF:
        places = (count_of(sums) + 1) >> 1
        aged = (sums >> AGED_AT) & 31
        if aged >= places:
            return best(S, i, places, 1, -10, T)
        plain = places - aged
        return best(S, i, aged, 1, -10, T) + best(S, i, plain, 0, -10, T) - best(S, i, min(scared, plain), 0, 0, T)
    # All cards count, doubled ones twice.
    points = value_of(sums)
    doubled = S[i, DOUBLED]
    while doubled:
        points += fact(((doubled & ENTRY_MASK) >> u64(4)) - ONE, VALUE, T)
        doubled >>= ENTRY_BITS
    if scared:
        points -= best(S, i, scared, 0, 0, T)
    if number == cards.CROWD:
        points += count_of(sums)
    return points


@jit(inline=True)
def free_made(S, i):
    return np.int64(get(S, i, FREE_AT))


@jit(inline=True)
def free_left(S, i, T):
    """Whether a free card may be drawn; the first one must be, even if that loses the game."""
    made = free_made(S, i)
    stopped = S[i, LEFT] & mask_of(cards.STOP, T)
    return made == 0 or (made < free_cards(S, i, T) and stopped == ZERO and can_draw(S, i, T))


@jit(inline=True)
def price(S, i):
    """Returns the price of a paid card in life."""
    return TWO if pirate(S, i) == cards.COSTLY else ONE


@jit(inline=True)
def can_pay(S, i, T):
    """Whether a card may be paid for, if no free one is available."""
    return life(S, i) >= price(S, i) and can_draw(S, i, T)


@jit(inline=True)
def can_end(S, i, T):
    """Whether the fight may be ended: any hazard's after a card, a pirate's only if it is won."""
    if free_made(S, i) == 0:
        return False
    if pirate(S, i) == ZERO:
        return True
    hunger = hunger_of(digest(on_table(S, i), T))
    return total(S, i, T) >= hazard_value(S, i, T) and life(S, i) >= hunger


@jit
def usable_itself(S, i, ability, doubled, T):
    """Whether an ability other than copy, of a card that is doubled (1) or not (0), can be used with this table."""
    if ability in (cards.DRAW, cards.SORT):
        return can_draw(S, i, T)
    if ability == cards.PHASE:
        return phase(S, i) < THREE and lowerings(S, i) < phase(S, i)
    if ability == cards.LIFE:
        return True
    others = count_of(digest(on_table(S, i), T)) - 1
    if ability == cards.EXCHANGE:
        return others > 0 and can_draw(S, i, T, ONE)
    if ability == cards.DOUBLE:
        entries = np.int64(count_entries(S[i, DOUBLED], ZERO, ENTRY_MASK))
        return entries < ENTRIES and others - entries + doubled > 0
    return others > 0


@jit
def usable(S, i, ability, doubled, T):
    """Whether an ability of an unused card on the table can be used."""
    if ability != cards.COPY:
        return usable_itself(S, i, ability, doubled, T)
    table = on_table(S, i)
    for other in range(cards.LIFE, cards.SORT + 1):
        if other != cards.COPY and table & group(2, other, T) and usable_itself(S, i, other, doubled, T):
            return True
    return False


@jit(inline=True)
def may_be_target(S, i, ref, n, ability, T):
    """Whether one of n cards with a reference may be the target of the current ability."""
    acting = acting_reference(S, i)
    if ref == acting and n == ONE:
        return False
    if ability == cards.COPY:
        copied = fact(kind_in(ref), ABILITY, T)
        doubled = 1 if acting & M3 else 0
        return copied > 0 and copied != cards.COPY and usable_itself(S, i, copied, doubled, T)
    return ability != cards.DOUBLE or ref & M3 == ZERO


@jit(inline=True)
def able_cards(T):
    """Returns the fields of cards with an ability."""
    return ((ONE << AGING_SHIFT) - ONE) & ~group(2, cards.NONE, T)


@jit
def offer_cards(S, i, mode_now, A, n, T):
    """Adds the slots of cards on the table that may be used, aimed at or removed; of equal cards only the first.

    Returns the new number of actions; without an array of actions it stops counting at the first.
    """
    slot = ZERO
    ability, lowest = get(S, i, KIND_AT), get(S, i, FROM_AT)
    points = np.int64(get(S, i, POINTS_AT))
    if mode_now == IN_FIGHT and (S[i, LEFT] | S[i, RIGHT]) & able_cards(T) == ZERO:
        return n
    # Sides, kinds, used or not, and how doubled: the order of the slots.
    doubled = S[i, DOUBLED]
    for s in range(2):
        side = u64(s)
        kinds = S[i, table_word(side, ZERO)] | S[i, table_word(side, ONE)]
        while kinds:
            kind = first_kind(kinds, T)
            kinds &= ~mask_of(kind, T)
            for u in range(2):
                used = u64(u)
                of_kind = copies_in(S[i, table_word(side, used)], kind, T)
                if of_kind == ZERO:
                    continue
                code = code_of(kind, side, used)
                entries = entries_of(doubled, code)
                for d in range(5 if entries else 1):
                    alike = of_kind - entries if d == 0 else ZERO
                    if d > 0:
                        entry = (code << TWO) | u64(d - 1)
                        alike = count_entries(doubled, entry, entry)
                    if alike == ZERO:
                        continue
                    # Cards that are equal in all this share the decision.
                    if mode_now == IN_FIGHT:
                        card_ability = fact(kind, ABILITY, T)
                        legal = u == 0 and card_ability > 0 and usable(S, i, card_ability, min(d, 1), T)
                    elif mode_now == TARGET:
                        legal = may_be_target(S, i, (code << THREE) | u64(d), alike, ability, T)
                    else:
                        legal = kind >= lowest and fact(kind, COST, T) <= points
                    if legal:
                        if A is None:
                            return n + 1
                        A[n] = np.int64(slot) + (USE if mode_now == IN_FIGHT else CARD)
                        n += 1
                    slot += alike
    return n


BASICS = u64(2**17 - 1)
"""The fields of FIGHT that stay after an ability."""


@jit(inline=True)
def lose(S, j, debt):
    """Ends the game; `debt` is the life that could not be paid, 0 if no action was left."""
    put(S, j, DEBT_AT, debt)
    turn_to(S, j, LOST)


@jit(inline=True)
def pay(S, j, n):
    """Pays life (uint64); returns whether there was enough, otherwise the game is lost."""
    available = life(S, j)
    if available < n:
        put(S, j, LIFE_AT, ZERO)
        lose(S, j, min(n - available, RUIN - ONE))
        return False
    put(S, j, LIFE_AT, available - n)
    return True


@jit
def can_act(S, i, T):
    """Whether the player has an action in a fight."""
    if free_left(S, i, T) or can_pay(S, i, T) or can_end(S, i, T):
        return True
    return get(S, i, USES_AT) < MAX_USES and offer_cards(S, i, IN_FIGHT, None, 0, T) > 0


@jit(inline=True)
def go_on(S, j, T):
    """Ends the current ability and returns to the fight, which is lost if the player has no action."""
    S[j, FIGHT] &= BASICS
    turn_to(S, j, IN_FIGHT)
    if pirate(S, j) != ZERO and not can_act(S, j, T):
        lose(S, j, ZERO)


@jit(inline=True)
def clear_table(S, j):
    """Clears the fight; returns the cards that were on the table."""
    table = on_table(S, j)
    for w in range(LEFT, DOWN + 1):
        S[j, w] = ZERO
    S[j, DOUBLED] = S[j, FIGHT] = ZERO
    return table


@jit(inline=True)
def end_turn(S, j):
    """Goes on to the next hazard, the next phase, or the pirates."""
    put(S, j, HAZARD_AT, ZERO)
    next_phase = phase(S, j)
    mode = DEAL_HAZARD
    if get(S, j, HAZARDS_AT) == ZERO:
        next_phase += ONE
        if S[j, HAZARDS] == ZERO:
            next_phase = THREE
        if next_phase < THREE:
            S[j, HAZARDS] >>= AWAY_AT.shift
        else:
            mode = CHOOSE
    put(S, j, PHASE_AT, next_phase)
    turn_to(S, j, mode)


@jit(inline=True)
def discard_hazard(S, j, kind, T):
    """Puts a hazard onto the hazard discard."""
    S[j, HAZARDS] += (one_card(kind, T) >> HAZARD_SHIFT) << AWAY_AT.shift


@jit(inline=True)
def end_hazard(S, j, T):
    """Ends the fight against a hazard."""
    if not pay(S, j, u64(hunger_of(digest(on_table(S, j), T)))):
        return
    missing = hazard_value(S, j, T) - total(S, j, T)
    kind = get(S, j, HAZARD_AT) - ONE
    if missing <= 0:
        S[j, DISCARD] += clear_table(S, j) + one_card(kind, T)
        end_turn(S, j)
    elif pay(S, j, u64(missing)):
        discard_hazard(S, j, kind, T)
        put(S, j, HAZARD_AT, ZERO)
        S[j, LEFT] = clear_table(S, j)
        put(S, j, POINTS_AT, u64(missing))
        turn_to(S, j, REMOVE)


@jit
def end_pirate(S, j, T):
    """Ends the fight against a pirate, which is won."""
    pay(S, j, u64(hunger_of(digest(on_table(S, j), T))))
    S[j, DISCARD] += clear_table(S, j)
    beaten = get(S, j, BEATEN_AT) | get(S, j, FOUGHT_AT)
    put(S, j, BEATEN_AT, beaten)
    put(S, j, FOUGHT_AT, THREE & ~beaten)
    if beaten == THREE:
        turn_to(S, j, WON)
    else:
        go_on(S, j, T)
