"""Windows of the search of whole turns: what of a turn's pairs is still of interest."""

from __future__ import annotations

from leafwise.envs.core.compile.jit import jit
from leafwise.envs.trap.turns.memory import BEST, BEST_PAIR, LOWER, REST, UPPER, WEIGHT

EMPTY = 1e-5
"""Width of a window in which it is only asked whether a pair is better."""
WHOLE, SCOUT, REDUCED = 0, 1, 2
"""What the open child of a turn is for: its value, whether its pair is better, the same a turn less deep."""


@jit(inline=True)
def take(B, level, pair, worth):
    """Takes the value of a pair; returns whether the turn is cut."""
    if worth > B.worth[level, BEST]:
        B.worth[level, BEST] = worth
        B.frames[level, BEST_PAIR] = pair
    if worth > B.worth[level, LOWER]:
        B.worth[level, LOWER] = worth
    return B.worth[level, LOWER] >= B.worth[level, UPPER]


@jit(inline=True)
def child_window(B, level, stage):
    """Returns the window of the open pair's child, for who acts there."""
    rest, weight = B.worth[level, REST], B.worth[level, WEIGHT]
    lower, upper = B.worth[level, LOWER], B.worth[level, UPPER]
    if stage != WHOLE:
        upper = min(upper, lower + EMPTY)
    return max(-1.0, (rest - upper) / weight), min(1.0, (rest - lower) / weight)
