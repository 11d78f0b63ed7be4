"""Exact rules of Threes! (Asher Vollmer, Greg Wohlwend, 2014) as functions on rows.

Word 0 is the board: sixteen ranks of four bits, cell (r, c) at bits 4*(4r + c). Rank 0 is empty, 1 and 2 are the tiles
1 and 2, rank r >= 3 is the tile 3 * 2**(r - 3), up to rank 15, the 12288. Word 1 holds everything else, field by
field below; fields that have no meaning in a phase are zero, so equal situations are equal rows.

A turn: the player slides (0 up, 1 down, 2 left, 3 right); chance lets the known tile enter (stage "enter": a cell
of a lane that moved, and which bonus it was); chance draws the next tile (stage "draw"). Nine "setup" stages, one card each,
make the start. A board without a legal slide is the end, found before a next tile is drawn.

Rulings. The deck is what has not been drawn; the tile shown has left it; an empty deck is refilled at once. A
finished board keeps no next tile. A typed board has no known start score, so its return counts from an empty board.
The slot21 schedule starts its cycle of 21 draws with the first draw at which a bonus is possible.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from leafwise.envs.core.jit import jit
from leafwise.envs.core.rules import CHANCE, TERMINAL
from leafwise.envs.core.stream import below, u64, uniform

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
def board_score(b, T):
    return T.points[b & LINE] + T.points[(b >> S16) & LINE] + T.points[(b >> S32) & LINE] + T.points[b >> S48]


@jit(inline=True)
def initial_state(S, i, T):
    S[i, 0] = ZERO
    S[i, 1] = SETUP | (FULL_DECK << DECK)


@jit(inline=True)
def stage(S, i, T):
    return np.int64(S[i, 1] & THREE)


@jit(inline=True)
def current_player(S, i, T):
    phase = S[i, 1] & THREE
    if phase == DECISION:
        return 0
    if phase == SETUP:
        return CHANCE
    if T.top == END_AT_12288 and has_12288(S[i, 0]):
        return TERMINAL
    if phase == DRAW and is_dead(S[i, 0], T):
        return TERMINAL
    return CHANCE


@jit(inline=True)
def returns(S, i, T):
    if S[i, 1] & THREE == SETUP:
        return 0.0
    return np.float64(board_score(S[i, 0], T)) - 3.0 * np.float64((S[i, 1] >> START) & FIFTEEN)


@jit(inline=True)
def legal_actions(S, i, A, T):
    b = S[i, 0]
    columns = ways_of(transpose(b), T)
    rows = ways_of(b, T)
    n = 0
    if columns & 1:
        A[n] = 0
        n += 1
    if columns & 2:
        A[n] = 1
        n += 1
    if rows & 1:
        A[n] = 2
        n += 1
    if rows & 2:
        A[n] = 3
        n += 1
    return n


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
def apply_action(S, i, a, j, T):
    b = S[i, 0]
    word = S[i, 1]
    if a < 2:
        b = transpose(b)
    if a & 1:
        after = (
            u64(T.slide_high[b & LINE])
            | (u64(T.slide_high[(b >> S16) & LINE]) << S16)
            | (u64(T.slide_high[(b >> S32) & LINE]) << S32)
            | (u64(T.slide_high[b >> S48]) << S48)
        )
    else:
        after = (
            u64(T.slide_low[b & LINE])
            | (u64(T.slide_low[(b >> S16) & LINE]) << S16)
            | (u64(T.slide_low[(b >> S32) & LINE]) << S32)
            | (u64(T.slide_low[b >> S48]) << S48)
        )
    lanes = lanes_that_moved(b, after) if T.entry == MOVED_LANE else empty_edges(after, a)
    S[j, 0] = transpose(after) if a < 2 else after
    S[j, 1] = (word | ENTER) | (lanes << LANES) | (u64(a) << DIRECTION)


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
def bonus_weight(rank, low, high, law):
    """Returns the weight of a bonus in low..high: equal, or how many windows of three ranks hold it."""
    n = high - low + ONE
    if law == UNIFORM or n < FOUR:
        return 1.0
    k = rank - low
    return np.float64(min(min(k + ONE, n - k), THREE))


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


@jit(inline=True)
def white_three(word, T):
    """Returns the probability that the tile shown as white is a 3."""
    three = (1.0 - T.bonus_p) * np.float64(deck_count(word, THREE)) / np.float64(deck_size(word))
    return three / (three + T.bonus_p)


@jit(inline=True)
def after_entry(word):
    """Clears what ends with the entry and goes on to the draw."""
    kept = word & ~((ONE << DECK) - ONE | (u64(63) << LANES))
    return kept | DRAW


@jit(inline=True)
def put_entering(S, j, P, o, n, word, rank, share):
    """Writes one successor per lane for an entering tile; returns the new number of successors."""
    lanes = (S[j, 1] >> LANES) & FIFTEEN
    direction = (S[j, 1] >> DIRECTION) & THREE
    for lane in range(4):
        if (lanes >> u64(lane)) & ONE:
            S[o + u64(n), 0] = S[j, 0] | (rank << entry_shift(u64(lane), direction))
            S[o + u64(n), 1] = word
            P[o + u64(n)] = share
            n += 1
    return n


@jit(inline=True)
def enter_outcomes(S, j, P, o, T):
    word = S[j, 1]
    lanes = (word >> LANES) & FIFTEEN
    share = 1.0 / np.float64((lanes & ONE) + ((lanes >> ONE) & ONE) + ((lanes >> TWO) & ONE) + (lanes >> THREE))
    shown = (word >> SHOWN) & SEVEN
    left = after_entry(word)
    if shown < PLUS:
        return put_entering(S, j, P, o, 0, left, shown, share)
    n = 0
    if shown == WHITE:
        three = white_three(word, T)
        if three > 0.0:
            n = put_entering(S, j, P, o, n, without_card(left, THREE), THREE, share * three)
        share *= 1.0 - three
    low, high = (word >> LOW) & FIFTEEN, (word >> HIGH) & FIFTEEN
    law = T.bonus_value if T.hint != HINT_WINDOW3 else UNIFORM
    total = 0.0
    for rank in range(low, high + ONE):
        total += bonus_weight(u64(rank), low, high, law)
    for rank in range(low, high + ONE):
        n = put_entering(S, j, P, o, n, left, u64(rank), share * bonus_weight(u64(rank), low, high, law) / total)
    return np.int64(n)


@jit(inline=True)
def bonus_chance(word, highest, T):
    """Returns the probability that the next draw is a bonus."""
    if highest < SEVEN:
        return 0.0
    if T.bonus_schedule == IID:
        return T.bonus_p
    if (word >> SLOT_USED) & ONE:
        return 0.0
    return 1.0 / (21.0 - np.float64((word >> SLOT) & u64(31)))


@jit(inline=True)
def slot_after(word, highest, bonus, T):
    """Moves the slot21 cycle on by one draw."""
    if T.bonus_schedule == IID or highest < SEVEN:
        return word
    position = ((word >> SLOT) & u64(31)) + ONE
    used = ((word >> SLOT_USED) & ONE) | bonus
    word &= ~(u64(63) << SLOT)
    if position == u64(21):
        return word
    return word | (position << SLOT) | (used << SLOT_USED)


@jit(inline=True)
def shown_bonus(word, low, high):
    return word | (PLUS << SHOWN) | (low << LOW) | (high << HIGH)


@jit(inline=True)
def draw_outcomes(S, j, P, o, T):
    b = S[j, 0]
    highest = highest_rank(b)
    word = S[j, 1] & ~THREE
    bonus = bonus_chance(word, highest, T)
    base = slot_after(word, highest, ZERO, T)
    size = np.float64(deck_size(word))
    white = T.hint == HINT_COLOUR and bonus > 0.0
    n = u64(0)
    for card in range(1, 3 if white else 4):
        count = deck_count(word, u64(card))
        if count and bonus < 1.0:
            S[o + n, 0] = b
            S[o + n, 1] = without_card(base, u64(card)) | (u64(card) << SHOWN)
            P[o + n] = (1.0 - bonus) * np.float64(count) / size
            n += ONE
    if bonus == 0.0:
        return np.int64(n)
    low, high = FOUR, highest - THREE
    ranks = high - low + ONE
    word = slot_after(word, highest, ONE, T)
    if white:
        S[o + n, 0] = b
        S[o + n, 1] = word | (WHITE << SHOWN) | (low << LOW) | (high << HIGH)
        P[o + n] = bonus + (1.0 - bonus) * np.float64(deck_count(word, THREE)) / size
        n += ONE
    elif T.hint == HINT_EXACT:
        total = 0.0
        for rank in range(low, high + ONE):
            total += bonus_weight(u64(rank), low, high, T.bonus_value)
        for rank in range(low, high + ONE):
            S[o + n, 0] = b
            S[o + n, 1] = shown_bonus(word, u64(rank), u64(rank))
            P[o + n] = bonus * bonus_weight(u64(rank), low, high, T.bonus_value) / total
            n += ONE
    elif T.hint == HINT_WINDOW3 and ranks > THREE:
        for rank in range(low, high - ONE):
            S[o + n, 0] = b
            S[o + n, 1] = shown_bonus(word, u64(rank), u64(rank) + TWO)
            P[o + n] = bonus / np.float64(ranks - TWO)
            n += ONE
    else:
        S[o + n, 0] = b
        S[o + n, 1] = shown_bonus(word, low, high)
        P[o + n] = bonus
        n += ONE
    return np.int64(n)


@jit(inline=True)
def with_setup_card(S, i, card, cell):
    """Puts a start card on a cell of row i."""
    word = S[i, 1]
    if card == THREE:
        word += ONE << START
    S[i, 0] |= card << (FOUR * cell)
    word -= ONE << (DECK + THREE * (card - ONE))
    if deck_size(word) == u64(12 - SETUP_CARDS):
        word = (word & ~THREE) | DRAW
    S[i, 1] = word


@jit(inline=True)
def setup_outcomes(S, j, P, o, T):
    size = deck_size(S[j, 1])
    free = np.float64(u64(4) + size)  # 16 cells, less the 12 - size cards that lie
    n = u64(0)
    for card in range(1, 4):
        count = deck_count(S[j, 1], u64(card))
        for cell in range(16):
            if count and (S[j, 0] >> u64(4 * cell)) & FIFTEEN == ZERO:
                S[o + n, 0] = S[j, 0]
                S[o + n, 1] = S[j, 1]
                with_setup_card(S, o + n, u64(card), u64(cell))
                P[o + n] = np.float64(count) / np.float64(size) / free
                n += ONE
    return np.int64(n)


@jit
def chance_outcomes(S, j, P, o, T):
    phase = S[j, 1] & THREE
    if phase == ENTER:
        return enter_outcomes(S, j, P, o, T)
    if phase == DRAW:
        return draw_outcomes(S, j, P, o, T)
    return setup_outcomes(S, j, P, o, T)


@jit(inline=True)
def random_card(word, R):
    """Draws a base card from the deck, unless the deck is empty."""
    k = below(R, deck_size(word))
    if k < deck_count(word, ONE):
        return ONE
    if k < deck_count(word, ONE) + deck_count(word, TWO):
        return TWO
    return THREE


@jit(inline=True)
def random_bonus(low, high, law, R):
    """Draws a bonus in low..high; under the window law a window first, then a rank in it."""
    n = high - low + ONE
    if law == UNIFORM or n < FOUR:
        return low + below(R, n)
    return low + below(R, n - TWO) + below(R, THREE)


@jit(inline=True)
def sample_enter(S, j, R, T):
    word = S[j, 1]
    shown = (word >> SHOWN) & SEVEN
    left = after_entry(word)
    rank = shown
    if shown == WHITE and uniform(R) < white_three(word, T):
        rank = THREE
        left = without_card(left, THREE)
    elif shown >= PLUS:
        law = T.bonus_value if T.hint != HINT_WINDOW3 else UNIFORM
        rank = random_bonus((word >> LOW) & FIFTEEN, (word >> HIGH) & FIFTEEN, law, R)
    lanes = (word >> LANES) & FIFTEEN
    count = (lanes & ONE) + ((lanes >> ONE) & ONE) + ((lanes >> TWO) & ONE) + (lanes >> THREE)
    k = below(R, count)
    lane = ZERO
    while k or not (lanes >> lane) & ONE:
        if (lanes >> lane) & ONE:
            k -= ONE
        lane += ONE
    S[j, 0] |= rank << entry_shift(lane, (word >> DIRECTION) & THREE)
    S[j, 1] = left


@jit(inline=True)
def sample_draw(S, j, R, T):
    highest = highest_rank(S[j, 0])
    word = S[j, 1] & ~THREE
    bonus = bonus_chance(word, highest, T)
    if bonus > 0.0 and uniform(R) < bonus:
        word = slot_after(word, highest, ONE, T)
        low, high = FOUR, highest - THREE
        if T.hint == HINT_COLOUR:
            S[j, 1] = word | (WHITE << SHOWN) | (low << LOW) | (high << HIGH)
            return
        if T.hint == HINT_EXACT:
            low = random_bonus(low, high, T.bonus_value, R)
            high = low
        elif T.hint == HINT_WINDOW3 and high - low >= THREE:
            low += below(R, high - low - ONE)
            high = low + TWO
        S[j, 1] = shown_bonus(word, low, high)
        return
    card = random_card(word, R)
    if card == THREE and bonus > 0.0 and T.hint == HINT_COLOUR:
        S[j, 1] = word | (WHITE << SHOWN) | (FOUR << LOW) | ((highest - THREE) << HIGH)
        return
    S[j, 1] = without_card(slot_after(word, highest, ZERO, T), card) | (card << SHOWN)


@jit
def sample_outcome(S, j, R, T):
    phase = S[j, 1] & THREE
    if phase == ENTER:
        sample_enter(S, j, R, T)
    elif phase == DRAW:
        sample_draw(S, j, R, T)
    else:
        k = below(R, u64(4) + deck_size(S[j, 1]))
        cell = ZERO
        while k or (S[j, 0] >> (FOUR * cell)) & FIFTEEN:
            if (S[j, 0] >> (FOUR * cell)) & FIFTEEN == ZERO:
                k -= ONE
            cell += ONE
        with_setup_card(S, j, random_card(S[j, 1], R), cell)


@jit(inline=True)
def merge_points(S, i, j, k, T):
    """The reward "merges": the points made by merging, without those of entering tiles."""
    return np.float64(board_score(S[j, 0], T) - board_score(S[i, 0], T))


@jit(inline=True)
def survival(S, i, j, k, T):
    """The reward "survival": 1 for every legal slide."""
    return 1.0
