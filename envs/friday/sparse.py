"""What networks with a sparse first layer see of Friday: how many cards of each kind lie where, and the fight.

A feature says that a pile holds so many cards of a kind. Piles: all that Robinson has in play, stack, discard, the table (left,
left used, right, right used), hazard stack, hazard discard, aging pile. Then the kinds of single cards: the next one if
known, those doubled, those looked at. Life by phase; pirates to be beaten, fought, and both together; the step under way; the
hazards revealed or fought by phase; what the total lacks by free cards left; hazards left by phase; the ability under way;
removal points. How often abilities were used (`uses`), the order of cards known at the bottom and cards face down are left out.
"""

from __future__ import annotations

from leafwise.envs.core.jit import jit
from leafwise.envs.core.sparse import SparseFeatures
from leafwise.envs.core.stream import u64
from leafwise.envs.friday.cards import KINDS, PIRATES
from leafwise.envs.friday.fight import free_cards, free_made, hazard_value, total
from leafwise.envs.friday.layout import (
    BEATEN_AT,
    CARD_BITS,
    CARD_MASK,
    CHOOSE,
    DEAL_HAZARD,
    DISCARD,
    DOUBLED,
    ENTRY_BITS,
    ENTRY_MASK,
    FIGHT,
    FOUGHT_AT,
    FOUR,
    HAZARD_AT,
    HAZARD_BITS,
    HAZARD_MASK,
    HAZARD_SHIFT,
    HAZARDS,
    KIND_AT,
    KNOWN,
    LEFT,
    M2,
    M4,
    M5,
    M6,
    ONE,
    PIRATE_AT,
    POINTS_AT,
    SECOND_HAZARD_AT,
    SECOND_PIRATE_AT,
    STACK,
    STATUS,
    TOP_AT,
    ZERO,
    aging_pile,
    get,
    life,
    mode,
    phase,
)
from leafwise.envs.friday.piles import copies_in, count_of, digest, in_play, looked
from leafwise.envs.friday.tables import first_kind, mask_of

COPIES = 8
"""Most cards of a kind."""
PILE = KINDS * COPIES
PILES = 10
NUMBERS = len(PIRATES) + 1
MARGIN, FREE = 20, 8
"""Points above or below the value that are told apart, and free cards left."""
NEXT = PILES * PILE
TWICE = NEXT + KINDS
SEEN = TWICE + KINDS
LIFE = SEEN + KINDS
BEAT = LIFE + 4 * 32
FOUGHT = BEAT + NUMBERS
PAIR = FOUGHT + NUMBERS
MODE = PAIR + NUMBERS * NUMBERS
ACTIVE = MODE + 13
LACK = ACTIVE + 4 * KINDS
LEFT_OVER = LACK + (2 * MARGIN + 1) * FREE
ABILITY = LEFT_OVER + 4 * 31
POINTS = ABILITY + 11
SIZE = POINTS + 23
MOST = 190
"""At most 59 cards in play count twice, once by kind; 30 hazards, 11 aging cards, 10 + 23 of the rest."""


@jit
def see_pile(F, n, first, word, T):
    """Writes a feature for each kind that a word counts; returns how many features there are then."""
    while word:
        kind = first_kind(word, T)
        F[n] = first + int(kind) * COPIES + int(copies_in(word, kind, T)) - 1
        word &= ~mask_of(kind, T)
        n += 1
    return n


@jit
def active(S, i, F, T):
    n = see_pile(F, 0, 0, in_play(S, i), T)
    n = see_pile(F, n, PILE, S[i, STACK], T)
    n = see_pile(F, n, 2 * PILE, S[i, DISCARD], T)
    for side in range(4):
        n = see_pile(F, n, (3 + side) * PILE, S[i, u64(LEFT + side)], T)
    left, away = S[i, HAZARDS] & HAZARD_MASK, S[i, HAZARDS] >> HAZARD_BITS
    n = see_pile(F, n, 7 * PILE, left << HAZARD_SHIFT, T)
    n = see_pile(F, n, 8 * PILE, away << HAZARD_SHIFT, T)
    n = see_pile(F, n, 9 * PILE, aging_pile(S, i), T)
    card = (S[i, KNOWN] >> TOP_AT) & CARD_MASK
    if card != ZERO:
        F[n] = NEXT + int(card) - 1
        n += 1
    cards = S[i, DOUBLED]
    while cards:
        F[n] = TWICE + int((cards & ENTRY_MASK) >> FOUR) - 1
        cards >>= ENTRY_BITS
        n += 1
    cards = looked(S, i)
    while cards:
        F[n] = SEEN + int(cards & CARD_MASK) - 1
        cards >>= CARD_BITS
        n += 1
    status, here, now = S[i, STATUS], mode(S, i), int(phase(S, i))
    F[n] = LIFE + 32 * now + int(life(S, i))
    F[n + 1] = MODE + int(here)
    F[n + 2] = LEFT_OVER + 31 * now + count_of(digest(left << HAZARD_SHIFT, T))
    F[n + 3] = ABILITY + int(get(S[i, FIGHT], KIND_AT, M4))
    F[n + 4] = POINTS + int(get(S[i, FIGHT], POINTS_AT, M5))
    n += 5
    beaten, fought = get(status, BEATEN_AT, M2), get(status, FOUGHT_AT, M2)
    first, second = get(status, PIRATE_AT, M4), get(status, SECOND_PIRATE_AT, M4)
    if beaten == ZERO:
        F[n] = PAIR + NUMBERS * int(first) + int(second)
        n += 1
    for k in range(2):
        number = int(second if k else first)
        if (beaten >> u64(k)) & ONE == ZERO:
            F[n] = BEAT + number
            n += 1
        if (fought >> u64(k)) & ONE:
            F[n] = FOUGHT + number
            n += 1
    for at in (HAZARD_AT, SECOND_HAZARD_AT):
        hazard = get(status, at, M6)
        if hazard != ZERO:
            F[n] = ACTIVE + KINDS * now + int(hazard) - 1
            n += 1
    if fought != ZERO or (get(status, HAZARD_AT, M6) != ZERO and here != CHOOSE and here != DEAL_HAZARD):
        lack = max(-MARGIN, min(MARGIN, hazard_value(S, i, T) - total(S, i, T)))
        free = max(0, min(FREE - 1, free_cards(S, i, T) - free_made(S, i)))
        F[n] = LACK + FREE * (lack + MARGIN) + free
        n += 1
    return n


SPARSE = SparseFeatures(
    active=active, size=lambda options: SIZE, most=lambda options: MOST, invariant=True, stage="hazard"
)
