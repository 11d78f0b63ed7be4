"""What networks see: observations of any shape."""

from __future__ import annotations

import numpy as np
import pytest

import leafwise
from leafwise.models.sparse import SparseNetwork


def test_observations_of_any_shape_are_seen_cell_by_cell() -> None:
    game = leafwise.game("trap", size=3)
    rng, blank = np.random.default_rng(4), SparseNetwork.create(game, (16, 8), sees="observation")
    network = blank.with_tensors({k: rng.normal(0, 0.2, t.shape).astype(np.float32) for k, t in blank.tensors.items()})
    evaluator, T = network.evaluator("x"), game.tables(network.evaluator("x"))
    state, rows, seen = game.start(), game.rows(12), np.zeros((12, 4, 3, 3), dtype=np.float32)
    for i in range(12):
        rows[i] = state.row
        game.rules.observe(rows, np.uint64(i), seen, i, T)
        state = state.play(int(rng.choice(state.legal_actions)))
        while state.is_chance:
            state = state.outcomes()[0][1]
        state = game.start() if state.is_terminal else state
    cells = seen.reshape(12, -1).astype(int)
    assert (np.ptp(cells, axis=0) > 0).sum() > 10
    assert np.array_equal(network.describe(rows, T)[0], 2 * np.arange(4 * 9) + cells)  # each cell is 0 or 1
    compiled = [evaluator.compiled(rows, np.uint64(i), T) for i in range(12)]
    assert compiled == pytest.approx(network.batch(rows, T), abs=1e-5)
    assert np.std(compiled) > 0.01
