"""Chance in Friday: a pirate, an aging card, a hazard or a card, each one stage with exact probabilities."""

from __future__ import annotations

import numpy as np

from leafwise.envs.core.compile.jit import jit
from leafwise.envs.core.contract.bits import count_bits
from leafwise.envs.core.contract.rules import copy_row
from leafwise.envs.core.contract.stream import below, u64
from leafwise.envs.friday import layout as at
from leafwise.envs.friday.abilities import receive
from leafwise.envs.friday.layout import ONE, ZERO, aging_pile, get, mode, put
from leafwise.envs.friday.piles import copies_in, count_of, digest, next_cards, one_card
from leafwise.envs.friday.tables import first_kind, mask_of

DIFFICULT = ~((ONE << at.DIFFICULT_SHIFT) - ONE)
ALL_PIRATES = u64(2046)
"""One bit for each of the pirates 1 to 10."""


@jit(inline=True)
def open_outcomes(S, j, T):
    """Returns what chance picks from: counts of cards, or one bit for each pirate."""
    here = mode(S, j)
    if here == at.DEAL_CARD:
        return next_cards(S, j, T)
    if here == at.DEAL_HAZARD:
        return get(S, j, at.HAZARDS_AT) << at.HAZARD_SHIFT
    if here == at.DEAL_PIRATE:
        return ALL_PIRATES & ~(ONE << get(S, j, at.PIRATE_AT))
    pile = aging_pile(S, j)
    normal = pile & ~DIFFICULT
    return normal if normal else pile


@jit(inline=True)
def resolve(S, j, kind, T):
    """Lets chance pick a kind of card, or the pirate of that number."""
    here = mode(S, j)
    if here == at.DEAL_CARD:
        receive(S, j, kind, T)
    elif here == at.DEAL_HAZARD:
        S[j, at.HAZARDS] -= one_card(kind, T) >> at.HAZARD_SHIFT
        other = get(S, j, at.HAZARD_AT)
        if other == ZERO:
            put(S, j, at.HAZARD_AT, kind + ONE)
        else:
            put(S, j, at.HAZARD_AT, min(other, kind + ONE))
            put(S, j, at.SECOND_HAZARD_AT, max(other, kind + ONE))
        if other != ZERO or get(S, j, at.HAZARDS_AT) == ZERO:
            put(S, j, at.MODE_AT, at.CHOOSE)
    elif here == at.DEAL_AGING:
        S[j, at.STATUS] -= (one_card(kind, T) >> at.AGING_SHIFT) << at.AGING_AT.shift
        S[j, at.STACK] += S[j, at.DISCARD] + one_card(kind, T)
        S[j, at.DISCARD] = ZERO
        if get(S, j, at.TO_AT) == at.TO_SETUP:
            put(S, j, at.TO_AT, ZERO)
            put(S, j, at.MODE_AT, at.DEAL_HAZARD)
        else:
            put(S, j, at.MODE_AT, at.DEAL_CARD)
    else:
        other = get(S, j, at.PIRATE_AT)
        if other == ZERO:
            put(S, j, at.PIRATE_AT, kind)
            return
        put(S, j, at.PIRATE_AT, min(other, kind))
        put(S, j, at.SECOND_PIRATE_AT, max(other, kind))
        if T.first_aging:
            put(S, j, at.TO_AT, at.TO_SETUP)
            put(S, j, at.MODE_AT, at.DEAL_AGING)
        else:
            put(S, j, at.MODE_AT, at.DEAL_HAZARD)


@jit
def chance_outcomes(S, j, P, o, T):
    word = open_outcomes(S, j, T)
    pirates = mode(S, j) == at.DEAL_PIRATE
    left, weight = ZERO, 0.0
    rest = word
    while rest:
        kind = at.lowest_bit(rest) if pirates else first_kind(rest, T)
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


@jit(inline=True)
def pick(word, place, pirates, T):
    """Returns the kind of card number `place` among those counted in a word (or the pirate's number)."""
    while True:
        kind = at.lowest_bit(word) if pirates else first_kind(word, T)
        copies = ONE if pirates else copies_in(word, kind, T)
        if place < copies:
            return kind
        place -= copies
        word &= ~(ONE << kind if pirates else mask_of(kind, T))


@jit
def sample_outcome(S, j, R, T):
    word = open_outcomes(S, j, T)
    pirates = mode(S, j) == at.DEAL_PIRATE
    n = count_bits(word) if pirates else u64(count_of(digest(word, T)))
    resolve(S, j, pick(word, below(R, n), pirates, T), T)
