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
from leafwise.envs.core.contract.stream import u64

DECISION, ENTER, DRAW, SETUP = u64(0), u64(1), u64(2), u64(3)
"""Phases, which are also the indices of the game's stages."""

NONE, PLUS, WHITE = u64(0), u64(4), u64(5)
"""What is shown besides the base cards 1, 2, 3: nothing, a bonus, "3 or bonus"."""

# Fields of word 1: first bit. Phase (2 bits), tile shown (3), lowest and highest bonus it may be (4 each), deck
# (3 counts of 3), lanes in which a tile may enter (4) and the direction moved (2), number of 3s at the start (4, or 0
# for a typed board), position in the slot21 cycle (5) and whether its bonus has come (1).
SHOWN, LOW, HIGH, DECK, LANES, DIRECTION, START, SLOT, SLOT_USED = (
    u64(2), u64(5), u64(9), u64(13), u64(22), u64(26), u64(28), u64(32), u64(37),
)  # fmt: skip
FULL_DECK = u64(4 | 4 << 3 | 4 << 6)
SETUP_CARDS = 9

UNIFORM, WINDOW3 = 0, 1
IID, SLOT21 = 0, 1
HINT_PLUS, HINT_WINDOW3, HINT_COLOUR, HINT_EXACT = 0, 1, 2, 3
END_AT_12288, CONTINUE, NO_MERGE_6144 = 0, 1, 2
MOVED_LANE, ANY_EMPTY_EDGE = 0, 1

ZERO, ONE, TWO, THREE, FOUR, SEVEN, FIFTEEN = u64(0), u64(1), u64(2), u64(3), u64(4), u64(7), u64(15)
S16, S32, S48, S12, S24, S20, S8 = u64(16), u64(32), u64(48), u64(12), u64(24), u64(20), u64(8)
LINE = u64(0xFFFF)
NIBBLES = u64(0x1111111111111111)


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
def transpose(b):
    """Swaps rows and columns of a board."""
    a = (b & u64(0xF0F00F0FF0F00F0F)) | ((b & u64(0x0000F0F00000F0F0)) << S12) | ((b & u64(0x0F0F00000F0F0000)) >> S12)
    return (
        (a & u64(0xFF00FF0000FF00FF)) | ((a & u64(0x00FF00FF00000000)) >> S24) | ((a & u64(0x00000000FF00FF00)) << S24)
    )


@jit(inline=True)
def mirror(b):
    """Reverses every row of a board."""
    b = ((b & u64(0x00FF00FF00FF00FF)) << S8) | ((b >> S8) & u64(0x00FF00FF00FF00FF))
    return ((b & u64(0x0F0F0F0F0F0F0F0F)) << FOUR) | ((b >> FOUR) & u64(0x0F0F0F0F0F0F0F0F))


@jit(inline=True)
def flip(b):
    """Reverses the order of the rows of a board."""
    b = (b << S32) | (b >> S32)
    return ((b & u64(0x0000FFFF0000FFFF)) << S16) | ((b >> S16) & u64(0x0000FFFF0000FFFF))


@jit(inline=True)
def occupied(b):
    """Returns one bit (the lowest of its nibble) per tile."""
    b = b | (b >> TWO)
    return (b | (b >> ONE)) & NIBBLES


@jit(inline=True)
def highest_rank(b):
    """Returns the highest rank on a board."""
    cells = NIBBLES
    rank = ZERO
    for bit in (THREE, TWO, ONE, ZERO):
        having = (b >> bit) & cells
        if having:
            cells = having
            rank |= ONE << bit
    return rank


@jit(inline=True)
def has_12288(b):
    return (b & (b >> ONE) & (b >> TWO) & (b >> THREE) & NIBBLES) != ZERO


@jit(inline=True)
def ways_of(b, T):
    """Returns the legal slides of lines (rows) as bits: 0 low, 1 high."""
    return T.ways[b & LINE] | T.ways[(b >> S16) & LINE] | T.ways[(b >> S32) & LINE] | T.ways[b >> S48]


@jit(inline=True)
def is_dead(b, T):
    """Whether no slide is legal; a board with an empty cell never is."""
    return occupied(b) == NIBBLES and ways_of(b, T) == 0 and ways_of(transpose(b), T) == 0


@jit(inline=True)
def looked_up(b, lines):
    """Returns the board that a table [65536] makes of the rows of another."""
    return (
        u64(lines[b & LINE])
        | (u64(lines[(b >> S16) & LINE]) << S16)
        | (u64(lines[(b >> S32) & LINE]) << S32)
        | (u64(lines[b >> S48]) << S48)
    )


@jit(inline=True)
def sum_of_rows(b, table):
    """Adds up what a table [65536] says of the rows of a board."""
    return table[b & LINE] + table[(b >> S16) & LINE] + table[(b >> S32) & LINE] + table[b >> S48]


@jit(inline=True)
def board_score(b, T):
    return sum_of_rows(b, T.points)


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
def deck_count(word, card):
    return (word >> (DECK + THREE * (card - ONE))) & SEVEN


@jit(inline=True)
def deck_size(word):
    return deck_count(word, ONE) + deck_count(word, TWO) + deck_count(word, THREE)


@jit(inline=True)
def without_card(word, card):
    """Takes a card out of the deck; an empty deck is refilled at once."""
    word -= ONE << (DECK + THREE * (card - ONE))
    if (word >> DECK) & u64(511) == ZERO:
        word |= FULL_DECK << DECK
    return word
