"""Numbers about a position that follow from the rules; pages without Python read them."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from leafwise.envs.core.arrays import Array
from leafwise.envs.core.compile.jit import jit
from leafwise.envs.friday.fight import free_cards, hazard_value, pirate, pirate_value, total
from leafwise.envs.friday.layout import (
    HAZARD_AT,
    PIRATE_AT,
    SECOND_PIRATE_AT,
    STACK,
    ZERO,
    digest,
    get,
    hunger_of,
    next_cards,
    on_table,
)
from leafwise.envs.friday.scores import final_score
from leafwise.envs.friday.tables import Tables

ROW = np.uint64(0)


class Figures(NamedTuple):
    """The numbers that `write_figures` writes."""

    total: int
    """The score of the table in the fight, 0 without a fight."""
    asked: int
    """The value of the current hazard or pirate."""
    free: int
    """Free cards in this fight."""
    first_pirate: int
    """The current values of the pirates, 0 for an unknown one."""
    second_pirate: int
    hunger: int
    """Life that cards on the table cost at the end of the fight."""
    next_cards: int
    """Counts of the cards that may be drawn next, as in the row's words of counts."""
    points: int
    """The booklet's score, if the game ended here."""


@jit
def write_figures(S, i, N, T):
    for k in range(3):
        N[k] = 0
    if pirate(S, i) != ZERO or get(S, i, HAZARD_AT) != ZERO:
        N[0], N[1], N[2] = total(S, i, T), hazard_value(S, i, T), free_cards(S, i, T)
    first, second = get(S, i, PIRATE_AT), get(S, i, SECOND_PIRATE_AT)
    N[3] = pirate_value(S, i, first, T) if first else 0
    N[4] = pirate_value(S, i, second, T) if second else 0
    N[5] = hunger_of(digest(on_table(S, i), T))
    N[6] = np.int64(next_cards(S, i, T)) if S[i, STACK] else 0
    N[7] = np.int64(final_score(S, i, T))


def figures(row: Array, T: Tables) -> Figures:
    """Returns the figures of a row."""
    numbers = np.zeros(len(Figures._fields), dtype=np.int64)
    write_figures(row[None], ROW, numbers, T)
    return Figures(*numbers.tolist())
