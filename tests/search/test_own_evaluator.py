"""A search whose evaluator asks the same search, by whatever way, says so instead of waiting for itself."""

from typing import Any

import numpy as np
import pytest

from leafwise.envs.core.contract.evaluator import Evaluator
from leafwise.envs.registry import game
from leafwise.search import Search
from leafwise.search.mcts import Mcts
from leafwise.search.players import SearchPlayer

CASSIS = game("cassis")
START = CASSIS.start()
SEARCHES = {
    "search": lambda leaf: Search(CASSIS, leaf, 1),
    "clock": lambda leaf: Search(CASSIS, leaf, 2, seconds=60.0),
    "mcts": lambda leaf: Mcts(CASSIS, leaf, simulations=4, proofs=False),
}


def asking(ask):
    """Returns a leaf that asks something at every batch."""

    def batch(rows, T):
        ask()
        return np.zeros(len(rows))

    return Evaluator("asking", None, (), low=-1.0, high=1.0, batch=batch)


def nested(search):
    other = Search(CASSIS, asking(lambda: search[0](START)), 1)
    return lambda: other(START)


WAYS = {
    "itself": lambda search: lambda: search[0](START),
    "by a player": lambda search: lambda: SearchPlayer(search[0], "own").choose(START),
    "by another search": nested,
}


@pytest.mark.parametrize("way", WAYS.values(), ids=WAYS)
@pytest.mark.parametrize("make", SEARCHES.values(), ids=SEARCHES)
def test_a_search_in_its_own_evaluator_is_an_error(make, way):
    search: list[Any] = []
    search.append(make(asking(way(search))))
    with pytest.raises(RuntimeError, match=r"^(search|mcts): expected no call while it searches, got one by its own"):
        search[0](START)
    with pytest.raises(RuntimeError):  # and waits for nothing afterwards
        search[0](START)


@pytest.mark.parametrize("ask", [lambda m, r: r.line, lambda m, r: m.forget()], ids=["line", "forget"])
def test_what_else_waits_for_the_search_is_an_error_too(ask):
    known: list[Any] = []
    leaf = asking(lambda: ask(search, known[0]) if known else None)
    search: Any = Mcts(CASSIS, leaf, simulations=4, proofs=False)
    known.append(search(START))
    known[0].__dict__.pop("line", None)
    search._last = lambda: None
    with pytest.raises(RuntimeError, match=r"^mcts: expected no call while it searches"):
        search(START.play(0))


def test_another_search_with_the_same_leaf_may_be_asked():
    inner = Search(CASSIS, CASSIS.score(), 1)
    outer = Search(CASSIS, asking(lambda: inner(START)), 1)
    assert set(outer(START).values) == set(START.legal_actions)
