"""Cards in piles: sums over them, the known part of the stack, and cards that come to the table and leave it."""

from __future__ import annotations

import numpy as np

from leafwise.envs.core.compile.jit import jit
from leafwise.envs.core.contract.stream import u64
from leafwise.envs.friday import layout as at
from leafwise.envs.friday import tables
from leafwise.envs.friday.layout import ONE, ZERO, aging_pile, get, on_table, set_fight
from leafwise.envs.friday.tables import fact, first_kind, mask_of, shift_of

BYTE = u64(255)


@jit(inline=True)
def digest(word, T):
    """Adds up count, value, rating, life loss, aging and scared cards of all cards counted in a word."""
    D = T.numbers
    return (
        D[word & BYTE]
        + D[u64(256) + ((word >> u64(8)) & BYTE)]
        + D[u64(512) + ((word >> u64(16)) & BYTE)]
        + D[u64(768) + ((word >> u64(24)) & BYTE)]
        + D[u64(1024) + ((word >> u64(32)) & BYTE)]
        + D[u64(1280) + ((word >> u64(40)) & BYTE)]
        + D[u64(1536) + (word >> u64(48))]
    )


@jit(inline=True)
def count_of(d):
    return d & 255


@jit(inline=True)
def value_of(d):
    return ((d >> tables.VALUE_AT) & 4095) - tables.BIAS * (d & 255)


@jit(inline=True)
def rating_of(d):
    return ((d >> tables.RATING_AT) & 4095) - tables.BIAS * (d & 255)


@jit(inline=True)
def hunger_of(d):
    return (d >> tables.HUNGER_AT) & 15


@jit(inline=True)
def aged_of(d):
    return (d >> tables.AGED_AT) & 31


@jit(inline=True)
def scared_of(d):
    return (d >> tables.SCARED_AT) & 3


@jit(inline=True)
def one_card(kind, T):
    """Returns the counts word of one card."""
    return ONE << shift_of(kind, T)


@jit(inline=True)
def copies_in(word, kind, T):
    """Returns how many cards of a kind a word counts."""
    return (word & mask_of(kind, T)) >> shift_of(kind, T)


@jit
def unknown(S, i, T):
    """Returns the counts of the stack without the cards whose place is known."""
    word, known = S[i, at.STACK], S[i, at.KNOWN]
    while known:
        card = known & at.CARD_MASK
        if card:
            word -= one_card(card - ONE, T)
        known >>= at.CARD_BITS
    return word


@jit(inline=True)
def push_back(known, card):
    """Puts a kind + 1 under the cards known at the bottom."""
    shift = ZERO
    while (known & at.QUEUE_MASK) >> shift:
        shift += at.CARD_BITS
    return known | (card << shift)


@jit
def put_on_top(S, j, kind, T):
    """Puts a card that was looked at on top of the stack; with all else known, the bottom is the top."""
    known = S[j, at.KNOWN]
    top, queue = known >> at.TOP_AT, known & at.QUEUE_MASK
    if unknown(S, j, T):
        top = (top << at.CARD_BITS) | (kind + ONE)
    else:
        queue = (queue << at.CARD_BITS) | (kind + ONE)
    S[j, at.KNOWN] = (top << at.TOP_AT) | queue
    S[j, at.STACK] += one_card(kind, T)


@jit(inline=True)
def next_cards(S, i, T):
    """Returns the counts of the kinds that may be drawn next: the card known, or all whose order is not."""
    known = S[i, at.KNOWN]
    if not known:
        return S[i, at.STACK]
    if known >> at.TOP_AT:
        return one_card(((known >> at.TOP_AT) & at.CARD_MASK) - ONE, T)
    word = unknown(S, i, T)
    return word if word else one_card((known & at.CARD_MASK) - ONE, T)


@jit(inline=True)
def take_top(S, j, kind, T):
    """Takes the card that is drawn off the stack."""
    known = S[j, at.KNOWN]
    if known >> at.TOP_AT:
        S[j, at.KNOWN] = ((known >> (at.TOP_AT + at.CARD_BITS)) << at.TOP_AT) | (known & at.QUEUE_MASK)
    elif known and not unknown(S, j, T):
        S[j, at.KNOWN] = known >> at.CARD_BITS
    S[j, at.STACK] -= one_card(kind, T)


@jit(inline=True)
def can_draw(S, i, T):
    """Whether a card can be drawn, after a reshuffle if need be."""
    return S[i, at.STACK] != ZERO or aging_pile(S, i) != ZERO or (T.reshuffle_only != 0 and S[i, at.DISCARD] != ZERO)


@jit(inline=True)
def can_exchange(S, i, T):
    """Whether a card can be drawn after another was put onto the discard."""
    return S[i, at.STACK] != ZERO or aging_pile(S, i) != ZERO or T.reshuffle_only != 0


# A card on the table is named by its reference: kind + 1 (6 bits), side, used, and how it is doubled (3 bits: 0 not, else the
# number of the card that doubles it + 1). The first 8 bits are its code, which an entry of DOUBLED begins with.


@jit(inline=True)
def kind_in(ref):
    return (ref >> u64(5)) - ONE


@jit(inline=True)
def side_in(ref):
    return (ref >> at.FOUR) & ONE


@jit(inline=True)
def code_of(kind, side, used):
    return ((kind + ONE) << at.TWO) | (side << ONE) | used


@jit(inline=True)
def entries_of(doubled, code):
    """Counts the doubled cards of a code."""
    n = ZERO
    while doubled:
        n += u64((doubled & at.ENTRY_MASK) >> at.TWO == code)
        doubled >>= at.ENTRY_BITS
    return n


@jit
def count_entry(doubled, entry):
    """Counts an entry among the doubled cards."""
    n = ZERO
    while doubled:
        n += u64(doubled & at.ENTRY_MASK == entry)
        doubled >>= at.ENTRY_BITS
    return n


@jit(inline=True)
def count_entries(doubled):
    """Counts the doubled cards."""
    n = 0
    while doubled:
        n += 1
        doubled >>= at.ENTRY_BITS
    return n


@jit
def with_entry(doubled, entry):
    """Adds an entry, in ascending order."""
    shift = ZERO
    while (doubled >> shift) & at.ENTRY_MASK != ZERO and (doubled >> shift) & at.ENTRY_MASK < entry:
        shift += at.ENTRY_BITS
    low = doubled & ((ONE << shift) - ONE)
    return low | (entry << shift) | ((doubled >> shift) << (shift + at.ENTRY_BITS))


@jit
def without_entry(doubled, entry):
    """Takes one entry away."""
    shift = ZERO
    while (doubled >> shift) & at.ENTRY_MASK != entry:
        shift += at.ENTRY_BITS
    low = doubled & ((ONE << shift) - ONE)
    return low | ((doubled >> (shift + at.ENTRY_BITS)) << shift)


@jit(inline=True)
def entry_of(ref):
    """Returns the entry of DOUBLED that belongs to a doubled card."""
    return ((ref >> at.THREE) << at.TWO) | ((ref & at.M3) - ONE)


@jit
def mark_used(S, j, ref, T):
    """Turns a card on the table into a used one."""
    kind, side = kind_in(ref), side_in(ref)
    S[j, at.table_word(side, ZERO)] -= one_card(kind, T)
    S[j, at.table_word(side, ONE)] += one_card(kind, T)
    if ref & at.M3:
        entry = entry_of(ref)
        S[j, at.DOUBLED] = with_entry(without_entry(S[j, at.DOUBLED], entry), entry | at.FOUR)


@jit
def take_off(S, j, ref, T):
    """Takes a card off the table, and with it what depends on it."""
    kind = kind_in(ref)
    S[j, at.table_word(side_in(ref), (ref >> at.THREE) & ONE)] -= one_card(kind, T)
    if ref & at.M3:
        S[j, at.DOUBLED] = without_entry(S[j, at.DOUBLED], entry_of(ref))
    by = fact(kind, tables.DOUBLER, T)
    if by >= 0 and T.needs_source and S[j, at.DOUBLED]:
        kept = ZERO
        rest = S[j, at.DOUBLED]
        shift = ZERO
        while rest:
            if np.int64(rest & at.THREE) != by:
                kept |= (rest & at.ENTRY_MASK) << shift
                shift += at.ENTRY_BITS
            rest >>= at.ENTRY_BITS
        S[j, at.DOUBLED] = kept
        if np.int64(get(S[j, at.FIGHT], at.ACTING_AT, at.M3)) == by + 1:  # it doubled the very card that acts
            set_fight(S, j, at.ACTING_AT, at.M3, ZERO)
    if fact(kind, tables.LOWERER, T):
        lowered = get(S[j, at.FIGHT], at.LOWERED_AT, at.M3)
        set_fight(S, j, at.LOWERED_AT, at.M3, lowered & ~u64(fact(kind, tables.LOWERER, T)))


@jit(inline=True)
def doubled_reference(doubled, code, before):
    """Returns the reference of the doubled card of a code with `before` others of it in front; there must be one."""
    while True:
        entry = doubled & at.ENTRY_MASK
        if entry >> at.TWO == code:
            if before == ZERO:
                return (code << at.THREE) | ((entry & at.THREE) + ONE)
            before -= ONE
        doubled >>= at.ENTRY_BITS


@jit
def reference(S, i, slot, T):
    """Returns the reference of the card in a slot: left before right, by kind, not used before used, not doubled first."""
    seen = ZERO
    for s in range(2):
        side = u64(s)
        kinds = S[i, at.table_word(side, ZERO)] | S[i, at.table_word(side, ONE)]
        while kinds:
            kind = first_kind(kinds, T)
            kinds &= ~mask_of(kind, T)
            for u in range(2):
                used = u64(u)
                n = copies_in(S[i, at.table_word(side, used)], kind, T)
                if slot < seen + n:
                    code = code_of(kind, side, used)
                    doubled = S[i, at.DOUBLED]
                    plain = n - entries_of(doubled, code)
                    if slot < seen + plain:
                        return code << at.THREE
                    return doubled_reference(doubled, code, slot - seen - plain)
                seen += n
    return ZERO


@jit(inline=True)
def acting_reference(S, i):
    """Returns the reference of the card whose ability is under way; it is used."""
    acting = get(S[i, at.FIGHT], at.ACTING_AT, at.ACTING_MASK)
    return ((acting >> at.THREE) << at.FOUR) | u64(8) | (acting & at.M3)


@jit(inline=True)
def looked(S, i):
    """Returns the cards looked at: kinds + 1, ascending from the lowest field."""
    return get(S[i, at.FIGHT], at.LOOKED_AT, at.M18)


@jit
def with_looked(cards, card):
    """Adds a kind + 1 to the cards looked at."""
    shift = ZERO
    while (cards >> shift) & at.CARD_MASK != ZERO and (cards >> shift) & at.CARD_MASK < card:
        shift += at.CARD_BITS
    low = cards & ((ONE << shift) - ONE)
    return low | (card << shift) | ((cards >> shift) << (shift + at.CARD_BITS))


@jit
def without_looked(cards, place):
    """Takes the card at a place away from the cards looked at."""
    shift = at.CARD_BITS * place
    low = cards & ((ONE << shift) - ONE)
    return low | ((cards >> (shift + at.CARD_BITS)) << shift)


@jit(inline=True)
def in_play(S, i):
    """Returns the counts of stack, discard and face-up table."""
    return S[i, at.STACK] + S[i, at.DISCARD] + on_table(S, i)


@jit
def possessed(S, i, T):
    """Returns the counts of Robinson's cards: those in play and those looked at."""
    word = in_play(S, i)
    cards = looked(S, i)
    while cards:
        word += one_card((cards & at.CARD_MASK) - ONE, T)
        cards >>= at.CARD_BITS
    return word
