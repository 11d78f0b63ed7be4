"""How a position lies in the words of a row.

Six words hold counts of cards by kind, in fields of the same layout: kinds in the order of `cards.CARDS`, each as wide as its
copies need, 52 bits in all. The hazards are the fields of the knowledge cards alone. Everything else is fields of the last
four words.
"""

from __future__ import annotations

import numpy as np

from leafwise.envs.core.compile.jit import jit
from leafwise.envs.core.contract.bits import count_bits
from leafwise.envs.core.contract.stream import u64
from leafwise.envs.friday.cards import CARDS, FIRST_AGING, FIRST_DIFFICULT, FIRST_KNOWLEDGE

STACK, DISCARD, HAZARDS, LEFT, LEFT_USED, RIGHT, RIGHT_USED, DOWN, KNOWN, DOUBLED, STATUS, FIGHT = range(12)
"""Words of a row. STACK counts the known cards too; HAZARDS holds the hazard stack and from bit 30 the hazard discard; the table
lies in four words, left and right, not used and used; DOWN counts cards turned face-down in this fight."""
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
HAZARD_BITS = u64(30)
HAZARD_MASK = u64(2**30 - 1)

ZERO, ONE, TWO, THREE, FOUR = u64(0), u64(1), u64(2), u64(3), u64(4)
FIVE, SIX, SEVEN, TEN = u64(5), u64(6), u64(7), u64(10)

# KNOWN: the kinds (+ 1) of cards known at the bottom of the stack, the next to come lowest, and from bit 42 of those on top.
CARD_BITS, CARD_MASK = SIX, u64(63)
QUEUE_CARDS, TOP_CARDS = 7, 3
TOP_AT = u64(6 * QUEUE_CARDS)
QUEUE_MASK = u64(2 ** (6 * QUEUE_CARDS) - 1)

# DOUBLED: up to 6 entries, ascending: kind + 1 (6 bits), side, used, number of the card that doubles (2 bits).
ENTRY_BITS, ENTRY_MASK, ENTRIES = TEN, u64(1023), 6

ALL_BITS = u64(2**64 - 1)

# STATUS: (shift, mask) of each field.
M1, M2, M3, M4, M5, M6, M7, M11, M18 = (u64(2**n - 1) for n in (1, 2, 3, 4, 5, 6, 7, 11, 18))
LIFE_AT, DEBT_AT, PHASE_AT, MODE_AT, PIRATE_AT, SECOND_PIRATE_AT = u64(0), u64(5), u64(11), u64(13), u64(17), u64(21)
FOUGHT_AT, BEATEN_AT, HAZARD_AT, SECOND_HAZARD_AT, AGING_AT, TO_AT = (
    u64(25),
    u64(27),
    u64(29),
    u64(35),
    u64(41),
    u64(52),
)
"""Life; life that could not be paid; phase; mode; the pirates' numbers; which of them is fought (0: none); those beaten, one bit
each; kinds (+ 1) of the hazards revealed or fought; counts of the aging pile; where a drawn card goes."""

# FIGHT: likewise.
FREE_AT, USES_AT, LOWERED_AT, KIND_AT, STEPS_AT, ACTING_AT = u64(0), u64(7), u64(14), u64(17), u64(21), u64(23)
LOOKED_AT, POINTS_AT, FROM_AT = u64(33), u64(51), u64(56)
"""Free draws made; abilities used; which cards lower the phase; the ability under way, its steps left and its card (10 bits: kind
+ 1, side, how it is doubled); cards looked at, ascending; removal points; the lowest kind that may still be removed."""
ACTING_MASK = u64(1023)

(
    DEAL_PIRATE,
    DEAL_AGING,
    DEAL_HAZARD,
    DEAL_CARD,
    CHOOSE,
    IN_FIGHT,
    TARGET,
    OFFER,
    ARRANGE,
    ORDER,
    REMOVE,
    WON,
    LOST,
) = (u64(k) for k in range(13))
"""Modes: four kinds of chance, seven of decisions, two ends."""

TO_LEFT, TO_RIGHT, TO_LOOK, TO_SETUP = ZERO, ONE, TWO, THREE
EXCHANGE_AGAIN = u64(10)
"""What an exchange is called from its second card on: it may stop."""
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
def get(word, at, mask):
    """Reads a field."""
    return (word >> at) & mask


@jit(inline=True)
def put(word, at, mask, value):
    """Writes a field."""
    return (word & ~(mask << at)) | (value << at)


@jit(inline=True)
def lowest_bit(word):
    """Returns the number of the lowest bit that is set."""
    return count_bits((word & (~word + ONE)) - ONE)


@jit(inline=True)
def table_word(side, used):
    """Returns the word of table cards on a side (0 left, 1 right), not used or used."""
    return u64(LEFT) + TWO * side + used


@jit(inline=True)
def on_table(S, i):
    """Returns the counts of all face-up cards on the table."""
    return S[i, LEFT] + S[i, LEFT_USED] + S[i, RIGHT] + S[i, RIGHT_USED]


@jit(inline=True)
def mode(S, i):
    return get(S[i, STATUS], MODE_AT, M4)


@jit(inline=True)
def phase(S, i):
    return get(S[i, STATUS], PHASE_AT, M2)


@jit(inline=True)
def life(S, i):
    return get(S[i, STATUS], LIFE_AT, M5)


@jit(inline=True)
def aging_pile(S, i):
    """Returns the counts of the aging pile, in the layout of the other counts."""
    return get(S[i, STATUS], AGING_AT, M11) << AGING_SHIFT


@jit(inline=True)
def set_status(S, j, at, mask, value):
    S[j, STATUS] = put(S[j, STATUS], at, mask, value)


@jit(inline=True)
def set_fight(S, j, at, mask, value):
    S[j, FIGHT] = put(S[j, FIGHT], at, mask, value)


ALL_COPIES = np.array([card.copies for card in CARDS], dtype=np.int64)
