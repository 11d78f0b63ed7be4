"""The variants of Friday, and the tables that its rules read."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Annotated, Any, NamedTuple

import numpy as np

from leafwise.envs.core.arrays import Bytes, Ints, Words
from leafwise.envs.core.fields import RULE_ONLY
from leafwise.envs.core.ranges import OneOf, Range, settle_fields
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
from leafwise.envs.friday.layout import (
    AGED_AT,
    BIAS,
    COLUMN_BITS,
    COPIES,
    COUNT_AT,
    GROUPS,
    GROUPS_AT,
    HAZARD_SHIFT,
    HUNGER_AT,
    KINDS_AT,
    MASKS_AT,
    RATING_AT,
    SCARED_AT,
    SHIFTS,
    SHIFTS_AT,
    START_AT,
    VALUE_AT,
    WIDTHS,
)

HARDNESS = {
    1: 'all aging cards but "very stupid", 20 life',
    2: "as 1, with an aging card in the deck from the start",
    3: 'as 2, and with the aging card "very stupid"',
    4: "as 3, with 18 life",
}
SCARED = {"each": "each sets one more card to 0", "one": "together they set one card to 0"}
NO_AGING = {"lose": "the game is lost", "reshuffle_only": "the discard pile is shuffled without an aging card"}
DESTROYED = {
    "face_down": "it lies face down until the fight ends, and leaves the game then",
    "immediate": "it leaves the game at once",
}
MOST_LIFE = 31
"""The largest life in a row; with the booklet's tokens nobody has more than 22."""


@dataclass(frozen=True)
class Options:
    """The options of a variant; raises ValueError for one that Friday does not have. `ABOUT` describes each option.

    One network serves all variants: it sees what they change.
    """

    level: Annotated[int, OneOf.described(HARDNESS)] = field(default=1, metadata=RULE_ONLY)
    scared_stacking: Annotated[str, OneOf.described(SCARED)] = field(default="each", metadata=RULE_ONLY)
    empty_aging: Annotated[str, OneOf.described(NO_AGING)] = field(default="lose", metadata=RULE_ONLY)
    destroy: Annotated[str, OneOf.described(DESTROYED)] = field(default="face_down", metadata=RULE_ONLY)
    double_needs_source: bool = field(default=True, metadata=RULE_ONLY)
    start_life: Annotated[int, Range(0, MOST_LIFE)] = field(default=0, metadata=RULE_ONLY)

    def __post_init__(self) -> None:
        settle_fields(self, "friday")

    @property
    def most_life(self) -> int:
        """The largest possible life: that of the level, or the start life if it is larger (an easier game)."""
        return max(20 if self.level == 4 else 22, self.start_life)


class Tables(NamedTuple):
    """Facts about cards, and run-time options; in few arrays, since each array costs time in every call."""

    numbers: Ints
    bits: Words
    start_life: np.uint64
    max_life: np.uint64
    first_aging: np.uint64
    """1 if an aging card is shuffled in at the start."""
    scared_once: np.int64
    reshuffle_only: np.int64
    face_down: np.int64
    needs_source: np.int64
    candidates: int
    """Index into `rules.CANDIDATES` for a search."""
    stop: Bytes
    leaf: Any


def by_bytes(sums: Mapping[int, int], first: int, n: int) -> Ints:
    """Returns the sums for the n bytes of a word from bit `first` on, [n, 256]; `sums` has the addend for each copy of a kind."""
    per_bit = np.zeros(8 * n, dtype=np.int64)
    for kind, one in sums.items():
        for bit in range(WIDTHS[kind]):
            per_bit[SHIFTS[kind] - first + bit] = one << bit
    bits = np.arange(256)[:, None] >> np.arange(8) & 1
    return np.stack([bits @ per_bit[8 * k : 8 * k + 8] for k in range(n)])


def copies_table() -> Words:
    """Returns the counts in each run of fields, [runs, 256]: from the lowest byte on, one byte for each present kind.

    A byte is 128 + 8 (kind - first kind of the run) + copies - 1; the remaining bytes are 0.
    """
    table = np.zeros((len(GROUPS), 256), dtype=np.uint64)
    for row, (shift, bits) in zip(table, GROUPS, strict=True):
        kinds = [kind for kind in range(len(CARDS)) if shift <= SHIFTS[kind] < shift + bits]
        for word in range(1 << bits):
            counted = [(word >> SHIFTS[kind] - shift) & ((1 << WIDTHS[kind]) - 1) for kind in kinds]
            present_bytes = [128 + COPIES * k + (n - 1) % COPIES for k, n in enumerate(counted) if n]
            row[word] = sum(byte << 8 * place for place, byte in enumerate(present_bytes))
    return table


def counts(cards: Mapping[int, int]) -> int:
    """Returns the counts word of `cards`, kind -> copies."""
    return sum(n << SHIFTS[kind] for kind, n in cards.items())


def aging_cards(level: int) -> dict[int, int]:
    """Returns the aging cards of a level: kind -> copies."""
    kinds = range(FIRST_AGING, len(CARDS))
    return {kind: CARDS[kind].copies for kind in kinds if level >= 3 or kind != VERY_STUPID}


def make_tables(options: Options) -> Tables:
    """Returns the tables of one variant (about 50 kB)."""
    bits = np.zeros(START_AT + 3, dtype=np.uint64)
    groups = bits[GROUPS_AT:START_AT].reshape(3, 16)
    facts, sums, halves = [], {}, {}
    for kind, card in enumerate(CARDS):
        # The field of the kind, and its groups.
        aging = kind >= FIRST_AGING
        mask = np.uint64(((1 << WIDTHS[kind]) - 1) << SHIFTS[kind])
        bits[SHIFTS_AT + kind], bits[MASKS_AT + kind] = SHIFTS[kind], mask
        bits[KINDS_AT + SHIFTS[kind] : KINDS_AT + SHIFTS[kind] + WIDTHS[kind]] = kind
        groups[int(aging), card.value + 5] |= mask
        if not aging:
            groups[2, card.ability] |= mask
        # Facts about it, and the packed columns of hazards.
        doubler = DOUBLERS.index(card.name) if card.name in DOUBLERS else -1
        lowerer = 1 << LOWERERS.index(card.name) if card.name in LOWERERS else 0
        sides = (0, 0, 0, 0)
        if FIRST_KNOWLEDGE <= kind < FIRST_AGING:
            hazard = HAZARDS[card.name[0]]
            sides = (hazard.free, *hazard.values)
            halves[kind] = sum(n << COLUMN_BITS * c for c, n in enumerate(sides))
        facts.append((card.value, card.ability, card.amount, 1 + aging, rating(card), aging, doubler, lowerer, *sides))
        # The addends of `digest`.
        sums[kind] = 1 << COUNT_AT | (card.value + BIAS) << VALUE_AT | (rating(card) + BIAS) << RATING_AT
        sums[kind] |= card.hunger << HUNGER_AT | aging << AGED_AT | card.scared << SCARED_AT
    pirates = [(0, 0), *((p.free, p.value) for p in PIRATES)]
    numbers = by_bytes(sums, 0, 7), np.array(facts), np.array(pirates), by_bytes(halves, int(HAZARD_SHIFT), 4)
    level = options.level
    bits[START_AT:] = [
        counts({KIND[card.name]: card.copies for card in STARTING}),
        counts({KIND[card.name]: card.copies for card in KNOWLEDGE}),
        counts(aging_cards(level)),
    ]
    return Tables(
        numbers=np.concatenate([part.ravel() for part in numbers]),
        bits=np.concatenate([bits, copies_table().ravel()]),
        start_life=np.uint64(options.start_life or options.most_life - 2),
        max_life=np.uint64(options.most_life),
        first_aging=np.uint64(level > 1),
        scared_once=np.int64(options.scared_stacking == "one"),
        reshuffle_only=np.int64(options.empty_aging == "reshuffle_only"),
        face_down=np.int64(options.destroy == "face_down"),
        needs_source=np.int64(options.double_needs_source),
        candidates=0,
        stop=np.zeros(1, dtype=np.uint8),
        leaf=(),
    )
