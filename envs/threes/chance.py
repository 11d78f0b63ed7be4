"""The chance stages of Threes: which tile enters where, which comes next, and the nine cards of the start."""

from __future__ import annotations

import numpy as np

from leafwise.envs.core.compile.jit import jit
from leafwise.envs.core.contract.stream import below, u64, uniform
from leafwise.envs.threes.row import (
    DECK,
    DIRECTION,
    DRAW,
    ENTER,
    FIFTEEN,
    FOUR,
    HIGH,
    HINT_COLOUR,
    HINT_EXACT,
    HINT_WINDOW3,
    IID,
    LANES,
    LOW,
    ONE,
    PLUS,
    SETUP_CARDS,
    SEVEN,
    SHOWN,
    SLOT,
    SLOT_USED,
    START,
    THREE,
    TWO,
    UNIFORM,
    WHITE,
    ZERO,
    deck_count,
    deck_size,
    entry_shift,
    highest_rank,
    without_card,
)


@jit(inline=True)
def bonus_weight(rank, low, high, law):
    """Returns the weight of a bonus in low..high: equal, or how many windows of three ranks hold it."""
    n = high - low + ONE
    if law == UNIFORM or n < FOUR:
        return 1.0
    k = rank - low
    return np.float64(min(min(k + ONE, n - k), THREE))


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
