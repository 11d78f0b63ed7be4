"""The chance stages of Threes: which tile enters where, which comes next, and the nine cards of the start."""

from __future__ import annotations

import numpy as np

from leafwise.envs.core.compile.jit import jit
from leafwise.envs.core.contract.stream import below, u64, uniform
from leafwise.envs.threes import row as r
from leafwise.envs.threes.row import FOUR, ONE, THREE, TWO, ZERO, highest_rank

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
