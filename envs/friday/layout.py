"""The layout of a row, the tables that the rules read, and the cards in piles.

Six words hold counts of cards by kind, in fields of the same layout: kinds in the order of `cards.CARDS`, each as wide as its
copies need, 52 bits in all. The hazards are the fields of the knowledge cards alone. The last four words consist of other
fields.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import accumulate
from typing import NamedTuple

import numpy as np

from leafwise.envs.core.compile.jit import jit
from leafwise.envs.core.contract.bits import count_bits
from leafwise.envs.core.contract.stream import u64
from leafwise.envs.friday.cards import CARDS, FIRST_AGING, FIRST_DIFFICULT, FIRST_KNOWLEDGE, PIRATES

STACK, DISCARD, HAZARDS, LEFT, LEFT_USED, RIGHT, RIGHT_USED, DOWN, KNOWN, DOUBLED, STATUS, FIGHT = range(12)
"""Words of a row. STACK also counts the known cards. HAZARDS holds the hazard stack, and from bit 30 the hazard discard. The
table has four words: left and right, unused and used. DOWN counts cards turned face-down in this fight.
"""
WIDTH = 12

WIDTHS = tuple(card.copies.bit_length() for card in CARDS)
SHIFTS = tuple(sum(WIDTHS[:k]) for k in range(len(CARDS)))
HAZARD_SHIFT = u64(SHIFTS[FIRST_KNOWLEDGE])
AGING_SHIFT = u64(SHIFTS[FIRST_AGING])
DIFFICULT_SHIFT = u64(SHIFTS[FIRST_DIFFICULT])
GROUPS = ((0, 7), (7, 4), (11, 8), (19, 8), (27, 8), (35, 6), (41, 6), (47, 5))
"""Runs of whole fields, a byte at most, as (shift, bits): two of starting cards, four of knowledge cards, two of aging cards."""
HAZARD_GROUPS, AGING_GROUPS = 2, 6
"""The first runs of knowledge and of aging cards."""
ZERO, ONE, TWO, THREE, FOUR = u64(0), u64(1), u64(2), u64(3), u64(4)
M3 = u64(7)
CARD_BITS, CARD_MASK = u64(6), u64(63)
QUEUE_CARDS = 7
ENTRY_BITS, ENTRY_MASK, ENTRIES = u64(10), u64(1023), 6
"""DOUBLED has at most six entries, ascending: kind + 1 (6 bits), side, used, number of the card that doubles (2 bits)."""


class RowField(NamedTuple):
    """A field of a row."""

    word: np.uint64
    shift: np.uint64
    mask: np.uint64


def field(word: int, shift: int, bits: int) -> RowField:
    """Returns the field of `bits` bits that begins at bit `shift` of a word."""
    return RowField(u64(word), u64(shift), u64(2**bits - 1))


def fields(word: int, *bits: int) -> Iterator[RowField]:
    """Yields consecutive fields of the given numbers of bits, from the lowest bit of a word on."""
    return (field(word, shift, n) for shift, n in zip(accumulate((0, *bits)), bits, strict=False))


HAZARDS_AT, AWAY_AT = fields(HAZARDS, 30, 30)
"""The hazard stack and the hazard discard."""
QUEUE_AT, TOP_AT = fields(KNOWN, 6 * QUEUE_CARDS, 18)
"""The kinds (+ 1) of the known cards at the bottom of the stack, the next one lowest, and of those on top."""

(
    LIFE_AT, DEBT_AT, PHASE_AT, MODE_AT, PIRATE_AT, SECOND_PIRATE_AT, FOUGHT_AT, BEATEN_AT, HAZARD_AT, SECOND_HAZARD_AT, AGING_AT,
    TO_AT,
) = fields(STATUS, 5, 6, 2, 4, 4, 4, 2, 2, 6, 6, 11, 2)  # fmt: skip
"""Life, the life that could not be paid, phase, mode; the pirates' numbers, the fought one (0: none), and the beaten ones, a
bit each; kinds (+ 1) of the hazards revealed or fought; counts of the aging pile; the place of a drawn card.
"""
PIRATES_AT, ACTIVE_AT = field(STATUS, 17, 8), field(STATUS, 29, 12)
"""Both pirates in one field, and both hazards."""

FREE_AT, USES_AT, LOWERED_AT, KIND_AT, STEPS_AT, ACTING_AT, LOOKED_AT, POINTS_AT, FROM_AT = fields(
    FIGHT, 7, 7, 3, 4, 2, 10, 18, 5, 6
)
"""Free draws made; abilities used; the cards that lower the phase; the current ability, its steps left, its card (kind + 1,
side, how it is doubled); cards looked at, ascending; removal points; the lowest kind that may still be removed.
"""
ACTING_BY_AT = field(FIGHT, 23, 3)
"""Only how the acting card is doubled."""

(
    DEAL_PIRATE, DEAL_AGING, DEAL_HAZARD, DEAL_CARD, CHOOSE, IN_FIGHT, TARGET, OFFER, ARRANGE, ORDER, REMOVE, WON, LOST,
) = (u64(k) for k in range(13))  # fmt: skip
"""Modes: four kinds of chance, seven of decisions, two ends."""

TO_LEFT, TO_RIGHT, TO_LOOK, TO_SETUP = ZERO, ONE, TWO, THREE
EXCHANGE_AGAIN = u64(10)
"""The number of an exchange from its second card on: it may stop."""
RUIN = u64(63)
"""The debt of a game that is lost because no card could be drawn."""
MAX_USES = u64(64)

FREE, PAY, END, FIRST, SECOND, REJECT, DRAW_MORE, USE = range(8)
SLOTS = 64
CARD = USE + SLOTS
ACTIONS = (
    *("free", "pay", "end", "first", "second", "discard", "draw"),
    *(f"use{slot}" for slot in range(SLOTS)),
    *(f"card{slot}" for slot in range(SLOTS)),
)


@jit(inline=True)
def get(S, i, field):
    """Reads a field."""
    return (S[i, field.word] >> field.shift) & field.mask


@jit(inline=True)
def put(S, j, field, value):
    """Writes a field."""
    S[j, field.word] = (S[j, field.word] & ~(field.mask << field.shift)) | (value << field.shift)


@jit(inline=True)
def turn_to(S, j, mode):
    """Sets the mode."""
    put(S, j, MODE_AT, mode)


@jit(inline=True)
def lowest_bit(word):
    """Returns the position of the lowest set bit."""
    return count_bits((word & (~word + ONE)) - ONE)


@jit(inline=True)
def table_word(side, used):
    """Returns the word of table cards on a side (0 left, 1 right), unused or used."""
    return u64(LEFT) + TWO * side + used


@jit(inline=True)
def on_table(S, i):
    """Returns the counts of all face-up cards on the table."""
    return S[i, LEFT] + S[i, LEFT_USED] + S[i, RIGHT] + S[i, RIGHT_USED]


@jit(inline=True)
def mode(S, i):
    return get(S, i, MODE_AT)


@jit(inline=True)
def phase(S, i):
    return get(S, i, PHASE_AT)


@jit(inline=True)
def life(S, i):
    return get(S, i, LIFE_AT)


@jit(inline=True)
def aging_pile(S, i):
    """Returns the counts of the aging pile, in the layout of the other counts."""
    return get(S, i, AGING_AT) << AGING_SHIFT


# The layout of `tables.Tables`.

VALUE, ABILITY, AMOUNT, COST, RATING, IS_AGING, DOUBLER, LOWERER, FREE_CARDS, GREEN, YELLOW, RED = range(12)
"""Columns of `Tables.cards`; DOUBLER is the index in DOUBLERS or -1, LOWERER a bit or 0; the last four are the hazard half's."""

BIAS = 8
"""Added to each card's value and rating in digests, to make them positive."""
COUNT_AT, VALUE_AT, RATING_AT, HUNGER_AT, AGED_AT, SCARED_AT = 0, 8, 20, 32, 36, 41
"""First bits of the sums in a digest."""


COLUMN_BITS = 16
"""Bits of each of the four columns in sums of hazard halves."""

CARDS_AT = 7 * 256
"""Layout of `Tables.numbers`: after digests [7, 256] come facts about cards [kinds, 12] and pirates [11, 2], and sums over
hazards by the bytes of their counts [4, 256].
"""
PRINTED_AT = CARDS_AT + 12 * len(CARDS)
HALVES_AT = PRINTED_AT + 2 * (len(PIRATES) + 1)
"""Where `Tables.numbers` holds, behind digests [7, 256], facts about cards [kinds, 12] and pirates [11, 2], and sums over hazards
by the bytes of their counts [4, 256]."""
SHIFTS_AT, MASKS_AT, KINDS_AT, GROUPS_AT, START_AT, COPIES_AT = 0, 64, 128, 192, 240, 243
"""Layout of `Tables.bits`: shift and mask of each kind's field [64 each], the kind of each bit [64], the fields of plain and of
aging cards by value + 5 and of cards by ability [3, 16], the counts of stack, hazards and aging pile at the start, and the
counts in each run of fields, as in `copies_table` [runs, 256].
"""
COPIES = 8
"""The largest number of cards of a kind."""
PRESENT_BITS = np.uint64(0x8080808080808080)
"""The highest bit of each byte of `copies_table`."""


@jit(inline=True)
def fact(kind, column, T):
    """Returns a fact about a kind of card."""
    return T.numbers[CARDS_AT + 12 * np.int64(kind) + column]


@jit(inline=True)
def printed(pirate, column, T):
    """Returns a pirate's free cards (0) or value (1) as printed."""
    return T.numbers[PRINTED_AT + 2 * np.int64(pirate) + column]


@jit(inline=True)
def shift_of(kind, T):
    """Returns the first bit of a kind's field in a counts word."""
    return T.bits[kind]


@jit(inline=True)
def mask_of(kind, T):
    """Returns the field of a kind in a counts word."""
    return T.bits[np.int64(kind) + MASKS_AT]


@jit(inline=True)
def first_kind(word, T):
    """Returns the first kind in a counts word."""
    return T.bits[np.int64(lowest_bit(word)) + KINDS_AT]


@jit(inline=True)
def group(number, place, T):
    """Returns the fields of a group of cards: plain (0) or aging (1) by value + 5, or (2) by ability."""
    return T.bits[GROUPS_AT + 16 * number + place]


@jit(inline=True)
def at_start(pile, T):
    """Returns the counts of a pile at the start: Robinson stack, hazards, aging pile."""
    return T.bits[START_AT + pile]


# Cards in piles: sums over them, the known part of the stack, and cards that enter and leave the table.

BYTE = u64(255)


@jit(inline=True)
def sum_of_bytes(word, first, n, T):
    """Returns the sum of table entries for the n lowest bytes of a word; the tables [n, 256] begin at `first` in
    `Tables.numbers`.
    """
    total = 0
    for k in range(n):
        total += T.numbers[u64(first + 256 * k) + ((word >> u64(8 * k)) & BYTE)]
    return total


@jit(inline=True)
def digest(word, T):
    """Returns sums over all cards in a counts word: count, value, rating, life loss, aging and scared cards."""
    return sum_of_bytes(word, 0, 7, T)


@jit(inline=True)
def count_of(d):
    return d & 255


@jit(inline=True)
def value_of(d):
    return ((d >> VALUE_AT) & 4095) - BIAS * (d & 255)


@jit(inline=True)
def rating_of(d):
    return ((d >> RATING_AT) & 4095) - BIAS * (d & 255)


@jit(inline=True)
def hunger_of(d):
    return (d >> HUNGER_AT) & 15


@jit(inline=True)
def one_card(kind, T):
    """Returns the counts word of one card."""
    return ONE << shift_of(kind, T)


@jit(inline=True)
def copies_in(word, kind, T):
    """Returns the number of cards of a kind in a counts word."""
    return (word & mask_of(kind, T)) >> shift_of(kind, T)


@jit
def unknown(S, i, T):
    """Returns the counts of the stack without the cards whose place is known."""
    word, known = S[i, STACK], S[i, KNOWN]
    while known:
        card = known & CARD_MASK
        if card:
            word -= one_card(card - ONE, T)
        known >>= CARD_BITS
    return word


@jit(inline=True)
def push_back(S, j, kind, T):
    """Puts a card below the stack, under the known cards at the bottom."""
    shift = ZERO
    while get(S, j, QUEUE_AT) >> shift:
        shift += CARD_BITS
    S[j, KNOWN] |= (kind + ONE) << shift
    S[j, STACK] += one_card(kind, T)


@jit
def put_on_top(S, j, kind, T):
    """Puts a card that was looked at on top of the stack; if all others are known, the bottom is the top."""
    where = TOP_AT if unknown(S, j, T) else QUEUE_AT
    put(S, j, where, (get(S, j, where) << CARD_BITS) | (kind + ONE))
    S[j, STACK] += one_card(kind, T)


@jit(inline=True)
def next_cards(S, i, T):
    """Returns the counts of the kinds that may be drawn next: the known card, or all cards of unknown order."""
    known, top = S[i, KNOWN], get(S, i, TOP_AT)
    if not known:
        return S[i, STACK]
    word = ZERO if top else unknown(S, i, T)
    return word if word else one_card(((top if top else known) & CARD_MASK) - ONE, T)


@jit(inline=True)
def take_top(S, j, kind, T):
    """Removes the drawn card from the stack."""
    top = get(S, j, TOP_AT)
    if top:
        put(S, j, TOP_AT, top >> CARD_BITS)
    elif S[j, KNOWN] and not unknown(S, j, T):
        S[j, KNOWN] >>= CARD_BITS
    S[j, STACK] -= one_card(kind, T)


@jit(inline=True)
def can_draw(S, i, T, discarded=ZERO):
    """Whether a card can be drawn, if needed after a reshuffle, with `discarded` more cards on the discard."""
    shuffled = T.reshuffle_only != 0 and S[i, DISCARD] + discarded != ZERO
    return S[i, STACK] != ZERO or aging_pile(S, i) != ZERO or shuffled


# A card on the table has a reference: kind + 1 (6 bits), side, used, and how it is doubled (3 bits: 0 not, otherwise the
# number of the card that doubles it + 1). The first 8 bits are its code, with which an entry of DOUBLED begins.


@jit(inline=True)
def kind_in(ref):
    return (ref >> u64(5)) - ONE


@jit(inline=True)
def side_in(ref):
    return (ref >> FOUR) & ONE


@jit(inline=True)
def code_of(kind, side, used):
    return ((kind + ONE) << TWO) | (side << ONE) | used


@jit(inline=True)
def count_entries(doubled, first, last):
    """Returns the number of doubled cards with entries in first..last."""
    n = ZERO
    while doubled:
        n += u64(first <= doubled & ENTRY_MASK <= last)
        doubled >>= ENTRY_BITS
    return n


@jit(inline=True)
def entries_of(doubled, code):
    """Returns the number of doubled cards with a code."""
    return count_entries(doubled, code << TWO, (code << TWO) | THREE)


@jit
def with_item(items, bits, item):
    """Inserts an item into fields of `bits` bits, in ascending order."""
    mask, shift = (ONE << bits) - ONE, ZERO
    while (items >> shift) & mask != ZERO and (items >> shift) & mask < item:
        shift += bits
    low = items & ((ONE << shift) - ONE)
    return low | (item << shift) | ((items >> shift) << (shift + bits))


@jit
def without_item(items, bits, item):
    """Removes one item, which must be there."""
    mask, shift = (ONE << bits) - ONE, ZERO
    while (items >> shift) & mask != item:
        shift += bits
    low = items & ((ONE << shift) - ONE)
    return low | ((items >> (shift + bits)) << shift)


@jit(inline=True)
def entry_of(ref):
    """Returns the entry of DOUBLED for a doubled card."""
    return ((ref >> THREE) << TWO) | ((ref & M3) - ONE)


@jit
def mark_used(S, j, ref, T):
    """Turns a card on the table into a used one."""
    kind, side = kind_in(ref), side_in(ref)
    S[j, table_word(side, ZERO)] -= one_card(kind, T)
    S[j, table_word(side, ONE)] += one_card(kind, T)
    if ref & M3:
        entry = entry_of(ref)
        S[j, DOUBLED] = with_item(without_item(S[j, DOUBLED], ENTRY_BITS, entry), ENTRY_BITS, entry | FOUR)


@jit
def take_off(S, j, ref, T):
    """Removes a card from the table, with everything that depends on it."""
    kind = kind_in(ref)
    S[j, table_word(side_in(ref), (ref >> THREE) & ONE)] -= one_card(kind, T)
    if ref & M3:
        S[j, DOUBLED] = without_item(S[j, DOUBLED], ENTRY_BITS, entry_of(ref))
    by = fact(kind, DOUBLER, T)
    if by >= 0 and T.needs_source and S[j, DOUBLED]:
        kept = ZERO
        rest = S[j, DOUBLED]
        shift = ZERO
        while rest:
            if np.int64(rest & THREE) != by:
                kept |= (rest & ENTRY_MASK) << shift
                shift += ENTRY_BITS
            rest >>= ENTRY_BITS
        S[j, DOUBLED] = kept
        if np.int64(get(S, j, ACTING_BY_AT)) == by + 1:  # it doubled the acting card
            put(S, j, ACTING_BY_AT, ZERO)
    if fact(kind, LOWERER, T):
        lowered = get(S, j, LOWERED_AT)
        put(S, j, LOWERED_AT, lowered & ~u64(fact(kind, LOWERER, T)))


@jit(inline=True)
def doubled_reference(doubled, code, before):
    """Returns the reference of a doubled card with a code, after `before` others with this code; there must be one."""
    while True:
        entry = doubled & ENTRY_MASK
        if entry >> TWO == code:
            if before == ZERO:
                return (code << THREE) | ((entry & THREE) + ONE)
            before -= ONE
        doubled >>= ENTRY_BITS


@jit
def reference(S, i, slot, T):
    """Returns the reference of the card in a slot; order: left before right, by kind, unused before used, not doubled first."""
    passed = ZERO
    for s in range(2):
        side = u64(s)
        kinds = S[i, table_word(side, ZERO)] | S[i, table_word(side, ONE)]
        while kinds:
            kind = first_kind(kinds, T)
            kinds &= ~mask_of(kind, T)
            for u in range(2):
                used = u64(u)
                n = copies_in(S[i, table_word(side, used)], kind, T)
                if slot < passed + n:
                    code = code_of(kind, side, used)
                    doubled = S[i, DOUBLED]
                    plain = n - entries_of(doubled, code)
                    if slot < passed + plain:
                        return code << THREE
                    return doubled_reference(doubled, code, slot - passed - plain)
                passed += n
    return ZERO


@jit(inline=True)
def acting_reference(S, i):
    """Returns the reference of the card whose ability is in use; that card is used."""
    acting = get(S, i, ACTING_AT)
    return ((acting >> THREE) << FOUR) | u64(8) | (acting & M3)


@jit(inline=True)
def looked(S, i):
    """Returns the cards looked at: kinds + 1, ascending from the lowest field."""
    return get(S, i, LOOKED_AT)


@jit(inline=True)
def in_play(S, i):
    """Returns the counts of stack, discard and face-up table."""
    return S[i, STACK] + S[i, DISCARD] + on_table(S, i)


@jit
def possessed(S, i, T):
    """Returns the counts of Robinson's cards: those in play and those looked at."""
    word = in_play(S, i)
    cards = looked(S, i)
    while cards:
        word += one_card((cards & CARD_MASK) - ONE, T)
        cards >>= CARD_BITS
    return word
