"""Abilities step by step: beginning one, its targets, its draws, and how it ends."""

from __future__ import annotations

from leafwise.envs.core.compile.jit import jit
from leafwise.envs.core.contract.stream import u64
from leafwise.envs.friday.cards import BELOW, COPY, DESTROY, DOUBLE, DRAW, EXCHANGE, LIFE, PHASE, SORT
from leafwise.envs.friday.endings import go_on, lose
from leafwise.envs.friday.layout import (
    ACTING_AT,
    ACTING_MASK,
    ARRANGE,
    CARD_BITS,
    CARD_MASK,
    DEAL_AGING,
    DEAL_CARD,
    DISCARD,
    DOUBLED,
    DOWN,
    EXCHANGE_AGAIN,
    FIGHT,
    FOUR,
    KIND_AT,
    KNOWN,
    LEFT,
    LIFE_AT,
    LOOKED_AT,
    LOWERED_AT,
    M2,
    M3,
    M4,
    M5,
    M7,
    M18,
    MODE_AT,
    OFFER,
    ONE,
    ORDER,
    RIGHT,
    RUIN,
    STACK,
    STATUS,
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
    aging_pile,
    get,
    life,
    mode,
    set_fight,
    set_status,
)
from leafwise.envs.friday.piles import (
    acting_reference,
    can_draw,
    can_exchange,
    kind_in,
    looked,
    mark_used,
    one_card,
    push_back,
    put_on_top,
    reference,
    side_in,
    take_off,
    take_top,
    with_entry,
    with_looked,
    without_looked,
)
from leafwise.envs.friday.tables import ABILITY, AMOUNT, DOUBLER, LOWERER, fact


@jit
def ask_for_card(S, j, to, T):
    """Asks chance for a card that goes to the left, the right or the looker's hand; an empty stack is made anew first."""
    set_status(S, j, TO_AT, M2, to)
    next_mode = DEAL_CARD
    if S[j, STACK] == ZERO:
        if aging_pile(S, j) != ZERO:
            next_mode = DEAL_AGING
        elif can_draw(S, j, T):
            S[j, STACK] = S[j, DISCARD]
            S[j, DISCARD] = ZERO
        else:
            set_status(S, j, TO_AT, M2, ZERO)
            lose(S, j, RUIN)
            return
    set_status(S, j, MODE_AT, M4, next_mode)


@jit
def begin(S, j, kind, T):
    """Begins the ability of a kind of card; the acting card is noted already."""
    ability, amount = fact(kind, ABILITY, T), u64(fact(kind, AMOUNT, T))
    acting = kind_in(acting_reference(S, j))
    set_fight(S, j, KIND_AT, M4, u64(ability))
    if ability == LIFE:
        set_status(S, j, LIFE_AT, M5, min(T.max_life, life(S, j) + amount))
        go_on(S, j, T)
    elif ability == PHASE:
        lowered = get(S[j, FIGHT], LOWERED_AT, M3) | u64(fact(acting, LOWERER, T))
        set_fight(S, j, LOWERED_AT, M3, lowered)
        go_on(S, j, T)
    elif ability == DRAW:
        set_fight(S, j, STEPS_AT, M2, amount - ONE)
        ask_for_card(S, j, TO_RIGHT, T)
    elif ability == SORT:
        ask_for_card(S, j, TO_LOOK, T)
    else:
        set_fight(S, j, STEPS_AT, M2, amount)
        set_status(S, j, MODE_AT, M4, TARGET)


@jit
def use(S, j, slot, T):
    """Uses the ability of the card in a slot."""
    ref = reference(S, j, slot, T)
    mark_used(S, j, ref, T)
    set_fight(S, j, USES_AT, M7, get(S[j, FIGHT], USES_AT, M7) + ONE)
    set_fight(S, j, ACTING_AT, ACTING_MASK, ((ref >> FOUR) << THREE) | (ref & M3))
    begin(S, j, kind_in(ref), T)


@jit
def aim(S, j, slot, T):
    """Applies the ability under way to the card in a slot."""
    ref = reference(S, j, slot, T)
    kind, side = kind_in(ref), side_in(ref)
    ability = get(S[j, FIGHT], KIND_AT, M4)
    if ability == u64(COPY):
        begin(S, j, kind, T)
    elif ability == u64(DOUBLE):
        by = u64(fact(kind_in(acting_reference(S, j)), DOUBLER, T)) if T.needs_source else ZERO
        S[j, DOUBLED] = with_entry(S[j, DOUBLED], ((ref >> THREE) << TWO) | by)
        go_on(S, j, T)
    else:
        take_off(S, j, ref, T)
        if ability == u64(DESTROY):
            if T.face_down:
                S[j, DOWN] += one_card(kind, T)
            go_on(S, j, T)
        elif ability == u64(BELOW):
            known = S[j, KNOWN]
            S[j, KNOWN] = push_back(known, kind + ONE)
            S[j, STACK] += one_card(kind, T)
            if side == ZERO:
                set_status(S, j, MODE_AT, M4, OFFER)
            else:
                go_on(S, j, T)
        else:
            S[j, DISCARD] += one_card(kind, T)
            set_fight(S, j, STEPS_AT, M2, get(S[j, FIGHT], STEPS_AT, M2) - ONE)
            ask_for_card(S, j, TO_RIGHT if side else TO_LEFT, T)


@jit
def draw_more(S, j, T):
    """Takes the card that the ability under way offers."""
    ability = get(S[j, FIGHT], KIND_AT, M4)
    if ability == u64(DRAW):
        set_fight(S, j, STEPS_AT, M2, get(S[j, FIGHT], STEPS_AT, M2) - ONE)
        ask_for_card(S, j, TO_RIGHT, T)
    elif ability == u64(SORT):
        ask_for_card(S, j, TO_LOOK, T)
    else:
        ask_for_card(S, j, TO_LEFT, T)


@jit
def stop(S, j, T):
    """Ends the ability under way where it may stop."""
    if get(S[j, FIGHT], KIND_AT, M4) != u64(SORT):
        go_on(S, j, T)
    elif mode(S, j) == OFFER:
        set_status(S, j, MODE_AT, M4, ARRANGE)
    else:
        put_back_rest(S, j, T)


@jit
def put_back_rest(S, j, T):
    """Puts the cards looked at back on top if their order makes no difference; else the player orders them."""
    cards_left = looked(S, j)
    first = cards_left & CARD_MASK
    same = True
    rest = cards_left
    while rest:
        same = same and rest & CARD_MASK == first
        rest >>= CARD_BITS
    if not same:
        set_status(S, j, MODE_AT, M4, ORDER)
        return
    while cards_left:
        put_on_top(S, j, first - ONE, T)
        cards_left >>= CARD_BITS
    go_on(S, j, T)


@jit
def pick_looked(S, j, place, T):
    """Discards a card that was looked at (ARRANGE), or puts it back on top of the stack (ORDER)."""
    kind = ((looked(S, j) >> (CARD_BITS * place)) & CARD_MASK) - ONE
    set_fight(S, j, LOOKED_AT, M18, without_looked(looked(S, j), place))
    if mode(S, j) == ARRANGE:
        S[j, DISCARD] += one_card(kind, T)
    else:
        put_on_top(S, j, kind, T)
    put_back_rest(S, j, T)


@jit
def receive(S, j, kind, T):
    """Takes the card that chance has drawn to where it goes, and goes on with what was under way."""
    take_top(S, j, kind, T)
    to = get(S[j, STATUS], TO_AT, M2)
    set_status(S, j, TO_AT, M2, ZERO)
    if to == TO_LOOK:
        set_fight(S, j, LOOKED_AT, M18, with_looked(looked(S, j), kind + ONE))
        more = looked(S, j) >> (TWO * CARD_BITS) == ZERO and can_draw(S, j, T)
        set_status(S, j, MODE_AT, M4, OFFER if more else ARRANGE)
        return
    S[j, RIGHT if to == TO_RIGHT else LEFT] += one_card(kind, T)
    ability = get(S[j, FIGHT], KIND_AT, M4)
    steps = get(S[j, FIGHT], STEPS_AT, M2)
    if ability == u64(DRAW) and steps > ZERO and can_draw(S, j, T):
        set_status(S, j, MODE_AT, M4, OFFER)
    elif ability == u64(EXCHANGE) and steps > ZERO and can_exchange(S, j, T):
        set_fight(S, j, KIND_AT, M4, EXCHANGE_AGAIN)
        set_status(S, j, MODE_AT, M4, TARGET)
    else:
        go_on(S, j, T)
