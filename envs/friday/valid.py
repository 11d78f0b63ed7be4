"""Decides which rows are positions: no card more often than printed, and a current step that is possible.

`fault` checks a row from any source. It also checks what people type: `FAULTS` has the expectation, and the words of a text
that break it.
"""

from __future__ import annotations

import numpy as np

from leafwise.envs.core.compile.jit import jit
from leafwise.envs.core.contract.stream import u64
from leafwise.envs.friday import cards
from leafwise.envs.friday.cards import CARDS, FIRST_AGING, FIRST_KNOWLEDGE, PIRATES
from leafwise.envs.friday.fight import able_cards, can_act, offer_cards
from leafwise.envs.friday.layout import (
    ABILITY,
    ACTING_AT,
    ACTIVE_AT,
    AGING_AT,
    AMOUNT,
    ARRANGE,
    AWAY_AT,
    BEATEN_AT,
    CARD_BITS,
    CARD_MASK,
    CHOOSE,
    DEAL_AGING,
    DEAL_CARD,
    DEAL_HAZARD,
    DEAL_PIRATE,
    DEBT_AT,
    DISCARD,
    DOUBLED,
    DOUBLER,
    DOWN,
    ENTRY_BITS,
    ENTRY_MASK,
    EXCHANGE_AGAIN,
    FIGHT,
    FOUGHT_AT,
    FOUR,
    FREE_AT,
    FROM_AT,
    HAZARD_SHIFT,
    HAZARDS,
    HAZARDS_AT,
    IN_FIGHT,
    KIND_AT,
    KNOWN,
    LEFT,
    LEFT_USED,
    LOST,
    LOWERED_AT,
    LOWERER,
    M3,
    MAX_USES,
    OFFER,
    ONE,
    ORDER,
    PIRATE_AT,
    POINTS_AT,
    QUEUE_AT,
    QUEUE_CARDS,
    REMOVE,
    RIGHT,
    RIGHT_USED,
    SECOND_PIRATE_AT,
    STACK,
    STATUS,
    STEPS_AT,
    TARGET,
    THREE,
    TO_AT,
    TO_LEFT,
    TO_LOOK,
    TO_RIGHT,
    TO_SETUP,
    TOP_AT,
    TWO,
    USES_AT,
    WIDTHS,
    WON,
    ZERO,
    aging_pile,
    at_start,
    can_draw,
    code_of,
    copies_in,
    count_entries,
    count_of,
    digest,
    entries_of,
    fact,
    first_kind,
    get,
    group,
    life,
    looked,
    mask_of,
    mode,
    one_card,
    phase,
    table_word,
    unknown,
)
from leafwise.envs.friday.rules import open_outcomes

KINDS = u64(len(CARDS))
COUNTED = u64(sum(WIDTHS))
"""Bits of a word of counts."""
MOST_FREE = u64(99)

FAULTS = (
    ("a row that a text can tell", ""),
    ("life of 0 to {life}", "life"),
    (f"at most {QUEUE_CARDS} cards that can be known", "bottom top"),
    ("no cards face-down with destroy='immediate'", "down"),
    ("only cards with an ability to be used", "left right"),
    ("each card to double one other", "left right"),
    ("used cards on the table that double others", "left right"),
    ("two different pirates (fewer at turn=pirate)", "pirates"),
    ("fought and beaten apart", "fought beaten"),
    ("pirates to be fought in phase=pirates", "phase"),
    ("no debt in a game that goes on", "debt"),
    ("lowered by used cards on the table", "lowered"),
    ("ability= and acting= together", "ability acting"),
    ("points= and from= at turn=remove only", "turn"),
    ("a used card on the table that acts", "acting"),
    ("a card that has this ability", "ability acting"),
    ("cards looked at with ability=sort only", "ability look"),
    ("no fight at this turn", "turn"),
    ("hazards to come", "phase hazards"),
    ("fewer hazards revealed", "active"),
    ("all piles at the start", "hazards aging"),
    ("two hazards, the last one, or two pirates to choose from", "active"),
    ("both pirates beaten", "beaten active"),
    ("cards on the left alone at turn=remove", "phase"),
    ("one hazard or pirate that is fought", "active fought"),
    ("no hazards to come in phase=pirates", "hazards"),
    ("an ability at this turn", "turn"),
    ("no ability at this turn", "ability turn"),
    ("steps and cards looked at with an ability only", "steps to"),
    ("an ability of so many steps that may be under way at this turn", "ability steps turn"),
    ("a card to draw", "stack aging"),
    ("as many cards looked at as this turn has", "look"),
    ("cards whose order matters", "look"),
    ("to= as the turn and the ability have it", "to turn ability"),
    ("an empty stack at turn=aging", "stack"),
    ("something that chance can pick", "turn"),
    ("a position with a legal action", "turn"),
)
"""The expectation of each fault, and the words that show what came; the first cannot come from a text."""
(
    MALFORMED, LIFE, KNOWABLE, FACE_DOWN, USED, SOURCES, AT_WORK, TWO_PIRATES, APART, IN_PIRATES, DEBT, LOWERED, TOGETHER, REMOVING,
    ACTING, ABLE, LOOKS, NO_FIGHT, TO_COME, REVEALED, AT_START, TO_CHOOSE, BEATEN, LEFT_ALONE, FOUGHT, NONE_TO_COME, NEEDS_ABILITY,
    NO_ABILITY, NO_STEPS, STEPS, TO_DRAW, LOOKED, IN_ORDER, GOES_TO, EMPTY, TO_PICK, TO_DO,
) = range(1, 1 + len(FAULTS))  # fmt: skip
SOUND = 0


@jit
def is_listed(items, first, last, ascending):
    """Whether fields of cards contain only numbers first..last, ascending if `ascending`, without gaps."""
    before = ZERO
    while items:
        item = items & CARD_MASK
        if item < first or item > last or (ascending and item < before):
            return False
        before = item
        items >>= CARD_BITS
    return True


@jit
def count_items(items, item):
    """Returns the number of times that an item (0: any but 0) occurs in fields of cards."""
    n = ZERO
    while items:
        current = items & CARD_MASK
        n += u64(current == item or (item == ZERO and current != ZERO))
        items >>= CARD_BITS
    return n


@jit
def cards_fault(S, i, T):
    """Checks piles and lists of cards, and nothing else of a row."""
    # Only existing fields, with existing cards.
    for w in (STACK, DISCARD, LEFT, LEFT_USED, RIGHT, RIGHT_USED, DOWN):
        if S[i, w] >> COUNTED:
            return MALFORMED
    if (S[i, HAZARDS] | S[i, KNOWN] | S[i, DOUBLED]) >> u64(60) or S[i, STATUS] >> u64(54) or S[i, FIGHT] >> u64(62):
        return MALFORMED
    bottom, top, looks, active = get(S, i, QUEUE_AT), get(S, i, TOP_AT), looked(S, i), get(S, i, ACTIVE_AT)
    if not (is_listed(bottom, ONE, KINDS, False) and is_listed(top, ONE, KINDS, False)):
        return MALFORMED
    if not (is_listed(looks, ONE, KINDS, True) and is_listed(active, u64(FIRST_KNOWLEDGE + 1), u64(FIRST_AGING), True)):
        return MALFORMED
    # No card more often than printed.
    start = at_start(0, T) + at_start(1, T) + at_start(2, T)
    hazards, away = get(S, i, HAZARDS_AT) << HAZARD_SHIFT, get(S, i, AWAY_AT) << HAZARD_SHIFT
    for k in range(len(CARDS)):
        kind = u64(k)
        n = count_items(looks, kind + ONE) + count_items(active, kind + ONE)
        n += copies_in(hazards, kind, T) + copies_in(away, kind, T) + copies_in(aging_pile(S, i), kind, T)
        for w in (STACK, DISCARD, LEFT, LEFT_USED, RIGHT, RIGHT_USED, DOWN):
            n += copies_in(S[i, w], kind, T)
        if n > copies_in(start, kind, T) or count_items(S[i, KNOWN], kind + ONE) > copies_in(S[i, STACK], kind, T):
            return MALFORMED
    # Known cards: if all are known, those on top count as bottom cards; there must be room for cards that become known.
    again = unknown(S, i, T)
    if again == ZERO and top:
        return MALFORMED
    again += S[i, LEFT] + S[i, RIGHT]
    for items in (looks, top):
        while items:
            again += one_card((items & CARD_MASK) - ONE, T)
            items >>= CARD_BITS
    movable = count_of(digest(again & (group(2, cards.COPY, T) | group(2, cards.BELOW, T)), T))
    if count_items(bottom, ZERO) + u64(movable) > u64(QUEUE_CARDS):
        return KNOWABLE
    return SOUND if T.face_down or S[i, DOWN] == ZERO else FACE_DOWN


@jit
def table_fault(S, i, T):
    """Checks used and doubled cards."""
    used = S[i, LEFT_USED] + S[i, RIGHT_USED]
    if used & ~able_cards(T):
        return USED
    doubled = rest = S[i, DOUBLED]
    before = sources = ZERO
    while rest:
        # Entries ascend, and each belongs to a card on the table.
        entry = rest & ENTRY_MASK
        kind, code = (entry >> FOUR) - ONE, entry >> TWO
        if kind >= KINDS or entry < before:
            return MALFORMED
        if entries_of(doubled, code) > copies_in(S[i, table_word((code >> ONE) & ONE, code & ONE)], kind, T):
            return MALFORMED
        # Its source is used, and doubles neither another card nor itself.
        by = entry & THREE
        if T.needs_source:
            if (sources >> by) & ONE:
                return SOURCES
            if not has_source(used & ~mask_of(kind, T), by, T):
                return AT_WORK
            sources |= ONE << by
        elif by:
            return MALFORMED
        before = entry
        rest >>= ENTRY_BITS
    return SOUND


@jit
def has_source(used, by, T):
    """Whether `used` contains the doubler with number `by`."""
    while used:
        kind = first_kind(used, T)
        if fact(kind, DOUBLER, T) == np.int64(by):
            return True
        used &= ~mask_of(kind, T)
    return False


@jit
def status_fault(S, i, T):
    """Checks the pirates, the debt and the place of a drawn card."""
    mode_now = mode(S, i)
    first, second = get(S, i, PIRATE_AT), get(S, i, SECOND_PIRATE_AT)
    fought, beaten = get(S, i, FOUGHT_AT), get(S, i, BEATEN_AT)
    if mode_now > LOST or max(first, second) > u64(len(PIRATES)) or get(S, i, USES_AT) > MAX_USES:
        return MALFORMED
    if get(S, i, FREE_AT) > MOST_FREE or (get(S, i, TO_AT) and mode_now != DEAL_AGING and mode_now != DEAL_CARD):
        return MALFORMED
    if life(S, i) > T.max_life:
        return LIFE
    fits = second == ZERO if mode_now == DEAL_PIRATE else ZERO < first < second
    if not fits:
        return TWO_PIRATES
    if fought & beaten or fought == THREE:
        return APART
    if fought | beaten and phase(S, i) != THREE:
        return IN_PIRATES
    return DEBT if get(S, i, DEBT_AT) and mode_now != LOST else SOUND


@jit
def fight_fault(S, i, T):
    """Checks what belongs to one fight, and the current ability."""
    mode_now, ability, acting = mode(S, i), get(S, i, KIND_AT), get(S, i, ACTING_AT)
    lowered, used = get(S, i, LOWERED_AT), S[i, LEFT_USED] + S[i, RIGHT_USED]
    while used:
        lowered &= ~u64(fact(first_kind(used, T), LOWERER, T))
        used &= ~mask_of(first_kind(used, T), T)
    if lowered:
        return LOWERED
    if (ability == ZERO) != (acting == ZERO):
        return TOGETHER
    lowest = get(S, i, FROM_AT)
    if ability > EXCHANGE_AGAIN or lowest >= KINDS:
        return MALFORMED
    if mode_now != REMOVE and (lowest or get(S, i, POINTS_AT)):
        return REMOVING
    if looked(S, i) and ability != u64(cards.SORT):
        return LOOKS
    if acting == ZERO:
        return SOUND
    # The acting card is a used one with this ability, doubled as the row says.
    kind, side, by = (acting >> FOUR) - ONE, (acting >> THREE) & ONE, acting & M3
    if kind >= KINDS or by > FOUR:
        return MALFORMED
    code = code_of(kind, side, ONE)
    entry = (code << TWO) | (by - ONE)
    plain = copies_in(S[i, table_word(side, ONE)], kind, T) - entries_of(S[i, DOUBLED], code)
    if (count_entries(S[i, DOUBLED], entry, entry) if by else plain) == ZERO:
        return ACTING
    card_ability, begun = fact(kind, ABILITY, T), cards.EXCHANGE if ability == EXCHANGE_AGAIN else np.int64(ability)
    return SOUND if card_ability == begun or (card_ability == cards.COPY and begun != cards.COPY) else ABLE


@jit
def steps_left(mode_now, ability, amount):
    """Returns the least and the most steps that an ability can have left in a mode; (0, -1) if it is impossible there."""
    drawn, aims, offers = mode_now <= DEAL_CARD, mode_now == TARGET, mode_now == OFFER
    name = np.int64(ability)
    if name == cards.DRAW and (drawn or offers):
        return np.int64(offers), amount - 1
    if name == cards.EXCHANGE and (drawn or aims):
        return np.int64(aims), amount - 1 + np.int64(aims)
    if ability == EXCHANGE_AGAIN and (drawn or aims):
        return np.int64(aims), np.int64(aims)
    goes_on = aims and name in (cards.COPY, cards.DESTROY, cards.DOUBLE)
    goes_on |= name == cards.BELOW and (drawn or aims or offers)
    goes_on |= name == cards.SORT and not aims
    return np.int64(0), np.int64(goes_on) - 1


@jit
def ability_fault(S, i, T):
    """Checks the current ability together with the mode."""
    mode_now, ability, to = mode(S, i), get(S, i, KIND_AT), get(S, i, TO_AT)
    drawn = mode_now in (DEAL_AGING, DEAL_CARD)
    chosen = TARGET <= mode_now <= ORDER
    steps = np.int64(get(S, i, STEPS_AT))
    if ability == ZERO:
        if chosen:
            return NEEDS_ABILITY
        if steps or (drawn and to == TO_LOOK):
            return NO_STEPS
        return GOES_TO if to == TO_SETUP and mode_now != DEAL_AGING else SOUND
    if not chosen and (not drawn or to == TO_SETUP):
        return NO_ABILITY
    # The number of steps left.
    kind = (get(S, i, ACTING_AT) >> FOUR) - ONE
    amount = 2 if fact(kind, ABILITY, T) == cards.COPY else fact(kind, AMOUNT, T)
    low, high = steps_left(mode_now, ability, amount)
    if not low <= steps <= high:
        return STEPS
    # Cards to draw, cards looked at, the place of a drawn card.
    if mode_now == OFFER and not can_draw(S, i, T):
        return TO_DRAW
    if ability == u64(cards.SORT):
        n = count_items(looked(S, i), ZERO)
        least = u64(mode_now in (OFFER, ARRANGE)) + u64(mode_now == ORDER) * TWO
        if n < least or n > (TWO if mode_now == OFFER or drawn else THREE):
            return LOOKED
        if mode_now == ORDER and count_items(looked(S, i), looked(S, i) & CARD_MASK) == n:
            return IN_ORDER
        right = to == TO_LOOK
    elif ability == u64(cards.DRAW):
        right = to == TO_RIGHT
    else:
        right = to == TO_LEFT or (to == TO_RIGHT and ability != u64(cards.BELOW))
    return SOUND if right or not drawn else GOES_TO


@jit
def turn_fault(S, i, T):
    """Checks what the mode requires."""
    # Modes without a fight have nothing on the table.
    mode_now, phase_now, ahead = mode(S, i), phase(S, i), get(S, i, HAZARDS_AT)
    beaten, pirates = get(S, i, BEATEN_AT), phase_now == THREE
    active = count_items(get(S, i, ACTIVE_AT), ZERO)
    setup = mode_now in (DEAL_PIRATE, DEAL_HAZARD) or get(S, i, TO_AT) == TO_SETUP
    moved = get(S, i, FREE_AT) | get(S, i, USES_AT) | get(S, i, LOWERED_AT) | S[i, DOUBLED]
    for w in (LEFT_USED, RIGHT, RIGHT_USED, DOWN):
        moved |= S[i, w]
    if (setup or mode_now in (CHOOSE, WON)) and moved | S[i, LEFT]:
        return NO_FIGHT
    # The hazards and pirates of each mode.
    if setup:
        if pirates or (ahead == ZERO and mode_now != DEAL_PIRATE):
            return TO_COME
        if active > u64(mode_now == DEAL_HAZARD):
            return REVEALED
        if mode_now == DEAL_PIRATE and (ahead == ZERO or get(S, i, AGING_AT) == ZERO):
            return AT_START
    elif mode_now == CHOOSE:
        fought = get(S, i, FOUGHT_AT) | beaten
        if (ahead or active or fought) if pirates else active != TWO and (active != ONE or ahead):
            return TO_CHOOSE
    elif mode_now == WON:
        if beaten != THREE or active:
            return BEATEN
    elif mode_now == REMOVE:
        if pirates or active or moved:
            return LEFT_ALONE
    else:
        if active != u64(not pirates) or (get(S, i, FOUGHT_AT) != ZERO) != pirates:
            return FOUGHT
        if pirates and ahead:
            return NONE_TO_COME
    return SOUND


@jit
def action_fault(S, i, T):
    """Checks that somebody can act."""
    mode_now = mode(S, i)
    if mode_now <= DEAL_CARD:
        if mode_now == DEAL_AGING and S[i, STACK] and get(S, i, TO_AT) != TO_SETUP:
            return EMPTY
        return SOUND if open_outcomes(S, i, T) else TO_PICK
    if mode_now == IN_FIGHT:
        return SOUND if can_act(S, i, T) else TO_DO
    if mode_now == TARGET and get(S, i, KIND_AT) != EXCHANGE_AGAIN:
        return SOUND if offer_cards(S, i, mode_now, None, 0, T) else TO_DO
    return SOUND


@jit
def fault(S, i, T):
    """Returns the number of the first fault of a row, or SOUND for a position; `FAULTS` has the faults in words."""
    number = cards_fault(S, i, T)
    if number == SOUND:
        number = table_fault(S, i, T)
    if number == SOUND:
        number = status_fault(S, i, T)
    if number == SOUND:
        number = fight_fault(S, i, T)
    if number == SOUND:
        number = turn_fault(S, i, T)
    if number == SOUND:
        number = ability_fault(S, i, T)
    return number if number else action_fault(S, i, T)


@jit
def is_valid(S, i, T):
    """Whether a row is a position."""
    return fault(S, i, T) == SOUND
