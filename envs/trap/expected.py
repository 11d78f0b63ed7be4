"""Values of throws for greedy players: a trap that lands on a cell gives the same position for every throw.

So each landing is valued once, some 50 of them, instead of some 400 for all throws.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

from leafwise.envs.core.compile.jit import bind
from leafwise.envs.core.contract.rules import Compiled
from leafwise.envs.core.contract.stream import u64
from leafwise.envs.trap.rules import (
    ONE,
    SECOND_TRAPS,
    THROW,
    apply_action,
    blocked,
    cell_of,
    count_beside,
    current_player,
    holds,
    land,
    pass_turn,
    phase_of,
    turn_of,
)

ROOM = Path(__file__)


def make_expected(row_value: Compiled) -> tuple[Compiled, Compiled]:
    """Compiles `prepare` and `expected`; see `Chance.make_expected`."""

    @bind(ROOM, inline=True)
    def prepare(S, i, o, P, T):
        """Before a throw, writes the value of each landing to P.

        A new trap on cell c has its value at P[o + c]; the value without a new trap is at P[o + cells]. Cells that cannot get a
        trap, and P[o + cells + 1] for a cell off the board, get 0.
        """
        word = S[i, 1]
        if phase_of(word) != THROW:
            return
        low, high = blocked(S, i, T)
        for cell in range(T.cells):
            P[o + u64(cell)] = 0.0
            if not holds(low, high, cell, T):
                land(S, i, cell, o, T)
                P[o + u64(cell)] = row_value(S, o, current_player(S, o, T), T)
        S[o, 0], S[o, 1] = S[i, 0], word
        pass_turn(S, o, T)
        P[o + u64(T.cells)] = row_value(S, o, current_player(S, o, T), T)
        P[o + u64(T.cells + 1)] = 0.0

    @bind(ROOM, inline=True)
    def expected(S, i, a, o, P, T):
        """Returns an action's expected value; for a throw, a sum in the order in which a greedy player meets the outcomes."""
        if a < 8:
            apply_action(S, i, a, o, T)
            return row_value(S, o, current_player(S, o, T), T)
        low, word, target = S[i, 0], S[i, 1], a - 8
        first, second = cell_of(word, 0), cell_of(word, 1)
        hit = T.accuracy[second if turn_of(word) & ONE else first, target]
        players_low, players_high = T.bit[first, 0] | T.bit[second, 0], T.bit[first, 1] | T.bit[second, 1]
        share = (1.0 - hit) / np.int64(count_beside(target, ~players_low, ~players_high, T))
        unchanged = hit if holds(low, word & SECOND_TRAPS, target, T) else 0.0
        for _ in range(count_beside(target, low, word & SECOND_TRAPS, T)):
            unchanged += share
        total = unchanged * P[o + u64(T.cells)] if unchanged > 0.0 else 0.0
        if share > 0.0:
            for direction in range(7, -1, -1):
                cell = T.step[target, direction]
                total += share * P[o + u64(cell if cell >= 0 else T.cells + 1)]
        if hit > 0.0:
            total += hit * P[o + u64(target)]
        return total

    return prepare, expected
