"""How a row of Threes is laid out, and functions on its board and its deck.

Word 0 is the board: sixteen ranks of four bits, cell (r, c) at bits 4*(4r + c). Rank 0 is empty, 1 and 2 are the tiles
1 and 2, rank r >= 3 is the tile 3 * 2**(r - 3), up to rank 15, the 12288. Word 1 holds everything else, field by
field below; fields that have no meaning in a phase are zero, so equal situations are equal rows.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from leafwise.envs.core.compile.jit import jit
from leafwise.envs.core.contract.bits import LINE, NIBBLES, occupied, transpose
from leafwise.envs.core.contract.bits import flip as flip
from leafwise.envs.core.contract.bits import highest_rank as highest_rank
from leafwise.envs.core.contract.bits import looked_up as looked_up
from leafwise.envs.core.contract.bits import mirror as mirror
from leafwise.envs.core.contract.bits import sum_of_rows as sum_of_rows
from leafwise.envs.core.contract.stream import u64

DECISION, ENTER, DRAW, SETUP = u64(0), u64(1), u64(2), u64(3)
"""Phases, which are also the indices of the game's stages."""

NONE, PLUS, WHITE = u64(0), u64(4), u64(5)
"""What is shown besides the base cards 1, 2, 3: nothing, a bonus, "3 or bonus"."""


class Field(NamedTuple):
    """Where something lies in word 1."""

    shift: np.uint64
    mask: np.uint64


def field(shift: int, bits: int) -> Field:
    """Returns the field of so many bits from bit `shift` on."""
    return Field(u64(shift), u64(2**bits - 1))


PHASE, SHOWN, LOW, HIGH, DECK = field(0, 2), field(2, 3), field(5, 4), field(9, 4), field(13, 9)
"""Phase; tile shown; lowest and highest bonus it may be; deck, three counts of three bits."""
LANES, DIRECTION, START, SLOT, SLOT_USED = field(22, 4), field(26, 2), field(28, 4), field(32, 5), field(37, 1)
"""Lanes in which a tile may enter, and the direction moved; number of 3s at the start, 0 for a typed board; position in the slot21
cycle, and whether its bonus has come."""
FULL_DECK = u64(4 | 4 << 3 | 4 << 6)
SETUP_CARDS = 9

UNIFORM, WINDOW3 = 0, 1
IID, SLOT21 = 0, 1
HINT_PLUS, HINT_WINDOW3, HINT_COLOUR, HINT_EXACT = 0, 1, 2, 3
END_AT_12288, CONTINUE, NO_MERGE_6144 = 0, 1, 2
MOVED_LANE, ANY_EMPTY_EDGE = 0, 1

ZERO, ONE, TWO, THREE, FOUR, SEVEN, EIGHT, FIFTEEN = u64(0), u64(1), u64(2), u64(3), u64(4), u64(7), u64(8), u64(15)
S16, S32, S48, S12, S24, S20, S8 = u64(16), u64(32), u64(48), u64(12), u64(24), u64(20), u64(8)


class Tables(NamedTuple):
    """Everything compiled code needs besides the row."""

    slide_low: NDArray[np.uint16]
    """Line [65536] after a slide towards its lowest nibble."""
    slide_high: NDArray[np.uint16]
    """Line [65536] after a slide towards its highest nibble."""
    ways: NDArray[np.uint8]
    """Line [65536]: bit 0 set if it can slide low, bit 1 if it can slide high."""
    points: NDArray[np.int32]
    """Line [65536]: sum of its tiles' scores."""
    bonus_value: int
    bonus_schedule: int
    hint: int
    top: int
    entry: int
    bonus_p: float
    stop: NDArray[np.uint8]
    leaf: Any


@jit(inline=True)
def get(word, field):
    """Reads a field."""
    return (word >> field.shift) & field.mask


@jit(inline=True)
def put(word, field, value):
    """Writes a field."""
    return (word & ~(field.mask << field.shift)) | (value << field.shift)


@jit(inline=True)
def has_12288(b):
    return (b & (b >> ONE) & (b >> TWO) & (b >> THREE) & NIBBLES) != ZERO


@jit(inline=True)
def ways_of(b, ways):
    """Returns the legal slides of lines (rows) as bits: 0 low, 1 high."""
    return ways[b & LINE] | ways[(b >> S16) & LINE] | ways[(b >> S32) & LINE] | ways[b >> S48]


@jit(inline=True)
def is_dead(b, ways):
    """Whether no slide is legal; a board with an empty cell never is."""
    return occupied(b) == NIBBLES and ways_of(b, ways) == 0 and ways_of(transpose(b), ways) == 0


@jit(inline=True)
def lanes_that_moved(before, after):
    changed = occupied(before ^ after)
    changed |= (changed >> FOUR) | (changed >> S8) | (changed >> S12)
    return (
        (changed & ONE) | ((changed >> u64(15)) & TWO) | ((changed >> u64(30)) & FOUR) | ((changed >> u64(45)) & u64(8))
    )


@jit(inline=True)
def empty_edges(after, a):
    """Returns the lanes (of lines) whose trailing cell is empty."""
    edge = after if a & 1 else after >> S12
    lanes = ZERO
    for lane in range(4):
        if (edge >> (S16 * u64(lane))) & FIFTEEN == ZERO:
            lanes |= ONE << u64(lane)
    return lanes


@jit(inline=True)
def entry_shift(lane, direction):
    """Returns the first bit of the trailing cell of a lane."""
    if direction == ZERO:
        return S48 + FOUR * lane
    if direction == ONE:
        return FOUR * lane
    if direction == TWO:
        return S16 * lane + S12
    return S16 * lane


@jit(inline=True)
def cards_in(deck, card):
    """Returns how many of a base card a deck holds."""
    return (deck >> (THREE * (card - ONE))) & SEVEN


@jit(inline=True)
def draw_card(deck, card):
    """Takes a card out of a deck; an empty deck is refilled at once."""
    deck -= ONE << (THREE * (card - ONE))
    return FULL_DECK if deck == ZERO else deck


@jit(inline=True)
def deck_count(word, card):
    return cards_in(get(word, DECK), card)


@jit(inline=True)
def deck_size(word):
    return deck_count(word, ONE) + deck_count(word, TWO) + deck_count(word, THREE)


@jit(inline=True)
def without_card(word, card):
    """Takes a card out of the deck; an empty deck is refilled at once."""
    return put(word, DECK, draw_card(get(word, DECK), card))
