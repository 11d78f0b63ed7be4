"""Trees side by side grow as each would alone."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import leafwise
from games.refusals import one_line
from leafwise.envs.core.contract.stream import below, new_stream
from leafwise.search.mcts import Mcts
from leafwise.search.mcts.forest import Forest
from leafwise.search.mcts.root import improved_policy, judge, most_visited, visits_wanted
from leafwise.search.mcts.tree import CompiledMctsOptions, MctsTree, edges_of
from running.networks import planted_leaf

SIMULATIONS = 40
GAMES = [
    ("trilobite", {"board": "7x6", "k": 4}),
    pytest.param("cassis", {}, marks=pytest.mark.long),
    ("trap", {}),
    pytest.param("threes", {}, marks=pytest.mark.long),
]


def values_of_edges(tree: Any, node: int) -> Any:
    """Returns what each edge of a node is worth to who acts."""
    values = np.zeros(int(tree.end[node] - tree.first[node]))
    judge(tree, node, values)
    return values


def positions(game, n):
    """Returns decisions of random games."""
    stream = new_stream(1)
    states: list[leafwise.State] = []
    while len(states) < n:
        state = game.start().settle(stream)
        while not state.is_terminal and len(states) < n:
            if below(stream, 3) == 0:
                states.append(state)
            state = state.play(state.legal_actions[int(below(stream, len(state.legal_actions)))]).settle(stream)
    return states


@pytest.mark.parametrize(("name", "how"), GAMES)
def test_a_forest_makes_the_visits_of_single_trees(name, how):
    game = leafwise.game(name, **how)
    leaf = planted_leaf(game, to_go=game.players == 1)
    states = positions(game, 100)
    streams = np.array([new_stream(k) for k in range(len(states))])
    options = CompiledMctsOptions(2.5, by_spread=True, temperature=1.0, one_ply=False, policy=False)
    forest = Forest(game, leaf, streams, options, nodes=4 * SIMULATIONS)
    roots = forest.search(np.array([state.row for state in states]), SIMULATIONS)
    for k, (state, root) in enumerate(zip(states, roots, strict=True)):
        tree = forest.tree(k)
        alone = Mcts(game, leaf, simulations=SIMULATIONS, at_once=1, seed=k)(state)
        edges = edges_of(tree, root)
        assert dict(zip(tree.action[edges].tolist(), tree.n[edges].tolist(), strict=True)) == alone.visits
        assert dict(zip(tree.action[edges].tolist(), values_of_edges(tree, root).tolist(), strict=True)) == alone.values


@pytest.mark.parametrize(("considered", "simulations"), [(1, 5), (2, 16), (4, 32), (7, 32), (16, 50), (4, 3)])
def test_halving_gives_each_action_its_simulations_in_turn(considered, simulations):
    wanted = visits_wanted(7, considered, simulations)
    assert wanted.shape == (8, simulations)
    for n in range(1, 8):
        visits = np.zeros(min(n, considered, simulations), int)
        for before in wanted[n]:  # some action has had so many
            visits[np.flatnonzero(visits == before)[0]] += 1
        assert visits.all()
        best, others = np.sort(visits)[-2:], np.sort(visits)[:-2]
        assert best[-1] - best[0] <= 1  # two are left in the end
        assert others.max(initial=0) <= best[0]


def test_trees_share_simulations_out_by_halving():
    game = leafwise.game("trilobite", board="7x6", k=4)
    leaf, rows = planted_leaf(game), np.array([state.row for state in positions(game, 30)])
    options = CompiledMctsOptions(1.25, by_spread=False, temperature=1.0, one_ply=False, policy=False)

    def forest():
        streams = np.array([new_stream(k) for k in range(len(rows))])
        return Forest(game, leaf, streams, options, nodes=200, proofs=False)

    one, seen = forest(), set()
    for k, root in enumerate(one.halve(rows, 32, 4)):
        tree = one.tree(k)
        edges, shares, noisy = edges_of(tree, root), np.zeros(7), one.halving.noisy[k]
        n, legal = tree.n[edges], edges.stop - edges.start
        assert n.sum() == 32
        assert (n > 0).sum() == min(4, legal)
        seen.add(tuple(np.flatnonzero(n)))
        left = most_visited(tree, root, noisy)
        assert tree.n[left] == n.max()
        # The policy that is learned is surer of what proved better than the prior was
        improved_policy(tree, root, one.paths.value[k], shares)
        values = values_of_edges(tree, root)
        assert shares[:legal].sum() == pytest.approx(1)
        assert shares[:legal] @ values >= tree.prior[edges] @ values - 1e-12
        tried = np.flatnonzero(n)
        best, worst = tried[values[tried].argmax()], tried[values[tried].argmin()]
        assert shares[best] / shares[worst] >= tree.prior[edges][best] / tree.prior[edges][worst]
    assert len(seen) > 5  # noise chose what was tried
    # The next search is by PUCT again
    one.forget(range(len(rows)))
    other = forest()
    roots = one.search(rows, 32), other.search(rows, 32)
    for k in range(len(rows)):
        mine, fresh = (
            tree.tree(k).n[edges_of(tree.tree(k), at[k])] for tree, at in zip((one, other), roots, strict=True)
        )
        assert np.array_equal(mine, fresh)


def test_a_leaf_that_fails_leaves_no_trace():
    game, calls = leafwise.game("cassis"), []
    sound: Any = planted_leaf(game)

    def batch_policy(rows, T):
        calls.append(len(rows))
        if len(calls) == 5:
            raise RuntimeError("once")
        return sound.batch_policy(rows, T)

    rows = np.array([state.row for state in positions(game, 6)])
    options = CompiledMctsOptions(1.25, by_spread=False, temperature=1.0, one_ply=False, policy=False)
    once, twice = (
        Forest(game, leaf, np.zeros((6, 2), np.uint64), options, nodes=100)
        for leaf in (sound, replace(sound, batch_policy=batch_policy))
    )
    with pytest.raises(RuntimeError, match="once"):
        twice.search(rows, 20)
    for forest in (once, twice):
        forest.search(rows, 20)
    for name, one, other in zip(MctsTree._fields, once.trees, twice.trees, strict=True):
        if name in ("n", "w", "visits", "waiting"):
            np.testing.assert_array_equal(one, other, name)


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        (lambda rows: np.zeros(len(rows)), "expected of batch_policy a pair"),
        (lambda rows: (np.zeros(len(rows)), np.zeros((len(rows), 3))), "expected of batch_policy logits"),
        (lambda rows: (np.full(len(rows), np.nan), np.zeros((len(rows), 15))), "values, got nan"),
    ],
)
def test_answers_that_do_not_fit_are_refused_in_one_line(answer, message):
    game = leafwise.game("cassis")
    leaf = replace(planted_leaf(game), batch_policy=lambda rows, T: answer(rows))
    options = CompiledMctsOptions(1.25, by_spread=False, temperature=1.0, one_ply=False, policy=False)
    with one_line(message):
        Forest(game, leaf, np.zeros((1, 2), np.uint64), options, nodes=100).search(game.new(1).row[None], 5)
    with one_line(message):
        Mcts(game, leaf, simulations=5)(game.new(1))
