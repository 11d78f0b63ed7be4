"""Exact rules of Threes! (Asher Vollmer, Greg Wohlwend, 2014) as functions on rows.

Word 0 of a row is the board: sixteen ranks of four bits, cell (r, c) at bits 4*(4r + c). Rank 0 is empty, 1 and 2 are the tiles
1 and 2, rank r >= 3 is the tile 3 * 2**(r - 3), up to rank 15, the 12288. Word 1 holds everything else, field by field. Fields
without a meaning in a phase are zero, so equal situations are equal rows. The module has the layout of a row, then the player's
actions, then the chance stages: which tile enters where, which comes next, and the nine cards of the start.

A turn: the player slides (0 up, 1 down, 2 left, 3 right). Then the known tile enters (stage "enter": a cell of a lane that
moved, and which bonus it was). Then chance draws the next tile (stage "draw"). Nine "setup" stages, one card each, make the
start. A board without a legal slide ends the game, before a next tile is drawn.

Rulings. The deck contains the cards not yet drawn, without the tile shown; an empty deck is refilled at once. A finished board
has no next tile. A typed board has no known start score, so its return counts from an empty board. The slot21 schedule starts
its cycle of 21 draws with the first draw at which a bonus is possible.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import accumulate
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from leafwise.envs.core.arrays import Bytes
from leafwise.envs.core.compile.jit import jit
from leafwise.envs.core.contract.bits import (
    FOUR,
    LINE,
    NIBBLES,
    ONE,
    S8,
    S12,
    S16,
    S32,
    S48,
    THREE,
    TWO,
    ZERO,
    count_bits,
    highest_rank,
    looked_up,
    occupied,
    sum_of_rows,
    transpose,
)
from leafwise.envs.core.contract.rules import CHANCE, TERMINAL
from leafwise.envs.core.contract.stream import below, u64, uniform

DECISION, ENTER, DRAW, SETUP = u64(0), u64(1), u64(2), u64(3)
"""Phases, which are also the indices of the game's stages."""

PLUS, WHITE = u64(4), u64(5)
"""Codes of the tile shown besides the base cards 1, 2, 3: a bonus, "3 or bonus"; 0 is none."""


class WordField(NamedTuple):
    """A field of word 1."""

    shift: np.uint64
    mask: np.uint64


def fields(*bits: int) -> Iterator[WordField]:
    """Yields consecutive fields of the given numbers of bits."""
    for shift, n in zip(accumulate((0, *bits)), bits, strict=False):
        yield WordField(u64(shift), u64(2**n - 1))


PHASE, SHOWN, LOW, HIGH, DECK, LANES, DIRECTION, START, SLOT, SLOT_USED = fields(2, 3, 4, 4, 9, 4, 2, 4, 5, 1)
"""Phase; tile shown; lowest and highest bonus it may be; deck, three counts of three bits; lanes in which a tile may enter;
direction moved; number of 3s at the start, 0 for a typed board; position in the slot21 cycle; whether its bonus has come.
"""
FULL_DECK = u64(4 | 4 << 3 | 4 << 6)
SETUP_CARDS = 9

UNIFORM, WINDOW3 = 0, 1
IID, SLOT21 = 0, 1
HINT_PLUS, HINT_WINDOW3, HINT_COLOUR, HINT_EXACT = 0, 1, 2, 3
END_AT_12288, CONTINUE, NO_MERGE_6144 = 0, 1, 2
MOVED_LANE, ANY_EMPTY_EDGE = 0, 1

SEVEN, EIGHT, FIFTEEN = u64(7), u64(8), u64(15)


class Tables(NamedTuple):
    """The tables and options that compiled code reads."""

    slide_low: NDArray[np.uint16]
    """Line [65536] after a slide towards its lowest nibble."""
    slide_high: NDArray[np.uint16]
    """Line [65536] after a slide towards its highest nibble."""
    ways: Bytes
    """Line [65536]: bit 0 set if it can slide low, bit 1 if it can slide high."""
    points: NDArray[np.int32]
    """Line [65536]: sum of its tiles' scores."""
    bonus_value: int
    bonus_schedule: int
    hint: int
    top: int
    entry: int
    bonus_p: float
    stop: Bytes
    leaf: Any


@jit(inline=True)
def get(word, field):
    """Reads a field."""
    return (word >> field.shift) & field.mask


@jit(inline=True)
def has_12288(b):
    return (b & (b >> ONE) & (b >> TWO) & (b >> THREE) & NIBBLES) != ZERO


@jit(inline=True)
def ways_of(b, ways):
    """Returns the legal slides of a board along its rows, as bits: 0 low, 1 high."""
    return ways[b & LINE] | ways[(b >> S16) & LINE] | ways[(b >> S32) & LINE] | ways[b >> S48]


@jit(inline=True)
def is_dead(b, ways):
    """Whether no slide is legal; False for a board with an empty cell."""
    return occupied(b) == NIBBLES and ways_of(b, ways) == 0 and ways_of(transpose(b), ways) == 0


@jit(inline=True)
def lanes_of(cells):
    """Returns a bit for each line whose first cell is in `cells`."""
    return (cells & ONE) | (cells >> FIFTEEN & TWO) | (cells >> u64(30) & FOUR) | (cells >> u64(45) & EIGHT)


@jit(inline=True)
def lanes_that_moved(before, after):
    changed = occupied(before ^ after)
    return lanes_of(changed | (changed >> FOUR) | (changed >> S8) | (changed >> S12))


@jit(inline=True)
def empty_edges(after, a):
    """Returns the lanes (of lines) with an empty trailing cell."""
    return lanes_of(~occupied(after if a & 1 else after >> S12))


@jit(inline=True)
def entry_shift(lane, direction):
    """Returns the first bit of the trailing cell of a lane."""
    width, far = (S16, S12) if direction & TWO else (FOUR, S48)
    return width * lane + (ZERO if direction & ONE else far)


@jit(inline=True)
def deck_count(word, card):
    """Returns the number of copies of a base card in the deck."""
    return (word >> (DECK.shift + THREE * (card - ONE))) & SEVEN


@jit(inline=True)
def deck_size(word):
    return deck_count(word, ONE) + deck_count(word, TWO) + deck_count(word, THREE)


@jit(inline=True)
def without_card(word, card):
    """Takes a card out of the deck; an empty deck is refilled at once."""
    word -= ONE << (DECK.shift + THREE * (card - ONE))
    if get(word, DECK) == ZERO:
        word |= FULL_DECK << DECK.shift
    return word


# Decisions.


@jit(inline=True)
def initial_state(S, i, T):
    S[i, 0] = ZERO
    S[i, 1] = SETUP | (FULL_DECK << DECK.shift)


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
    if phase == DRAW and is_dead(S[i, 0], T.ways):
        return TERMINAL
    return CHANCE


@jit(inline=True)
def returns(S, i, T):
    if S[i, 1] & THREE == SETUP:
        return 0.0
    return sum_of_rows(S[i, 0], T.points) - 3.0 * get(S[i, 1], START)


@jit(inline=True)
def empty_lanes(b, direction):
    """Returns the lanes with an empty trailing cell."""
    lanes = ZERO
    for lane in range(4):
        if (b >> entry_shift(u64(lane), direction)) & FIFTEEN == ZERO:
            lanes |= ONE << u64(lane)
    return lanes


@jit
def is_setup(b, word):
    """Whether a row is in the setup: fewer than nine start cards, and a deck and start that match them."""
    deck, threes = FULL_DECK, ZERO
    for shift in range(0, 64, 4):
        card = (b >> u64(shift)) & FIFTEEN
        if card > THREE:
            return False
        if card:
            if (deck >> (THREE * (card - ONE))) & SEVEN == ZERO:
                return False
            deck -= ONE << (THREE * (card - ONE))
            threes += u64(card == THREE)
    remaining = (deck & SEVEN) + ((deck >> THREE) & SEVEN) + (deck >> (THREE + THREE))
    return remaining > u64(12 - SETUP_CARDS) and word == SETUP | (deck << DECK.shift) | (threes << START.shift)


@jit
def can_be_shown(word, highest, T):
    """Whether the tile shown can have been drawn when `highest` was the highest rank on the board."""
    tile, low, high = get(word, SHOWN), get(word, LOW), get(word, HIGH)
    bonus = highest >= SEVEN and (T.bonus_schedule == SLOT21 or T.bonus_p > 0.0)
    if tile < PLUS:
        alike = tile == THREE and bonus and T.hint == HINT_COLOUR
        return tile > ZERO and low | high == ZERO and not alike
    if not bonus or tile != (WHITE if T.hint == HINT_COLOUR else PLUS):
        return False
    last = highest - THREE
    if T.hint == HINT_EXACT:
        return FOUR <= low == high <= last
    if T.hint == HINT_WINDOW3:
        return low >= FOUR and high <= last and high + ONE - low == min(THREE, last - THREE)
    return low == FOUR and high == last


@jit
def is_valid(S, i, T):
    """Whether a row is a position: tiles, deck, start and cycle match, and so do the fields of its phase."""
    # The board, the deck, the start and the cycle.
    b, word, phase, highest = S[i, 0], S[i, 1], S[i, 1] & THREE, highest_rank(S[i, 0])
    start, slot = get(word, START), get(word, SLOT)
    if word >> (SLOT_USED.shift + ONE) or (b == ZERO and phase != SETUP):
        return False
    if (T.top == NO_MERGE_6144 and highest == FIFTEEN) or get(word, DECK) == ZERO:
        return False
    for card in range(1, 4):
        if deck_count(word, u64(card)) > FOUR:
            return False
    if start > FOUR or sum_of_rows(b, T.points) < 3.0 * start:
        return False
    cycle = T.bonus_schedule == SLOT21 and ZERO < slot < u64(21) and highest >= SEVEN
    if (slot or get(word, SLOT_USED)) and not cycle:
        return False
    if phase == SETUP:
        return is_setup(b, word)
    # The fields of each phase.
    lanes, direction, tile = get(word, LANES), get(word, DIRECTION), get(word, SHOWN)
    if phase == ENTER:
        if lanes == ZERO or lanes & ~empty_lanes(b, direction):
            return False
    elif lanes | direction:
        return False
    if phase == DRAW:
        return tile | get(word, LOW) | get(word, HIGH) == ZERO
    if ZERO < tile < PLUS and get(word, DECK) != FULL_DECK and deck_count(word, tile) == FOUR:
        return False  # the card shown has left the deck
    if phase == ENTER:  # the slide may have made the highest tile
        return can_be_shown(word, highest, T) or can_be_shown(word, highest - ONE, T)
    over = is_dead(b, T.ways) or (T.top == END_AT_12288 and highest == FIFTEEN)
    return not over and can_be_shown(word, highest, T)


@jit(inline=True)
def legal_actions(S, i, A, T):
    b = S[i, 0]
    ways = ways_of(transpose(b), T.ways) | (ways_of(b, T.ways) << 2)
    n = 0
    for a in range(4):
        if (ways >> a) & 1:
            A[n] = a
            n += 1
    return n


@jit(inline=True)
def write_slid(S, j, before, after, a, word, T):
    """Writes the position after slide a; the boards `before` and `after` are given as lines."""
    lanes = lanes_that_moved(before, after) if T.entry == MOVED_LANE else empty_edges(after, a)
    S[j, 0] = transpose(after) if a < 2 else after
    S[j, 1] = (word | ENTER) | (lanes << LANES.shift) | (u64(a) << DIRECTION.shift)


@jit(inline=True)
def apply_action(S, i, a, j, T):
    before = transpose(S[i, 0]) if a < 2 else S[i, 0]
    after = looked_up(before, T.slide_high) if a & 1 else looked_up(before, T.slide_low)
    write_slid(S, j, before, after, a, S[i, 1], T)


@jit(inline=True)
def write_afterstate(S, j, n, before, after, a, T):
    """Writes the board after slide a (in lines) to row j + n, if anything moved; returns the new number of rows."""
    if after == before:
        return n
    write_slid(S, j + n, before, after, a, ZERO, T)
    return n + ONE


@jit(inline=True)
def afterstates(S, i, j, T):
    """Slides the board of row i once for all tiles that may be drawn; returns 0 if a slide may end the game with a 12288."""
    b = S[i, 0]
    t = transpose(b)
    if S[i, 1] & THREE != DRAW:
        return np.int64(0)
    up, down = looked_up(t, T.slide_low), looked_up(t, T.slide_high)
    left, right = looked_up(b, T.slide_low), looked_up(b, T.slide_high)
    if T.top == END_AT_12288 and (has_12288(up) or has_12288(down) or has_12288(left) or has_12288(right)):
        return np.int64(0)
    n = write_afterstate(S, j, ZERO, t, up, 0, T)
    n = write_afterstate(S, j, n, t, down, 1, T)
    n = write_afterstate(S, j, n, b, left, 2, T)
    return np.int64(write_afterstate(S, j, n, b, right, 3, T))


@jit(inline=True)
def apply_outcome(S, k, o, j, T):
    S[j, 0] = S[k, 0]
    S[j, 1] = S[o, 1] | S[k, 1]


@jit(inline=True)
def merge_points(S, i, j, k, T):
    """Returns the reward "merges": points from merging, without those of entering tiles."""
    return np.float64(sum_of_rows(S[j, 0], T.points) - sum_of_rows(S[i, 0], T.points))


@jit(inline=True)
def survival(S, i, j, k, T):
    """Returns the reward "survival": 1 for every legal slide."""
    return 1.0


UNTIL_ENTRY = (ONE << DECK.shift) - ONE | (u64(63) << LANES.shift)
"""The fields of word 1 that are cleared at the entry: phase, tile shown and its bonuses, lanes and direction."""


@jit(inline=True)
def bonus_weight(rank, low, high, law):
    """Returns the weight of a bonus in low..high: equal weights, or the number of windows of three ranks that contain it."""
    n = high - low + ONE
    if law == UNIFORM or n < FOUR:
        return 1.0
    k = rank - low
    return np.float64(min(min(k + ONE, n - k), THREE))


@jit(inline=True)
def sum_of_weights(low, high, law):
    """Returns the sum of the weights of all bonuses in low..high."""
    total = 0.0
    for rank in range(low, high + ONE):
        total += bonus_weight(u64(rank), low, high, law)
    return total


@jit(inline=True)
def entering_law(T):
    """Returns the law that chooses the entering bonus; within a window that is shown, all are equally likely."""
    return T.bonus_value if T.hint != HINT_WINDOW3 else UNIFORM


@jit(inline=True)
def write_outcome(S, P, o, n, board, word, share):
    """Writes a successor and its probability; returns the new number of successors."""
    S[o + n, 0], S[o + n, 1], P[o + n] = board, word, share
    return n + ONE


@jit(inline=True)
def white_three(word, T):
    """Returns the probability that a tile shown as white is a 3."""
    three = (1.0 - T.bonus_p) * deck_count(word, THREE) / deck_size(word)
    return three / (three + T.bonus_p)


@jit(inline=True)
def write_entering(S, j, P, o, n, word, rank, share):
    """Writes one successor per lane for an entering tile; returns the new number of successors."""
    lanes, direction = get(S[j, 1], LANES), get(S[j, 1], DIRECTION)
    for lane in range(4):
        if (lanes >> u64(lane)) & ONE:
            n = write_outcome(S, P, o, n, S[j, 0] | (rank << entry_shift(u64(lane), direction)), word, share)
    return n


@jit(inline=True)
def enter_outcomes(S, j, P, o, T):
    word = S[j, 1]
    share = 1.0 / count_bits(get(word, LANES))
    shown = get(word, SHOWN)
    next_word = word & ~UNTIL_ENTRY | DRAW
    if shown < PLUS:
        return np.int64(write_entering(S, j, P, o, ZERO, next_word, shown, share))
    n = ZERO
    if shown == WHITE:
        three = white_three(word, T)
        if three > 0.0:
            n = write_entering(S, j, P, o, n, without_card(next_word, THREE), THREE, share * three)
        share *= 1.0 - three
    low, high, law = get(word, LOW), get(word, HIGH), entering_law(T)
    total = sum_of_weights(low, high, law)
    for rank in range(low, high + ONE):
        n = write_entering(S, j, P, o, n, next_word, u64(rank), share * bonus_weight(u64(rank), low, high, law) / total)
    return np.int64(n)


@jit(inline=True)
def bonus_chance(word, T):
    """Returns the probability that the next draw is a bonus, with a 48 on the board."""
    if T.bonus_schedule == IID:
        return T.bonus_p
    if get(word, SLOT_USED):
        return 0.0
    return 1.0 / (21.0 - get(word, SLOT))


@jit(inline=True)
def slot_after(word, bonus, T):
    """Advances the slot21 cycle by one draw, with a 48 on the board."""
    if T.bonus_schedule == IID:
        return word
    position = (get(word, SLOT)) + ONE
    used = (get(word, SLOT_USED)) | bonus
    word &= ~(u64(63) << SLOT.shift)
    if position == u64(21):
        return word
    return word | (position << SLOT.shift) | (used << SLOT_USED.shift)


@jit(inline=True)
def shown_bonus(word, low, high, T):
    """Returns word 1 with a bonus in low..high shown; if only the colour is shown, it may be a 3."""
    code = WHITE if T.hint == HINT_COLOUR else PLUS
    return word | (code << SHOWN.shift) | (low << LOW.shift) | (high << HIGH.shift)


@jit(inline=True)
def draw_outcomes(S, j, P, o, T):
    # The probability of a bonus, which needs a 48 on the board.
    b = S[j, 0]
    highest = highest_rank(b)
    word = S[j, 1] & ~THREE
    bonus, base = 0.0, word
    if highest >= SEVEN:
        bonus, base = bonus_chance(word, T), slot_after(word, ZERO, T)

    # The base cards; a 3 that looks like a bonus counts with the bonuses.
    size = deck_size(word)
    white = T.hint == HINT_COLOUR and bonus > 0.0
    n = ZERO
    for card in range(1, 3 if white else 4):
        count = deck_count(word, u64(card))
        if count and bonus < 1.0:
            drawn = without_card(base, u64(card)) | (u64(card) << SHOWN.shift)
            n = write_outcome(S, P, o, n, b, drawn, (1.0 - bonus) * count / size)
    if bonus == 0.0:
        return np.int64(n)

    # The bonuses, as far as the hint tells them apart.
    low, high = FOUR, highest - THREE
    ranks = high - low + ONE
    word = slot_after(word, ONE, T)
    if T.hint == HINT_EXACT:
        total = sum_of_weights(low, high, T.bonus_value)
        for rank in range(low, high + ONE):
            share = bonus * bonus_weight(u64(rank), low, high, T.bonus_value) / total
            n = write_outcome(S, P, o, n, b, shown_bonus(word, u64(rank), u64(rank), T), share)
    elif T.hint == HINT_WINDOW3 and ranks > THREE:
        for rank in range(low, high - ONE):
            shown = shown_bonus(word, u64(rank), u64(rank) + TWO, T)
            n = write_outcome(S, P, o, n, b, shown, bonus / (ranks - TWO))
    else:
        if white:
            bonus += (1.0 - bonus) * deck_count(word, THREE) / size
        n = write_outcome(S, P, o, n, b, shown_bonus(word, low, high, T), bonus)
    return np.int64(n)


@jit(inline=True)
def with_setup_card(S, i, card, place):
    """Puts a start card on the cell of row i that begins at bit `place`."""
    word = S[i, 1]
    if card == THREE:
        word += ONE << START.shift
    S[i, 0] |= card << place
    word = without_card(word, card)
    if deck_size(word) == u64(12 - SETUP_CARDS):
        word = (word & ~THREE) | DRAW
    S[i, 1] = word


@jit(inline=True)
def setup_outcomes(S, j, P, o, T):
    b, word, n = S[j, 0], S[j, 1], ZERO
    size = deck_size(word)
    free = FOUR + size  # 16 cells minus the 12 - size cards on the board
    for card in range(1, 4):
        count = deck_count(word, u64(card))
        for place in range(0, 64, 4):
            if count and (b >> u64(place)) & FIFTEEN == ZERO:
                n = write_outcome(S, P, o, n, b, word, count / size / free)
                with_setup_card(S, o + n - ONE, u64(card), u64(place))
    return np.int64(n)


@jit(inline=True)
def chance_outcomes(S, j, P, o, T):
    phase = S[j, 1] & THREE
    if phase == ENTER:
        return enter_outcomes(S, j, P, o, T)
    if phase == DRAW:
        return draw_outcomes(S, j, P, o, T)
    return setup_outcomes(S, j, P, o, T)


@jit(inline=True)
def random_card(word, R):
    """Draws a base card from the deck."""
    ones, twos = deck_count(word, ONE), deck_count(word, TWO)
    k = below(R, ones + twos + deck_count(word, THREE))
    if k < ones:
        return ONE
    return TWO if k < ones + twos else THREE


@jit(inline=True)
def random_bonus(low, high, law, R):
    """Draws a bonus in low..high; under the window law a window first, then a rank in it."""
    n = high - low + ONE
    if law == UNIFORM or n < FOUR:
        return low + below(R, n)
    return low + below(R, n - TWO) + below(R, THREE)


@jit(inline=True)
def nth_bit(bits, n):
    """Returns the position of the set bit that has n set bits below it."""
    position = ZERO
    while n or not (bits >> position) & ONE:
        n -= (bits >> position) & ONE
        position += ONE
    return position


@jit
def sample_outcome(S, j, R, T):
    word = S[j, 1]
    phase = word & THREE

    # A card of the start, on a random empty cell.
    if phase == SETUP:
        place = nth_bit(NIBBLES & ~occupied(S[j, 0]), below(R, u64(4) + deck_size(word)))
        with_setup_card(S, j, random_card(word, R), place)
        return

    # The tile shown enters: first its rank, then its lane.
    if phase == ENTER:
        next_word = word & ~UNTIL_ENTRY | DRAW
        rank = get(word, SHOWN)
        if rank == WHITE and uniform(R) < white_three(word, T):
            rank = THREE
            next_word = without_card(next_word, THREE)
        elif rank >= PLUS:
            rank = random_bonus(get(word, LOW), get(word, HIGH), entering_law(T), R)
        lanes = get(word, LANES)
        lane = nth_bit(lanes, below(R, count_bits(lanes)))
        S[j, 0] |= rank << entry_shift(lane, get(word, DIRECTION))
        S[j, 1] = next_word
        return

    # The next tile is drawn. A bonus needs a 48 on the board.
    word &= ~THREE
    bonus, highest = 0.0, highest_rank(S[j, 0])
    low, high = FOUR, highest - THREE
    if highest >= SEVEN:
        bonus = bonus_chance(word, T)
        if bonus > 0.0 and uniform(R) < bonus:
            word = slot_after(word, ONE, T)
            if T.hint == HINT_EXACT:
                low = random_bonus(low, high, T.bonus_value, R)
                high = low
            elif T.hint == HINT_WINDOW3 and high - low >= THREE:
                low += below(R, high - low - ONE)
                high = low + TWO
            S[j, 1] = shown_bonus(word, low, high, T)
            return
        word = slot_after(word, ZERO, T)

    # Otherwise a card comes from the deck. If only colours are shown, a 3 looks like a bonus and is still in the deck.
    card = random_card(word, R)
    if card == THREE and bonus > 0.0 and T.hint == HINT_COLOUR:
        S[j, 1] = shown_bonus(word, low, high, T)
        return
    S[j, 1] = without_card(word, card) | (card << SHOWN.shift)
