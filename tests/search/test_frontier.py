"""Batched leaves: the same tree and values as depth-first, whatever values the batch."""

import threading
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch

from contract.cases import decisions_of
from games import dice, solitaire
from games.refusals import one_line
from leafwise.envs.core.contract.evaluator import Evaluator, Speed
from leafwise.envs.registry import game
from leafwise.search import Search, Stopped, frontier
from leafwise.search.expectiminimax import COUNTS
from leafwise.search.frontier import Frontier

CASES = [
    (game("threes"), "rows", 2),
    (game("cassis"), "safe_edges", 2),
    (dice.GAME, "lead", 3),
    (dice.GAME, "lead_at_die", 3),
    (solitaire.GAME, "hope", 3),
    (solitaire.GAME, "points_and_discards", 3),
]
"""Game, score and depth; all the other games are in test_twin.py."""


def in_numpy(rows, T):
    """The score points_and_discards of solitaire."""
    return rows[:, solitaire.POINTS] + 2.0 * rows[:, solitaire.DISCARDS]


def in_torch(rows, T):
    """The same, as single floats in a tensor."""
    return torch.from_numpy(rows.astype(np.float32))[:, [solitaire.POINTS, solitaire.DISCARDS]] @ torch.tensor([1.0, 2])


def batch_only(evaluator, batch):
    return replace(evaluator, value=None, batch=batch, speed=Speed())


def assert_same(result, expected):
    assert result.values == expected.values
    assert (result.value, result.action) == (expected.value, expected.action)
    assert (result.nodes, result.leaves, result.depth) == (expected.nodes, expected.leaves, expected.depth)


@pytest.mark.parametrize(("g", "score", "depth"), CASES, ids=lambda v: getattr(v, "name", str(v)))
def test_the_tree_is_that_of_the_plain_search(g, score, depth):
    evaluator = g.score(score)
    plain, batched = Search(g, evaluator, depth, pruning=False, table_mb=0), Search(g, evaluator, depth, batched=True)
    for state in decisions_of(g)[:: 6 if g.name == "threes" else 3]:
        assert_same(batched(state), plain(state))
        after = state.play(state.legal_actions[0])
        if not after.is_terminal:
            assert_same(batched(after), plain(after))


@pytest.mark.parametrize("batch", [in_numpy, in_torch])
def test_an_evaluator_for_batches_only_is_searched_in_batches(batch):
    g = solitaire.GAME
    evaluator = g.score("points_and_discards")
    plain, batched = Search(g, evaluator, 3), Search(g, batch_only(evaluator, batch), 3)
    for state in decisions_of(g):
        assert_same(batched(state), plain(state))
        assert batched(state).line == plain(state).line
        assert state.value(batched.evaluator) == state.value(evaluator)


@pytest.mark.parametrize("limit", [{"cutoff": 0.05}, {"nodes": 40}], ids=str)
@pytest.mark.parametrize("g", [dice.GAME, solitaire.GAME], ids=lambda g: g.name)
def test_a_limit_leaves_out_the_same_nodes(g, limit):
    bare: dict[str, Any] = {"pruning": False, "table_mb": 0}
    plain, batched = (Search(g, g.score(), 4, batched=flag, **bare, **limit) for flag in (False, True))
    exact = Search(g, g.score(), 4, **bare)
    fewer = 0
    for state in decisions_of(g):
        assert_same(batched(state), plain(state))
        fewer += plain(state).nodes < exact(state).nodes
    assert fewer > 0


@pytest.mark.parametrize("g", [dice.GAME, solitaire.GAME], ids=lambda g: g.name)
def test_a_tree_that_is_too_large_is_taken_apart(g, monkeypatch):
    evaluator = g.score()
    T = g.tables(evaluator)
    whole = Frontier(g, evaluator, T)
    monkeypatch.setattr(frontier, "ROWS", 40)
    monkeypatch.setattr(frontier, "BATCH", 7)
    parts = Frontier(g, evaluator, T)
    for state in decisions_of(g):
        counts = np.zeros((2, COUNTS), dtype=np.int64)
        (value, values), (same, others) = whole(state.row, 3, counts[0]), parts(state.row, 3, counts[1])
        assert [same, *others] == pytest.approx([value, *values], rel=1e-12)
        assert counts[0].tolist() == counts[1].tolist()
    assert parts.asked > whole.asked


@pytest.mark.parametrize("rows", [1 << 16, 40], ids=["whole", "apart"])
@pytest.mark.parametrize(("g", "score", "depth"), CASES, ids=lambda v: getattr(v, "name", str(v)))
def test_many_trees_are_those_of_each_root(g, score, depth, rows, monkeypatch):
    monkeypatch.setattr(frontier, "ROWS", rows)
    evaluator = g.score(score)
    search = Frontier(g, evaluator, g.tables(evaluator))
    states = decisions_of(g)[:: 6 if g.name == "threes" else 1][:20]
    counts = np.zeros((2, COUNTS), dtype=np.int64)
    for left in (0, depth):
        assert [len(part) for part in search.many(states[0].row[None][:0], left, counts[0])] == [0, 0, 0]
        values, children, ends = search.many(np.array([s.row for s in states]), left, counts[0])
        each = [search(s.row, left, counts[1]) for s in states]
        assert [(v, c.tolist()) for v, c in zip(values, np.split(children, ends[:-1]), strict=True)] == each
    assert counts[0].tolist() == counts[1].tolist()


def test_equal_leaves_are_asked_once():
    g = solitaire.GAME
    seen: list[bytes] = []

    def batch(rows, T):
        seen.extend(map(bytes, rows))
        return in_numpy(rows, T)

    state = g.parse("deck=2,2,2,2,1 piles=0,0 card=5 discards=2 points=0")
    search = Search(g, batch_only(g.score("points_and_discards"), batch), 3)
    leaves = search(state).leaves
    assert len(seen) == len(set(seen)) < leaves


def test_what_needs_a_compiled_value_says_so():
    g = solitaire.GAME
    evaluator = batch_only(g.score(), in_numpy)
    with one_line("evaluator 'hope': expected a compiled value, got one for batches only"):
        Search(g, evaluator, 2, batched=False)
    for options in ({"table_mb": 1}, {"pruning": True}, {"width": 2}, {"threads": 2}, {"rare": 0.1}):
        with one_line("expected batched without pruning, table_mb, width, more threads and rare, got"):
            Search(g, evaluator, 2, **options)
    with one_line("evaluator 'none': expected a value, a batch or both, got none"):
        Evaluator("none", None)


def test_stop_is_heard_between_batches():
    g = game("threes")
    evaluator = g.score("rows")

    def batch(rows, T):
        search.stop()
        return np.zeros(len(rows))

    search = Search(g, batch_only(evaluator, batch), 2)
    with pytest.raises(Stopped):
        search(g.new(900_001))
    assert threading.active_count() < 10
