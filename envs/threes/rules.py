"""Exact rules of Threes! (Asher Vollmer, Greg Wohlwend, 2014) as functions on rows.

`row.py` lays the rows out. Here is what the player does, then the chance stages (which tile enters where, which comes next, and the
nine cards of the start), then which rows are positions: those whose fields say what the game can show at such a board.

A turn: the player slides (0 up, 1 down, 2 left, 3 right); chance lets the known tile enter (stage "enter": a cell
of a lane that moved, and which bonus it was); chance draws the next tile (stage "draw"). Nine "setup" stages, one card each,
make the start. A board without a legal slide is the end, found before a next tile is drawn.

Rulings. The deck is what has not been drawn; the tile shown has left it; an empty deck is refilled at once. A
finished board keeps no next tile. A typed board has no known start score, so its return counts from an empty board.
The slot21 schedule starts its cycle of 21 draws with the first draw at which a bonus is possible.
"""

from __future__ import annotations

import numpy as np

from leafwise.envs.core.compile.jit import jit
from leafwise.envs.core.contract.bits import NIBBLES, count_bits, occupied
from leafwise.envs.core.contract.rules import CHANCE, TERMINAL
from leafwise.envs.core.contract.stream import below, u64, uniform
from leafwise.envs.threes import row as r
from leafwise.envs.threes.row import (
    FIFTEEN,
    FOUR,
    ONE,
    SEVEN,
    THREE,
    TWO,
    ZERO,
    highest_rank,
    lanes_that_moved,
    transpose,
)


@jit(inline=True)
def initial_state(S, i, T):
    S[i, 0] = ZERO
    S[i, 1] = r.SETUP | (r.FULL_DECK << r.DECK)


@jit(inline=True)
def stage(S, i, T):
    return np.int64(S[i, 1] & THREE)


@jit(inline=True)
def current_player(S, i, T):
    phase = S[i, 1] & THREE
    if phase == r.DECISION:
        return 0
    if phase == r.SETUP:
        return CHANCE
    if T.top == r.END_AT_12288 and r.has_12288(S[i, 0]):
        return TERMINAL
    if phase == r.DRAW and r.is_dead(S[i, 0], T):
        return TERMINAL
    return CHANCE


@jit(inline=True)
def returns(S, i, T):
    if S[i, 1] & THREE == r.SETUP:
        return 0.0
    return np.float64(r.sum_of_rows(S[i, 0], T.points)) - 3.0 * np.float64((S[i, 1] >> r.START) & r.FIFTEEN)


@jit(inline=True)
def legal_actions(S, i, A, T):
    b = S[i, 0]
    columns = r.ways_of(transpose(b), T)
    rows = r.ways_of(b, T)
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
def apply_action(S, i, a, j, T):
    b = S[i, 0]
    word = S[i, 1]
    if a < 2:
        b = transpose(b)
    after = r.looked_up(b, T.slide_high) if a & 1 else r.looked_up(b, T.slide_low)
    lanes = lanes_that_moved(b, after) if T.entry == r.MOVED_LANE else r.empty_edges(after, a)
    S[j, 0] = transpose(after) if a < 2 else after
    S[j, 1] = (word | r.ENTER) | (lanes << r.LANES) | (u64(a) << r.DIRECTION)


@jit(inline=True)
def put_afterstate(S, j, n, before, after, a, T):
    """Writes the board after slide a (in lines) as the n-th from row j on, if anything moved; returns the new number."""
    if after == before:
        return n
    lanes = lanes_that_moved(before, after) if T.entry == r.MOVED_LANE else r.empty_edges(after, a)
    S[j + n, 0] = transpose(after) if a < 2 else after
    S[j + n, 1] = r.ENTER | (lanes << r.LANES) | (u64(a) << r.DIRECTION)
    return n + r.ONE


@jit(inline=True)
def afterstates(S, i, j, T):
    """Slides the board of row i once for all tiles that may be drawn there; not where a 12288 ends the game at once."""
    b = S[i, 0]
    t = transpose(b)
    if S[i, 1] & THREE != r.DRAW:
        return np.int64(0)
    up, down = r.looked_up(t, T.slide_low), r.looked_up(t, T.slide_high)
    left, right = r.looked_up(b, T.slide_low), r.looked_up(b, T.slide_high)
    if T.top == r.END_AT_12288 and (r.has_12288(up) or r.has_12288(down) or r.has_12288(left) or r.has_12288(right)):
        return np.int64(0)
    n = put_afterstate(S, j, ZERO, t, up, 0, T)
    n = put_afterstate(S, j, n, t, down, 1, T)
    n = put_afterstate(S, j, n, b, left, 2, T)
    return np.int64(put_afterstate(S, j, n, b, right, 3, T))


@jit(inline=True)
def apply_outcome(S, k, o, j, T):
    S[j, 0] = S[k, 0]
    S[j, 1] = S[o, 1] | S[k, 1]


@jit(inline=True)
def merge_points(S, i, j, k, T):
    """The reward "merges": the points made by merging, without those of entering tiles."""
    return np.float64(r.sum_of_rows(S[j, 0], T.points) - r.sum_of_rows(S[i, 0], T.points))


@jit(inline=True)
def survival(S, i, j, k, T):
    """The reward "survival": 1 for every legal slide."""
    return 1.0


UNTIL_ENTRY = (ONE << r.DECK) - ONE | (u64(63) << r.LANES)
"""The fields of word 1 that end with the entry: the phase, the tile shown and its bonuses, the lanes and the direction."""


@jit(inline=True)
def bonus_weight(rank, low, high, law):
    """Returns the weight of a bonus in low..high: equal, or how many windows of three ranks hold it."""
    n = high - low + ONE
    if law == r.UNIFORM or n < FOUR:
        return 1.0
    k = rank - low
    return np.float64(min(min(k + ONE, n - k), THREE))


@jit(inline=True)
def white_three(word, T):
    """Returns the probability that the tile shown as white is a 3."""
    three = (1.0 - T.bonus_p) * np.float64(r.deck_count(word, THREE)) / np.float64(r.deck_size(word))
    return three / (three + T.bonus_p)


@jit(inline=True)
def put_entering(S, j, P, o, n, word, rank, share):
    """Writes one successor per lane for an entering tile; returns the new number of successors."""
    lanes = (S[j, 1] >> r.LANES) & r.FIFTEEN
    direction = (S[j, 1] >> r.DIRECTION) & THREE
    for lane in range(4):
        if (lanes >> u64(lane)) & ONE:
            S[o + u64(n), 0] = S[j, 0] | (rank << r.entry_shift(u64(lane), direction))
            S[o + u64(n), 1] = word
            P[o + u64(n)] = share
            n += 1
    return n


@jit(inline=True)
def enter_outcomes(S, j, P, o, T):
    word = S[j, 1]
    lanes = (word >> r.LANES) & r.FIFTEEN
    share = 1.0 / np.float64((lanes & ONE) + ((lanes >> ONE) & ONE) + ((lanes >> TWO) & ONE) + (lanes >> THREE))
    shown = (word >> r.SHOWN) & r.SEVEN
    left = word & ~UNTIL_ENTRY | r.DRAW
    if shown < r.PLUS:
        return put_entering(S, j, P, o, 0, left, shown, share)
    n = 0
    if shown == r.WHITE:
        three = white_three(word, T)
        if three > 0.0:
            n = put_entering(S, j, P, o, n, r.without_card(left, THREE), THREE, share * three)
        share *= 1.0 - three
    low, high = (word >> r.LOW) & r.FIFTEEN, (word >> r.HIGH) & r.FIFTEEN
    law = T.bonus_value if T.hint != r.HINT_WINDOW3 else r.UNIFORM
    total = 0.0
    for rank in range(low, high + ONE):
        total += bonus_weight(u64(rank), low, high, law)
    for rank in range(low, high + ONE):
        n = put_entering(S, j, P, o, n, left, u64(rank), share * bonus_weight(u64(rank), low, high, law) / total)
    return np.int64(n)


@jit(inline=True)
def bonus_chance(word, T):
    """Returns the probability that the next draw is a bonus, once a 48 lies on the board."""
    if T.bonus_schedule == r.IID:
        return T.bonus_p
    if (word >> r.SLOT_USED) & ONE:
        return 0.0
    return 1.0 / (21.0 - np.float64((word >> r.SLOT) & u64(31)))


@jit(inline=True)
def slot_after(word, bonus, T):
    """Moves the slot21 cycle on by one draw, once a 48 lies on the board."""
    if T.bonus_schedule == r.IID:
        return word
    position = ((word >> r.SLOT) & u64(31)) + ONE
    used = ((word >> r.SLOT_USED) & ONE) | bonus
    word &= ~(u64(63) << r.SLOT)
    if position == u64(21):
        return word
    return word | (position << r.SLOT) | (used << r.SLOT_USED)


@jit(inline=True)
def shown_bonus(word, low, high):
    return word | (r.PLUS << r.SHOWN) | (low << r.LOW) | (high << r.HIGH)


@jit(inline=True)
def draw_outcomes(S, j, P, o, T):
    b = S[j, 0]
    highest = highest_rank(b)
    word = S[j, 1] & ~THREE
    bonus, base = 0.0, word
    if highest >= r.SEVEN:
        bonus, base = bonus_chance(word, T), slot_after(word, ZERO, T)
    size = np.float64(r.deck_size(word))
    white = T.hint == r.HINT_COLOUR and bonus > 0.0
    n = u64(0)
    for card in range(1, 3 if white else 4):
        count = r.deck_count(word, u64(card))
        if count and bonus < 1.0:
            S[o + n, 0] = b
            S[o + n, 1] = r.without_card(base, u64(card)) | (u64(card) << r.SHOWN)
            P[o + n] = (1.0 - bonus) * np.float64(count) / size
            n += ONE
    if bonus == 0.0:
        return np.int64(n)
    low, high = FOUR, highest - THREE
    ranks = high - low + ONE
    word = slot_after(word, ONE, T)
    if white:
        S[o + n, 0] = b
        S[o + n, 1] = word | (r.WHITE << r.SHOWN) | (low << r.LOW) | (high << r.HIGH)
        P[o + n] = bonus + (1.0 - bonus) * np.float64(r.deck_count(word, THREE)) / size
        n += ONE
    elif T.hint == r.HINT_EXACT:
        total = 0.0
        for rank in range(low, high + ONE):
            total += bonus_weight(u64(rank), low, high, T.bonus_value)
        for rank in range(low, high + ONE):
            S[o + n, 0] = b
            S[o + n, 1] = shown_bonus(word, u64(rank), u64(rank))
            P[o + n] = bonus * bonus_weight(u64(rank), low, high, T.bonus_value) / total
            n += ONE
    elif T.hint == r.HINT_WINDOW3 and ranks > THREE:
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
        word += ONE << r.START
    S[i, 0] |= card << (FOUR * cell)
    word -= ONE << (r.DECK + THREE * (card - ONE))
    if r.deck_size(word) == u64(12 - r.SETUP_CARDS):
        word = (word & ~THREE) | r.DRAW
    S[i, 1] = word


@jit(inline=True)
def setup_outcomes(S, j, P, o, T):
    size = r.deck_size(S[j, 1])
    free = np.float64(u64(4) + size)  # 16 cells, less the 12 - size cards that lie
    n = u64(0)
    for card in range(1, 4):
        count = r.deck_count(S[j, 1], u64(card))
        for cell in range(16):
            if count and (S[j, 0] >> u64(4 * cell)) & r.FIFTEEN == ZERO:
                S[o + n, 0] = S[j, 0]
                S[o + n, 1] = S[j, 1]
                with_setup_card(S, o + n, u64(card), u64(cell))
                P[o + n] = np.float64(count) / np.float64(size) / free
                n += ONE
    return np.int64(n)


@jit(inline=True)
def chance_outcomes(S, j, P, o, T):
    phase = S[j, 1] & THREE
    if phase == r.ENTER:
        return enter_outcomes(S, j, P, o, T)
    if phase == r.DRAW:
        return draw_outcomes(S, j, P, o, T)
    return setup_outcomes(S, j, P, o, T)


@jit(inline=True)
def random_card(word, R):
    """Draws a base card from the deck."""
    ones, twos = r.deck_count(word, ONE), r.deck_count(word, TWO)
    k = below(R, ones + twos + r.deck_count(word, THREE))
    if k < ones:
        return ONE
    return TWO if k < ones + twos else THREE


@jit(inline=True)
def random_bonus(low, high, law, R):
    """Draws a bonus in low..high; under the window law a window first, then a rank in it."""
    n = high - low + ONE
    if law == r.UNIFORM or n < FOUR:
        return low + below(R, n)
    return low + below(R, n - TWO) + below(R, THREE)


@jit
def sample_outcome(S, j, R, T):
    word = S[j, 1]
    phase = word & THREE

    # A card of the start, on one of the empty cells.
    if phase == r.SETUP:
        k = below(R, u64(4) + r.deck_size(word))
        cell = ZERO
        while k or (S[j, 0] >> (FOUR * cell)) & r.FIFTEEN:
            if (S[j, 0] >> (FOUR * cell)) & r.FIFTEEN == ZERO:
                k -= ONE
            cell += ONE
        with_setup_card(S, j, random_card(word, R), cell)
        return

    # The tile shown enters: first which tile it is, then in which lane.
    if phase == r.ENTER:
        left = word & ~UNTIL_ENTRY | r.DRAW
        rank = (word >> r.SHOWN) & r.SEVEN
        if rank == r.WHITE and uniform(R) < white_three(word, T):
            rank = THREE
            left = r.without_card(left, THREE)
        elif rank >= r.PLUS:
            law = T.bonus_value if T.hint != r.HINT_WINDOW3 else r.UNIFORM
            rank = random_bonus((word >> r.LOW) & r.FIFTEEN, (word >> r.HIGH) & r.FIFTEEN, law, R)
        lanes = (word >> r.LANES) & r.FIFTEEN
        k = below(R, (lanes & ONE) + ((lanes >> ONE) & ONE) + ((lanes >> TWO) & ONE) + (lanes >> THREE))
        lane = ZERO
        while k or not (lanes >> lane) & ONE:
            if (lanes >> lane) & ONE:
                k -= ONE
            lane += ONE
        S[j, 0] |= rank << r.entry_shift(lane, (word >> r.DIRECTION) & THREE)
        S[j, 1] = left
        return

    # The next tile is drawn. A bonus may come once a 48 lies on the board.
    word &= ~THREE
    bonus, highest = 0.0, highest_rank(S[j, 0])
    low, high = FOUR, highest - THREE
    if highest >= r.SEVEN:
        bonus = bonus_chance(word, T)
        if bonus > 0.0 and uniform(R) < bonus:
            word = slot_after(word, ONE, T)
            if T.hint == r.HINT_COLOUR:
                S[j, 1] = word | (r.WHITE << r.SHOWN) | (low << r.LOW) | (high << r.HIGH)
                return
            if T.hint == r.HINT_EXACT:
                low = random_bonus(low, high, T.bonus_value, R)
                high = low
            elif T.hint == r.HINT_WINDOW3 and high - low >= THREE:
                low += below(R, high - low - ONE)
                high = low + TWO
            S[j, 1] = shown_bonus(word, low, high)
            return
        word = slot_after(word, ZERO, T)

    # Else a card comes from the deck. Where only its colour is shown, a 3 looks like a bonus and has not left the deck.
    card = random_card(word, R)
    if card == THREE and bonus > 0.0 and T.hint == r.HINT_COLOUR:
        S[j, 1] = word | (r.WHITE << r.SHOWN) | (low << r.LOW) | (high << r.HIGH)
        return
    S[j, 1] = r.without_card(word, card) | (card << r.SHOWN)


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
