"""Monte Carlo tree search where the truth is known: its choice tends to the optimum; and the noise of its roots."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

import leafwise
from games import dice
from leafwise.envs.core.contract.stream import new_stream
from leafwise.search.mcts import Mcts
from leafwise.search.mcts.root import add_noise, gamma, take_back

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
