"""What tree search proves in games without chance is true, however leaves are valued, and ends searches."""

from __future__ import annotations

import numpy as np
import pytest

import leafwise
from games import dice
from leafwise.envs.core.contract.evaluator import Evaluator
from leafwise.envs.core.contract.state import State
from leafwise.envs.core.contract.stream import new_stream
from leafwise.envs.core.play.solver import exact_solver
from leafwise.search.mcts import Mcts
from leafwise.search.mcts import tree as M
from leafwise.search.players import MctsPlayer
from leafwise.search.rollout import rollout
from leafwise.training.evaluation.agreement import random_positions

TRILOBITE = leafwise.game("trilobite")
GAMES = {
    "3x3": (TRILOBITE, (0, 6)),
    "5x5": (leafwise.game("trilobite", board="5x5", k=4), (6, 14)),
    "sim": (leafwise.game("cassis"), (5, 10)),
}


def guess(rows, T):
    """Values rows at random, but the same ones alike."""
    return np.sin(rows.astype(np.float64).sum(axis=1) * 12.9898)


LEAVES = {
    "one by one": lambda game: game.score(),
    "together": lambda game: Evaluator("guess", None, low=-1.0, high=1.0, terminal="returns", batch=guess),
    "rollouts": lambda game: rollout(game, n=1),
}


def exact_value(solver, state: State) -> float:
    """Returns player 0's exact value of a position."""
    value = float(solver.solve(state).value)
    return -value if state.current_player == 1 else value


@pytest.mark.parametrize("leaf", LEAVES)
@pytest.mark.parametrize("name", GAMES)
def test_bounds_hold_the_exact_values(name, leaf, monkeypatch):
    game, plies = GAMES[name]
    monkeypatch.setattr(M, "MAX_NODES", 1500)  # full now and then
    solver, stream, seen = exact_solver(game, 16.0), np.random.default_rng(4), 0
    for state, _ in zip(random_positions(game, 7, plies), range(8), strict=False):
        search = Mcts(game, LEAVES[leaf](game), simulations=1200, at_once=5)
        result, tree = search(state), search.tree
        bounded = np.flatnonzero((tree.low > -1) | (tree.high < 1))
        bounded = bounded[bounded < tree.counts[M.NODES]]
        for node in stream.permutation(bounded)[:60]:
            value = exact_value(solver, State(game, tree.rows[node]))
            assert tree.low[node] <= value <= tree.high[node], str(State(game, tree.rows[node]))
        seen += len(bounded)
        if result.proven:
            values = solver.solve(state).action_values
            assert result.value == max(values.values()) == values[game.actions[result.chosen]]
            assert result.simulations <= 1200
            assert search(state).simulations == 0  # nothing is left to find out
    assert seen > 100


@pytest.mark.parametrize("board", ["..x/..o/oxx", "x../o../xxo", ".../.../..."])
def test_small_games_are_searched_to_their_ends(board):
    state = TRILOBITE.parse(board)
    truth = leafwise.Search(TRILOBITE, TRILOBITE.score(), depth=9)(state)
    for leaf in LEAVES.values():
        result = Mcts(TRILOBITE, leaf(TRILOBITE), simulations=20_000)(state)
        assert result.proven
        assert result.value == truth.value
        assert truth.values[result.chosen] == truth.value
        assert result.simulations < 5_000
        assert result.line[0] == result.name


def test_a_win_at_once_takes_no_simulation():
    state = TRILOBITE.new(1).play("1").play("3").play("1").play("3")
    result = Mcts(TRILOBITE, TRILOBITE.score(), simulations=100)(state)
    assert (result.name, result.value, result.proven, result.simulations) == ("1", 1.0, True, 0)
    assert result.line == ("1",)


def test_what_is_lost_is_not_tried_again():
    """The columns at the sides let the noughts make three; that is seen by their first simulation."""
    result = Mcts(TRILOBITE, TRILOBITE.score(), simulations=200)(TRILOBITE.parse(".../.o./xox"))
    assert result.action_values == {"1": -1.0, "2": 0.0, "3": -1.0}
    assert result.action_visits["1"] == result.action_visits["3"] == 1
    assert result.name == "2"


def test_gumbel_takes_no_action_that_is_proven_worse():
    state = TRILOBITE.parse("..x/..o/oxx")
    for seed in range(5):
        result = Mcts(TRILOBITE, TRILOBITE.score(), simulations=200, gumbel=3, seed=seed)(state)
        assert result.chosen == 0


def test_games_with_chance_have_no_proofs():
    search = Mcts(dice.GAME, dice.GAME.score(), simulations=50)
    assert not len(search.tree.low)
    assert not search(dice.GAME.new(1)).proven


def test_proofs_can_be_left_out():
    search = Mcts(TRILOBITE, TRILOBITE.score(), simulations=500, proofs=False)
    result = search(TRILOBITE.new(1))
    assert not len(search.tree.low)
    assert (result.proven, result.simulations) == (False, 500)
    named = leafwise.player("mcts:simulations=5,proofs=0", TRILOBITE)
    assert isinstance(named, MctsPlayer)
    assert not len(named.search.tree.low)


def test_another_stream_begins_a_new_tree_without_proofs():
    search = Mcts(TRILOBITE, TRILOBITE.score(), simulations=5_000)
    assert search(TRILOBITE.new(1)).proven
    search.draw_from(new_stream(2))
    assert search(TRILOBITE.new(1)).simulations > 0
