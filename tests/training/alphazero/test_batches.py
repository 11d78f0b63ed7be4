"""Games side by side by tree search: what a piece holds depends on its key alone, and a network meets itself on even terms."""

from typing import Any

import numpy as np
import pytest

import leafwise
from leafwise.training.alphazero.batches import ForestRecorder
from leafwise.training.alphazero.games import GAMES, PLIES, MctsPlayOptions
from running.networks import planted_leaf

SIM = leafwise.game("cassis")


class Planted:
    """A network whose numbers depend on the row alone."""

    game = SIM

    def evaluator(self, name):
        return planted_leaf(SIM)


@pytest.fixture(params=[0, 3], ids=["puct", "gumbel"])
def recorder(request):
    planted: Any = Planted()
    return ForestRecorder(planted, MctsPlayOptions(20, 4, 0.25, 10.0, 1.0, request.param), 4, 1.25, 200, 64.0)


def test_a_piece_depends_on_its_key_alone(recorder):
    once, other = recorder.piece(Planted(), 200, 7), recorder.piece(Planted(), 200, 8)
    recorder.match(Planted(), Planted(), np.arange(2, dtype=np.uint64), 20)
    for one, again in zip(once, recorder.piece(Planted(), 200, 7), strict=True):
        np.testing.assert_array_equal(one, again)
    assert len(once.rows) != len(other.rows) or (once.rows != other.rows).any()


def test_a_piece_holds_whole_games_and_what_their_searches_tried(recorder):
    recorded = recorder.piece(Planted(), 200, 7)
    assert 200 <= len(recorded.rows) == recorded.counts[PLIES] < 200 + 15 * recorder.at_once
    states = [leafwise.State(SIM, row) for row in recorded.rows]
    assert not any(state.is_terminal for state in states)
    lasts = 0
    for k, state in enumerate(states):
        tried = np.flatnonzero(recorded.policies[k])
        assert set(tried) <= set(state.legal_actions)
        assert recorded.policies[k].sum() == pytest.approx(1, abs=1e-6)
        follows = k + 1 < len(states) and any(state.play(int(a)) == states[k + 1] for a in tried)
        sign = 1 if follows and states[k + 1].current_player == state.current_player else -1
        if follows:
            assert recorded.targets[k] == sign * recorded.targets[k + 1]
        lasts += not follows
    assert lasts == recorded.counts[GAMES]


def test_halving_tells_of_all_actions(recorder):
    recorded = recorder.piece(Planted(), 200, 7)
    legal = np.array([len(leafwise.State(SIM, row).legal_actions) for row in recorded.rows])
    assert ((recorded.policies > 0).sum(axis=1) == legal).all() == (recorder.play_options.gumbel > 0)


def test_a_network_meets_itself_on_even_terms(recorder):
    results = recorder.match(Planted(), Planted(), np.arange(6, dtype=np.uint64), 20)
    np.testing.assert_array_equal(results.sum(axis=1), 0)
    assert set(results.ravel()) <= {-1.0, 1.0}
