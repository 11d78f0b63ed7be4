"""Abilities step by step: beginning one, its targets, its draws, and how it ends."""

from __future__ import annotations

from leafwise.envs.core.compile.jit import jit
from leafwise.envs.core.contract.stream import u64
from leafwise.envs.friday import layout as at
from leafwise.envs.friday.cards import BELOW, COPY, DESTROY, DOUBLE, DRAW, EXCHANGE, LIFE, PHASE, SORT
from leafwise.envs.friday.fight import go_on, lose
from leafwise.envs.friday.layout import (
    ABILITY,
    AMOUNT,
    DOUBLER,
    LOWERER,
    ONE,
    ZERO,
    aging_pile,
    fact,
    get,
    life,
    mode,
    put,
    turn_to,
)


@jit
def renew_stack(S, j, T):
    """Makes an empty stack anew: chance picks an aging card first, if there is one; without any card the game is lost."""
    if aging_pile(S, j) != ZERO:
        turn_to(S, j, at.DEAL_AGING)
    elif at.can_draw(S, j, T):
        S[j, at.STACK] = S[j, at.DISCARD]
        S[j, at.DISCARD] = ZERO
    else:
        put(S, j, at.TO_AT, ZERO)
        lose(S, j, at.RUIN)


@jit(inline=True)
def ask_for_card(S, j, to, T):
    """Asks chance for a card that goes to the left, the right or the looker's hand; an empty stack is made anew first."""
    put(S, j, at.TO_AT, to)
    turn_to(S, j, at.DEAL_CARD)
    if S[j, at.STACK] == ZERO:
        renew_stack(S, j, T)


@jit
def begin(S, j, kind, T):
    """Begins the ability of a kind of card; the acting card is noted already."""
    ability, amount = fact(kind, ABILITY, T), u64(fact(kind, AMOUNT, T))
    acting = at.kind_in(at.acting_reference(S, j))
    put(S, j, at.KIND_AT, u64(ability))
    if ability == LIFE:
        put(S, j, at.LIFE_AT, min(T.max_life, life(S, j) + amount))
        go_on(S, j, T)
    elif ability == PHASE:
        lowered = get(S, j, at.LOWERED_AT) | u64(fact(acting, LOWERER, T))
        put(S, j, at.LOWERED_AT, lowered)
        go_on(S, j, T)
    elif ability == DRAW:
        put(S, j, at.STEPS_AT, amount - ONE)
        ask_for_card(S, j, at.TO_RIGHT, T)
    elif ability == SORT:
        ask_for_card(S, j, at.TO_LOOK, T)
    else:
        put(S, j, at.STEPS_AT, amount)
        turn_to(S, j, at.TARGET)


@jit(inline=True)
def use(S, j, slot, T):
    """Uses the ability of the card in a slot."""
    ref = at.reference(S, j, slot, T)
    at.mark_used(S, j, ref, T)
    put(S, j, at.USES_AT, get(S, j, at.USES_AT) + ONE)
    put(S, j, at.ACTING_AT, ((ref >> at.FOUR) << at.THREE) | (ref & at.M3))
    begin(S, j, at.kind_in(ref), T)


@jit
def aim(S, j, slot, T):
    """Applies the ability under way to the card in a slot."""
    ref = at.reference(S, j, slot, T)
    kind, side = at.kind_in(ref), at.side_in(ref)
    ability = get(S, j, at.KIND_AT)
    if ability == COPY:
        begin(S, j, kind, T)
    elif ability == DOUBLE:
        by = u64(fact(at.kind_in(at.acting_reference(S, j)), DOUBLER, T)) if T.needs_source else ZERO
        S[j, at.DOUBLED] = at.with_item(S[j, at.DOUBLED], at.ENTRY_BITS, ((ref >> at.THREE) << at.TWO) | by)
        go_on(S, j, T)
    else:
        at.take_off(S, j, ref, T)
        if ability == DESTROY:
            if T.face_down:
                S[j, at.DOWN] += at.one_card(kind, T)
            go_on(S, j, T)
        elif ability == BELOW:
            at.push_back(S, j, kind, T)
            if side == ZERO:
                turn_to(S, j, at.OFFER)
            else:
                go_on(S, j, T)
        else:
            S[j, at.DISCARD] += at.one_card(kind, T)
            put(S, j, at.STEPS_AT, get(S, j, at.STEPS_AT) - ONE)
            ask_for_card(S, j, at.TO_RIGHT if side else at.TO_LEFT, T)


@jit
def draw_more(S, j, T):
    """Takes the card that the ability under way offers."""
    ability = get(S, j, at.KIND_AT)
    to = at.TO_LOOK if ability == SORT else at.TO_LEFT
    if ability == DRAW:
        put(S, j, at.STEPS_AT, get(S, j, at.STEPS_AT) - ONE)
        to = at.TO_RIGHT
    ask_for_card(S, j, to, T)


@jit
def stop(S, j, T):
    """Ends the ability under way where it may stop."""
    if get(S, j, at.KIND_AT) != SORT:
        go_on(S, j, T)
    elif mode(S, j) == at.OFFER:
        turn_to(S, j, at.ARRANGE)
    else:
        put_back_rest(S, j, T)


@jit
def put_back_rest(S, j, T):
    """Puts the cards looked at back on top if their order makes no difference; else the player orders them."""
    cards_left = at.looked(S, j)
    first = cards_left & at.CARD_MASK
    same = True
    rest = cards_left
    while rest:
        same = same and rest & at.CARD_MASK == first
        rest >>= at.CARD_BITS
    if not same:
        turn_to(S, j, at.ORDER)
        return
    while cards_left:
        at.put_on_top(S, j, first - ONE, T)
        cards_left >>= at.CARD_BITS
    go_on(S, j, T)


@jit
def pick_looked(S, j, place, T):
    """Discards a card that was looked at (ARRANGE), or puts it back on top of the stack (ORDER)."""
    card = (at.looked(S, j) >> (at.CARD_BITS * place)) & at.CARD_MASK
    kind = card - ONE
    put(S, j, at.LOOKED_AT, at.without_item(at.looked(S, j), at.CARD_BITS, card))
    if mode(S, j) == at.ARRANGE:
        S[j, at.DISCARD] += at.one_card(kind, T)
    else:
        at.put_on_top(S, j, kind, T)
    put_back_rest(S, j, T)


@jit(inline=True)
def receive(S, j, kind, T):
    """Takes the card that chance has drawn to where it goes, and goes on with what was under way."""
    at.take_top(S, j, kind, T)
    to = get(S, j, at.TO_AT)
    put(S, j, at.TO_AT, ZERO)
    if to == at.TO_LOOK:
        put(S, j, at.LOOKED_AT, at.with_item(at.looked(S, j), at.CARD_BITS, kind + ONE))
        more = at.looked(S, j) >> (at.TWO * at.CARD_BITS) == ZERO and at.can_draw(S, j, T)
        turn_to(S, j, at.OFFER if more else at.ARRANGE)
        return
    S[j, at.RIGHT if to == at.TO_RIGHT else at.LEFT] += at.one_card(kind, T)
    ability = get(S, j, at.KIND_AT)
    steps = get(S, j, at.STEPS_AT)
    if ability == DRAW and steps > ZERO and at.can_draw(S, j, T):
        turn_to(S, j, at.OFFER)
    elif ability == EXCHANGE and steps > ZERO and at.can_draw(S, j, T, ONE):
        put(S, j, at.KIND_AT, at.EXCHANGE_AGAIN)
        turn_to(S, j, at.TARGET)
    else:
        go_on(S, j, T)
