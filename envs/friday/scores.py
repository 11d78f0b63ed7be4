"""The hand-made evaluators of Friday, and the final score of the booklet.

`life`, `deck` and `blend` are the parts and the whole of the evaluation in the public Fridai engine (jgwest): life, and the
mean rating of Robinson's cards. `trade` and `pirates` are the two that its author asks for. All may be called before the next
hazards are revealed, which they do not read.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from leafwise.envs.core.compile.jit import jit
from leafwise.envs.core.contract.bits import count_bits
from leafwise.envs.core.contract.evaluator import Evaluator
from leafwise.envs.core.contract.stream import u64
from leafwise.envs.friday import layout as at
from leafwise.envs.friday.cards import COSTLY, CROWD, HALF, REST
from leafwise.envs.friday.fight import hazard_value, pirate_value, rest, total
from leafwise.envs.friday.layout import (
    AWAY_AT,
    BEATEN_AT,
    DEBT_AT,
    FOUGHT_AT,
    FREE_CARDS,
    HAZARD_AT,
    HAZARD_SHIFT,
    HAZARDS_AT,
    IS_AGING,
    LOST,
    ONE,
    PIRATE_AT,
    RED,
    RUIN,
    SECOND_HAZARD_AT,
    SECOND_PIRATE_AT,
    THREE,
    VALUE,
    ZERO,
    count_of,
    digest,
    fact,
    first_kind,
    get,
    in_play,
    life,
    mask_of,
    mode,
    phase,
    possessed,
    printed,
    rating_of,
    shift_of,
)

LIFE_WEIGHT = 10_000_000
WIN = 2.0**31 - 1
"""The value of a won game in the source's evaluation."""


@jit(inline=True)
def life_left(S, i):
    """Returns the life; in a lost game a number below 0: the unpaid life, or -999 if no card could be drawn."""
    if mode(S, i) != LOST:
        return np.int64(life(S, i))
    debt = get(S, i, DEBT_AT)
    if debt == RUIN:
        return np.int64(-999)
    return -np.int64(debt) if debt else np.int64(-1)


@jit(inline=True)
def mean_rating(S, i, T):
    """Returns 1000 times the mean rating of Robinson's cards, rounded towards 0."""
    sums = digest(in_play(S, i), T)
    count = count_of(sums)
    if count == 0:
        return np.int64(0)
    thousandfold = 1000 * rating_of(sums)
    return -(-thousandfold // count) if thousandfold < 0 else thousandfold // count


@jit
def beaten_value(S, i, T):
    """Returns the sum of the red values of all beaten hazards."""
    open_value = rest(S, i, RED, T)
    for where in (HAZARD_AT, SECOND_HAZARD_AT):
        hazard = get(S, i, where)
        if hazard != ZERO:
            open_value += fact(hazard - ONE, RED, T)
    return 198 - open_value


@jit(inline=True)
def shortfall(S, i, index, strength, T):
    """Returns the expected life that a deck of this mean strength lacks against a pirate; 0 if it is beaten."""
    if get(S, i, BEATEN_AT) & (ONE << u64(index)):
        return 0.0
    number = get(S, i, SECOND_PIRATE_AT if index else PIRATE_AT)
    free = printed(number, 0, T)
    if number == REST:
        free = max(rest(S, i, FREE_CARDS, T), 1)
    a_card = strength
    if number == CROWD:
        a_card += 1.0
    if number == HALF:
        a_card = 0.5 * a_card + 0.5  # the better half counts
    missing = pirate_value(S, i, number, T) - a_card * free
    if missing <= 0.0:
        return 0.0
    cards = missing / max(a_card, 0.5)
    return 2.0 * cards if number == COSTLY else cards


@jit
def final_score(S, i, T):
    """Returns the score of the booklet: card values, -5 per aging card, 15 per pirate, 5 per life if won, -3 per hazard left."""
    points = np.int64(0)
    cards = possessed(S, i, T)
    while cards:
        kind = first_kind(cards, T)
        n = np.int64((cards & mask_of(kind, T)) >> shift_of(kind, T))
        points += n * (-5 if fact(kind, IS_AGING, T) else fact(kind, VALUE, T))
        cards &= ~mask_of(kind, T)
    points += 15 * np.int64(count_bits(get(S, i, BEATEN_AT)))
    if mode(S, i) == at.WON:
        points += 5 * np.int64(life(S, i))
    hazards = get(S, i, HAZARDS_AT) + get(S, i, AWAY_AT)
    hazards_left = count_of(digest(hazards << HAZARD_SHIFT, T))
    for where in (HAZARD_AT, SECOND_HAZARD_AT):
        hazards_left += np.int64(get(S, i, where) != ZERO)
    return np.float64(points - 3 * hazards_left)


@jit
def score_reward(S, i, j, k, T):
    """Returns the final score at the end of the game, 0 before."""
    return final_score(S, k, T) if mode(S, k) >= at.WON else 0.0


@jit
def progress(S, i, T):
    """Returns the progress part of `shaped_reward`, without the win."""
    pirates = count_bits(get(S, i, BEATEN_AT))
    return beaten_value(S, i, T) / 198.0 + 0.5 * pirates + 0.2 * (life(S, i) / T.max_life)


@jit
def how_far(S, i, T):
    """Returns how far a lost game got, 0 to 1: half of it for revealed hazards, a quarter per pirate, for the last one by
    points.
    """
    phase_now = phase(S, i)
    if phase_now < THREE:
        left = count_of(digest(get(S, i, HAZARDS_AT) << HAZARD_SHIFT, T))
        return (phase_now + 1.0 - left / 30.0) / 6.0
    points = 0.5 + 0.25 * count_bits(get(S, i, BEATEN_AT))
    if get(S, i, FOUGHT_AT) == ZERO:
        return points
    return points + 0.25 * min(1.0, max(0.0, total(S, i, T) / max(hazard_value(S, i, T), 1)))


@jit
def shaped_reward(S, i, j, k, T):
    """Returns 1 for a win, plus the change of: share of red hazard values beaten + 0.5 per pirate + 0.2 life / most life."""
    won = 1.0 if mode(S, k) == at.WON else 0.0
    return won + progress(S, k, T) - progress(S, i, T)


class ScoreChoice(NamedTuple):
    """The index of an evaluator: one compiled function, and one compiled search, serve all."""

    which: np.int64


WON = (WIN / LIFE_WEIGHT, 10_000.0, WIN, 1000.0, 1000.0)
"""The value of a won game for each evaluator; except for life and blend, a lost one has the negative value."""


@jit
def value(S, i, T):
    """Returns the value of a row by the evaluator `T.leaf.which`, an index into NAMES."""
    which, mode_now = T.leaf.which, mode(S, i)
    if mode_now == at.WON:
        return WON[which]
    if mode_now == LOST and which not in (0, 2):
        return -WON[which]
    if which == 0:
        return np.float64(life_left(S, i))
    if which == 1:
        return np.float64(mean_rating(S, i, T))
    if which == 2:
        return np.float64(LIFE_WEIGHT * life_left(S, i) + mean_rating(S, i, T))
    if which == 3:
        life_spent = np.int64(T.max_life) - np.int64(life(S, i))
        return beaten_value(S, i, T) / (1 + life_spent)
    sums = digest(in_play(S, i), T)
    strength = rating_of(sums) / max(count_of(sums), 1)
    return np.float64(life(S, i)) - shortfall(S, i, 0, strength, T) - shortfall(S, i, 1, strength, T)


NAMES = ("life", "deck", "blend", "trade", "pirates")
"""life: life left. deck: 1000 x mean rating. blend: 10,000,000 x life + deck, the source's. trade: red values of beaten hazards
per life spent. pirates: life minus the paid cards that the mean card leaves to buy against the remaining pirates.
"""


def _score(name: str) -> Callable[[Any], Evaluator]:
    weights = ScoreChoice(np.int64(NAMES.index(name)))
    return lambda options: Evaluator(name, value, weights=weights, stage="hazard", terminal="evaluate")


SCORES = {name: _score(name) for name in ("pirates", *NAMES)}
