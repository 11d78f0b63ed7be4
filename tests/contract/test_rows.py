"""Rows of games as they are played: the naive twin says the same of them, a seed means one game, pictures show them."""

from __future__ import annotations

import numpy as np
import pytest

from contract.cases import CASES, positions
from contract.comparing import compare
from games.deal import Deal
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
def test_a_deal_replays_a_game(game: Game) -> None:
    stream, state, T = new_stream(3), game.start(), game.tables()
    listed: dict[str, list[str]] = {stage: [] for stage in game.stages[1:]}
    moves: list[int] = []
    visited = [state]
    while not state.is_terminal and len(moves) < 25:
        if state.is_chance:
            after = state.sample(stream)
            listed[state.stage].append(game.text.outcome_name(state.row, after.row, T))
        else:
            moves.append(state.legal_actions[-1])
            after = state.play(moves[-1])
        visited.append(after)
        state = after
    while state.is_chance:
        after = state.sample(stream)
        listed[state.stage].append(game.text.outcome_name(state.row, after.row, T))
        state = after
    deal = Deal(**listed)
    again = deal.settle(game.start())
    for move in moves:
        assert again in visited
        again = deal.settle(again.play(move))
    assert again == state
    if len(game.stages) == 1:
        return
    chance = next(s for s in visited if s.is_chance)
    with pytest.raises(ValueError, match=r"expected an outcome for stage .* got none"):
        deal.resolve(chance)
    with pytest.raises(ValueError, match=r"expected one of .* got 'nonsense'"):
        Deal(**{chance.stage: ["nonsense"]}).resolve(chance)


@pytest.mark.parametrize("game", CASES, ids=repr)
def test_pictures(game: Game) -> None:
    shapes = set()
    for state in positions(game)[:: max(1, len(positions(game)) // 6)]:
        svg, rgb = state.svg(), state.rgb()
        assert svg.startswith("<svg")
        assert svg.endswith("</svg>")
        assert rgb.dtype == np.uint8
        assert rgb.std() > 0
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
