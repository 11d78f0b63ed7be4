"""Priors of extreme numbers: temperatures near 0, logits too large for an exponential, policies without any weight."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import NamedTuple

import numpy as np
import pytest

import leafwise
from games import dice
from games.refusals import one_line
from leafwise.envs.core.compile.intrinsics import logistic, logistic_of, softmax_term, win_less_loss, win_less_loss_of
from leafwise.envs.core.compile.jit import jit
from leafwise.envs.core.contract.stream import new_stream
from leafwise.envs.core.play.players import compiled_sampled
from leafwise.search.mcts import Mcts
from leafwise.search.mcts import tree as M

DICE = dice.GAME.variant(length=3, turns=3)
TRILOBITE = leafwise.game("trilobite")


@pytest.mark.parametrize("temperature", [0.4, 0.02, 0.01, 0.009, 0.001, 1e-300, 5e-324])
@pytest.mark.parametrize("plies", [0, 1])
def test_a_temperature_gives_the_priors_of_the_plain_formula(temperature, plies):
    search = Mcts(TRILOBITE, TRILOBITE.score(), simulations=60, temperature=temperature, proofs=False)
    result = search(TRILOBITE.start().play(0) if plies else TRILOBITE.start())
    edges = slice(int(search.tree.first[0]), int(search.tree.end[0]))
    prior, known = search.tree.prior[edges], search.tree.known[edges]
    assert prior.sum() == pytest.approx(1)
    best = int((known if plies == 0 else -known).argmax())
    scaled = (known - known.min()) / (known.max() - known.min())
    for e, x in enumerate(scaled.tolist()):
        lead = (x - 1 if plies == 0 else -x) / temperature
        assert prior[e] == pytest.approx(prior[best] * math.exp(max(lead, -800)), abs=1e-12)
    assert result.visits[int(search.tree.action[edges][best])] > 0


class Said(NamedTuple):
    said: np.ndarray


def with_policy(logits):
    """Returns a score of three in a row with the same logits for every position."""
    value = TRILOBITE.score().compiled

    @jit
    def policy(S, i, P, T):
        for a in range(T.leaf.said.shape[0]):
            P[a] = T.leaf.said[a]
        return value(S, i, T)

    return replace(TRILOBITE.score(), name="said", policy=policy, weights=Said(np.array(logits)))


INF, NAN = math.inf, math.nan
LOGITS = [
    ([-INF, -INF, -INF], [1 / 3, 1 / 3, 1 / 3]),
    ([INF, 0.0, -INF], [1, 0, 0]),
    ([INF, INF, 1e308], [1 / 2, 1 / 2, 0]),
    ([-1e308, 1e308, 0.0], [0, 1, 0]),
    ([-2e4, -2e4, -INF], [1 / 2, 1 / 2, 0]),
    ([5e3, 5e3 + math.log(2), 4e3], [1 / 3, 2 / 3, 0]),
]


@pytest.mark.parametrize(("logits", "expected"), LOGITS)
def test_softmax_terms_are_numbers(logits, expected):
    terms = np.array([softmax_term(x, max(logits)) for x in logits])
    assert terms / terms.sum() == pytest.approx(expected)


def test_policies_of_extreme_logits_are_priors_and_opponents():
    for logits, expected in LOGITS:
        leaf = with_policy(logits)
        search = Mcts(TRILOBITE, leaf, simulations=40)
        result = search(TRILOBITE.start())
        assert search.tree.prior[:3] == pytest.approx(expected)
        assert sum(result.visits.values()) == 40
        T, A, P, R = TRILOBITE.tables(leaf), np.zeros(3, dtype=np.int64), np.zeros(3), new_stream(1)
        choose = compiled_sampled(TRILOBITE, leaf)
        S = TRILOBITE.rows(2)
        S[0] = TRILOBITE.start().row
        drawn = np.bincount([int(choose(S, np.uint64(0), np.uint64(1), A, P, R, T)) for _ in range(300)], minlength=3)
        assert ((drawn > 0) == (np.array(expected) > 0)).all()


@pytest.mark.parametrize(
    ("row", "got"), [([1, NAN, 1], "nan"), ([1, 1, INF], "inf"), ([1, -1, 1], "-1.0"), ([1e308, 1e308, 0], "inf")]
)
def test_a_policy_whose_numbers_are_no_weights_is_refused(row, got):
    with one_line(f"numbers of at least 0 with a finite sum from the policy, got {got}"):
        Mcts(TRILOBITE, TRILOBITE.score(), simulations=5, prior=same(row))(TRILOBITE.start())


def test_a_policy_without_any_weight_is_a_uniform_prior():
    search = Mcts(TRILOBITE, TRILOBITE.score(), simulations=5, prior=same([0, 0, 0]))
    assert sum(search(TRILOBITE.start()).visits.values()) == 5
    assert (search.tree.prior[:3] == 1 / 3).all()


def same(row):
    """Returns a policy that says the same of every position."""
    weights = np.zeros(TRILOBITE.max_actions)
    weights[:3] = row
    return lambda rows, T: np.tile(weights, (len(rows), 1))


@pytest.mark.parametrize("factor", [1e-200, 1e-160, 1e150, 1e200])
def test_values_of_any_size_leave_exploration_a_number(factor):
    leaf = replace(DICE.score(), low=None, high=None, terminal="evaluate")
    value = leaf.compiled

    @jit
    def stretched(S, i, T):
        return T.leaf.said[0] * value(S, i, T)

    search = Mcts(
        DICE, replace(leaf, value=stretched, weights=Said(np.array([factor]))), simulations=200, exploration=1e100
    )
    result = search(DICE.start().settle(new_stream(1)))
    assert M.MIN_SPREAD <= M.unit(search.tree, True) < 2
    assert sum(result.visits.values()) == 200
    assert min(result.visits.values()) > 0


def test_logistic_functions_never_overflow():
    x = np.array([-INF, -1e300, -710.0, -709.0, -1.0, 0.0, 1.0, 40.0, 1e300, INF])
    for result in (logistic_of(x), np.array([logistic(each) for each in x])):
        assert result[2:8] == pytest.approx([0, 0, 0.2689414213699951, 0.5, 0.7310585786300049, 1])
        assert ((result >= 0) & (result <= 1)).all()
        assert (result[:2] < 1e-300).all()
        assert (result[-2:] == 1).all()


def test_three_chances_of_extreme_numbers():
    rows: list[list[float]] = [
        [0, 0, 0],
        [800, 0, 0],
        [0, 800, 0],
        [0, 0, 800],
        [-1000, 500, 0],
        [-1000, 0, 0],
        [-2000, -1000, -1000 + math.log(3)],
    ]
    expected = [0, 1, 0, -1, 0, -1 / 2, -3 / 4]
    rows += [[1e300, -1e300, 1e300], [-INF, INF, 0], [INF, 0, INF]]
    expected += [0, 0, 0]
    assert win_less_loss_of(np.array(rows)) == pytest.approx(expected)
    assert [win_less_loss(*map(float, row)) for row in rows] == pytest.approx(expected)
    rng = np.random.default_rng(1)
    usual = rng.normal(0, 3, (200, 3))
    for win, draw, loss in usual.tolist():
        drawn, lost = math.exp(draw - win), math.exp(loss - win)
        assert win_less_loss(win, draw, loss) == (1.0 - lost) / (1.0 + drawn + lost)
