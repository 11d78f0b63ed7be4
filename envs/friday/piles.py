"""Cards in piles: sums over them, the known part of the stack, and cards that come to the table and leave it."""

from __future__ import annotations

import numpy as np

from leafwise.envs.core.compile.jit import jit
from leafwise.envs.core.contract.stream import u64
from leafwise.envs.friday import layout as at
from leafwise.envs.friday import tables
from leafwise.envs.friday.layout import ONE, ZERO, aging_pile, get, on_table, put
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
def push_back(S, j, kind, T):
    """Puts a card below the stack, under those known at the bottom."""
    shift = ZERO
    while get(S, j, at.QUEUE_AT) >> shift:
        shift += at.CARD_BITS
    S[j, at.KNOWN] |= (kind + ONE) << shift
    S[j, at.STACK] += one_card(kind, T)


@jit
def put_on_top(S, j, kind, T):
    """Puts a card that was looked at on top of the stack; with all else known, the bottom is the top."""
    where = at.TOP_AT if unknown(S, j, T) else at.QUEUE_AT
    put(S, j, where, (get(S, j, where) << at.CARD_BITS) | (kind + ONE))
    S[j, at.STACK] += one_card(kind, T)


@jit(inline=True)
def next_cards(S, i, T):
    """Returns the counts of the kinds that may be drawn next: the card known, or all whose order is not."""
    known, top = S[i, at.KNOWN], get(S, i, at.TOP_AT)
    if not known:
        return S[i, at.STACK]
    word = ZERO if top else unknown(S, i, T)
    return word if word else one_card(((top if top else known) & at.CARD_MASK) - ONE, T)


@jit(inline=True)
def take_top(S, j, kind, T):
    """Takes the card that is drawn off the stack."""
    top = get(S, j, at.TOP_AT)
    if top:
        put(S, j, at.TOP_AT, top >> at.CARD_BITS)
    elif S[j, at.KNOWN] and not unknown(S, j, T):
        S[j, at.KNOWN] >>= at.CARD_BITS
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
def count_entries(doubled, first, last):
    """Counts the doubled cards whose entries are in first..last."""
    n = ZERO
    while doubled:
        n += u64(first <= doubled & at.ENTRY_MASK <= last)
        doubled >>= at.ENTRY_BITS
    return n


@jit(inline=True)
def entries_of(doubled, code):
    """Counts the doubled cards of a code."""
    return count_entries(doubled, code << at.TWO, (code << at.TWO) | at.THREE)


@jit
def with_item(items, bits, item):
    """Adds an item to fields of so many bits, in ascending order."""
    mask, shift = (ONE << bits) - ONE, ZERO
    while (items >> shift) & mask != ZERO and (items >> shift) & mask < item:
        shift += bits
    low = items & ((ONE << shift) - ONE)
    return low | (item << shift) | ((items >> shift) << (shift + bits))


@jit
def without_item(items, bits, item):
    """Takes one item away, which must be there."""
    mask, shift = (ONE << bits) - ONE, ZERO
    while (items >> shift) & mask != item:
        shift += bits
    low = items & ((ONE << shift) - ONE)
    return low | ((items >> (shift + bits)) << shift)


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
        S[j, at.DOUBLED] = with_item(
            without_item(S[j, at.DOUBLED], at.ENTRY_BITS, entry), at.ENTRY_BITS, entry | at.FOUR
        )


@jit
def take_off(S, j, ref, T):
    """Takes a card off the table, and with it what depends on it."""
    kind = kind_in(ref)
    S[j, at.table_word(side_in(ref), (ref >> at.THREE) & ONE)] -= one_card(kind, T)
    if ref & at.M3:
        S[j, at.DOUBLED] = without_item(S[j, at.DOUBLED], at.ENTRY_BITS, entry_of(ref))
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
        if np.int64(get(S, j, at.ACTING_BY_AT)) == by + 1:  # it doubled the very card that acts
            put(S, j, at.ACTING_BY_AT, ZERO)
    if fact(kind, tables.LOWERER, T):
        lowered = get(S, j, at.LOWERED_AT)
        put(S, j, at.LOWERED_AT, lowered & ~u64(fact(kind, tables.LOWERER, T)))


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
    acting = get(S, i, at.ACTING_AT)
    return ((acting >> at.THREE) << at.FOUR) | u64(8) | (acting & at.M3)


@jit(inline=True)
def looked(S, i):
    """Returns the cards looked at: kinds + 1, ascending from the lowest field."""
    return get(S, i, at.LOOKED_AT)


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
