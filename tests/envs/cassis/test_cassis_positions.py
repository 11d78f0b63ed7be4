"""The solver of Cassis against the value of every position, worked out from the last level back."""

from __future__ import annotations

import numpy as np
import pytest

import leafwise
from leafwise.envs.cassis.canon import canonical_form, make_scratch
from leafwise.envs.cassis.solver import Solver
from leafwise.experiments.cassis.positions import MOVER, S28, enumerate_levels


@pytest.mark.parametrize(("n", "positions"), [(3, 4), (4, 18), (5, 136), (6, 2_250)])
def test_the_solver_agrees_on_every_position(n: int, positions: int) -> None:
    game = leafwise.game("cassis", n=n)
    T, levels, values = game.tables(), enumerate_levels(game.tables(), make_scratch()), dict[int, int]()

    def value(state: leafwise.State, turn: int) -> int:
        """Returns what a position is worth to who moves, 1 or -1."""
        if state.is_terminal:
            return int(state.returns) * turn
        (mover, other), _ = canonical_form(state.row[::turn], T)
        board = int(mover | other << S28)
        if board not in values:
            values[board] = max(-value(state.play(a), -turn) for a in state.legal_actions)
        return values[board]

    found = 0
    for coloured, boards in enumerate(levels):
        turn = 1 - 2 * (coloured % 2)
        sides = np.stack([boards & MOVER, boards >> S28], axis=1)
        rows = np.ascontiguousarray(sides[:, ::turn])
        assert Solver(game).values(rows).tolist() == [value(leafwise.State(game, row), turn) for row in rows]
        found += len(boards)
    assert found == positions
