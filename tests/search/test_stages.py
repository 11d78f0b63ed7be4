"""A leaf may be asked at several stages: at the first that a line of play comes to."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from games import dice
from games.walks import positions
from leafwise.envs.core.contract.evaluator import Evaluator
from leafwise.envs.core.play.players import compiled_greedy
from leafwise.search import Search
from leafwise.search.mcts import Mcts
from twins.recursion import Naive

GAME = dice.GAME
LEAD = GAME.score("lead_at_die")
EVERYWHERE = ("decision", "die", "face")


@pytest.mark.parametrize("asked", [("face", "die"), EVERYWHERE], ids=str)
def test_searches_are_the_naive_recursion(asked: tuple[str, ...]) -> None:
    leaf = replace(LEAD, stage=asked)
    naive = Naive(GAME, leaf)
    searches = Search(GAME, leaf, 2), Search(GAME, leaf, 2, pruning=True), Search(GAME, leaf, 2, batched=True)
    for state in positions(GAME, 60):
        expected = naive.values(state, 2)
        for search in searches:
            assert search(state).values == pytest.approx(expected, abs=1e-12)


def test_several_stages_are_the_first_of_them_that_comes() -> None:
    die, several, face = (Search(GAME, replace(LEAD, stage=asked), 1) for asked in ("die", ("face", "die"), "face"))
    differ = 0
    for state in positions(GAME, 60):
        for action, value in several(state).values.items():  # most throw the die and then the face, one the face alone
            alone = [search(state).values[action] for search in (die, face)]
            assert value in alone
            differ += value != alone[0]
    assert differ > 5


@pytest.mark.parametrize("asked", ["decision", "die", ("decision", "die"), EVERYWHERE], ids=str)
def test_a_tree_search_asks_at_them_alone(asked: str | tuple[str, ...]) -> None:
    met: set[str] = set()

    def batch(rows: Any, T: Any) -> Any:
        met.update(GAME.stages[int(GAME.rules.stage(rows, np.uint64(k), T))] for k in range(len(rows)))
        return np.zeros(len(rows))

    leaf = Evaluator("asked", None, stage=asked, batch=batch)
    Mcts(GAME, leaf, simulations=300, seed=1, prior="uniform")(positions(GAME, 1)[0])
    assert met == {*leaf.stages}


def test_a_greedy_player_looks_as_far_as_a_search() -> None:
    leaf = replace(LEAD, stage=("face", "die"))
    assert compiled_greedy(GAME, leaf) is compiled_greedy(GAME, replace(LEAD, stage=("die", "face")))
    search, rows = Search(GAME, leaf, 1), GAME.rows(20)
    A, P, R = np.zeros(GAME.max_actions, np.int64), np.zeros(20), np.zeros(2, np.uint64)
    for state in positions(GAME, 30):
        rows[0] = state.row
        result = compiled_greedy(GAME, leaf)(rows, np.uint64(0), np.uint64(1), A, P, R, GAME.tables(leaf))
        values = search(state).values
        assert values[result] == pytest.approx(max(values.values()), abs=1e-12)


@pytest.mark.parametrize("asked", ["nowhere", ("die", "nowhere"), ()], ids=str)
def test_other_stages_are_refused(asked: str | tuple[str, ...]) -> None:
    with pytest.raises(ValueError, match=r"expected a stage among decision, die, face, got "):
        Search(GAME, replace(LEAD, stage=asked), 1)
