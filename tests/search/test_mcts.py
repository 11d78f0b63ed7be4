"""Monte Carlo tree search: its means, its random numbers, its memory, what it chooses where the truth is known, and its noise."""

from __future__ import annotations

import threading
import time
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import leafwise
from games import dice
from games.refusals import one_line
from leafwise.envs.core.compile.jit import jit
from leafwise.envs.core.contract.evaluator import Evaluator, Speed
from leafwise.envs.core.contract.state import State
from leafwise.envs.core.contract.stream import below, new_stream
from leafwise.search.mcts import Mcts
from leafwise.search.mcts import engine as mcts_engine
from leafwise.search.mcts import tree as M
from leafwise.search.mcts.root import add_noise, gamma, take_back
from leafwise.search.players import MctsPlayer

TRILOBITE = leafwise.game("trilobite")
THREES = leafwise.game("threes")
BOARD = leafwise.game("trilobite", board="5x5", k=4)
DICE = dice.GAME.variant(length=3, turns=3)
AGREED = (("..x/..o/oxx", 0), ("x../o../xxo", 2))
"""Boards of three in a row whose only good column is hard to find by means of simulations, and that column."""
GAMES = ["dice", pytest.param("trilobite", marks=pytest.mark.long), pytest.param("threes", marks=pytest.mark.long)]
BY_NAME = {"trilobite": TRILOBITE, "threes": THREES, "dice": DICE}


def positions(game, n, plies, seed=1):
    """Returns decisions reached by random play."""
    stream = new_stream(seed)
    states: list[State] = []
    while len(states) < n:
        state = game.start().settle(stream)
        for _ in range(int(below(stream, plies))):
            if not state.is_terminal:
                state = state.play(state.legal_actions[int(below(stream, len(state.legal_actions)))]).settle(stream)
        states += [] if state.is_terminal else [state]
    return states


def in_batches(leaf):
    """Returns the same leaf without a compiled value, for a search that values its leaves together."""
    loop = mcts_engine.values_of(leaf, TRILOBITE.room)

    def batch(rows, T):
        values = np.zeros(len(rows))
        loop(np.ascontiguousarray(rows), values, T)
        return values

    return replace(leaf, value=None, batch=batch, speed=Speed())


def used(tree):
    """Returns the parts of a tree that are in use."""
    nodes, edges = int(tree.counts[M.NODES]), int(tree.counts[M.EDGES])
    by_node = [tree.rows, tree.player, tree.first, tree.end, tree.visits, tree.total]
    return [x[:nodes] for x in by_node] + [x[:edges] for x in (tree.action, tree.n, tree.w)]


@pytest.mark.parametrize("name", GAMES)
def test_values_are_the_means_of_the_simulations_that_came_by(name, monkeypatch):
    game = BY_NAME[name]
    log, back_up = [], mcts_engine.back_up

    def logged(tree, b, value, *end):
        n = tree.lengths[b]
        log.append((tree.path_nodes[b, :n].copy(), tree.path_edges[b, :n].copy(), value))
        back_up(tree, b, value, *end)

    monkeypatch.setattr(mcts_engine, "back_up", logged)
    search = Mcts(game, in_batches(game.score()), simulations=300, at_once=7, seed=3, proofs=False)
    for state in positions(game, 2, 3):
        search(state)
    tree = search.tree
    nodes, edges = int(tree.counts[M.NODES]), int(tree.counts[M.EDGES])
    visits, total, n, w = np.zeros(nodes), np.zeros(nodes), np.zeros(edges), np.zeros(edges)
    begun = max(k for k, (way, _, _) in enumerate(log) if way[0] == 0)
    assert begun >= 299
    for way, taken, value in log[-int(tree.counts[M.SIMULATIONS]) :]:
        visits[way], n[taken] = visits[way] + 1, n[taken] + 1
        total[way], w[taken] = total[way] + value, w[taken] + value
    assert np.array_equal(visits, tree.visits[:nodes])
    assert np.array_equal(n, tree.n[:edges])
    assert np.allclose(total, tree.total[:nodes])
    assert np.allclose(w, tree.w[:edges])
    assert not tree.waiting.any()
    n[:], w[:] = 0, 0.0
    deviations = []
    for _, taken, value in log[-int(tree.counts[M.SIMULATIONS]) :]:
        deviations += [value - w[e] / n[e] for e in taken if n[e]]
        n[taken], w[taken] = n[taken] + 1, w[taken] + value
    assert tree.spread.tolist() == pytest.approx([np.square(deviations).sum(), len(deviations)])


@pytest.mark.parametrize("name", GAMES)
def test_leaves_one_by_one_and_batches_of_one_grow_the_same_tree(name):
    game = BY_NAME[name]
    compiled = Mcts(game, game.score(), simulations=200, prior="uniform", seed=5)
    batched = Mcts(game, in_batches(game.score()), simulations=200, at_once=1, seed=5)
    for state in positions(game, 2, 4):
        one, other = compiled(state), batched(state)
        assert one.visits == other.visits
        assert one.action == other.action
        assert one.line == other.line
        assert all(np.allclose(a, b) for a, b in zip(used(compiled.tree), used(batched.tree), strict=True))


@pytest.mark.parametrize("name", GAMES)
def test_a_line_that_is_asked_for_late_is_that_of_its_search(name):
    game = BY_NAME[name]
    early, late = (Mcts(game, game.score(), simulations=300, seed=5) for _ in range(2))
    for state in positions(game, 2, 4):
        wanted = early(state)
        line = wanted.line
        assert line[0] == wanted.name
        result = late(state)
        late(state)
        late.draw_from(new_stream(1))
        early.draw_from(new_stream(1))
        assert result.line == line


def test_the_depth_is_that_of_the_longest_simulation_of_the_search():
    state = positions(TRILOBITE, 1, 2)[0]
    search = Mcts(TRILOBITE, TRILOBITE.score(), simulations=1, prior="uniform")
    depths = [search(state).depth for _ in range(200)]
    assert depths[0] == 1
    assert all(depth <= n for n, depth in enumerate(depths, 1))
    assert max(depths) > 2


@pytest.mark.parametrize("prior", ["uniform", "values"])
def test_the_same_seed_gives_the_same_tree_and_another_does_not(prior):
    state = positions(DICE, 1, 2)[0]
    trees = []
    for seed in (1, 1, 2):
        search = Mcts(DICE, DICE.score(), simulations=300, prior=prior, seed=seed)
        search(state)
        trees.append(used(search.tree))
    assert all(np.array_equal(a, b) for a, b in zip(trees[0], trees[1], strict=True))
    assert any(a.shape != b.shape or not np.array_equal(a, b) for a, b in zip(trees[0], trees[2], strict=True))


@pytest.mark.parametrize("scale", ["spread", "span"])
@pytest.mark.parametrize("prior", ["uniform", "values"])
def test_the_units_of_a_leaf_do_not_matter(prior, scale):
    leaf = replace(DICE.score(), low=None, high=None, terminal="evaluate")
    value = leaf.compiled

    @jit
    def stretched(S, i, T):
        return 32.0 * value(S, i, T)

    for state in positions(DICE, 3, 4):
        options: dict[str, Any] = {"simulations": 400, "prior": prior, "scale": scale, "seed": 2}
        one, other = (Mcts(DICE, each, **options)(state) for each in (leaf, replace(leaf, value=stretched)))
        assert one.visits == other.visits
        assert other.value == pytest.approx(32.0 * one.value)


def test_what_a_unit_of_exploration_is():
    tree = Mcts(DICE, DICE.score()).tree
    assert (M.unit(tree, False), M.unit(tree, True)) == (1.0, M.FIRST_SPREAD)
    tree.span[:] = -1.0, 3.0
    tree.spread[:] = 30 * 0.8**2, 30
    assert M.unit(tree, False) == 1.0
    assert M.unit(tree, True) == pytest.approx(((30 * 0.2**2 + 10 * 0.25**2) / 40) ** 0.5)
    tree.spread[:] = 0.0, 1e9
    assert M.unit(tree, True) == M.MIN_SPREAD


@pytest.mark.parametrize("prior", ["uniform", "values"])
def test_its_choice_tends_to_the_optimum(prior):
    """The mean regret falls with the simulations, on decisions of the dice race whose exact values are known."""
    exact = leafwise.Search(DICE, DICE.score(), depth=30, table_mb=4)
    asked = [s for s in positions(DICE, 40, 6) if len(s.legal_actions) > 1][:25]
    truth = [exact(s) for s in asked]
    regrets = []
    for simulations in (100, 30_000):
        lost = []
        for seed in range(4):
            search = Mcts(DICE, DICE.score(), simulations=simulations, prior=prior, reuse=False, seed=seed)
            lost += [t.value - t.values[search(s).chosen] for s, t in zip(asked, truth, strict=True)]
        regrets.append(np.mean(lost))
    assert regrets[1] < regrets[0]
    assert regrets[1] < 0.008, regrets


def test_simulations_that_agree_do_not_end_exploration():
    """Here they agree on the column in the middle, which only draws."""
    for board, winning in AGREED:
        state = TRILOBITE.parse(board)
        assert leafwise.Search(TRILOBITE, TRILOBITE.score(), depth=9)(state).action == winning
        assert Mcts(TRILOBITE, TRILOBITE.score(), simulations=60_000, proofs=False)(state).chosen == winning


def test_a_search_goes_on_with_the_tree_of_the_one_before():
    search = Mcts(BOARD, BOARD.score(), simulations=400)
    first = search(BOARD.new(1))
    reply = search(BOARD.new(1).play(first.chosen))
    assert sum(list(reply.visits.values())) == first.visits[first.chosen] - 1 + 400
    assert reply.simulations == 400
    alone = Mcts(BOARD, BOARD.score(), simulations=400, reuse=False)
    alone(BOARD.new(1))
    assert sum(list(alone(BOARD.new(1).play(first.chosen)).visits.values())) == 400


@pytest.mark.long
@pytest.mark.parametrize("name", GAMES)
@pytest.mark.parametrize("prior", ["uniform", "values"])
def test_where_memory_is_full_it_goes_on(name, prior, monkeypatch):
    game = BY_NAME[name]
    monkeypatch.setattr(M, "MAX_NODES", 20)
    search = Mcts(game, game.score(), simulations=500, prior=prior)
    result = search(positions(game, 1, 1)[0])
    assert result.simulations == sum(result.visits.values()) == 500
    assert result.nodes <= 20
    assert search.tree.counts[M.FULL] > 0


def test_gumbel_halves_what_it_considers():
    search = Mcts(BOARD, BOARD.score(), simulations=160, gumbel=4)
    result = search(BOARD.new(1))
    tried = sorted(n for n in result.visits.values() if n)
    assert len(tried) == 4
    assert sum(tried) == 160
    assert tried[-1] > tried[0]
    assert result.visits[result.chosen] == tried[-1]


def test_a_policy_says_what_is_tried_first():
    def only(rows, T):
        weights = np.zeros((len(rows), TRILOBITE.max_actions))
        weights[:, 2] = 1.0
        return weights

    result = Mcts(TRILOBITE, TRILOBITE.score(), simulations=50, prior=only, at_once=1)(TRILOBITE.new(1))
    assert result.visits[2] == 50
    together = Mcts(TRILOBITE, TRILOBITE.score(), simulations=50, prior=only, at_once=5)(TRILOBITE.new(1))
    assert together.visits[2] > 40  # while simulations are under way another action is worth a try
    with one_line("with a finite sum from the policy"):
        Mcts(TRILOBITE, TRILOBITE.score(), prior=lambda rows, T: np.zeros(len(rows)))(TRILOBITE.new(1))


def test_a_leaf_that_fails_leaves_no_trace():
    calls = []

    def batch(rows, T):
        calls.append(len(rows))
        if len(calls) == 2:
            raise RuntimeError("once")
        return np.zeros(len(rows))

    search = Mcts(TRILOBITE, Evaluator("fails", None, batch=batch), simulations=40, at_once=8)
    with pytest.raises(RuntimeError, match="once"):
        search(TRILOBITE.new(1))
    assert not search.tree.waiting.any()
    assert search(TRILOBITE.new(1)).simulations == 40


@pytest.mark.long
def test_time_ends_a_search_and_so_does_stop():
    search = Mcts(THREES, THREES.score(), seconds=0.05)
    search(THREES.new(1))
    start = time.perf_counter()
    assert search(THREES.new(2)).simulations > 0
    assert time.perf_counter() - start < 2
    endless = Mcts(THREES, THREES.score(), simulations=10**12, memory_mb=1)
    threading.Timer(0.3, endless.stop).start()
    assert 0 < endless(THREES.new(1)).simulations < 10**12


def test_loading_the_code_is_no_part_of_the_time(monkeypatch):
    search = Mcts(THREES, THREES.score(), seconds=0.1)
    compiled, asked = search._compiled, []
    assert compiled is not None

    def slow_at_first(*arguments):
        asked.append(arguments[5])
        if len(asked) == 1:
            time.sleep(0.3)
        return compiled.simulate(*arguments)

    monkeypatch.setattr(search, "_compiled", compiled._replace(simulate=slow_at_first))
    assert search(THREES.new(seed=1)).simulations > 1
    assert asked[0] == 0


def test_players_are_named_by_a_text():
    state = TRILOBITE.new(1).play("1").play("3").play("1").play("3")
    player = leafwise.player("mcts:simulations=500,prior=uniform", TRILOBITE, seed=4)
    assert isinstance(player, MctsPlayer)
    assert TRILOBITE.actions[player.choose(state)] == "1"
    player.stream = new_stream(5)
    assert TRILOBITE.actions[player.choose(state)] == "1"
    rolled = leafwise.player("mcts:rollout:n=1,simulations=600", TRILOBITE)
    assert isinstance(rolled, MctsPlayer)
    assert rolled.search.evaluator.python_only
    assert TRILOBITE.actions[rolled.choose(state)] == "1"
    with one_line(r"expected options among simulations, .*, got 'depth=3'"):
        leafwise.player("mcts:depth=3", TRILOBITE)


def test_positions_that_cannot_be_searched_are_refused():
    search = Mcts(THREES, THREES.score(), simulations=10)
    with one_line("expected a position of"):
        search(TRILOBITE.new(1))
    with one_line("chance acting"):
        search(THREES.start())


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
