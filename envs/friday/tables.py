"""The variants of Friday, and the tables that its rules look up."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from leafwise.envs.friday.cards import (
    CARDS,
    DOUBLERS,
    FIRST_AGING,
    FIRST_KNOWLEDGE,
    HAZARDS,
    KIND,
    KNOWLEDGE,
    LOWERERS,
    PIRATES,
    STARTING,
    VERY_STUPID,
    rating,
)
from leafwise.envs.friday.layout import SHIFTS, WIDTHS

CHOICES: dict[str, tuple[Any, ...]] = {
    "level": (1, 2, 3, 4),
    "scared_stacking": ("each", "one"),
    "empty_aging": ("lose", "reshuffle_only"),
    "destroy": ("face_down", "immediate"),
    "double_needs_source": (True, False),
}
DEFAULTS: dict[str, Any] = {name: choices[0] for name, choices in CHOICES.items()} | {"start_life": None}

VALUE, ABILITY, AMOUNT, COST, RATING, IS_AGING, DOUBLER, LOWERER, FREE_CARDS, GREEN, YELLOW, RED = range(12)
"""Columns of `Tables.cards`; DOUBLER is the number in DOUBLERS or -1, LOWERER a bit or 0; the last four are the hazard half's."""

BIAS = 8
"""Added to each card's value and rating in digests, which makes them positive."""
COUNT_AT, VALUE_AT, RATING_AT, HUNGER_AT, AGED_AT, SCARED_AT = 0, 8, 20, 32, 36, 41
"""Where the sums lie in a digest."""


class Tables(NamedTuple):
    """Facts about cards, and run-time options."""

    cards: NDArray[np.int64]
    """[kinds, columns]"""
    pirates: NDArray[np.int64]
    """[11, 2]: free cards and value by the pirate's number."""
    fields: NDArray[np.uint64]
    """[2, 64]: shift and mask of each kind's field."""
    kind_of_bit: NDArray[np.uint64]
    """[64]: the kind whose field a bit belongs to."""
    masks: NDArray[np.uint64]
    """[3, 16]: fields of plain and of aging cards by value + 5, and of cards by ability."""
    digests: NDArray[np.int64]
    """[7, 256]: sums over the cards that a byte of counts stands for; see `digest`."""
    start: NDArray[np.uint64]
    """[3]: counts of the Robinson stack, of the hazards and of the aging pile at the start."""
    start_life: np.uint64
    max_life: np.uint64
    first_aging: np.uint64
    """1 if an aging card is shuffled in at the start."""
    scared_once: np.int64
    reshuffle_only: np.int64
    face_down: np.int64
    needs_source: np.int64
    stop: NDArray[np.uint8]
    leaf: Any


def check(options: dict[str, Any]) -> dict[str, Any]:
    """Returns checked options; raises ValueError for a value that Friday does not have."""
    for name, choices in CHOICES.items():
        if not any(type(options[name]) is type(choice) and options[name] == choice for choice in choices):
            raise ValueError(f"friday: expected {name} among {', '.join(map(str, choices))}, got {options[name]!r}")
    given, most = options["start_life"], 20 if options["level"] == 4 else 22
    if given is not None and (type(given) is not int or not 0 <= given <= most):
        raise ValueError(f"friday: expected start_life of 0 to {most} at this level, or none, got {given!r}")
    return options


def digest_table() -> NDArray[np.int64]:
    """Returns the sums that `digest` adds up, [7, 256]."""
    per_bit = np.zeros(56, dtype=np.int64)
    for kind, card in enumerate(CARDS):
        one = 1 << COUNT_AT | (card.value + BIAS) << VALUE_AT | (rating(card) + BIAS) << RATING_AT
        one |= card.hunger << HUNGER_AT | (kind >= FIRST_AGING) << AGED_AT | card.scared << SCARED_AT
        for bit in range(WIDTHS[kind]):
            per_bit[SHIFTS[kind] + bit] = one << bit
    bits = np.arange(256)[:, None] >> np.arange(8) & 1
    return np.stack([bits @ per_bit[8 * k : 8 * k + 8] for k in range(7)])


def card_table() -> NDArray[np.int64]:
    """Returns the facts about each kind, [kinds, columns]."""
    rows = []
    for kind, card in enumerate(CARDS):
        aging = kind >= FIRST_AGING
        doubler = DOUBLERS.index(card.name) if card.name in DOUBLERS else -1
        lowerer = 1 << LOWERERS.index(card.name) if card.name in LOWERERS else 0
        hazard = HAZARDS[card.name[0]] if FIRST_KNOWLEDGE <= kind < FIRST_AGING else None
        sides = (hazard.free, *hazard.values) if hazard else (0, 0, 0, 0)
        rows.append((card.value, card.ability, card.amount, 1 + aging, rating(card), aging, doubler, lowerer, *sides))
    return np.array(rows, dtype=np.int64)


def counts(cards: Mapping[int, int]) -> int:
    """Returns the counts word of so many cards of each kind."""
    return sum(n << SHIFTS[kind] for kind, n in cards.items())


def aging_cards(level: int) -> dict[int, int]:
    """Returns the aging cards of a level: kind -> copies."""
    kinds = range(FIRST_AGING, len(CARDS))
    return {kind: CARDS[kind].copies for kind in kinds if level >= 3 or kind != VERY_STUPID}


def make_tables(options: Mapping[str, Any]) -> Tables:
    """Returns the tables of one variant (about 30 kB)."""
    fields = np.zeros((2, 64), dtype=np.uint64)
    kind_of_bit = np.zeros(64, dtype=np.uint64)
    masks = np.zeros((3, 16), dtype=np.uint64)
    for kind, card in enumerate(CARDS):
        mask = ((1 << WIDTHS[kind]) - 1) << SHIFTS[kind]
        fields[:, kind] = SHIFTS[kind], mask
        kind_of_bit[SHIFTS[kind] : SHIFTS[kind] + WIDTHS[kind]] = kind
        masks[int(kind >= FIRST_AGING), card.value + 5] |= np.uint64(mask)
        if kind < FIRST_AGING:
            masks[2, card.ability] |= np.uint64(mask)
    level = options["level"]
    most = 20 if level == 4 else 22
    start = [
        counts({KIND[card.name]: card.copies for card in STARTING}),
        counts({KIND[card.name]: card.copies for card in KNOWLEDGE}),
        counts(aging_cards(level)),
    ]
    return Tables(
        cards=card_table(),
        pirates=np.array([(0, 0), *((p.free, p.value) for p in PIRATES)], dtype=np.int64),
        fields=fields,
        kind_of_bit=kind_of_bit,
        masks=masks,
        digests=digest_table(),
        start=np.array(start, dtype=np.uint64),
        start_life=np.uint64(most - 2 if options["start_life"] is None else options["start_life"]),
        max_life=np.uint64(most),
        first_aging=np.uint64(level > 1),
        scared_once=np.int64(options["scared_stacking"] == "one"),
        reshuffle_only=np.int64(options["empty_aging"] == "reshuffle_only"),
        face_down=np.int64(options["destroy"] == "face_down"),
        needs_source=np.int64(options["double_needs_source"]),
        stop=np.zeros(1, dtype=np.uint8),
        leaf=(),
    )
