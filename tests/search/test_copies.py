"""Pickles and copies: a result is plain data, a search its recipe, a player its text."""

from __future__ import annotations

import copy
import gc
import pickle
import subprocess
import sys
import weakref
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import leafwise
from games import dice
from games.refusals import one_line
from leafwise.envs.core.contract.evaluator import Evaluator
from leafwise.models.leaves import named_leaf
from leafwise.search import Search
from leafwise.search.mcts import Mcts
from leafwise.search.players import SearchPlayer

GAME = dice.GAME
SMALL = leafwise.game("trilobite", board="3x3", k=3)
COPIES: dict[str, Callable[[Any], Any]] = {
    "pickle": lambda thing: pickle.loads(pickle.dumps(thing)),
    "deepcopy": copy.deepcopy,
    "copy": copy.copy,
}
SEARCHES: dict[str, Callable[[], Any]] = {
    "plain": lambda: Search(GAME, GAME.score(), 2, nodes=0),
    "pruning": lambda: Search(SMALL, SMALL.score(), 3, pruning=True, all_values=False),
    "rollout": lambda: Search(SMALL, named_leaf(SMALL, "rollout:n=3"), 1),
    "learned": lambda: Search(leafwise.game("cassis"), leafwise.load("cassis"), 1),
    "tree": lambda: Mcts(SMALL, SMALL.score(), simulations=40, seed=5, temperature=0.7),
    "chance": lambda: Mcts(GAME, GAME.score(), simulations=40),
}
READ = "import pickle, sys; found = pickle.load(sys.stdin.buffer); print(found.line, sorted(found.values.items()))"


def plain(result: Any) -> dict[str, Any]:
    """Returns what a result says, but for its time and the line."""
    return {
        name: value for name, value in vars(result).items() if name not in ("seconds", "_line_of", "_units_of", "line")
    }


@pytest.mark.parametrize("how", COPIES)
@pytest.mark.parametrize("name", SEARCHES)
def test_a_search_is_its_recipe_and_a_result_plain_data(name: str, how: str) -> None:
    search = SEARCHES[name]()
    state = search.game.new(3)
    result = search(state)
    other, copied = COPIES[how](search), COPIES[how](result)
    assert type(other) is type(search)
    assert (other.game, other.options, other.evaluator.name) == (search.game, search.options, search.evaluator.name)
    assert not np.shares_memory(other._S, search._S)
    if isinstance(search, Search):
        assert plain(other(state)) == plain(result)
    else:
        assert (other.tree.stream == search.tree.stream).all()
    assert len(pickle.dumps(search)) < 2000
    assert copied == result
    assert (copied.line, copied.name, copied.action_values) == (result.line, result.name, result.action_values)
    assert copied.line
    assert len(pickle.dumps(result)) < 10_000


@pytest.mark.parametrize("name", SEARCHES)
def test_a_result_does_not_hold_the_search(name: str) -> None:
    search = SEARCHES[name]()
    result, state = search(search.game.new(3)), search.game.new(3)
    expected = SEARCHES[name]()(state).line
    gone = weakref.ref(search)
    del search
    gc.collect()
    assert gone() is None
    assert result.line == expected
    assert len(pickle.dumps(result)) < 10_000


def test_another_process_reads_a_result() -> None:
    result = Search(SMALL, SMALL.score(), 2)(SMALL.new(0))
    said = subprocess.run([sys.executable, "-c", READ], input=pickle.dumps(result), capture_output=True, check=True)
    assert said.stdout.decode().strip() == f"{result.line} {sorted(result.values.items())}"


PLAYERS = [
    ("cassis", "random"),
    ("cassis", "greedy"),
    ("cassis", "search:learned,depth=1"),
    ("cassis", "mcts:learned,simulations=20"),
    ("cassis", "level:easy"),
    ("cassis", "dfs"),
    ("trilobite", "solver"),
    ("trilobite", "minimax"),
    ("trap", "turns"),
    ("trap", "course:easy"),
    ("threes", "threesus"),
    ("threes", "nneonneo"),
    ("friday", "fridai"),
    ("starship", "hand"),
    ("starship", "build"),
]


@pytest.mark.parametrize(("game", "text"), PLAYERS)
def test_a_player_is_its_text_and_its_random_numbers(game: str, text: str) -> None:
    player: Any = leafwise.player(text, game, seed=7)
    if hasattr(player, "stream"):
        player.stream[1] += np.uint64(5)  # as after some draws
    assert len(pickle.dumps(player)) < 1000
    for how in ("pickle", "deepcopy"):
        other = COPIES[how](player)
        assert (type(other), other.name) == (type(player), player.name)
        if hasattr(player, "stream"):
            assert (other.stream == player.stream).all()
            assert not np.shares_memory(other.stream, player.stream)


def test_a_player_that_was_made_by_hand_is_what_it_is_made_of() -> None:
    player = SearchPlayer(Search(SMALL, SMALL.score(), 2), "mine")
    state = SMALL.new(0)
    player.choose(state)
    for how in COPIES.values():
        other = how(player)
        assert (other.name, other.choose(state)) == ("mine", player.choose(state))


def test_what_cannot_be_pickled_is_told_in_one_line() -> None:
    evaluator = Evaluator("own", None, batch=lambda rows, T: np.zeros(len(rows)))
    for search in (Search(SMALL, evaluator, 1), Mcts(SMALL, evaluator, simulations=3)):
        with one_line(r"^expected a leaf with a name .* to pickle a search, got 'own': "):
            pickle.dumps(search)
        assert copy.deepcopy(search).evaluator is evaluator
        result = search(SMALL.new(0))
        assert pickle.loads(pickle.dumps(result)) == result
    tree = Mcts(SMALL, SMALL.score(), simulations=3, prior=lambda rows, T: np.ones((len(rows), SMALL.max_actions)))
    with one_line(r"^expected a prior that is a module's function, to pickle a search, got <func"):
        pickle.dumps(tree)


@pytest.mark.parametrize(
    ("kind", "options"),
    [
        (Search, {"depth": 2, "table_mb": 1}),
        (Search, {"depth": 2, "threads": 2}),
        (Search, {"depth": 2, "batched": True}),
        (Search, {"seconds": 0.001}),
        (Mcts, {"simulations": 10}),
    ],
    ids=str,
)
def test_its_memory_goes_with_it(kind: type[Any], options: dict[str, Any]) -> None:
    """A search that nobody holds gives its table back at once, not when garbage is looked for."""
    gc.disable()
    try:
        search = kind(GAME, GAME.score(), **options)
        search(GAME.new(1))
        gone = weakref.ref(search)
        del search
        assert gone() is None
    finally:
        gc.enable()
