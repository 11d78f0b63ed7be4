"""The rules of Friday as functions on rows of twelve words (`layout`).

A row holds what the player knows: the cards in every pile, the known places of cards (after "sort" and "below the pile"), the
table, and the current step. The four kinds of chance are a pirate, an aging card, a hazard, a card. Rules: Friedemann Friese,
"Freitag", 2011.

Rulings where the booklet is silent: a doubling that lost its source frees its target to be doubled again; phase -1 is not
offered where it has no effect; with `double_needs_source=False` at most six cards are doubled at a time; cards removed after a
lost fight go one after another, by kind; cards looked at are put back one after another, the last ends on top.

The module has the player's actions, then the kinds of chance, each one stage with exact probabilities, then the candidates of a
search: all legal actions, or those that the public engine's filters leave.
"""

from __future__ import annotations

import numpy as np

from leafwise.envs.core.compile.jit import jit
from leafwise.envs.core.contract.bits import count_bits
from leafwise.envs.core.contract.rules import CHANCE, TERMINAL, copy_row
from leafwise.envs.core.contract.stream import below, u64
from leafwise.envs.friday import fight
from leafwise.envs.friday.abilities import aim, ask_for_card, draw_more, pick_looked, receive, stop, use
from leafwise.envs.friday.cards import COPY, DOUBLE, DRAW, EXCHANGE, SORT
from leafwise.envs.friday.fight import (
    can_end,
    clear_table,
    discard_hazard,
    end_hazard,
    end_pirate,
    end_turn,
    go_on,
    pay,
    pirate,
)
from leafwise.envs.friday.layout import (
    ABILITY,
    AGING_AT,
    AGING_SHIFT,
    AMOUNT,
    ARRANGE,
    CARD,
    CARD_BITS,
    CARD_MASK,
    CHOOSE,
    COST,
    DEAL_AGING,
    DEAL_CARD,
    DEAL_HAZARD,
    DEAL_PIRATE,
    DIFFICULT_SHIFT,
    DISCARD,
    DRAW_MORE,
    END,
    EXCHANGE_AGAIN,
    FIRST,
    FOUGHT_AT,
    FREE,
    FREE_AT,
    FROM_AT,
    HAZARD_AT,
    HAZARD_SHIFT,
    HAZARDS,
    HAZARDS_AT,
    IN_FIGHT,
    KIND_AT,
    LEFT,
    LIFE_AT,
    MAX_USES,
    MODE_AT,
    OFFER,
    ONE,
    ORDER,
    PAY,
    PIRATE_AT,
    POINTS_AT,
    RATING,
    REJECT,
    REMOVE,
    SECOND,
    SECOND_HAZARD_AT,
    SECOND_PIRATE_AT,
    STACK,
    STATUS,
    TARGET,
    THREE,
    TO_AT,
    TO_LEFT,
    TO_RIGHT,
    TO_SETUP,
    TWO,
    USE,
    USES_AT,
    VALUE,
    WIDTH,
    WON,
    ZERO,
    aging_pile,
    at_start,
    copies_in,
    count_of,
    digest,
    fact,
    first_kind,
    get,
    hunger_of,
    kind_in,
    life,
    looked,
    lowest_bit,
    mask_of,
    mode,
    next_cards,
    on_table,
    one_card,
    phase,
    put,
    reference,
    turn_to,
)

STAGES = ("decision", "pirate", "aging", "hazard", "card")


@jit
def initial_state(S, i, T):
    for w in range(WIDTH):
        S[i, w] = ZERO
    S[i, STACK] = at_start(0, T)
    S[i, HAZARDS] = at_start(1, T) >> HAZARD_SHIFT
    put(S, i, LIFE_AT, T.start_life)
    put(S, i, AGING_AT, at_start(2, T) >> AGING_SHIFT)
    put(S, i, MODE_AT, DEAL_PIRATE)


@jit(inline=True)
def stage(S, i, T):
    mode_now = mode(S, i)
    return np.int64(mode_now) + 1 if mode_now <= DEAL_CARD else 0


@jit(inline=True)
def current_player(S, i, T):
    mode_now = mode(S, i)
    if mode_now <= DEAL_CARD:
        return CHANCE
    return TERMINAL if mode_now >= WON else 0


@jit(inline=True)
def returns(S, i, T):
    return 1.0 if mode(S, i) == WON else 0.0


@jit(inline=True)
def offer_looked(S, i, A, n):
    """Adds the places of cards looked at; of equal cards only the first."""
    cards = looked(S, i)
    before = ZERO
    index = 0
    while cards:
        if cards & CARD_MASK != before:
            A[n] = CARD + index
            n += 1
        before = cards & CARD_MASK
        cards >>= CARD_BITS
        index += 1
    return n


@jit
def legal_actions(S, i, A, T):
    # A fight.
    mode_now = mode(S, i)
    n = 0
    if mode_now == IN_FIGHT:
        if fight.free_left(S, i, T):
            A[n] = FREE
            n += 1
        elif fight.can_pay(S, i, T):
            A[n] = PAY
            n += 1
        if fight.can_end(S, i, T):
            A[n] = END
            n += 1
        if get(S, i, USES_AT) < MAX_USES:
            n = fight.offer_cards(S, i, mode_now, A, n, T)
        return n
    # A choice of hazards or pirates.
    if mode_now == CHOOSE:
        first, second = get(S, i, HAZARD_AT), get(S, i, SECOND_HAZARD_AT)
        A[0] = FIRST
        if phase(S, i) == THREE or (second != ZERO and second != first):
            A[1] = SECOND
        elif second == ZERO:
            A[1] = REJECT
        else:
            return 1
        return 2
    # The steps of an ability, and removals.
    ability = get(S, i, KIND_AT)
    if mode_now != ORDER and (mode_now != TARGET or ability == EXCHANGE_AGAIN):
        A[n] = END
        n += 1
    if mode_now == OFFER:
        A[n] = DRAW_MORE
        return n + 1
    if mode_now in (ARRANGE, ORDER):
        return offer_looked(S, i, A, n)
    return fight.offer_cards(S, i, mode_now, A, n, T)


@jit(inline=True)
def choose(S, j, a, T):
    """Chooses a hazard or a pirate."""
    if phase(S, j) == THREE:
        put(S, j, FOUGHT_AT, ONE if a == FIRST else TWO)
        go_on(S, j, T)
        return
    first, second = get(S, j, HAZARD_AT), get(S, j, SECOND_HAZARD_AT)
    put(S, j, SECOND_HAZARD_AT, ZERO)
    if a == REJECT:
        discard_hazard(S, j, first - ONE, T)
        end_turn(S, j)
        return
    other = first if a == SECOND else second
    put(S, j, HAZARD_AT, second if a == SECOND else first)
    if other != ZERO:
        discard_hazard(S, j, other - ONE, T)
    turn_to(S, j, IN_FIGHT)


@jit(inline=True)
def remove(S, j, slot, T):
    """Removes a card from the game after a lost fight."""
    kind = kind_in(reference(S, j, slot, T))
    S[j, LEFT] -= one_card(kind, T)
    put(S, j, FROM_AT, kind)
    put(S, j, POINTS_AT, get(S, j, POINTS_AT) - u64(fact(kind, COST, T)))


@jit
def apply_action(S, i, a, j, T):
    if i != j:
        copy_row(S, i, j)
    mode_now = mode(S, j)
    if a == FREE:
        put(S, j, FREE_AT, get(S, j, FREE_AT) + ONE)
        ask_for_card(S, j, TO_LEFT, T)
    elif a == PAY:
        pay(S, j, fight.price(S, j))
        ask_for_card(S, j, TO_RIGHT, T)
    elif a == DRAW_MORE:
        draw_more(S, j, T)
    elif a == END:
        if mode_now == REMOVE:
            S[j, DISCARD] += clear_table(S, j)
            end_turn(S, j)
        elif mode_now != IN_FIGHT:
            stop(S, j, T)
        elif fight.pirate(S, j) != ZERO:
            end_pirate(S, j, T)
        else:
            end_hazard(S, j, T)
    elif a < USE:
        choose(S, j, a, T)
    elif a < CARD:
        use(S, j, u64(a - USE), T)
    elif mode_now == TARGET:
        aim(S, j, u64(a - CARD), T)
    elif mode_now == REMOVE:
        remove(S, j, u64(a - CARD), T)
    else:
        pick_looked(S, j, u64(a - CARD), T)


@jit
def action_cost(S, i, a, T):
    """Returns 1 for an action that reveals a card, after which chance acts."""
    mode_now = mode(S, i)
    if a in (FREE, PAY, DRAW_MORE):
        return 1
    if a == END:
        if mode_now == REMOVE:
            return 1
        if mode_now != IN_FIGHT or fight.pirate(S, i) != ZERO:
            return 0
        won = fight.total(S, i, T) >= fight.hazard_value(S, i, T)
        return 1 if won and life(S, i) >= hunger_of(digest(on_table(S, i), T)) else 0
    if a < USE:
        return 1 if a == REJECT else 0
    if mode_now in (IN_FIGHT, TARGET):
        slot = u64(a - USE if a < CARD else a - CARD)
        ability = get(S, i, KIND_AT)
        if mode_now == TARGET and ability != COPY:
            return 1 if ability in (u64(EXCHANGE), EXCHANGE_AGAIN) else 0
        return 1 if fact(kind_in(reference(S, i, slot, T)), ABILITY, T) in (DRAW, SORT) else 0
    return 0


DIFFICULT = ~((ONE << DIFFICULT_SHIFT) - ONE)
ALL_PIRATES = u64(2046)
"""A bit for each of the pirates 1 to 10."""


@jit(inline=True)
def open_outcomes(S, j, T):
    """Returns the set that chance picks from: counts of cards, or a bit for each pirate."""
    mode_now = mode(S, j)
    if mode_now == DEAL_CARD:
        return next_cards(S, j, T)
    if mode_now == DEAL_HAZARD:
        return get(S, j, HAZARDS_AT) << HAZARD_SHIFT
    if mode_now == DEAL_PIRATE:
        return ALL_PIRATES & ~(ONE << get(S, j, PIRATE_AT))
    pile = aging_pile(S, j)
    normal = pile & ~DIFFICULT
    return normal if normal else pile


@jit(inline=True)
def add_to_pair(S, j, first, second, item):
    """Adds an item to a pair in ascending order; returns whether the pair is complete."""
    other = get(S, j, first)
    put(S, j, first, min(other, item) if other else item)
    put(S, j, second, max(other, item) if other else ZERO)
    return other != ZERO


@jit(inline=True)
def resolve(S, j, kind, T):
    """Applies the pick of chance: a kind of card, or the number of a pirate."""
    mode_now = mode(S, j)
    if mode_now == DEAL_CARD:
        receive(S, j, kind, T)
    elif mode_now == DEAL_HAZARD:
        S[j, HAZARDS] -= one_card(kind, T) >> HAZARD_SHIFT
        if add_to_pair(S, j, HAZARD_AT, SECOND_HAZARD_AT, kind + ONE) or get(S, j, HAZARDS_AT) == ZERO:
            turn_to(S, j, CHOOSE)
    elif mode_now == DEAL_AGING:
        S[j, STATUS] -= (one_card(kind, T) >> AGING_SHIFT) << AGING_AT.shift
        S[j, STACK] += S[j, DISCARD] + one_card(kind, T)
        S[j, DISCARD] = ZERO
        if get(S, j, TO_AT) == TO_SETUP:
            put(S, j, TO_AT, ZERO)
            turn_to(S, j, DEAL_HAZARD)
        else:
            turn_to(S, j, DEAL_CARD)
    elif add_to_pair(S, j, PIRATE_AT, SECOND_PIRATE_AT, kind):
        if T.first_aging:
            put(S, j, TO_AT, TO_SETUP)
            turn_to(S, j, DEAL_AGING)
        else:
            turn_to(S, j, DEAL_HAZARD)


@jit(inline=True)
def first_of(word, pirates, T):
    """Returns the first kind in a counts word (or the first pirate's number), its copies, and the word without it."""
    if pirates:
        return lowest_bit(word), ONE, word & (word - ONE)
    kind = first_kind(word, T)
    return kind, copies_in(word, kind, T), word & ~mask_of(kind, T)


@jit
def chance_outcomes(S, j, P, o, T):
    rest, pirates = open_outcomes(S, j, T), mode(S, j) == DEAL_PIRATE
    n, weight = ZERO, 0.0
    while rest:
        kind, copies, rest = first_of(rest, pirates, T)
        copy_row(S, j, o + n)
        resolve(S, o + n, kind, T)
        P[o + n] = copies
        weight += copies
        n += ONE
    for k in range(n):
        P[o + u64(k)] /= weight
    return np.int64(n)


@jit(inline=True)
def pick(word, rank, pirates, T):
    """Returns the kind of card number `place` in a counts word (or the pirate's number)."""
    while True:
        kind, copies, word = first_of(word, pirates, T)
        if rank < copies:
            return kind
        rank -= copies


@jit
def sample_outcome(S, j, R, T):
    word = open_outcomes(S, j, T)
    pirates = mode(S, j) == DEAL_PIRATE
    n = count_bits(word) if pirates else u64(count_of(digest(word, T)))
    resolve(S, j, pick(word, below(R, n), pirates, T), T)


CANDIDATES = ("all", "few")
"""Names of the sets of actions that a search may consider."""


@jit(inline=True)
def distinct(S, i, A, n, T):
    """Keeps one of several unused cards with the same ability, if it has no target; returns the new number of actions."""
    kept = 0
    seen = ZERO
    for k in range(n):
        if A[k] >= USE:
            kind = kind_in(reference(S, i, u64(A[k] - USE), T))
            ability, amount = fact(kind, ABILITY, T), fact(kind, AMOUNT, T)
            bit = ONE << u64(4 * ability + amount)
            if seen & bit:
                continue
            seen |= bit
        A[kept] = A[k]
        kept += 1
    return kept


@jit(inline=True)
def best_to_double(S, i, A, n, T):
    """Keeps the target with the highest printed value, if it is above 0; returns the new number of actions."""
    best, choice = 0, np.int64(-1)
    for k in range(n):
        value = fact(kind_in(reference(S, i, u64(A[k] - CARD), T)), VALUE, T)
        if value > best:
            best, choice = value, A[k]
    A[0] = choice
    return 0 if choice < 0 else 1


@jit(inline=True)
def removable(S, i, A, n, T):
    """Keeps the end and the cards rated 0 or less; returns the new number of actions."""
    kept = 0
    for k in range(n):
        if A[k] == END or fact(kind_in(reference(S, i, u64(A[k] - CARD), T)), RATING, T) <= 0:
            A[kept] = A[k]
            kept += 1
    return kept


@jit
def few(S, i, A, T):
    """Writes the actions that the source's filters leave, for searches: a turn has too many orders for a full search.

    A pirate that can be beaten is beaten. Of unused cards with the same ability one is used. Only the card with the highest
    value above 0 is doubled, which may leave no action. Only cards rated 0 or less are removed.
    """
    mode_now = mode(S, i)
    if mode_now == IN_FIGHT and pirate(S, i) != ZERO and can_end(S, i, T):
        A[0] = END
        return 1
    n = legal_actions(S, i, A, T)
    if mode_now == IN_FIGHT:
        return distinct(S, i, A, n, T)
    if mode_now == REMOVE:
        return removable(S, i, A, n, T)
    if mode_now == TARGET and get(S, i, KIND_AT) == DOUBLE:
        return best_to_double(S, i, A, n, T)
    return n


@jit
def candidates(S, i, A, T):
    n = few(S, i, A, T) if T.candidates else 0
    return n if n > 0 else legal_actions(S, i, A, T)  # a doubling that has begun needs a target, even a worthless one
