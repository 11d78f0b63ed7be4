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
from leafwise.envs.friday import fight, piles
from leafwise.envs.friday import layout as at
from leafwise.envs.friday.abilities import aim, ask_for_card, draw_more, pick_looked, stop, use
from leafwise.envs.friday.cards import COPY, DOUBLE, DRAW, EXCHANGE, NONE, SORT
from leafwise.envs.friday.endings import clear_table, discard_hazard, end_hazard, end_pirate, end_turn, go_on, pay
from leafwise.envs.friday.layout import ONE, ZERO, get, life, mode, on_table, phase, put
from leafwise.envs.friday.tables import ABILITY, COST, at_start, fact, first_kind, group, mask_of

STAGES = ("decision", "pirate", "aging", "hazard", "card")


@jit
def initial_state(S, i, T):
    for w in range(at.WIDTH):
        S[i, w] = ZERO
    S[i, at.STACK] = at_start(0, T)
    S[i, at.HAZARDS] = at_start(1, T) >> at.HAZARD_SHIFT
    put(S, i, at.LIFE_AT, T.start_life)
    put(S, i, at.AGING_AT, at_start(2, T) >> at.AGING_SHIFT)
    put(S, i, at.MODE_AT, at.DEAL_PIRATE)


@jit(inline=True)
def stage(S, i, T):
    here = mode(S, i)
    return np.int64(here) + 1 if here <= at.DEAL_CARD else 0


@jit(inline=True)
def current_player(S, i, T):
    here = mode(S, i)
    if here <= at.DEAL_CARD:
        return CHANCE
    return TERMINAL if here >= at.WON else 0


@jit(inline=True)
def returns(S, i, T):
    return 1.0 if mode(S, i) == at.WON else 0.0


@jit(inline=True)
def may_use(S, i, kind, doubled, T):
    ability = fact(kind, ABILITY, T)
    return ability > 0 and fight.usable(S, i, ability, doubled, T)


@jit(inline=True)
def may_be_target(S, i, ref, n, ability, T):
    """Whether one of n cards of a reference may be the target of the ability under way."""
    acting = piles.acting_reference(S, i)
    if ref == acting and n == ONE:
        return False
    if ability == u64(COPY):
        copied = fact(piles.kind_in(ref), ABILITY, T)
        doubled = 1 if acting & u64(7) else 0
        return copied > 0 and copied != COPY and fight.usable_itself(S, i, copied, doubled, T)
    return ability != u64(DOUBLE) or ref & u64(7) == ZERO


@jit(inline=True)
def able(T):
    """Returns the fields of the kinds with an ability."""
    return ((ONE << at.AGING_SHIFT) - ONE) & ~group(2, NONE, T)


@jit
def offer_cards(S, i, here, A, n, T):
    """Adds the slots of cards on the table that may be used, aimed at or removed; of cards alike only the first."""
    slot = ZERO
    ability = get(S, i, at.KIND_AT)
    points = np.int64(get(S, i, at.POINTS_AT))
    lowest = get(S, i, at.FROM_AT)
    if here == at.IN_FIGHT and (S[i, at.LEFT] | S[i, at.RIGHT]) & able(T) == ZERO:
        return n
    doubled = S[i, at.DOUBLED]
    for s in range(2):
        side = u64(s)
        kinds = S[i, at.table_word(side, ZERO)] | S[i, at.table_word(side, ONE)]
        while kinds:
            kind = first_kind(kinds, T)
            kinds &= ~mask_of(kind, T)
            for u in range(2):
                used = u64(u)
                of_kind = piles.copies_in(S[i, at.table_word(side, used)], kind, T)
                if of_kind == ZERO:
                    continue
                code = piles.code_of(kind, side, used)
                entries = piles.entries_of(doubled, code)
                for d in range(5 if entries else 1):
                    alike = of_kind - entries if d == 0 else ZERO
                    if d > 0:
                        alike = piles.count_entries(
                            doubled, (code << at.TWO) | u64(d - 1), (code << at.TWO) | u64(d - 1)
                        )
                    if alike == ZERO:
                        continue
                    ref = (code << at.THREE) | u64(d)
                    if here == at.IN_FIGHT:
                        legal = u == 0 and may_use(S, i, kind, min(d, 1), T)
                    elif here == at.TARGET:
                        legal = may_be_target(S, i, ref, alike, ability, T)
                    else:
                        legal = kind >= lowest and fact(kind, COST, T) <= points
                    if legal:
                        A[n] = np.int64(slot) + (at.USE if here == at.IN_FIGHT else at.CARD)
                        n += 1
                    slot += alike
    return n


@jit(inline=True)
def offer_looked(S, i, A, n):
    """Adds the places of cards looked at; of cards alike only the first."""
    cards = piles.looked(S, i)
    before = ZERO
    place = 0
    while cards:
        if cards & at.CARD_MASK != before:
            A[n] = at.CARD + place
            n += 1
        before = cards & at.CARD_MASK
        cards >>= at.CARD_BITS
        place += 1
    return n


@jit
def legal_actions(S, i, A, T):
    here = mode(S, i)
    n = 0
    if here == at.IN_FIGHT:
        if fight.free_left(S, i, T):
            A[n] = at.FREE
            n += 1
        elif fight.can_pay(S, i, T):
            A[n] = at.PAY
            n += 1
        if fight.can_end(S, i, T):
            A[n] = at.END
            n += 1
        if get(S, i, at.USES_AT) < at.MAX_USES:
            n = offer_cards(S, i, here, A, n, T)
        return n
    if here == at.CHOOSE:
        first, second = get(S, i, at.HAZARD_AT), get(S, i, at.SECOND_HAZARD_AT)
        A[0] = at.FIRST
        if phase(S, i) == at.THREE or (second != ZERO and second != first):
            A[1] = at.SECOND
        elif second == ZERO:
            A[1] = at.REJECT
        else:
            return 1
        return 2
    ability = get(S, i, at.KIND_AT)
    if here != at.ORDER and (here != at.TARGET or ability == at.EXCHANGE_AGAIN):
        A[n] = at.END
        n += 1
    if here == at.OFFER:
        A[n] = at.DRAW_MORE
        return n + 1
    if here in (at.ARRANGE, at.ORDER):
        return offer_looked(S, i, A, n)
    return offer_cards(S, i, here, A, n, T)


@jit(inline=True)
def choose(S, j, a, T):
    """Chooses a hazard or a pirate."""
    if phase(S, j) == at.THREE:
        put(S, j, at.FOUGHT_AT, ONE if a == at.FIRST else at.TWO)
        go_on(S, j, T)
        return
    first, second = get(S, j, at.HAZARD_AT), get(S, j, at.SECOND_HAZARD_AT)
    put(S, j, at.SECOND_HAZARD_AT, ZERO)
    if a == at.REJECT:
        discard_hazard(S, j, first - ONE, T)
        end_turn(S, j)
        return
    other = first if a == at.SECOND else second
    put(S, j, at.HAZARD_AT, second if a == at.SECOND else first)
    if other != ZERO:
        discard_hazard(S, j, other - ONE, T)
    put(S, j, at.MODE_AT, at.IN_FIGHT)


@jit(inline=True)
def remove(S, j, slot, T):
    """Removes a card from the game after a lost fight."""
    kind = piles.kind_in(piles.reference(S, j, slot, T))
    S[j, at.LEFT] -= piles.one_card(kind, T)
    put(S, j, at.FROM_AT, kind)
    put(S, j, at.POINTS_AT, get(S, j, at.POINTS_AT) - u64(fact(kind, COST, T)))


@jit
def apply_action(S, i, a, j, T):
    if i != j:
        copy_row(S, i, j)
    here = mode(S, j)
    if a == at.FREE:
        put(S, j, at.FREE_AT, get(S, j, at.FREE_AT) + ONE)
        ask_for_card(S, j, at.TO_LEFT, T)
    elif a == at.PAY:
        pay(S, j, fight.price(S, j))
        ask_for_card(S, j, at.TO_RIGHT, T)
    elif a == at.DRAW_MORE:
        draw_more(S, j, T)
    elif a == at.END:
        if here == at.REMOVE:
            clear_table(S, j)
            end_turn(S, j)
        elif here != at.IN_FIGHT:
            stop(S, j, T)
        elif fight.pirate(S, j) != ZERO:
            end_pirate(S, j, T)
        else:
            end_hazard(S, j, T)
    elif a < at.USE:
        choose(S, j, a, T)
    elif a < at.CARD:
        use(S, j, u64(a - at.USE), T)
    elif here == at.TARGET:
        aim(S, j, u64(a - at.CARD), T)
    elif here == at.REMOVE:
        remove(S, j, u64(a - at.CARD), T)
    else:
        pick_looked(S, j, u64(a - at.CARD), T)


@jit
def action_cost(S, i, a, T):
    """Counts 1 for an action that reveals a card: after it chance acts."""
    here = mode(S, i)
    if a in (at.FREE, at.PAY, at.DRAW_MORE):
        return 1
    if a == at.END:
        if here == at.REMOVE:
            return 1
        if here != at.IN_FIGHT or fight.pirate(S, i) != ZERO:
            return 0
        won = fight.total(S, i, T) >= fight.hazard_value(S, i, T)
        return 1 if won and np.int64(life(S, i)) >= piles.hunger_of(piles.digest(on_table(S, i), T)) else 0
    if a < at.USE:
        return 1 if a == at.REJECT else 0
    if here in (at.IN_FIGHT, at.TARGET):
        slot = u64(a - at.USE if a < at.CARD else a - at.CARD)
        ability = get(S, i, at.KIND_AT)
        if here == at.TARGET and ability != u64(COPY):
            return 1 if ability == u64(EXCHANGE) or ability == at.EXCHANGE_AGAIN else 0
        ability = u64(fact(piles.kind_in(piles.reference(S, i, slot, T)), ABILITY, T))
        return 1 if ability == u64(DRAW) or ability == u64(SORT) else 0
    return 0
