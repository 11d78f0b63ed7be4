"""Chance in Friday: a pirate, an aging card, a hazard or a card, each one stage with exact probabilities."""

from __future__ import annotations

import numpy as np

from leafwise.envs.core.compile.jit import jit
from leafwise.envs.core.contract.bits import count_bits
from leafwise.envs.core.contract.rules import copy_row
from leafwise.envs.core.contract.stream import below, u64
from leafwise.envs.friday.abilities import receive
from leafwise.envs.friday.layout import (
    AGING_AT,
    AGING_SHIFT,
    CHOOSE,
    DEAL_AGING,
    DEAL_CARD,
    DEAL_HAZARD,
    DEAL_PIRATE,
    DIFFICULT_SHIFT,
    DISCARD,
    HAZARD_AT,
    HAZARD_MASK,
    HAZARD_SHIFT,
    HAZARDS,
    M2,
    M4,
    M6,
    MODE_AT,
    ONE,
    PIRATE_AT,
    SECOND_HAZARD_AT,
    SECOND_PIRATE_AT,
    STACK,
    STATUS,
    TO_AT,
    TO_SETUP,
    ZERO,
    aging_pile,
    get,
    lowest_bit,
    mode,
    set_status,
)
from leafwise.envs.friday.piles import copies_in, count_of, digest, next_cards, one_card
from leafwise.envs.friday.tables import first_kind, mask_of

DIFFICULT = ~((ONE << DIFFICULT_SHIFT) - ONE)
ALL_PIRATES = u64(2046)
"""One bit for each of the pirates 1 to 10."""


@jit
def open_outcomes(S, j, T):
    """Returns what chance picks from: counts of cards, or one bit for each pirate."""
    here = mode(S, j)
    if here == DEAL_CARD:
        return next_cards(S, j, T)
    if here == DEAL_HAZARD:
        return (S[j, HAZARDS] & HAZARD_MASK) << HAZARD_SHIFT
    if here == DEAL_PIRATE:
        return ALL_PIRATES & ~(ONE << get(S[j, STATUS], PIRATE_AT, M4))
    pile = aging_pile(S, j)
    normal = pile & ~DIFFICULT
    return normal if normal else pile


@jit
def resolve(S, j, kind, T):
    """Lets chance pick a kind of card, or the pirate of that number."""
    here = mode(S, j)
    if here == DEAL_CARD:
        receive(S, j, kind, T)
    elif here == DEAL_HAZARD:
        S[j, HAZARDS] -= one_card(kind, T) >> HAZARD_SHIFT
        other = get(S[j, STATUS], HAZARD_AT, M6)
        if other == ZERO:
            set_status(S, j, HAZARD_AT, M6, kind + ONE)
        else:
            set_status(S, j, HAZARD_AT, M6, min(other, kind + ONE))
            set_status(S, j, SECOND_HAZARD_AT, M6, max(other, kind + ONE))
        if other != ZERO or S[j, HAZARDS] & HAZARD_MASK == ZERO:
            set_status(S, j, MODE_AT, M4, CHOOSE)
    elif here == DEAL_AGING:
        S[j, STATUS] -= (one_card(kind, T) >> AGING_SHIFT) << AGING_AT
        S[j, STACK] += S[j, DISCARD] + one_card(kind, T)
        S[j, DISCARD] = ZERO
        if get(S[j, STATUS], TO_AT, M2) == TO_SETUP:
            set_status(S, j, TO_AT, M2, ZERO)
            set_status(S, j, MODE_AT, M4, DEAL_HAZARD)
        else:
            set_status(S, j, MODE_AT, M4, DEAL_CARD)
    else:
        other = get(S[j, STATUS], PIRATE_AT, M4)
        if other == ZERO:
            set_status(S, j, PIRATE_AT, M4, kind)
            return
        set_status(S, j, PIRATE_AT, M4, min(other, kind))
        set_status(S, j, SECOND_PIRATE_AT, M4, max(other, kind))
        if T.first_aging:
            set_status(S, j, TO_AT, M2, TO_SETUP)
            set_status(S, j, MODE_AT, M4, DEAL_AGING)
        else:
            set_status(S, j, MODE_AT, M4, DEAL_HAZARD)


@jit
def chance_outcomes(S, j, P, o, T):
    word = open_outcomes(S, j, T)
    pirates = mode(S, j) == DEAL_PIRATE
    left, weight = ZERO, 0.0
    rest = word
    while rest:
        kind = lowest_bit(rest) if pirates else first_kind(rest, T)
        copies = ONE if pirates else copies_in(rest, kind, T)
        rest &= ~(ONE << kind if pirates else mask_of(kind, T))
        copy_row(S, j, o + left)
        resolve(S, o + left, kind, T)
        P[o + left] = np.float64(copies)
        weight += np.float64(copies)
        left += ONE
    for k in range(np.int64(left)):
        P[o + u64(k)] /= weight
    return np.int64(left)


@jit
def pick(word, at, pirates, T):
    """Returns the kind of card number `at` among those counted in a word (or the pirate's number)."""
    while True:
        kind = lowest_bit(word) if pirates else first_kind(word, T)
        copies = ONE if pirates else copies_in(word, kind, T)
        if at < copies:
            return kind
        at -= copies
        word &= ~(ONE << kind if pirates else mask_of(kind, T))


@jit
def sample_outcome(S, j, R, T):
    word = open_outcomes(S, j, T)
    pirates = mode(S, j) == DEAL_PIRATE
    n = count_bits(word) if pirates else u64(count_of(digest(word, T)))
    resolve(S, j, pick(word, below(R, n), pirates, T), T)
