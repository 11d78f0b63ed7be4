"""Abilities step by step: their start, targets, draws and end."""

from __future__ import annotations

from leafwise.envs.core.compile.jit import jit
from leafwise.envs.core.contract.stream import u64
from leafwise.envs.friday.cards import BELOW, COPY, DESTROY, DOUBLE, DRAW, EXCHANGE, LIFE, PHASE, SORT
from leafwise.envs.friday.fight import go_on, lose
from leafwise.envs.friday.layout import (
    ABILITY,
    ACTING_AT,
    AMOUNT,
    ARRANGE,
    CARD_BITS,
    CARD_MASK,
    DEAL_AGING,
    DEAL_CARD,
    DISCARD,
    DOUBLED,
    DOUBLER,
    DOWN,
    ENTRY_BITS,
    EXCHANGE_AGAIN,
    FOUR,
    KIND_AT,
    LEFT,
    LIFE_AT,
    LOOKED_AT,
    LOWERED_AT,
    LOWERER,
    M3,
    OFFER,
    ONE,
    ORDER,
    RIGHT,
    RUIN,
    STACK,
    STEPS_AT,
    TARGET,
    THREE,
    TO_AT,
    TO_LEFT,
    TO_LOOK,
    TO_RIGHT,
    TWO,
    USES_AT,
    ZERO,
    acting_reference,
    aging_pile,
    can_draw,
    fact,
    get,
    kind_in,
    life,
    looked,
    mark_used,
    mode,
    one_card,
    push_back,
    put,
    put_on_top,
    reference,
    side_in,
    take_off,
    take_top,
    turn_to,
    with_item,
    without_item,
)


@jit
def renew_stack(S, j, T):
    """Refills an empty stack: chance first picks an aging card, if there is one; without any card the game is lost."""
    if aging_pile(S, j) != ZERO:
        turn_to(S, j, DEAL_AGING)
    elif can_draw(S, j, T):
        S[j, STACK] = S[j, DISCARD]
        S[j, DISCARD] = ZERO
    else:
        put(S, j, TO_AT, ZERO)
        lose(S, j, RUIN)


@jit(inline=True)
def ask_for_card(S, j, to, T):
    """Asks chance for a card for the left side, the right side or the cards looked at; refills an empty stack first."""
    put(S, j, TO_AT, to)
    turn_to(S, j, DEAL_CARD)
    if S[j, STACK] == ZERO:
        renew_stack(S, j, T)


@jit
def begin(S, j, kind, T):
    """Begins the ability of a kind of card; the acting card is stored already."""
    ability, amount = fact(kind, ABILITY, T), u64(fact(kind, AMOUNT, T))
    acting = kind_in(acting_reference(S, j))
    put(S, j, KIND_AT, u64(ability))
    if ability == LIFE:
        put(S, j, LIFE_AT, min(T.max_life, life(S, j) + amount))
        go_on(S, j, T)
    elif ability == PHASE:
        lowered = get(S, j, LOWERED_AT) | u64(fact(acting, LOWERER, T))
        put(S, j, LOWERED_AT, lowered)
        go_on(S, j, T)
    elif ability == DRAW:
        put(S, j, STEPS_AT, amount - ONE)
        ask_for_card(S, j, TO_RIGHT, T)
    elif ability == SORT:
        ask_for_card(S, j, TO_LOOK, T)
    else:
        put(S, j, STEPS_AT, amount)
        turn_to(S, j, TARGET)


@jit(inline=True)
def use(S, j, slot, T):
    """Uses the ability of the card in a slot."""
    ref = reference(S, j, slot, T)
    mark_used(S, j, ref, T)
    put(S, j, USES_AT, get(S, j, USES_AT) + ONE)
    put(S, j, ACTING_AT, ((ref >> FOUR) << THREE) | (ref & M3))
    begin(S, j, kind_in(ref), T)


@jit
def aim(S, j, slot, T):
    """Applies the current ability to the card in a slot."""
    ref = reference(S, j, slot, T)
    kind, side = kind_in(ref), side_in(ref)
    ability = get(S, j, KIND_AT)
    if ability == COPY:
        begin(S, j, kind, T)
    elif ability == DOUBLE:
        by = u64(fact(kind_in(acting_reference(S, j)), DOUBLER, T)) if T.needs_source else ZERO
        S[j, DOUBLED] = with_item(S[j, DOUBLED], ENTRY_BITS, ((ref >> THREE) << TWO) | by)
        go_on(S, j, T)
    else:
        take_off(S, j, ref, T)
        if ability == DESTROY:
            if T.face_down:
                S[j, DOWN] += one_card(kind, T)
            go_on(S, j, T)
        elif ability == BELOW:
            push_back(S, j, kind, T)
            if side == ZERO:
                turn_to(S, j, OFFER)
            else:
                go_on(S, j, T)
        else:
            S[j, DISCARD] += one_card(kind, T)
            put(S, j, STEPS_AT, get(S, j, STEPS_AT) - ONE)
            ask_for_card(S, j, TO_RIGHT if side else TO_LEFT, T)


@jit
def draw_more(S, j, T):
    """Takes the card that the current ability offers."""
    ability = get(S, j, KIND_AT)
    to = TO_LOOK if ability == SORT else TO_LEFT
    if ability == DRAW:
        put(S, j, STEPS_AT, get(S, j, STEPS_AT) - ONE)
        to = TO_RIGHT
    ask_for_card(S, j, to, T)


@jit
def stop(S, j, T):
    """Ends the current ability, if it may stop."""
    if get(S, j, KIND_AT) != SORT:
        go_on(S, j, T)
    elif mode(S, j) == OFFER:
        turn_to(S, j, ARRANGE)
    else:
        put_back_rest(S, j, T)


@jit
def put_back_rest(S, j, T):
    """Puts the cards looked at back on top if their order makes no difference; otherwise the player orders them."""
    cards_left = looked(S, j)
    rest = cards_left
    first = rest & CARD_MASK
    while rest:
        if rest & CARD_MASK != first:
            turn_to(S, j, ORDER)
            return
        rest >>= CARD_BITS
    while cards_left:
        put_on_top(S, j, first - ONE, T)
        cards_left >>= CARD_BITS
    go_on(S, j, T)


@jit
def pick_looked(S, j, index, T):
    """Discards a card that was looked at (ARRANGE), or puts it back on top of the stack (ORDER)."""
    card = (looked(S, j) >> (CARD_BITS * index)) & CARD_MASK
    kind = card - ONE
    put(S, j, LOOKED_AT, without_item(looked(S, j), CARD_BITS, card))
    if mode(S, j) == ARRANGE:
        S[j, DISCARD] += one_card(kind, T)
    else:
        put_on_top(S, j, kind, T)
    put_back_rest(S, j, T)


@jit(inline=True)
def receive(S, j, kind, T):
    """Puts the card that chance has drawn in its place, and continues the current ability."""
    take_top(S, j, kind, T)
    to = get(S, j, TO_AT)
    put(S, j, TO_AT, ZERO)
    if to == TO_LOOK:
        put(S, j, LOOKED_AT, with_item(looked(S, j), CARD_BITS, kind + ONE))
        more = looked(S, j) >> (TWO * CARD_BITS) == ZERO and can_draw(S, j, T)
        turn_to(S, j, OFFER if more else ARRANGE)
        return
    S[j, RIGHT if to == TO_RIGHT else LEFT] += one_card(kind, T)
    ability = get(S, j, KIND_AT)
    steps = get(S, j, STEPS_AT)
    if ability == DRAW and steps > ZERO and can_draw(S, j, T):
        turn_to(S, j, OFFER)
    elif ability == EXCHANGE and steps > ZERO and can_draw(S, j, T, ONE):
        put(S, j, KIND_AT, EXCHANGE_AGAIN)
        turn_to(S, j, TARGET)
    else:
        go_on(S, j, T)
