"""What pairs of a move and a throw are worth without a search: values of the boards that they leave, asked for once."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import numpy as np

from leafwise.envs.core.compile.jit import bind
from leafwise.envs.core.contract.bits import count_bits
from leafwise.envs.core.contract.rules import Compiled
from leafwise.envs.core.contract.stream import u64
from leafwise.envs.trap.rules import DRAW, END, ONE, SECOND_TRAPS, ZERO, cell_of, land, pass_turn, turn_of
from leafwise.envs.trap.turns import memory as M

UNKNOWN = 2.0
"""Stands for a value that nobody has asked for yet."""


class Glance(NamedTuple):
    """Compiled functions; `level` is that of an open turn."""

    landed: Compiled
    """(S, B, level, move, cell, T) -> what the board after a landing on a free cell, or on a trap (`T.cells`), is worth to who
    threw."""
    misses: Compiled
    """(S, B, level, move, cell, p, known, T) -> what the misses of a throw that hits at p add to its value."""
    at_a_glance: Compiled
    """(S, B, level, move, cell, T) -> what a pair is worth."""


def make_glance(value: Compiled, room: Path) -> Glance:
    """Compiles the functions for an evaluator's `value`, to be inlined."""

    @bind(room, inline=True)
    def worth_of(S, B, j, thrower, T):
        """Returns what the board at row j, at the end of a turn, is worth to who threw."""
        B.counts[M.LEAVES] += 1
        end = S[j, 1] >> END
        if end:
            return 0.0 if end == DRAW else 1.0 if end == thrower + ONE else -1.0
        return -value(S, j, T)

    @bind(room, inline=True)
    def has_trap(S, after, cell, T):
        """Whether a cell holds a trap."""
        return (S[after, 0] & T.bit[cell, 0]) | (S[after, 1] & SECOND_TRAPS & T.bit[cell, 1]) != ZERO

    @bind(room, inline=True)
    def end_turn(S, level, move, cell, T):
        """Writes the board after a move and a landing on a free cell, or on a trap (`T.cells`); returns its row."""
        after, scratch = u64(level * M.ROWS + 1 + move), u64(level * M.ROWS + M.MOVES + 1)
        if cell == T.cells:
            S[scratch, 0], S[scratch, 1] = S[after, 0], S[after, 1]
            pass_turn(S, scratch, T)
        else:
            land(S, after, cell, scratch, T)
        return scratch

    @bind(room, inline=True)
    def landed(S, B, level, move, cell, T):
        """Returns what a board of `end_turn` is worth to who threw; asked once."""
        known = B.landed[level, move, cell]
        if known >= UNKNOWN:
            j = end_turn(S, level, move, cell, T)
            known = worth_of(S, B, j, (turn_of(S[j, 1]) & ONE) ^ ONE, T)
            B.landed[level, move, cell] = known
        return known

    @bind(room, inline=True)
    def corrected(S, B, level, move, cell, T):
        """Returns what the table knows of a board of `end_turn`, to who threw; as far as it does not, what `landed` says."""
        worth = landed(S, B, level, move, cell, T)
        j = end_turn(S, level, move, cell, T)
        if S[j, 1] >> END:
            return worth
        e = M.find(S, B, j, T)
        if e < 0 or B.table[e, M.DATA] & M.LOW8 == ZERO:
            return worth
        told, bound = -B.proven[e, M.VALUE], (B.table[e, M.DATA] >> M.BOUND_AT) & M.LOW8
        if bound == M.EXACT:
            return told
        return min(worth, told) if bound == M.AT_LEAST else max(worth, told)

    @bind(room, inline=True)
    def left_by_a_miss(S, B, level, move, cell, known, T):
        """Returns what a board of `end_turn` is worth to who threw, by the table where it is `known`."""
        return corrected(S, B, level, move, cell, T) if known else landed(S, B, level, move, cell, T)

    @bind(room, inline=True)
    def misses(S, B, level, move, cell, p, known, T):
        """Returns what the misses of a throw that hits at p add to its value, by the table where it is `known`.

        They are equally likely; those that land on a trap, or not beside the other player, count as the board unchanged.
        """
        # The free cells around the target, as bits, and which of them lie beside the other player
        after = u64(level * M.ROWS + 1 + move)
        word = S[after, 1]
        player = turn_of(word) & ONE
        me, other = cell_of(word, player), cell_of(word, ONE - player)
        low = T.near[cell, 0] & ~(T.bit[me, 0] | T.bit[other, 0])
        high = T.near[cell, 1] & ~(T.bit[me, 1] | T.bit[other, 1])
        n = count_bits(low) + count_bits(high)
        low, high = low & T.near[other, 0] & ~S[after, 0], high & T.near[other, 1] & ~(word & SECOND_TRAPS)
        close = count_bits(low) + count_bits(high)
        # All others leave the board unchanged; those beside are asked for one by one
        total = np.float64(n - close) * left_by_a_miss(S, B, level, move, T.cells, known, T)
        if close:
            for direction in range(8):
                to = T.step[other, direction]
                if to >= 0 and (low & T.bit[to, 0]) | (high & T.bit[to, 1]):
                    total += left_by_a_miss(S, B, level, move, to, known, T)
        return (1.0 - p) * total / np.float64(n)

    @bind(room, inline=True)
    def at_a_glance(S, B, level, move, cell, T):
        """Returns what a pair is worth without a search."""
        after = u64(level * M.ROWS + 1 + move)
        word = S[after, 1]
        p = T.accuracy[cell_of(word, turn_of(word) & ONE), cell]
        worth = landed(S, B, level, move, T.cells if has_trap(S, after, cell, T) else cell, T)
        return worth if p == 1.0 else p * worth + misses(S, B, level, move, cell, p, False, T)

    return Glance(landed, misses, at_a_glance)
