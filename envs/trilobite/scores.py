"""The hand-made evaluator of Trilobite: open lines, weighted by the chips on them."""

from __future__ import annotations

import numpy as np

from leafwise.envs.core.compile.jit import jit
from leafwise.envs.core.contract.bits import count_bits
from leafwise.envs.core.contract.evaluator import Evaluator
from leafwise.envs.core.contract.stream import u64
from leafwise.envs.trilobite.rules import ONE, TWO, ZERO, mover
from leafwise.envs.trilobite.tables import Options

SCALE = 64.0
"""Points of lead that are worth half a win."""


@jit(inline=True)
def open_lines(own, other, T):
    """Returns the sum over all lines of k cells without a chip of the other: 1, 2, 5, 10, ... for 0, 1, 2, 3, ... own chips."""
    free = T.board & ~other
    points = ZERO
    for direction in range(4):
        d = ONE if direction == 0 else T.stride - TWO + u64(direction)
        lines = free
        ones, twos, fours = ZERO, ZERO, ZERO  # the number of chips on the line that starts at each cell, in binary
        shift = ZERO
        for _ in range(np.int64(T.k)):
            lines &= free >> shift
            carry = own >> shift
            ones, carry = ones ^ carry, ones & carry
            twos, carry = twos ^ carry, twos & carry
            fours |= carry
            shift += d
        # 1 + chips**2 = 1 + ones + 4 twos + 16 fours + 4 (ones and twos) + 8 (ones and fours) + ...
        points += count_bits(lines) + count_bits(lines & ones) + u64(4) * count_bits(lines & twos)
        points += u64(4) * count_bits(lines & ones & twos) + u64(16) * count_bits(lines & fours)
    return points


@jit(inline=True)
def lines(S, i, T):
    player = mover(S, i)
    own, other = S[i, player], S[i, 1 - player]
    lead = np.float64(open_lines(own, other, T)) - np.float64(open_lines(other, own, T))
    return lead / (SCALE + abs(lead))


def make_lines(options: Options) -> Evaluator:
    """Returns the evaluator `lines`: the lead in open lines, scaled into (-1, 1)."""
    return Evaluator("lines", lines, low=-1.0, high=1.0)


SCORES = {"lines": make_lines}
