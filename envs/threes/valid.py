"""Which rows of Threes are positions: those whose fields say what the game can show at such a board."""

from __future__ import annotations

import numpy as np

from leafwise.envs.core.compile.jit import jit
from leafwise.envs.core.contract.bits import NIBBLES, count_bits, occupied
from leafwise.envs.core.contract.stream import u64
from leafwise.envs.threes import row as r
from leafwise.envs.threes.row import FIFTEEN, FOUR, ONE, SEVEN, THREE, TWO, ZERO, highest_rank

END = r.SLOT_USED + ONE
"""The first bit of word 1 that has no meaning."""
SHOWN_FIELDS = (u64(2047) << r.SHOWN) | (u64(63) << r.LANES)
"""What is shown, and where it may enter from."""
SLOT_FIELDS = u64(63) << r.SLOT


@jit
def is_valid(S, i, T):
    """Whether a row is a position."""
    b, word = S[i, 0], S[i, 1]
    phase = word & THREE
    for card in range(1, 4):
        if r.deck_count(word, u64(card)) > FOUR:
            return False
    if word >> END or r.deck_size(word) == ZERO or not is_slot(b, word, T):
        return False
    if phase == r.SETUP:
        return is_setup(b, word)
    start = (word >> r.START) & FIFTEEN
    if b == ZERO or start > FOUR or 3 * np.int64(start) > r.sum_of_rows(b, T.points):
        return False
    if r.has_12288(b) and T.top == r.NO_MERGE_6144:
        return False
    if phase == r.DRAW:
        return word & SHOWN_FIELDS == ZERO
    if phase == r.ENTER:
        return is_entering(b, word, T)
    over = r.is_dead(b, T) or (T.top == r.END_AT_12288 and r.has_12288(b))
    return not over and (word >> r.LANES) & u64(63) == ZERO and is_shown(word, highest_rank(b), T)


@jit(inline=True)
def is_slot(b, word, T):
    """Whether the cycle of 21 draws can stand there: only under slot21, and once a bonus is possible."""
    slot = (word >> r.SLOT) & u64(31)
    if T.bonus_schedule != r.SLOT21 or highest_rank(b) < SEVEN or slot == ZERO:
        return word & SLOT_FIELDS == ZERO
    return slot < u64(21)


@jit(inline=True)
def is_setup(b, word):
    """Whether fewer than nine start cards lie, and the others are in the deck."""
    if word & (SHOWN_FIELDS | SLOT_FIELDS) or r.deck_size(word) <= u64(12 - r.SETUP_CARDS):
        return False
    if (b & ~(NIBBLES * THREE)) != ZERO:  # a card above 3
        return False
    ones, twos = b & NIBBLES, (b >> ONE) & NIBBLES
    threes = ones & twos
    return (
        count_bits(ones & ~threes) == FOUR - r.deck_count(word, ONE)
        and count_bits(twos & ~threes) == FOUR - r.deck_count(word, TWO)
        and count_bits(threes) == FOUR - r.deck_count(word, THREE)
        and count_bits(threes) == (word >> r.START) & FIFTEEN
    )


@jit(inline=True)
def is_entering(b, word, T):
    """Whether a tile may enter: by lanes whose cells are empty; the slide may have made the highest tile."""
    lanes, direction = (word >> r.LANES) & FIFTEEN, (word >> r.DIRECTION) & THREE
    if lanes == ZERO or occupied(b) == NIBBLES:
        return False
    for lane in range(4):
        if (lanes >> u64(lane)) & ONE and (b >> r.entry_shift(u64(lane), direction)) & FIFTEEN:
            return False
    highest = highest_rank(b)
    return is_shown(word, highest, T) or is_shown(word, highest - ONE, T)


@jit
def is_shown(word, highest, T):
    """Whether the tile shown can come next on a board with such a highest rank, and has left the deck."""
    code, low, high = (word >> r.SHOWN) & SEVEN, (word >> r.LOW) & FIFTEEN, (word >> r.HIGH) & FIFTEEN
    if code == ZERO or code > r.WHITE:
        return False
    if code < r.PLUS:
        full = (word >> r.DECK) & u64(511) == r.FULL_DECK
        hidden = code == THREE and T.hint == r.HINT_COLOUR and highest >= SEVEN and T.bonus_p > 0
        return low == ZERO and high == ZERO and not hidden and (full or r.deck_count(word, code) < FOUR)
    if highest < SEVEN or (T.bonus_schedule == r.IID and T.bonus_p == 0):
        return False
    most = highest - THREE
    if low < FOUR or high > most or low > high or (code == r.WHITE) != (T.hint == r.HINT_COLOUR):
        return False
    if T.hint == r.HINT_EXACT:
        return low == high
    if T.hint == r.HINT_WINDOW3 and most - FOUR >= TWO:
        return high - low == TWO
    return low == FOUR and high == most
