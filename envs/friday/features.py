"""What learners see of Friday: first the observation, then the sparse features.

The observation has counts of every pile, the table, the fight and the current step.

A sparse feature stands for a number of cards of a kind in a pile. Piles: all that Robinson has in play, stack, discard, the
table (left, left used, right, right used), hazard stack, hazard discard, aging pile. Then come the kinds of single cards: the
next one if known, other known ones on top and at the bottom, doubled ones, those looked at. Then life by phase; pirates
unbeaten, fought, and both together; the current step; the hazards revealed or fought by phase; the lack of the total by free
cards left; hazards left by phase; the current ability; removal points.

Sums, in steps: mean value and mean rating of Robinson's cards by phase; their number; number and mean value of the stack; aging
cards left by phase; the lack of the total if the free cards left bring the stack's mean, and life minus that; the cards to pay
against the remaining pirates if every card is the mean one, for the harder pirate, for both, and life minus those; the red
values of unbeaten hazards; the largest possible life, which with the aging pile determines the level.

The number of abilities used (`uses`), the order of known cards at the bottom and face-down cards are left out.
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import groupby, pairwise
from typing import TYPE_CHECKING

import numpy as np

from leafwise.envs.core.compile.jit import jit
from leafwise.envs.core.contract.bits import count_bits
from leafwise.envs.core.contract.features import SparseFeatures
from leafwise.envs.core.contract.game import Labels
from leafwise.envs.core.contract.stream import u64
from leafwise.envs.friday.cards import (
    AGED,
    CARDS,
    COSTLY,
    CROWD,
    FIRST_AGING,
    FIRST_KNOWLEDGE,
    HALF,
    HAZARDS,
    KINDS,
    PIRATES,
    REST,
    rating,
)
from leafwise.envs.friday.fight import free_cards, free_made, hazard_value, lowerings, pirate_value, rest, total
from leafwise.envs.friday.layout import (
    ACTING_AT,
    ACTIVE_AT,
    AGING_GROUPS,
    AWAY_AT,
    BEATEN_AT,
    CARD_BITS,
    CARD_MASK,
    CHOOSE,
    COPIES,
    COPIES_AT,
    DEAL_HAZARD,
    DISCARD,
    DOUBLED,
    ENTRIES,
    ENTRY_BITS,
    ENTRY_MASK,
    FOUGHT_AT,
    FOUR,
    FREE_AT,
    FROM_AT,
    GROUPS,
    HAZARD_AT,
    HAZARD_GROUPS,
    HAZARD_SHIFT,
    HAZARDS_AT,
    KIND_AT,
    KNOWN,
    LEFT,
    ONE,
    PIRATE_AT,
    POINTS_AT,
    PRESENT_BITS,
    RED,
    SECOND_PIRATE_AT,
    SHIFTS,
    STACK,
    STEPS_AT,
    TOP_AT,
    USES_AT,
    ZERO,
    aging_pile,
    copies_in,
    count_entries,
    count_of,
    digest,
    get,
    in_play,
    life,
    looked,
    mode,
    on_table,
    phase,
    rating_of,
    value_of,
)
from leafwise.envs.friday.scores import shortfall
from leafwise.envs.friday.tables import Options, aging_cards

if TYPE_CHECKING:
    import gymnasium as gym

f32 = np.float32
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
MOST_RED = 198
"""Red values of all hazards: the largest value of the tenth pirate; no deck scores as much."""
NUMBERS_SEEN = (
    ("life", 0, 31, "life left"),
    ("phase", 0, 3, "0 green, 1 yellow, 2 red, 3 pirates"),
    ("hazard value", 0, MOST_RED, "points needed against the current hazard or pirate"),
    ("total", -50, MOST_RED, "fighting points on the table"),
    ("free cards", 0, 70, "number of free cards of the current hazard or pirate"),
    ("free draws made", 0, 127, "how many free cards were drawn in this fight"),
    ("abilities used", 0, 64, "how many abilities were used in this fight"),
    ("phases lowered", 0, 3, "how many cards lower the phase of the hazard"),
    (
        "ability under way",
        0,
        10,
        "the ability in use, as its index in `leafwise.envs.friday.cards.ABILITIES`; 0: none; 10: `exchange` after its "
        "first card (the player may skip the second)",
    ),
    ("ability's steps", 0, 3, "remaining steps of the ability in use"),
    ("acting card", 0, KINDS, "the card whose ability is in use, as 1 + the number of its kind; 0: no card"),
    ("cards doubled", 0, 6, "how many cards are doubled"),
    ("removal points", 0, 31, "points left for removing cards after a lost fight"),
    (
        "lowest kind",
        0,
        KINDS,
        "cards are removed in the order of their kinds; this is the number of the first kind that may still be removed",
    ),
    ("first pirate's value", 0, MOST_RED, "points needed against the first pirate"),
    ("second pirate's value", 0, MOST_RED, "points needed against the second pirate"),
    ("acting side", 0, 1, "side of the acting card: 0 left, 1 right"),
)
"""The last numbers of an observation: name, least, most, and meaning."""
OBSERVED = MODES_END + len(NUMBERS_SEEN)


def observation_space(options: Options) -> gym.spaces.Box:
    """Returns a Box float32 [356] of whole numbers, each with its own bounds.

    Counts by kind (in the order of `cards.CARDS`) of stack, discard, left, left used, right, right used; hazard stack and
    discard by knowledge card; aging pile. Then kinds + 1 (0: none): known cards at the bottom (7) and on top (3) of the stack,
    cards looked at (3), hazards revealed or fought (2), doubled cards (6). Pirates 1 to 10 that are unbeaten, and fought; the
    mode (13). Then life, phase, hazard value, total, free cards, free draws made, abilities used, phases lowered, the current
    ability, its steps, its card, doubled cards, removal points, lowest kind to remove, both pirates' values, the acting card's
    side.
    """
    import gymnasium as gym

    low, high = np.zeros(OBSERVED, dtype=np.float32), np.ones(OBSERVED, dtype=np.float32)
    high[:COUNTED] = np.tile([card.copies for card in CARDS], 6)
    high[COUNTED:PILES_END] = 2
    high[PILES_END:DOUBLES_END] = KINDS
    low[MODES_END:], high[MODES_END:] = np.array([bounds for _, *bounds, _ in NUMBERS_SEEN]).T
    return gym.spaces.Box(low, high, dtype=np.float32)


PILE_WORDS = {
    "stack": "in the stack", "discard": "in the discard pile",
    "left": "on the left of the table, ability not used", "left used": "on the left of the table, ability used",
    "right": "on the right of the table, ability not used", "right used": "on the right of the table, ability used",
}  # fmt: skip
"""Places of Robinson's cards: name -> in words."""
MODES = (
    "deal a pirate", "deal an aging card", "deal a hazard", "deal a card", "choose a hazard", "fight", "choose a target",
    "draw for an ability", "discard a card looked at", "put back cards looked at", "remove", "won", "lost",
)  # fmt: skip


def labels(options: Options) -> dict[str, tuple[Labels, ...]]:
    """Returns the labels of the numbers that `observe` writes."""
    every = tuple(card.name for card in CARDS)
    hazards, aging = every[FIRST_KNOWLEDGE:FIRST_AGING], every[FIRST_AGING:]

    def counts(pile: str, kinds: tuple[str, ...], where: str) -> Labels:
        names = tuple(f"{pile} {kind}" for kind in kinds)
        return Labels(names, f"how many cards of the kind are {where}", f"kinds {kinds[0]} to {kinds[-1]}")

    def known(names: Iterable[str], what: str) -> Labels:
        return Labels(tuple(names), f"{what}, as 1 + the number of its kind; 0: no such card")

    return {
        "": (
            *(counts(pile, every, where) for pile, where in PILE_WORDS.items()),
            counts("hazard stack", hazards, "in the stack of hazards"),
            counts("hazard discard", hazards, "in the discard pile of hazards"),
            counts("aging pile", aging, "in the pile of aging cards"),
            known(
                (f"bottom {k + 1}" for k in range(7)),
                "each known card at the bottom of the stack (bottom 1 is drawn first)",
            ),
            known(
                (f"top {k + 1}" for k in range(3)),
                "each known card on top of the stack (top 1 is drawn first)",
            ),
            known((f"looked at {k + 1}" for k in range(3)), "each card that an ability looks at"),
            known(("first hazard", "second hazard"), "each hazard that lies open"),
            Labels(
                tuple(f"doubled {k + 1}" for k in range(6)),
                "each doubled card, as 1 + the number of its kind; 0: no such card",
                "doubled cards",
            ),
            Labels(
                tuple(f"pirate {k + 1} to be beaten" for k in range(10)),
                "1 for each pirate that is still to be beaten",
                "pirates 1 to 10",
            ),
            Labels(
                tuple(f"pirate {k + 1} fought" for k in range(10)),
                "1 for the pirate in the current fight",
                "pirates 1 to 10",
            ),
            Labels(MODES, "1 for the current step of the turn, or for the result of the game", ", ".join(MODES)),
            *(Labels((name,), meaning) for name, _, _, meaning in NUMBERS_SEEN),
        )
    }


@jit
def see_kinds(O, e, column, word, first, last, T):
    """Writes the counts of the kinds first..last-1 in a counts word."""
    for kind in range(first, last):
        O[e, column + kind - first] = copies_in(word, u64(kind), T)


@jit
def see_items(O, e, column, n, items, bits, low):
    """Writes n fields of `bits` bits, without the lowest `low` bits."""
    for k in range(n):
        O[e, column + k] = ((items >> (bits * u64(k))) & ((ONE << bits) - ONE)) >> low


@jit
def observe(S, i, O, e, T):
    for k in range(6):
        word = S[i, STACK if k == 0 else DISCARD if k == 1 else LEFT + k - 2]
        see_kinds(O, e, k * KINDS, word, 0, KINDS, T)
    stack, away = get(S, i, HAZARDS_AT), get(S, i, AWAY_AT)
    see_kinds(O, e, COUNTED, stack << HAZARD_SHIFT, FIRST_KNOWLEDGE, FIRST_AGING, T)
    see_kinds(O, e, COUNTED + HAZARD_KINDS, away << HAZARD_SHIFT, FIRST_KNOWLEDGE, FIRST_AGING, T)
    see_kinds(O, e, COUNTED + 2 * HAZARD_KINDS, aging_pile(S, i), FIRST_AGING, KINDS, T)
    see_items(O, e, PILES_END, 10, S[i, KNOWN], CARD_BITS, ZERO)
    see_items(O, e, PILES_END + 10, 3, looked(S, i), CARD_BITS, ZERO)
    see_items(O, e, PILES_END + 13, 2, get(S, i, ACTIVE_AT), CARD_BITS, ZERO)
    see_items(O, e, SEQUENCES_END, ENTRIES, S[i, DOUBLED], ENTRY_BITS, FOUR)
    O[e, DOUBLES_END:MODES_END] = 0.0
    pirates = get(S, i, PIRATE_AT), get(S, i, SECOND_PIRATE_AT)
    beaten, fought = get(S, i, BEATEN_AT), get(S, i, FOUGHT_AT)
    values = (0, 0)
    if pirates[1] != ZERO:
        values = (pirate_value(S, i, pirates[0], T), pirate_value(S, i, pirates[1], T))
        for k in range(2):
            number = np.int64(pirates[k])
            O[e, DOUBLES_END - 1 + number] = ONE - ((beaten >> u64(k)) & ONE)
            O[e, DOUBLES_END + 9 + number] = (fought >> u64(k)) & ONE
    mode_now = mode(S, i)
    O[e, PIRATES_END + np.int64(mode_now)] = 1.0
    fighting = fought != ZERO or (get(S, i, HAZARD_AT) != ZERO and mode_now != CHOOSE)
    acting = get(S, i, ACTING_AT)
    numbers = (
        f32(life(S, i)),
        f32(phase(S, i)),
        f32(hazard_value(S, i, T) if fighting else 0),
        f32(total(S, i, T)),
        f32(free_cards(S, i, T) if fighting else 0),
        f32(get(S, i, FREE_AT)),
        f32(get(S, i, USES_AT)),
        f32(lowerings(S, i)),
        f32(get(S, i, KIND_AT)),
        f32(get(S, i, STEPS_AT)),
        f32(acting >> u64(4)),
        f32(count_entries(S[i, DOUBLED], ZERO, ENTRY_MASK)),
        f32(get(S, i, POINTS_AT)),
        f32(get(S, i, FROM_AT)),
        f32(values[0]),
        f32(values[1]),
        f32((acting >> u64(3)) & ONE),
    )
    for k in range(len(numbers)):
        O[e, MODES_END + k] = numbers[k]


OF_KINDS = (*range(PILES_END, DOUBLES_END), MODES_END + 10)
"""Entries of `observe` with a kind + 1: cards in known places, doubled ones, the acting card."""
ONEHOT = OBSERVED + len(OF_KINDS) * KINDS


def onehot_space(options: Options) -> gym.spaces.Box:
    """Returns a Box float32 [1192]: the observation with 1 for any kind, followed by each kind as one-hot numbers."""
    import gymnasium as gym

    base = observation_space(options)
    high = np.concatenate([base.high, np.ones(ONEHOT - OBSERVED, dtype=np.float32)])
    high[list(OF_KINDS)] = 1
    return gym.spaces.Box(np.concatenate([base.low, np.zeros(ONEHOT - OBSERVED, dtype=np.float32)]), high)


def onehot_labels(options: Options) -> dict[str, tuple[Labels, ...]]:
    """Returns the labels of the numbers that `onehot_as` writes."""
    names = [name for group in labels(options)[""] for name in group.names]
    groups = list[Labels]()
    for known, entries in groupby(range(OBSERVED), key=OF_KINDS.__contains__):
        entry_names = tuple(names[k] for k in entries)
        meaning = (
            "1 if there is such a card and its kind is known; the last row of this table shows which kind"
            if known
            else "as in the default observation"
        )
        groups.append(Labels(entry_names, meaning, "as in the default observation"))
    kinds = tuple(f"{names[k]}: {card.name}" for k in OF_KINDS for card in CARDS)
    cards = f"for each of entries {PILES_END} to {DOUBLES_END - 1}, then for {OF_KINDS[-1]}"
    return {"": (*groups, Labels(kinds, "1 for the card's kind", f"kinds {CARDS[0].name} to {CARDS[-1].name} {cards}"))}


@jit
def onehot_as(S, i, player, O, e, T):
    """Writes what `observe` does with 1 for any kind, followed by each kind as one-hot numbers."""
    observe(S, i, O, e, T)
    O[e, OBSERVED:] = 0.0
    for n in range(len(OF_KINDS)):
        kind = np.int64(O[e, OF_KINDS[n]])
        if kind > 0:
            O[e, OF_KINDS[n]] = 1.0
            O[e, OBSERVED + n * KINDS + kind - 1] = 1.0


PILE = KINDS * COPIES
PILES = 10
NUMBERS = len(PIRATES) + 1
MARGIN, FREE = 20, 8
"""Largest distinguished difference of the total from the value, and number of distinguished free cards left."""
NEXT = PILES * PILE
TWICE = NEXT + KINDS
SEEN = TWICE + KINDS
LIFE = SEEN + KINDS
BEAT = LIFE + 4 * 32
FOUGHT = BEAT + NUMBERS
PAIR = FOUGHT + NUMBERS
MODE = PAIR + NUMBERS * NUMBERS
ACTIVE = MODE + 13
LACK = ACTIVE + 4 * KINDS
LEFT_OVER = LACK + (2 * MARGIN + 1) * FREE
ABILITY = LEFT_OVER + 4 * 31
POINTS = ABILITY + 11
LATER = POINTS + 32
STRENGTH = 64
"""Mean values and ratings in tenths, from -2 on."""
VALUES = LATER + KINDS
RATINGS = VALUES + 4 * STRENGTH
OWNED = RATINGS + 4 * STRENGTH
STACKED = OWNED + 64
NEXT_VALUE = STACKED + 64
AGES = NEXT_VALUE + STRENGTH
EXPECTED = AGES + 4 * 12
SPARE_NOW = EXPECTED + 2 * MARGIN + 1
HARDER = SPARE_NOW + 64
NEED = HARDER + 64
SPARE = NEED + 64
UNBEATEN = SPARE + 64
MOST_LIFE = UNBEATEN + 64
SIZE = MOST_LIFE + 32
MOST = 216
"""At most 59 cards in play count twice, once by kind; 30 hazards, 11 aging cards, 19 known, doubled or looked at, 28 others."""

RUN_SHIFTS = np.array([shift for shift, _ in GROUPS], dtype=np.uint64)
RUN_MASKS = np.array([(1 << bits) - 1 for _, bits in GROUPS], dtype=np.uint64)
RUN_KINDS = np.array([SHIFTS.index(shift) for shift, _ in GROUPS], dtype=np.int64)
"""Shift and mask of each run of fields, and its first kind."""
ALL_RUNS = (0, len(GROUPS))
HAZARD_RUNS, AGING_RUNS = (HAZARD_GROUPS, AGING_GROUPS), (AGING_GROUPS, len(GROUPS))
"""First and last run of all cards, of knowledge cards (hazards), of aging cards."""


@jit(inline=True)
def see_run(F, n, first, word, g, T):
    """Writes a feature for each kind in run g of a counts word; returns the new number of features.

    All eight entries of the run's table are written, whatever they contain, to avoid a branch. At least as many features follow
    those of all piles in every position, and overwrite the invalid ones.
    """
    entries = T.bits[u64(COPIES_AT + 256 * g) + ((word >> RUN_SHIFTS[g]) & RUN_MASKS[g])]
    start = first + RUN_KINDS[g] * COPIES
    for slot in range(8):
        F[u64(n) + u64(slot)] = start + np.int64((entries >> u64(8 * slot)) & u64(127))
    return n + np.int64(count_bits(entries & PRESENT_BITS))


@jit(inline=True)
def see_pile(F, n, first, word, runs, T):
    """Writes a feature for each kind in some runs of a counts word; returns the new number of features."""
    if word:
        for g in range(runs[0], runs[1]):
            n = see_run(F, n, first, word, g, T)
    return n


@jit(inline=True)
def see_list(F, n, first, items, bits, low):
    """Writes a feature for each kind + 1 in fields of `bits` bits, above bit `low`; returns the new number of features."""
    while items:
        card = (items & ((ONE << bits) - ONE)) >> low
        if card:
            F[n] = first + int(card) - 1
            n += 1
        items >>= bits
    return n


@jit(inline=True)
def step(first, number, most):
    """Returns the feature of a whole number, clipped to 0..most - 1."""
    return first + max(0, min(most - 1, int(number)))


@jit(inline=True)
def mean_tenths(points, count):
    """Returns a mean in tenths, counted from -2."""
    return 10 * points // max(count, 1) + 20


@jit(inline=True)
def see_sums(S, i, F, n, T):
    """Writes the features of sums over cards; returns the new number of features."""
    # Means and sizes of piles, unbeaten hazards, and the largest life.
    phase_now = int(phase(S, i))
    cards, stack = digest(in_play(S, i), T), digest(S[i, STACK], T)
    F[n] = step(VALUES + STRENGTH * phase_now, mean_tenths(value_of(cards), count_of(cards)), STRENGTH)
    F[n + 1] = step(RATINGS + STRENGTH * phase_now, mean_tenths(rating_of(cards), count_of(cards)), STRENGTH)
    F[n + 2] = step(OWNED, count_of(cards), 64)
    F[n + 3] = step(STACKED, count_of(stack), 64)
    F[n + 4] = step(NEXT_VALUE, mean_tenths(value_of(stack), count_of(stack)), STRENGTH)
    F[n + 5] = step(AGES + 12 * phase_now, count_of(digest(aging_pile(S, i), T)), 12)
    F[n + 6] = step(UNBEATEN, rest(S, i, RED, T) // 3, 64)
    F[n + 7] = step(MOST_LIFE, T.max_life, 32)
    n += 8
    # With pirates dealt: the shortfall of all cards in play against the unbeaten ones.
    if get(S, i, SECOND_PIRATE_AT) == ZERO:
        return n
    strength = rating_of(cards) / max(count_of(cards), 1)
    first, second = shortfall(S, i, 0, strength, T), shortfall(S, i, 1, strength, T)
    both = first + second
    F[n] = step(HARDER, max(first, second), 64)
    F[n + 1] = step(NEED, both, 64)
    F[n + 2] = step(SPARE, life(S, i) - both + 32.0, 64)
    return n + 3


@jit
def active(S, i, F, T):
    # Cards by kind: in play, stack, discard, table, hazards left and away, aging cards.
    n = see_pile(F, 0, 0, in_play(S, i), ALL_RUNS, T)
    n = see_pile(F, n, PILE, S[i, STACK], ALL_RUNS, T)
    n = see_pile(F, n, 2 * PILE, S[i, DISCARD], ALL_RUNS, T)
    if on_table(S, i):
        for side in range(4):
            n = see_pile(F, n, (3 + side) * PILE, S[i, u64(LEFT + side)], ALL_RUNS, T)
    left, away = get(S, i, HAZARDS_AT) << HAZARD_SHIFT, get(S, i, AWAY_AT) << HAZARD_SHIFT
    n = see_pile(F, n, 7 * PILE, left, HAZARD_RUNS, T)
    n = see_pile(F, n, 8 * PILE, away, HAZARD_RUNS, T)
    n = see_pile(F, n, 9 * PILE, aging_pile(S, i), AGING_RUNS, T)
    # Known cards on top and at the bottom of the stack, the next one separately.
    top = get(S, i, TOP_AT) & CARD_MASK
    n = see_list(F, n, NEXT, top, CARD_BITS, ZERO)
    n = see_list(F, n, LATER, S[i, KNOWN] & ~(CARD_MASK << TOP_AT.shift), CARD_BITS, ZERO)
    # Cards doubled in this fight, and cards looked at.
    n = see_list(F, n, TWICE, S[i, DOUBLED], ENTRY_BITS, FOUR)
    n = see_list(F, n, SEEN, looked(S, i), CARD_BITS, ZERO)
    # Life, the current step, hazards left, the current ability, and removal points.
    mode_now, now = mode(S, i), int(phase(S, i))
    F[n] = LIFE + 32 * now + int(life(S, i))
    F[n + 1] = MODE + int(mode_now)
    F[n + 2] = LEFT_OVER + 31 * now + count_of(digest(left, T))
    F[n + 3] = ABILITY + int(get(S, i, KIND_AT))
    F[n + 4] = POINTS + int(get(S, i, POINTS_AT))
    n += 5
    # The pirates: both together while none is beaten, and each unbeaten and each fought one.
    beaten, fought = get(S, i, BEATEN_AT), get(S, i, FOUGHT_AT)
    first, second = get(S, i, PIRATE_AT), get(S, i, SECOND_PIRATE_AT)
    if beaten == ZERO:
        F[n] = PAIR + NUMBERS * int(first) + int(second)
        n += 1
    for k in range(2):
        number = int(second if k else first)
        if (beaten >> u64(k)) & ONE == ZERO:
            F[n] = BEAT + number
            n += 1
        if (fought >> u64(k)) & ONE:
            F[n] = FOUGHT + number
            n += 1
    # The hazards revealed or fought.
    n = see_list(F, n, ACTIVE + KINDS * now, get(S, i, ACTIVE_AT), CARD_BITS, ZERO)
    # The fight: the lack of the total, now and with the expected value of the free cards left.
    if fought != ZERO or (get(S, i, HAZARD_AT) != ZERO and mode_now != CHOOSE and mode_now != DEAL_HAZARD):
        lack = max(-MARGIN, min(MARGIN, hazard_value(S, i, T) - total(S, i, T)))
        free = max(0, min(FREE - 1, free_cards(S, i, T) - free_made(S, i)))
        F[n] = LACK + FREE * (lack + MARGIN) + free
        stack = digest(S[i, STACK], T)
        brought = (value_of(stack) * max(0, free_cards(S, i, T) - free_made(S, i))) // max(count_of(stack), 1)
        short = hazard_value(S, i, T) - total(S, i, T) - brought
        F[n + 1] = step(EXPECTED, short + MARGIN, 2 * MARGIN + 1)
        F[n + 2] = step(SPARE_NOW, np.int64(life(S, i)) - max(short, 0) + 32, 64)
        n += 3
    return see_sums(S, i, F, n, T)


def observed(obs, options: Options):
    """Returns the features of observations [n, 356], as `active` writes them, after the pirates are dealt."""
    ends = np.cumsum([0, *[KINDS] * 6, *[HAZARD_KINDS] * 2, KINDS - FIRST_AGING, 7, 1, 2, 3, 2, 6, 10, 10, 13])
    *piles, left, away, aging, queue, top, upper, looked_at, revealed, twice, beat, fought, modes = (
        obs[:, a:b] for a, b in pairwise(ends)
    )
    number = {name: obs[:, [MODES_END + k]] for k, (name, *_) in enumerate(NUMBERS_SEEN)}
    alive, now, lacks = number["life"], number["phase"], number["hazard value"] - number["total"]

    def where(there, feature):
        return (feature - SIZE) * there + SIZE

    def clipped(first, amount, most):
        return np.maximum(np.minimum(amount, most - 1), 0) + first

    def each(values):
        """Returns factors for counts by kind."""
        return np.array(values)[:, None]

    def total_of(counts):
        return counts.sum(axis=1)[:, None]

    def share(amount, counts):
        """Returns an amount per card, rounded down; amounts may be negative, but above -1000 per card."""
        cards = np.maximum(total_of(counts), 1)
        return (amount + cards * 1000) // cards - 1000

    # Cards by kind, and known, looked at, doubled, revealed or fought cards.
    play = sum(piles[1:], piles[0])
    kinds, values = np.arange(KINDS), each([card.value for card in CARDS])
    features = [
        where(counts > 0, np.maximum(counts - 1, 0) % COPIES + (PILE * k + COPIES * shown))
        for k, (counts, shown) in enumerate([
            *((counts, kinds) for counts in (play, *piles)),
            (left, kinds[FIRST_KNOWLEDGE:FIRST_AGING]),
            (away, kinds[FIRST_KNOWLEDGE:FIRST_AGING]),
            (aging, kinds[FIRST_AGING:]),
        ])
    ]  # fmt: skip
    for first, cards in (
        (NEXT, top), (LATER, queue), (LATER, upper), (TWICE, twice), (SEEN, looked_at), (now * KINDS + ACTIVE, revealed),
    ):  # fmt: skip
        features.append(where(cards > 0, cards + first - 1))

    # Life, the current step, hazards left, the current ability, and removal points.
    features += [now * 32 + alive + LIFE, modes @ each(range(13)) + MODE, now * 31 + total_of(left) + LEFT_OVER]
    features += [number["ability under way"] + ABILITY, number["removal points"] + POINTS]
    # The pirates.
    places, ahead = np.arange(1, NUMBERS), total_of(beat)
    last, both = (beat * places).max(axis=1)[:, None], beat @ each(places)
    features.append(where(ahead == 2, (both - last) * NUMBERS + last + PAIR))
    features += [where(beat, places + BEAT), where(fought, places + FOUGHT)]
    # The fight.
    is_hazard = (revealed[:, [0]] > 0) * (1 - modes[:, [int(CHOOSE)]]) * (1 - modes[:, [int(DEAL_HAZARD)]])
    fights = np.maximum(total_of(fought), is_hazard)
    free = np.maximum(number["free cards"] - number["free draws made"], 0)
    lack = clipped(0, lacks + MARGIN, 2 * MARGIN + 1)
    short = lacks - share((piles[0] @ values) * free, piles[0])
    features.append(where(fights, lack * FREE + np.minimum(free, FREE - 1) + LACK))
    features.append(where(fights, clipped(EXPECTED, short + MARGIN, 2 * MARGIN + 1)))
    features.append(where(fights, clipped(SPARE_NOW, alive - np.maximum(short, 0) + 32, 64)))
    # Sums.
    strength, hazards = play @ each([rating(card) for card in CARDS]), left + away
    sides = [HAZARDS[card.name[0]] for card in CARDS[FIRST_KNOWLEDGE:FIRST_AGING]]
    free_rest, red_rest = (
        hazards @ each([side.free for side in sides]),
        hazards @ each([side.values[2] for side in sides]),
    )
    features += [
        clipped(now * STRENGTH + VALUES, share(play @ values * 10, play) + 20, STRENGTH),
        clipped(now * STRENGTH + RATINGS, share(strength * 10, play) + 20, STRENGTH),
        clipped(OWNED, total_of(play), 64),
        clipped(STACKED, total_of(piles[0]), 64),
        clipped(NEXT_VALUE, share(piles[0] @ values * 10, piles[0]) + 20, STRENGTH),
        clipped(now * 12 + AGES, total_of(aging), 12),
        clipped(UNBEATEN, red_rest // 3, 64),
        now * 0 + (MOST_LIFE + min(options.most_life, 31)),
    ]
    # The shortfall of all cards in play against the unbeaten pirates, as in `shortfall`, in 64-bit floats.
    rests, halves = (places == REST) * 1, np.where(places == HALF, 0.5, 0.0)
    gone = sum(aging_cards(options.level).values()) - total_of(aging)
    frees = np.maximum(free_rest, 1) * rests + np.array([pirate.free for pirate in PIRATES])
    needs = red_rest * rests + gone * (2 * (places == AGED)) + np.array([pirate.value for pirate in PIRATES])
    a_card = strength.astype(np.float64) / np.maximum(total_of(play), 1).astype(np.float64) + 1.0 * (places == CROWD)
    a_card = a_card * (1.0 - halves) + halves
    missing = np.maximum(needs.astype(np.float64) - a_card * frees.astype(np.float64), 0.0)
    cards = missing / np.maximum(a_card, 0.5) * np.where(places == COSTLY, 2.0, 1.0) * beat.astype(np.float64)
    needed, harder = cards.sum(axis=1)[:, None], cards.max(axis=1)[:, None]
    spare = alive.astype(np.float64) - needed + 32.0
    for first, amount in ((HARDER, harder), (NEED, needed), (SPARE, spare)):
        features.append(where(ahead > 0, clipped(first, amount.astype(np.int64), 64)))
    return features


SPARSE = SparseFeatures(
    active=active,
    size=lambda options: SIZE,
    most=lambda options: MOST,
    invariant=True,
    stage="hazard",
    observed=observed,
)
