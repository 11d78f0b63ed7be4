"""Hand-made evaluators of Trap: weighted counts of the cells that each player can reach.

The counts of a player are the moves (cells one king step away), the open neighbours summed over the moves, the cells within two
and within three king steps, and all reachable cells. Traps and the other player block; the player's own cell does not count. A
score is a weighted sum of the counts of the player who acts minus one of the opponent's, scaled into (-1, 1). Sources: the
handout of COMS W4701 (IS, AIS, OCLS), and public solutions to it.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import NamedTuple

import numpy as np

from leafwise.envs.core.arrays import Floats
from leafwise.envs.core.compile.jit import jit
from leafwise.envs.core.contract.bits import count_bits
from leafwise.envs.core.contract.evaluator import Evaluator
from leafwise.envs.core.contract.rules import CHANCE
from leafwise.envs.core.contract.stream import u64
from leafwise.envs.trap.rules import ONE, ZERO, blocked, cell_of, count_beside, current_player, holds, turn_of
from leafwise.envs.trap.tables import Options

COUNTS = ("moves", "ocls", "two", "three", "area")
"""Moves; open cells around the moves (on the board as it is); cells within two steps, within three, within any number."""
MOVES, OPEN, WITHIN_2, WITHIN_3, AREA = range(5)
MARGIN = 1.05
"""The factor by which a score stays inside -1 and 1."""


class ScoreWeights(NamedTuple):
    """The weights in `T.leaf` for `weighted`."""

    factors: Floats
    """[2, 5]: the weight of each count for the player who acts, and (usually negative) for the opponent."""


@jit(inline=True)
def grown(low, high, T):
    """Returns a set of cells with all its neighbours (and perhaps bits beyond the board)."""
    low, high = (
        low | ((low & T.east[0]) << ONE) | ((low & T.west[0]) >> ONE) | ((high & T.west[1]) << u64(63)),
        high | ((high & T.east[1]) << ONE) | ((high & T.west[1]) >> ONE) | ((low & T.east[0]) >> u64(63)),
    )
    step = u64(T.size)
    rest = u64(64) - step
    return low | (low << step) | (low >> step) | (high << rest), high | (high << step) | (high >> step) | (low >> rest)


@jit(inline=True)
def weigh(cell, low, high, factors, T):
    """Returns the weighted counts of the player on `cell`; `low` and `high` are the free cells."""
    ring_low, ring_high = T.near[cell, 0] & low, T.near[cell, 1] & high
    n = np.float64(count_bits(ring_low) + count_bits(ring_high))
    total = factors[MOVES] * n
    if factors[OPEN] != 0.0:
        summed = ZERO
        for direction in range(8):
            to = T.step[cell, direction]
            if to >= 0 and holds(low, high, to, T):
                summed += count_beside(to, low, high, T)
        total += factors[OPEN] * np.float64(summed)
    # Cells within two steps, three, and any number, up to the last count with a weight.
    last = AREA
    while last > OPEN and factors[last] == 0.0:
        last -= 1
    for k in range(WITHIN_2, last + 1):
        goes_on = True
        while goes_on:
            more_low, more_high = grown(ring_low, ring_high, T)
            more_low, more_high = more_low & low, more_high & high
            goes_on = k == AREA and (more_low != ring_low or more_high != ring_high)
            ring_low, ring_high = more_low, more_high
        total += factors[k] * np.float64(count_bits(ring_low) + count_bits(ring_high))
    return total


@jit(inline=True)
def weighted(S, i, T):
    word = S[i, 1]
    player = turn_of(word) & ONE
    low, high = blocked(S, i, T)
    low, high = T.board[0] & ~low, T.board[1] & ~high
    value = weigh(cell_of(word, player), low, high, T.leaf.factors[0], T)
    value += weigh(cell_of(word, ONE - player), low, high, T.leaf.factors[1], T)
    if player == ONE and current_player(S, i, T) == CHANCE:
        return -value
    return value


def make_weighted(options: Options, name: str, me: Sequence[float], opponent: Sequence[float]) -> Evaluator:
    """Returns the evaluator sum(me * own counts) - sum(opponent * the other's counts), scaled into (-1, 1).

    Weights are in the order of `COUNTS`, missing ones 0; at least one weight is not 0.
    """
    factors = np.zeros((2, len(COUNTS)))
    factors[0, : len(me)], factors[1, : len(opponent)] = me, np.negative(opponent)
    scale = MARGIN * max(abs(line) @ [8, 64, 24, 48, options.size**2] for line in factors)  # the largest possible sums
    if factors[0].min() < 0 or factors[1].max() > 0:
        scale *= 2  # the two halves may add up
    return Evaluator(name, weighted, weights=ScoreWeights(factors / scale), low=-1.0, high=1.0)


WEIGHTS: dict[str, tuple[tuple[float, ...], tuple[float, ...]]] = {
    "reach": ((1, 0, 1, 1), (1, 0, 1, 1)),
    "is": ((1,), (1,)),
    "ais": ((1,), (2,)),
    "ais_own": ((2,), (1,)),
    "ocls": ((1, 1), (1, 1)),
    "ocls_static": ((0, 1), (0, 1)),
    "two_rings": ((0, 0, 1), (0, 0, 1)),
    "area": ((0, 0, 0, 0, 1), (0, 0, 0, 0, 1)),
    "reach_keen": ((1, 0, 1, 1), (1.5, 0, 1.5, 1.5)),
    "reach_safe": ((1.5, 0, 1.5, 1.5), (1, 0, 1, 1)),
    "reach_safer": ((2, 0, 2, 2), (1, 0, 1, 1)),
    "reach_near": ((3, 0, 1, 0.5), (3, 0, 1, 0.5)),
    "reach_open": ((1, 0.25, 1, 1), (1, 0.25, 1, 1)),
}
"""Score -> weights of the player who acts and of the opponent; the first is the default.

is: P - O. ais: P - 2 O. ais_own: 2 P - O, as some programs read it. ocls: open cells around the moves, with the player on the
cell moved to; ocls_static: with the player on his cell. two_rings: cells within two steps. area: all reachable cells. reach:
the sum of cells within one, two and three steps; keen: the opponent's weigh more; safe, safer: the own weigh more; near: nearer
cells weigh more; open: with the open cells around the moves.
"""


SCORES = {name: partial(make_weighted, name=name, me=me, opponent=other) for name, (me, other) in WEIGHTS.items()}
