"""The rules of Friday as functions on rows of twelve words (`layout`).

A row holds what the player knows: which cards lie in every pile, which of them lie where (after "sort" and "below the pile"), the
table, and the step that is under way. The four kinds of chance are: a pirate, an aging card, a hazard, a card. Rules: Friedemann
Friese, "Freitag", 2011.

Rulings where the booklet is silent: a doubling that lost its source frees its target to be doubled again; phase -1 is not offered
where it has no effect; with `double_needs_source=False` at most six cards are doubled at a time; cards removed after a lost fight
go one after another, by kind; cards looked at are put back one after another, the last ends on top.
"""

from __future__ import annotations

import numpy as np

from leafwise.envs.core.compile.jit import jit
from leafwise.envs.core.contract.rules import CHANCE, TERMINAL, copy_row
from leafwise.envs.core.contract.stream import u64
from leafwise.envs.friday.abilities import aim, ask_for_card, draw_more, pick_looked, stop, use
from leafwise.envs.friday.cards import COPY, DOUBLE, DRAW, EXCHANGE, SORT
from leafwise.envs.friday.endings import clear_table, discard_hazard, end_hazard, end_pirate, end_turn, go_on, pay
from leafwise.envs.friday.fight import (
    can_end,
    can_pay,
    free_left,
    hazard_value,
    hunger_of,
    pirate,
    price,
    total,
    usable,
    usable_itself,
)
from leafwise.envs.friday.layout import (
    AGING_AT,
    AGING_SHIFT,
    ARRANGE,
    CARD,
    CARD_BITS,
    CARD_MASK,
    CHOOSE,
    DEAL_CARD,
    DEAL_PIRATE,
    DOUBLED,
    DRAW_MORE,
    END,
    EXCHANGE_AGAIN,
    FIGHT,
    FIRST,
    FOUGHT_AT,
    FREE,
    FREE_AT,
    FROM_AT,
    HAZARD_AT,
    HAZARD_SHIFT,
    HAZARDS,
    IN_FIGHT,
    KIND_AT,
    LEFT,
    LIFE_AT,
    M2,
    M4,
    M5,
    M6,
    M7,
    MAX_USES,
    MODE_AT,
    OFFER,
    ONE,
    ORDER,
    PAY,
    POINTS_AT,
    REJECT,
    REMOVE,
    SECOND,
    SECOND_HAZARD_AT,
    STACK,
    STATUS,
    TARGET,
    THREE,
    TO_LEFT,
    TO_RIGHT,
    TWO,
    USE,
    USES_AT,
    WIDTH,
    WON,
    ZERO,
    get,
    life,
    mode,
    on_table,
    phase,
    set_fight,
    set_status,
    table_word,
)
from leafwise.envs.friday.piles import (
    acting_reference,
    code_of,
    copies_in,
    count_entry,
    digest,
    entries_of,
    kind_in,
    looked,
    one_card,
    reference,
)
from leafwise.envs.friday.tables import ABILITY, COST, at_start, fact, first_kind, mask_of

STAGES = ("decision", "pirate", "aging", "hazard", "card")


@jit
def initial_state(S, i, T):
    for w in range(WIDTH):
        S[i, w] = ZERO
    S[i, STACK] = at_start(0, T)
    S[i, HAZARDS] = at_start(1, T) >> HAZARD_SHIFT
    aging = at_start(2, T) >> AGING_SHIFT
    S[i, STATUS] = (T.start_life << LIFE_AT) | (aging << AGING_AT) | (DEAL_PIRATE << MODE_AT)


@jit(inline=True)
def stage(S, i, T):
    here = mode(S, i)
    return np.int64(here) + 1 if here <= DEAL_CARD else 0


@jit(inline=True)
def current_player(S, i, T):
    here = mode(S, i)
    if here <= DEAL_CARD:
        return CHANCE
    return TERMINAL if here >= WON else 0


@jit(inline=True)
def returns(S, i, T):
    return 1.0 if mode(S, i) == WON else 0.0


@jit(inline=True)
def may_use(S, i, kind, doubled, T):
    ability = fact(kind, ABILITY, T)
    return ability > 0 and usable(S, i, ability, doubled, T)


@jit(inline=True)
def may_be_target(S, i, ref, n, ability, T):
    """Whether one of n cards of a reference may be the target of the ability under way."""
    acting = acting_reference(S, i)
    if ref == acting and n == ONE:
        return False
    if ability == u64(COPY):
        copied = fact(kind_in(ref), ABILITY, T)
        doubled = 1 if acting & u64(7) else 0
        return copied > 0 and copied != COPY and usable_itself(S, i, copied, doubled, T)
    return ability != u64(DOUBLE) or ref & u64(7) == ZERO


@jit
def offer_cards(S, i, here, A, n, T):
    """Adds the slots of cards on the table that may be used, aimed at or removed; of cards alike only the first."""
    slot = ZERO
    ability = get(S[i, FIGHT], KIND_AT, M4)
    points = np.int64(get(S[i, FIGHT], POINTS_AT, M5))
    lowest = get(S[i, FIGHT], FROM_AT, M6)
    doubled = S[i, DOUBLED]
    for s in range(2):
        side = u64(s)
        kinds = S[i, table_word(side, ZERO)] | S[i, table_word(side, ONE)]
        while kinds:
            kind = first_kind(kinds, T)
            kinds &= ~mask_of(kind, T)
            for u in range(2):
                used = u64(u)
                of_kind = copies_in(S[i, table_word(side, used)], kind, T)
                if of_kind == ZERO:
                    continue
                code = code_of(kind, side, used)
                entries = entries_of(doubled, code)
                for d in range(5 if entries else 1):
                    alike = of_kind - entries if d == 0 else ZERO
                    if d > 0:
                        alike = count_entry(doubled, (code << TWO) | u64(d - 1))
                    if alike == ZERO:
                        continue
                    ref = (code << THREE) | u64(d)
                    if here == IN_FIGHT:
                        legal = u == 0 and may_use(S, i, kind, min(d, 1), T)
                    elif here == TARGET:
                        legal = may_be_target(S, i, ref, alike, ability, T)
                    else:
                        legal = kind >= lowest and fact(kind, COST, T) <= points
                    if legal:
                        A[n] = np.int64(slot) + (USE if here == IN_FIGHT else CARD)
                        n += 1
                    slot += alike
    return n


@jit
def offer_looked(S, i, A, n):
    """Adds the places of cards looked at; of cards alike only the first."""
    cards = looked(S, i)
    before = ZERO
    place = 0
    while cards:
        if cards & CARD_MASK != before:
            A[n] = CARD + place
            n += 1
        before = cards & CARD_MASK
        cards >>= CARD_BITS
        place += 1
    return n


@jit
def legal_actions(S, i, A, T):
    here = mode(S, i)
    n = 0
    if here == IN_FIGHT:
        if free_left(S, i, T):
            A[n] = FREE
            n += 1
        elif can_pay(S, i, T):
            A[n] = PAY
            n += 1
        if can_end(S, i, T):
            A[n] = END
            n += 1
        if get(S[i, FIGHT], USES_AT, M7) < MAX_USES:
            n = offer_cards(S, i, here, A, n, T)
        return n
    if here == CHOOSE:
        first, second = get(S[i, STATUS], HAZARD_AT, M6), get(S[i, STATUS], SECOND_HAZARD_AT, M6)
        A[0] = FIRST
        if phase(S, i) == THREE or (second != ZERO and second != first):
            A[1] = SECOND
        elif second == ZERO:
            A[1] = REJECT
        else:
            return 1
        return 2
    ability = get(S[i, FIGHT], KIND_AT, M4)
    if here != ORDER and (here != TARGET or ability == EXCHANGE_AGAIN):
        A[n] = END
        n += 1
    if here == OFFER:
        A[n] = DRAW_MORE
        return n + 1
    if here in (ARRANGE, ORDER):
        return offer_looked(S, i, A, n)
    return offer_cards(S, i, here, A, n, T)


@jit
def choose(S, j, a, T):
    """Chooses a hazard or a pirate."""
    if phase(S, j) == THREE:
        set_status(S, j, FOUGHT_AT, M2, ONE if a == FIRST else TWO)
        go_on(S, j, T)
        return
    first, second = get(S[j, STATUS], HAZARD_AT, M6), get(S[j, STATUS], SECOND_HAZARD_AT, M6)
    set_status(S, j, SECOND_HAZARD_AT, M6, ZERO)
    if a == REJECT:
        discard_hazard(S, j, first - ONE, T)
        end_turn(S, j)
        return
    other = first if a == SECOND else second
    set_status(S, j, HAZARD_AT, M6, second if a == SECOND else first)
    if other != ZERO:
        discard_hazard(S, j, other - ONE, T)
    set_status(S, j, MODE_AT, M4, IN_FIGHT)


@jit
def remove(S, j, slot, T):
    """Removes a card from the game after a lost fight."""
    kind = kind_in(reference(S, j, slot, T))
    S[j, LEFT] -= one_card(kind, T)
    set_fight(S, j, FROM_AT, M6, kind)
    set_fight(S, j, POINTS_AT, M5, get(S[j, FIGHT], POINTS_AT, M5) - u64(fact(kind, COST, T)))


@jit
def apply_action(S, i, a, j, T):
    if i != j:
        copy_row(S, i, j)
    here = mode(S, j)
    if a == FREE:
        set_fight(S, j, FREE_AT, M7, get(S[j, FIGHT], FREE_AT, M7) + ONE)
        ask_for_card(S, j, TO_LEFT, T)
    elif a == PAY:
        pay(S, j, price(S, j))
        ask_for_card(S, j, TO_RIGHT, T)
    elif a == DRAW_MORE:
        draw_more(S, j, T)
    elif a == END:
        if here == REMOVE:
            clear_table(S, j)
            end_turn(S, j)
        elif here != IN_FIGHT:
            stop(S, j, T)
        elif pirate(S, j) != ZERO:
            end_pirate(S, j, T)
        else:
            end_hazard(S, j, T)
    elif a < USE:
        choose(S, j, a, T)
    elif a < CARD:
        use(S, j, u64(a - USE), T)
    elif here == TARGET:
        aim(S, j, u64(a - CARD), T)
    elif here == REMOVE:
        remove(S, j, u64(a - CARD), T)
    else:
        pick_looked(S, j, u64(a - CARD), T)


@jit
def action_cost(S, i, a, T):
    """Counts 1 for an action that reveals a card: after it chance acts."""
    here = mode(S, i)
    if a in (FREE, PAY, DRAW_MORE):
        return 1
    if a == END:
        if here == REMOVE:
            return 1
        if here != IN_FIGHT or pirate(S, i) != ZERO:
            return 0
        won = total(S, i, T) >= hazard_value(S, i, T)
        return 1 if won and np.int64(life(S, i)) >= hunger_of(digest(on_table(S, i), T)) else 0
    if a < USE:
        return 1 if a == REJECT else 0
    if here in (IN_FIGHT, TARGET):
        slot = u64(a - USE if a < CARD else a - CARD)
        ability = get(S[i, FIGHT], KIND_AT, M4)
        if here == TARGET and ability != u64(COPY):
            return 1 if ability == u64(EXCHANGE) or ability == EXCHANGE_AGAIN else 0
        ability = u64(fact(kind_in(reference(S, i, slot, T)), ABILITY, T))
        return 1 if ability == u64(DRAW) or ability == u64(SORT) else 0
    return 0
