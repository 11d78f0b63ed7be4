"""What learners see of Friday: counts of every pile, the table, the fight and the step under way."""

from __future__ import annotations

import gymnasium as gym
import numpy as np

from leafwise.envs.core.compile.jit import jit
from leafwise.envs.core.contract.parts import Labels
from leafwise.envs.core.contract.stream import u64
from leafwise.envs.friday import layout as at
from leafwise.envs.friday.cards import CARDS, FIRST_AGING, FIRST_KNOWLEDGE, KINDS
from leafwise.envs.friday.fight import free_cards, hazard_value, lowerings, pirate_value, total
from leafwise.envs.friday.layout import ONE, ZERO, aging_pile, get, life, mode, phase
from leafwise.envs.friday.options import Options
from leafwise.envs.friday.piles import copies_in, count_entries, looked

HAZARD_KINDS = FIRST_AGING - FIRST_KNOWLEDGE
COUNTED = 6 * KINDS
"""Counts of stack, discard, and the table in four words, by kind."""
PILES_END = COUNTED + 2 * HAZARD_KINDS + (KINDS - FIRST_AGING)
SEQUENCES = 10 + 3 + 2
"""Known cards at the bottom (7) and on top (3), cards looked at (3), hazards revealed (2): kind + 1."""
SEQUENCES_END = PILES_END + SEQUENCES
DOUBLES_END = SEQUENCES_END + 6
PIRATES_END = DOUBLES_END + 20
MODES_END = PIRATES_END + 13
NUMBERS = 17
MOST_RED = 198
"""Red values of all hazards: what the tenth pirate may ask for; no deck scores as much."""
BOUNDS = (
    (0, 31), (0, 3), (0, MOST_RED), (-50, MOST_RED), (0, 70), (0, 127), (0, 64), (0, 3), (0, 10), (0, 3), (0, KINDS), (0, 6),
    (0, 31), (0, KINDS), (0, MOST_RED), (0, MOST_RED), (0, 1),
)  # fmt: skip
"""Least and most of each of the numbers."""
SIZE = MODES_END + NUMBERS


def observation_space(options: Options) -> gym.spaces.Box:
    """Returns a Box float32 [356], every cell a whole number within bounds of its own.

    Counts by kind (in the order of `cards.CARDS`) of stack, discard, left, left used, right, right used; hazard stack and
    discard by knowledge card; aging pile. Then kinds + 1 (0: none): known cards at the bottom (7) and on top (3) of the stack,
    cards looked at (3), hazards revealed or fought (2), doubled cards (6). Pirates 1 to 10 to be beaten, and fought; the mode
    (13). Then life, phase, hazard value, total, free cards, free draws made, abilities used, phases lowered, ability under
    way, its steps, its card, doubled cards, removal points, lowest kind to remove, both pirates' values, the acting card's side.
    """
    low, high = np.zeros(SIZE, dtype=np.float32), np.ones(SIZE, dtype=np.float32)
    high[:COUNTED] = np.tile([card.copies for card in CARDS], 6)
    high[COUNTED:PILES_END] = 2
    high[PILES_END:DOUBLES_END] = KINDS
    low[MODES_END:], high[MODES_END:] = np.array(BOUNDS).T
    return gym.spaces.Box(low, high, dtype=np.float32)


PILES = ("stack", "discard", "left", "left used", "right", "right used")
NAMED_NUMBERS = (
    ("life", "life left"),
    ("phase", "0 green, 1 yellow, 2 red, 3 pirates"),
    ("hazard value", "what the hazard or pirate fought asks for"),
    ("total", "fighting points on the table"),
    ("free cards", "cards that may be drawn for nothing in this fight"),
    ("free draws made", "cards drawn for nothing in this fight"),
    ("abilities used", "abilities used in this fight"),
    ("phases lowered", "by how many phases the hazard is lowered"),
    ("ability under way", "its number in `cards.ABILITIES`, 10 for an exchange that may stop, 0 none"),
    ("ability's steps", "steps that the ability under way has left"),
    ("acting card", "kind + 1 of the card whose ability is under way, 0 none"),
    ("cards doubled", "how many cards are doubled"),
    ("removal points", "points left to remove cards with after a lost fight"),
    ("removable from", "the lowest kind that may still be removed"),
    ("first pirate's value", "what the first pirate asks for"),
    ("second pirate's value", "what the second pirate asks for"),
    ("acting side", "side of the acting card: 0 left, 1 right"),
)
MODES = (
    *(
        "deal a pirate",
        "deal an aging card",
        "deal a hazard",
        "deal a card",
        "choose a hazard",
        "fight",
        "choose a target",
    ),
    *("offer", "arrange", "order", "remove", "won", "lost"),
)


def labels(options: Options) -> dict[str, tuple[Labels, ...]]:
    """Returns what `observe` writes."""
    every = tuple(card.name for card in CARDS)
    hazards, aging = every[FIRST_KNOWLEDGE:FIRST_AGING], every[FIRST_AGING:]
    sequences = (
        *(f"bottom {k + 1}" for k in range(7)),
        *(f"top {k + 1}" for k in range(3)),
        *(f"looked at {k + 1}" for k in range(3)),
        *("first hazard", "second hazard"),
    )
    return {
        "": (
            *(Labels(tuple(f"{pile} {kind}" for kind in every), f"cards of the kind in: {pile}") for pile in PILES),
            Labels(tuple(f"hazard stack {kind}" for kind in hazards), "hazards of the kind in the hazard stack"),
            Labels(tuple(f"hazard discard {kind}" for kind in hazards), "hazards of the kind in the hazard discard"),
            Labels(tuple(f"aging pile {kind}" for kind in aging), "cards of the kind in the aging pile"),
            Labels(sequences, "kind + 1 of a card whose place is known, or 0: next to come first"),
            Labels(tuple(f"doubled {k + 1}" for k in range(6)), "kind + 1 of a doubled card, 0 none"),
            Labels(
                tuple(f"pirate {k + 1} to be beaten" for k in range(10)), "1 for each pirate that is still to be beaten"
            ),
            Labels(tuple(f"pirate {k + 1} fought" for k in range(10)), "1 for the pirate that is fought"),
            Labels(MODES, "1 for what is to be done now"),
            *(Labels((name,), meaning) for name, meaning in NAMED_NUMBERS),
        )
    }


@jit
def see_kinds(O, e, column, word, first, last, T):
    """Writes how many cards of the kinds first..last-1 a word counts."""
    for kind in range(first, last):
        O[e, column + kind - first] = np.float32(copies_in(word, u64(kind), T))


@jit
def see_cards(O, e, column, n, word):
    """Writes n fields of 6 bits."""
    for k in range(n):
        O[e, column + k] = np.float32((word >> (at.CARD_BITS * u64(k))) & at.CARD_MASK)


@jit
def observe(S, i, O, e, T):
    for k in range(6):
        word = S[i, at.STACK if k == 0 else at.DISCARD if k == 1 else at.LEFT + k - 2]
        see_kinds(O, e, k * KINDS, word, 0, KINDS, T)
    stack, away = get(S, i, at.HAZARDS_AT), get(S, i, at.AWAY_AT)
    see_kinds(O, e, COUNTED, stack << at.HAZARD_SHIFT, FIRST_KNOWLEDGE, FIRST_AGING, T)
    see_kinds(O, e, COUNTED + HAZARD_KINDS, away << at.HAZARD_SHIFT, FIRST_KNOWLEDGE, FIRST_AGING, T)
    see_kinds(O, e, COUNTED + 2 * HAZARD_KINDS, aging_pile(S, i), FIRST_AGING, KINDS, T)
    see_cards(O, e, PILES_END, 10, S[i, at.KNOWN])
    see_cards(O, e, PILES_END + 10, 3, looked(S, i))
    see_cards(O, e, PILES_END + 13, 2, get(S, i, at.ACTIVE_AT))
    entries = S[i, at.DOUBLED]
    for k in range(SEQUENCES_END, DOUBLES_END):
        O[e, k] = np.float32((entries & at.ENTRY_MASK) >> u64(4))
        entries >>= at.ENTRY_BITS
    for k in range(DOUBLES_END, MODES_END):
        O[e, k] = np.float32(0.0)
    pirates = get(S, i, at.PIRATE_AT), get(S, i, at.SECOND_PIRATE_AT)
    beaten, fought = get(S, i, at.BEATEN_AT), get(S, i, at.FOUGHT_AT)
    values = (0, 0)
    if pirates[1] != ZERO:
        values = (pirate_value(S, i, pirates[0], T), pirate_value(S, i, pirates[1], T))
        for k in range(2):
            number = np.int64(pirates[k])
            O[e, DOUBLES_END - 1 + number] = np.float32(1 - ((beaten >> u64(k)) & ONE))
            O[e, DOUBLES_END + 9 + number] = np.float32((fought >> u64(k)) & ONE)
    here = mode(S, i)
    O[e, PIRATES_END + np.int64(here)] = np.float32(1.0)
    fighting = fought != ZERO or (get(S, i, at.HAZARD_AT) != ZERO and here != at.CHOOSE)
    acting = get(S, i, at.ACTING_AT)
    column = MODES_END
    numbers = (
        np.float32(life(S, i)),
        np.float32(phase(S, i)),
        np.float32(hazard_value(S, i, T) if fighting else 0),
        np.float32(total(S, i, T)),
        np.float32(free_cards(S, i, T) if fighting else 0),
        np.float32(get(S, i, at.FREE_AT)),
        np.float32(get(S, i, at.USES_AT)),
        np.float32(lowerings(S, i)),
        np.float32(get(S, i, at.KIND_AT)),
        np.float32(get(S, i, at.STEPS_AT)),
        np.float32(acting >> u64(4)),
        np.float32(count_entries(S[i, at.DOUBLED], ZERO, at.ENTRY_MASK)),
        np.float32(get(S, i, at.POINTS_AT)),
        np.float32(get(S, i, at.FROM_AT)),
        np.float32(values[0]),
        np.float32(values[1]),
        np.float32((acting >> u64(3)) & ONE),
    )
    for k in range(NUMBERS):
        O[e, column + k] = numbers[k]
