"""The solver of Cassis against the value of every position, worked out from the last ones back."""

from __future__ import annotations

import numpy as np
import pytest

import leafwise
from leafwise.envs.cassis.solver import Solver, canonical_form


@pytest.mark.parametrize(("n", "positions"), [(3, 4), (4, 18), (5, 136), (6, 2_250)])
def test_the_solver_agrees_on_every_position(n: int, positions: int) -> None:
    game = leafwise.game("cassis", n=n)
    rows, values = dict[int, np.ndarray](), dict[int, int]()

    def value(state: leafwise.State, turn: int) -> int:
        """Returns what a position is worth to who moves, player 0 for turn 1."""
        if state.is_terminal and state.returns:
            return int(state.returns) * turn
        (mover, other), _ = canonical_form(state.row[::turn], game.tables())
        board = int(mover | other << np.uint64(28))
        if board not in values:
            rows[board] = np.array([mover, other][::turn])
            values[board] = max((-value(state.play(a), -turn) for a in state.legal_actions), default=0)
        return values[board]

    value(game.start(), 1)
    assert len(values) == positions
    assert Solver(game).values(np.array(list(rows.values()))).tolist() == list(map(values.__getitem__, rows))
