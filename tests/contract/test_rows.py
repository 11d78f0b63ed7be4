"""Rows: equal situations are equal rows, actions copy, keys tell rows apart, a Deal replays a game."""

from __future__ import annotations

import numpy as np
import pytest

from contract.cases import CASES, decisions_of, positions, some
from leafwise.envs.core.contract.game import Game
from leafwise.envs.core.contract.state import FIRST, SECOND, Deal, State
from leafwise.envs.core.contract.stream import new_stream
from leafwise.envs.core.gym.observation import at, new_observations, reader


@pytest.mark.parametrize("game", CASES, ids=repr)
def test_equal_public_history_gives_equal_rows(game: Game) -> None:
    known: dict[tuple[str, ...], bytes] = {}
    met_again = 0
    for key in range(150):
        stream, state, history = new_stream(key), game.start(), list[str]()
        for _ in range(8):
            if state.is_terminal:
                break
            if state.is_chance:
                after = state.sample(stream)
                history.append(game.text.outcome_name(state.row, after.row, game.tables()))
            else:
                after = state.play(state.legal_actions[-1])
                history.append(state.legal_names[-1])
            state = after
            met_again += tuple(history) in known
            assert known.setdefault(tuple(history), state.row.tobytes()) == state.row.tobytes(), history
    assert met_again > 20


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
def test_actions_copy_and_may_act_in_place(game: Game) -> None:
    T = game.tables()
    for state in decisions_of(game):
        for action in some(state.legal_actions):
            rows = np.full((3, game.width), 77, dtype=game.dtype)
            rows[0] = state.row
            game.rules.apply_action(rows, FIRST, action, SECOND, T)
            assert rows[0].tobytes() == state.row.tobytes()
            assert (rows[2] == 77).all()
            game.rules.apply_action(rows, FIRST, action, FIRST, T)
            assert rows[0].tobytes() == rows[1].tobytes() == state.play(action).row.tobytes()


@pytest.mark.parametrize("game", CASES, ids=repr)
def test_actions_are_ascending_and_cost_a_step_or_nothing(game: Game) -> None:
    T = game.tables()
    assert len(set(game.actions)) == len(game.actions) <= game.max_actions
    for state in decisions_of(game):
        assert list(state.legal_actions) == sorted(set(state.legal_actions))
        assert 0 <= state.legal_actions[0] <= state.legal_actions[-1] < len(game.actions)
        rows = np.array([state.row])
        assert {int(game.rules.action_cost(rows, FIRST, a, T)) for a in state.legal_actions} <= {0, 1}


@pytest.mark.parametrize("game", CASES, ids=repr)
def test_keys_tell_positions_apart(game: Game) -> None:
    T = game.tables()
    keys: dict[int, State] = {}
    for state in positions(game):
        key = int(game.rules.key(np.array([state.row]), FIRST, T))
        assert keys.setdefault(key, state) == state
    assert len(keys) == len(positions(game)) == len(set(positions(game)))


@pytest.mark.parametrize("game", CASES, ids=repr)
def test_observations_lie_in_their_space(game: Game) -> None:
    space, T = game.observation_space(), game.tables()
    for state in positions(game):
        O = new_observations(game, 2)
        arrays = [O] if isinstance(O, np.ndarray) else list(O)
        for array in arrays:
            array[...] = 99
        game.rules.observe(np.array([state.row]), FIRST, O, SECOND, T)
        assert space.contains(reader(at(O, 1))()), str(state)
        assert all((array[0] == 99).all() for array in arrays)


@pytest.mark.parametrize("game", CASES, ids=repr)
def test_scores_are_finite_and_within_their_bounds(game: Game) -> None:
    for name in game.scores:
        evaluator = game.score(name)
        assert evaluator.stage in game.stages
        for state in positions(game):
            if state.stage not in ("decision", evaluator.stage):
                continue
            value = state.value(evaluator)
            assert np.isfinite(value)
            if evaluator.low is not None and evaluator.high is not None:
                assert evaluator.low <= value <= evaluator.high


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
