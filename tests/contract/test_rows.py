"""Rows of games as they are played: the naive twin says the same of them, a seed means one game, pictures show them."""

from __future__ import annotations

import numpy as np
import pytest

from contract.cases import CASES, positions
from contract.comparing import compare
from leafwise.envs.core.contract.game import Game
from leafwise.envs.core.contract.stream import new_stream


@pytest.mark.parametrize("game", CASES, ids=repr)
def test_the_twin_says_the_same(game: Game) -> None:
    for state in positions(game):
        compare(state)


@pytest.mark.parametrize("game", CASES, ids=repr)
def test_the_positions_cover_every_stage_and_finished_games(game: Game) -> None:
    assert {s.stage for s in positions(game) if not s.is_terminal} == set(game.stages)
    assert any(s.is_terminal for s in positions(game))
    assert {s.current_player for s in positions(game)} >= set(range(game.players))


@pytest.mark.parametrize("game", CASES, ids=repr)
def test_pictures(game: Game) -> None:
    shapes = set()
    for state in positions(game)[:: max(1, len(positions(game)) // 3)]:
        svg, rgb = state.svg(), state.rgb()
        assert svg.startswith("<svg")
        assert svg.endswith("</svg>")
        assert rgb.dtype == np.uint8
        assert rgb.std() > 0
        assert [state.rgb(width).shape[1:] for width in (1, 32)] == [(1, 3), (32, 3)]  # no shape vanishes or turns over
        assert state.board().isprintable() or "\n" in state.board()
        shapes.add(rgb.shape)
    assert len(shapes) == 1


@pytest.mark.parametrize("game", CASES, ids=repr)
def test_a_seed_means_one_game(game: Game) -> None:
    def rows_of(seed: int) -> list[bytes]:
        stream, state, rows = new_stream(seed), game.start(), []
        for _ in range(60):
            rows.append(state.row)
            if state.is_terminal:
                break
            state = state.sample(stream) if state.is_chance else state.play(state.legal_actions[0])
        return [row.tobytes() for row in rows]

    games = [rows_of(seed) for seed in range(12)]
    assert games == [rows_of(seed) for seed in range(12)]
    assert (len({tuple(rows) for rows in games}) > 1) == (len(game.stages) > 1)
    assert all(game.new(seed) == game.new(seed) for seed in range(3))
