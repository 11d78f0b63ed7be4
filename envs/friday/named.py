"""Cards, actions and what chance did in words for people: names of cards instead of codes."""

from __future__ import annotations

import textwrap
from collections import Counter
from typing import Any

import numpy as np
from numpy.typing import NDArray

from leafwise.envs.friday import layout as at
from leafwise.envs.friday.cards import CARDS, COSTLY, FIRST_AGING, HAZARDS, NAMES, PIRATES, Card
from leafwise.envs.friday.fight import free_cards, hazard_value, pirate_value, total
from leafwise.envs.friday.tables import COST, Tables, fact
from leafwise.envs.friday.text import number, outcome_name, pile, pirates_of, sequence, table_cards
from leafwise.envs.friday.words import ABILITY_NAMES, CARDS_IN_ORDER, PILES, TURNS

ROW = np.uint64(0)
LEGEND_WIDTH = 120
ON_CARD = {
    "exchange": "exchange {}",
    "exchange-again": "exchange {} too",
    "copy": "copy {}",
    "destroy": "destroy {}",
    "double": "double {}",
    "below": "put {} below the pile",
}
"""What an ability does with the card it is aimed at."""
NO_MORE = {"arrange": "discard none of them", "remove": "remove no more", "target": "exchange no more"}
"""What `end` says at a turn."""
NO_OFFER = {"draw": "draw no more", "sort": "look at no more", "below": "draw no card for it"}
"""What it says to an offer, by ability."""


def title_of(card: Card) -> str:
    """Returns a card's title; with its value where others have the title too, and are worth something else."""
    alike = [other for other in CARDS if other.title == card.title]
    if len({other.value for other in alike}) > 1:
        return f"{card.title} {card.value}"
    return f"{card.title} (aging)" if len(alike) > 1 and CARDS.index(card) >= FIRST_AGING else card.title


TITLES = tuple(title_of(card) for card in CARDS)
"""Name of each kind for people, unique: "weak", "food 1", "distracted (aging)"."""


def in_words(kind: int) -> str:
    """Returns a card with its value and what it does: "food 1 (+1 life)"."""
    card = CARDS[kind]
    value = "" if TITLES[kind].endswith(f" {card.value}") else f" {card.value}"
    return f"{TITLES[kind]}{value}" + (f" ({card.words})" if card.words else "")


def listed(kinds: list[int]) -> str:
    """Returns cards by name, those alike together: "weak, distracted x2"."""
    return ", ".join(TITLES[kind] + (f" x{n}" if n > 1 else "") for kind, n in Counter(kinds).items())


def hazard_in_words(kind: int, phase: int) -> str:
    """Returns a hazard card, both halves: "wild animals (value 4, 4 free) for vision 3 (sort 3 cards)"."""
    hazard = HAZARDS[NAMES[kind][0]]
    return f"{hazard.title.lower()} (value {hazard.values[min(phase, 2)]}, {hazard.free} free) for {in_words(kind)}"


def pirate_in_words(row: NDArray[Any], pirate: int, T: Tables) -> str:
    """Returns a pirate with what it asks for now."""
    card = PIRATES[pirate - 1]
    value = int(pirate_value(row[None], ROW, np.uint64(pirate), T))
    free = f"{card.free} free" if card.free else "all their free cards"
    return f"pirate {pirate} (value {value}, {free}" + (f", {card.words})" if card.words else ")")


def missing(row: NDArray[Any], T: Tables) -> int:
    """Returns how many points the table is short of what is fought; 0 if it is enough."""
    rows = row[None]
    return max(0, int(hazard_value(rows, ROW, T)) - int(total(rows, ROW, T)))


def hunger(row: NDArray[Any]) -> int:
    """Returns the life that cards on the table take at the end of the fight."""
    return sum(CARDS[kind].hunger for kind, *_ in table_cards(row))


def fought_pirate(row: NDArray[Any]) -> int:
    """Returns the number of the pirate who is fought, 0 for none."""
    fought = number(row, "fought")
    return pirates_of(row)[fought - 1] if fought else 0


def ending_in_words(row: NDArray[Any], T: Tables) -> str:
    """Returns what ending the fight now means: "win weapon 2", "lose 2 life", "lose the game"."""
    short, hungry, life = missing(row, T), hunger(row), number(row, "life")
    if short + hungry > life:
        return f"lose the game ({short + hungry} life to pay, {life} left)"
    paid = f", pay {hungry} life" if hungry else ""
    if short:
        return f"lose {short + hungry} life"
    pirate = fought_pirate(row)
    return f"beat pirate {pirate}{paid}" if pirate else f"win {in_words(sequence(row, 'active')[0])}{paid}"


def action_words(row: NDArray[Any], action: int, T: Tables) -> str:
    """Returns what a legal action is in a position."""
    turn = TURNS[number(row, "turn")]
    ability = ABILITY_NAMES[number(row, "ability")]
    if action >= at.USE:
        return card_action(row, action, turn, ability, T)
    if action == at.FREE:
        return f"draw a free card ({number(row, 'free') + 1} of {int(free_cards(row[None], ROW, T))})"
    if action == at.PAY:
        return f"pay {2 if fought_pirate(row) == COSTLY else 1} life for a card"
    if action in (at.FIRST, at.SECOND):
        place = action - at.FIRST
        if number(row, "phase") == 3:
            return f"fight {pirate_in_words(row, pirates_of(row)[place], T)}"
        return f"fight {hazard_in_words(sequence(row, 'active')[place], number(row, 'phase'))}"
    if action == at.REJECT:
        return "reject the last hazard"
    if action == at.DRAW_MORE:
        return "look at one more" if ability == "sort" else "draw on"
    if turn == "fight":
        return f"end the fight: {ending_in_words(row, T)}"
    return NO_OFFER[ability] if turn == "offer" else NO_MORE[turn]


def card_action(row: NDArray[Any], action: int, turn: str, ability: str, T: Tables) -> str:
    """Returns what is done with a card on the table, or one that was looked at."""
    if action < at.CARD:
        return f"use {in_words(table_cards(row)[action - at.USE][0])}"
    place = action - at.CARD
    if turn in ("arrange", "order"):
        name = in_words(sequence(row, "look")[place])
        return f"discard {name}" if turn == "arrange" else f"put {name} back on top"
    kind, side, _, by = table_cards(row)[place]
    if turn == "remove":
        cost = int(fact(kind, COST, T))
        return f"remove {in_words(kind)} ({cost} point{'s' * (cost > 1)})"
    where = f" on the {('left', 'right')[side]}" + (", doubled" if by else "")
    return ON_CARD[ability].format(in_words(kind)) + where


def outcome_words(before: NDArray[Any], after: NDArray[Any], T: Tables) -> str:
    """Returns the pirate or the card that chance has picked."""
    turn, name = TURNS[number(before, "turn")], outcome_name(before, after, T)
    if turn == "pirate":
        return pirate_in_words(after, int(name[1:]), T)
    kind = NAMES.index(name)
    return hazard_in_words(kind, number(before, "phase")) if turn == "hazard" else in_words(kind)


def legend(row: NDArray[Any], T: Tables) -> str:
    """Returns what the codes of all cards in a position stand for, in lines."""
    kinds = {kind for name in PILES for kind in pile(row, name)}
    kinds |= {kind for name in CARDS_IN_ORDER if name not in ("lowered", "from") for kind in sequence(row, name)}
    kinds |= {kind for kind, *_ in table_cards(row)}
    entries = "; ".join(f"{NAMES[kind]} {in_words(kind)}" for kind in sorted(kinds))
    return textwrap.fill(entries, LEGEND_WIDTH, break_long_words=False)
