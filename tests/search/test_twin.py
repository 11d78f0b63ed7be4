"""Every exact search gives the values of a naive recursion over positions."""

import math
from random import Random

import pytest

from games import dice, solitaire
from leafwise.envs.core.state import State
from leafwise.envs.core.stream import new_stream
from leafwise.envs.registry import game
from leafwise.search import Search

THREES = game("threes")
CASES = [
    (THREES, "openness", 2, 60),
    (THREES, "rows", 2, 60),
    (dice.GAME, "lead", 3, 200),
    (dice.GAME, "lead_at_die", 3, 200),
    (solitaire.GAME, "hope", 3, 300),
    (solitaire.GAME, "points_and_discards", 3, 300),
]


def positions(g, count):
    """Random decisions, from the start of games to their end."""
    rng, seed = Random(5), 900_000
    found: list[State] = []
    while len(found) < count:
        stream = new_stream(seed)
        state = g.new(seed)
        while not state.is_terminal:
            if rng.random() < 0.3:
                found.append(state)
            state = state.play(rng.choice(state.legal_actions)).settle(stream)
        seed += 1
    return found[:count]


class Naive:
    """Recursion over State objects, in the words of the contract; values are player 0's."""

    def __init__(self, g, evaluator):
        self.game, self.evaluator = g, evaluator

    def leaf(self, state):
        worth = state.value(self.evaluator)
        if state.current_player == 1:
            worth = -worth
        return worth + state.returns if self.evaluator.to_go else worth

    def value(self, state, depth):
        rule = self.evaluator.terminal
        if state.is_terminal:
            if rule == "evaluate":
                return self.leaf(state)
            if rule == "returns":
                return state.returns
            return rule[0] if state.returns > 0 else rule[2] if state.returns < 0 else rule[1]
        if depth == 0 and state.stage in ("decision", self.evaluator.stage):
            return self.leaf(state)
        if state.is_chance:
            return math.fsum(p * self.value(after, depth) for p, after in state.outcomes())
        choose = min if state.current_player == 1 else max
        return choose(self.after(state, a, depth) for a in state.legal_actions)

    def after(self, state, a, depth):
        cost = self.game.rules.action_cost(state._rows(), 0, a, self.game._shared_tables)
        return self.value(state.play(a), depth - int(cost))


@pytest.mark.parametrize(("g", "score", "depth", "count"), CASES, ids=lambda v: getattr(v, "name", str(v)))
def test_options_change_no_value(g, score, depth, count):
    evaluator = g.score(score)
    naive = Naive(g, evaluator)
    searches = [
        Search(g, evaluator, depth),
        Search(g, evaluator, depth, table_mb=1),
        Search(g, evaluator, depth, pruning=True),
    ]
    nodes = [0] * len(searches)
    for n, state in enumerate(positions(g, count)):
        shallow = depth if n % 30 == 0 or g is not THREES else 1  # the naive recursion takes its time
        sign = -1 if state.current_player == 1 else 1
        expected = {a: sign * naive.after(state, a, shallow) for a in state.legal_actions}
        for k, search in enumerate(searches):
            result = search._again(state, shallow)
            assert result.values == pytest.approx(expected, rel=1e-12, abs=1e-12), (str(state), k)
            assert result.value == max(result.values.values())
            nodes[k] += result.nodes
    assert nodes[1] <= nodes[0]
    assert nodes[2] <= nodes[0]
    if g is dice.GAME:
        assert nodes[2] < nodes[0]
