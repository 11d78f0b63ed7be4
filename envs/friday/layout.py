"""How a position lies in the words of a row.

Six words hold counts of cards by kind, in fields of the same layout: kinds in the order of `cards.CARDS`, each as wide as its
copies need, 52 bits in all. The hazards are the fields of the knowledge cards alone. Everything else is fields of the last
four words.
"""

from __future__ import annotations

from typing import NamedTuple

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
ZERO, ONE, TWO, THREE, FOUR = u64(0), u64(1), u64(2), u64(3), u64(4)
M3 = u64(7)
CARD_BITS, CARD_MASK = u64(6), u64(63)
QUEUE_CARDS = 7
ENTRY_BITS, ENTRY_MASK, ENTRIES = u64(10), u64(1023), 6
"""DOUBLED holds at most six entries, ascending: kind + 1 (6 bits), side, used, number of the card that doubles (2 bits)."""


class Field(NamedTuple):
    """Where something lies in a row."""

    word: np.uint64
    shift: np.uint64
    mask: np.uint64


def field(word: int, shift: int, bits: int) -> Field:
    """Returns the field of so many bits from bit `shift` of a word on."""
    return Field(u64(word), u64(shift), u64(2**bits - 1))


HAZARDS_AT, AWAY_AT = field(HAZARDS, 0, 30), field(HAZARDS, 30, 30)
"""The hazard stack and the hazard discard."""
QUEUE_AT, TOP_AT = field(KNOWN, 0, 6 * QUEUE_CARDS), field(KNOWN, 6 * QUEUE_CARDS, 18)
"""The kinds (+ 1) of cards known at the bottom of the stack, the next to come lowest, and of those on top."""

LIFE_AT, DEBT_AT = field(STATUS, 0, 5), field(STATUS, 5, 6)
"""Life, and the life that could not be paid."""
PHASE_AT, MODE_AT = field(STATUS, 11, 2), field(STATUS, 13, 4)
PIRATES_AT, PIRATE_AT, SECOND_PIRATE_AT = field(STATUS, 17, 8), field(STATUS, 17, 4), field(STATUS, 21, 4)
"""The pirates' numbers, together and each."""
FOUGHT_AT, BEATEN_AT = field(STATUS, 25, 2), field(STATUS, 27, 2)
"""Which of the pirates is fought (0: none), and those beaten, one bit each."""
ACTIVE_AT, HAZARD_AT, SECOND_HAZARD_AT = field(STATUS, 29, 12), field(STATUS, 29, 6), field(STATUS, 35, 6)
"""Kinds (+ 1) of the hazards revealed or fought, together and each."""
AGING_AT, TO_AT = field(STATUS, 41, 11), field(STATUS, 52, 2)
"""Counts of the aging pile; where a drawn card goes."""

FREE_AT, USES_AT, LOWERED_AT = field(FIGHT, 0, 7), field(FIGHT, 7, 7), field(FIGHT, 14, 3)
"""Free draws made; abilities used; which cards lower the phase."""
KIND_AT, STEPS_AT, ACTING_AT, ACTING_BY_AT = (
    field(FIGHT, 17, 4),
    field(FIGHT, 21, 2),
    field(FIGHT, 23, 10),
    field(FIGHT, 23, 3),
)
"""The ability under way, its steps left, its card (kind + 1, side, how it is doubled), and of that how it is doubled alone."""
LOOKED_AT, POINTS_AT, FROM_AT = field(FIGHT, 33, 18), field(FIGHT, 51, 5), field(FIGHT, 56, 6)
"""Cards looked at, ascending; removal points; the lowest kind that may still be removed."""

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
def get(S, i, field):
    """Reads a field."""
    return (S[i, field.word] >> field.shift) & field.mask


@jit(inline=True)
def put(S, j, field, value):
    """Writes a field."""
    S[j, field.word] = (S[j, field.word] & ~(field.mask << field.shift)) | (value << field.shift)


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
