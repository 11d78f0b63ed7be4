"""What the throws of a turn have in common: a trap that lands on a cell makes the same position, wherever it was thrown.

A greedy player values each landing once, some 50 of them, instead of those of all throws, some 400.
"""

from __future__ import annotations

from pathlib import Path

from leafwise.envs.core.compile.jit import bind
from leafwise.envs.core.contract.rules import Compiled
from leafwise.envs.core.contract.stream import u64
from leafwise.envs.trap.rules import (
    ONE,
    THROW,
    apply_action,
    cell_of,
    current_player,
    has_trap,
    is_player,
    land,
    pass_turn,
    phase_of,
    spill_cells,
    turn_of,
)

ROOM = Path(__file__)


def make_expected(row_value: Compiled) -> tuple[Compiled, Compiled]:
    """Returns `prepare` and `expected`, as `Chance.make_expected` says."""

    @bind(ROOM, inline=True)
    def prepare(S, i, o, P, T):
        """Before a throw, writes the value of each landing to P: of a new trap on cell c to P[o + c], of none to P[o + cells]."""
        word = S[i, 1]
        if phase_of(word) != THROW:
            return
        for cell in range(T.cells):
            if not is_player(word, cell) and not has_trap(S, i, cell, T):
                land(S, i, cell, o, T)
                P[o + u64(cell)] = row_value(S, o, current_player(S, o, T), T)
        S[o, 0], S[o, 1] = S[i, 0], word
        pass_turn(S, o, T)
        P[o + u64(T.cells)] = row_value(S, o, current_player(S, o, T), T)

    @bind(ROOM, inline=True)
    def expected(S, i, a, o, P, T):
        """Returns an action's expected value: of a throw a sum in the order in which a greedy player meets its outcomes."""
        if a < 8:
            apply_action(S, i, a, o, T)
            return row_value(S, o, current_player(S, o, T), T)
        word, target = S[i, 1], a - 8
        hit = T.accuracy[cell_of(word, turn_of(word) & ONE), target]
        share = (1.0 - hit) / spill_cells(word, target, T)
        unchanged, total = 0.0, 0.0
        for k in range(9):
            cell, p = (target, hit) if k == 0 else (T.step[target, k - 1], share)
            if cell >= 0 and not is_player(word, cell) and has_trap(S, i, cell, T):
                unchanged += p
        if unchanged > 0.0:
            total += unchanged * P[o + u64(T.cells)]
        for k in range(8, -1, -1):
            cell, p = (target, hit) if k == 0 else (T.step[target, k - 1], share)
            if cell >= 0 and not is_player(word, cell) and p > 0.0 and not has_trap(S, i, cell, T):
                total += p * P[o + u64(cell)]
        return total

    return prepare, expected
