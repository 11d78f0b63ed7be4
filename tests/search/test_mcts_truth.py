"""Monte Carlo tree search where the truth is known: its choice tends to the optimum, and chance comes by its probabilities."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

import leafwise
from games import dice
from leafwise.envs.core.contract.evaluator import Evaluator
from leafwise.envs.core.contract.state import State
from leafwise.envs.core.contract.stream import new_stream
from leafwise.search.mcts import Mcts
from leafwise.search.mcts import engine as mcts_engine
from leafwise.search.mcts.noise import add_noise, gamma, take_back

POSITIONS = Path(__file__).parents[2] / "experiments" / "search" / "positions"
DICE = dice.GAME.variant(length=3, turns=3)
TRUTHS = {
    "trap-3x3": (leafwise.game("trap", size=3), 24, (30, 6000)),
    "sim": (leafwise.game("cassis"), 40, (10, 4000)),
}


@pytest.mark.long
@pytest.mark.parametrize("name", TRUTHS)
def test_its_choice_tends_to_the_optimum(name: str) -> None:
    """The mean regret falls with the simulations, on critical decisions of the regret study."""
    game, count, budgets = TRUTHS[name]
    told = [json.loads(line) for line in (POSITIONS / f"{name}.jsonl").read_text().splitlines()[:count]]
    regrets = []
    for simulations in budgets:
        search = Mcts(game, game.score(), simulations=simulations, reuse=False, seed=1)
        lost = []
        for one in told:
            found = search(game.parse(one["position"]))
            lost.append(max(one["values"].values()) - one["values"][game.actions[found.chosen]])
        regrets.append(np.mean(lost))
    assert regrets[1] < 0.3 * regrets[0], regrets
    assert regrets[1] < 0.1, regrets


def outcomes(state: State) -> dict[bytes, float]:
    """Returns the decisions and ends that chance leads to, by their rows, with their probabilities."""
    if not state.is_chance:
        return {state.row.tobytes(): 1.0}
    found: dict[bytes, float] = {}
    for p, after in state.outcomes():
        for row, q in outcomes(after).items():
            found[row] = found.get(row, 0.0) + p * q
    return found


def furthest(spread: bool, monkeypatch: pytest.MonkeyPatch) -> float:
    """Returns by how many simulations the outcomes of a root's actions differ most from what their probabilities say."""
    ways, back_up = [], mcts_engine.back_up

    def logged(tree, b, value):
        ways.append((tree.path_nodes[b, : tree.lengths[b]].copy(), int(tree.path_edges[b, 0])))
        back_up(tree, b, value)

    monkeypatch.setattr(mcts_engine, "back_up", logged)
    leaf = Evaluator("even", None, batch=lambda rows, T: np.zeros(len(rows)))
    search, state = Mcts(DICE, leaf, simulations=1500, spread=spread, at_once=1, seed=1), DICE.new(1)
    found, tree = search(state), search.tree
    worst = 0.0
    for e in range(int(tree.first[0]), int(tree.end[0])):
        action = int(tree.action[e])
        expected = outcomes(state.play(action))
        taken = [way[1] for way, first in ways if first == e and len(way) > 1]
        for row, p in expected.items():
            seen = sum(tree.rows[node].tobytes() == row for node in taken)
            worst = max(worst, abs(seen - p * found.visits[action]))
    return worst


def test_chance_is_spread_by_its_probabilities(monkeypatch: pytest.MonkeyPatch) -> None:
    assert furthest(True, monkeypatch) < 8
    assert furthest(False, monkeypatch) > 8


def test_noise_has_the_dirichlet_distribution_and_is_taken_back() -> None:
    stream = new_stream(3)
    for shape in (0.3, 1.0, 4.0):
        drawn = np.array([gamma(stream, shape) for _ in range(4000)])
        assert drawn.min() > 0
        assert drawn.mean() == pytest.approx(shape, rel=0.1)
        assert drawn.var() == pytest.approx(shape, rel=0.2)
    search = Mcts(DICE, DICE.score(), simulations=50, prior="uniform")
    search(DICE.new(1))
    tree, kept = search.tree, np.zeros(DICE.max_actions)
    edges = slice(int(tree.first[0]), int(tree.end[0]))
    before = tree.prior[edges].copy()
    priors = []
    for _ in range(400):
        add_noise(tree, 0, 0.5, 2.0, kept)
        priors.append(tree.prior[edges].copy())
        take_back(tree, 0, kept)
    assert np.array_equal(before, tree.prior[edges])
    assert np.allclose(np.sum(priors, axis=1), 1)
    assert np.mean(priors, axis=0) == pytest.approx(before, abs=0.04)
    n = len(before)
    assert np.var(priors, axis=0).mean() == pytest.approx(0.25 * (n - 1) / n**2 / 3, rel=0.25)  # parameters 2/n each
