"""Roll-outs: the mean over games, a function of the row, in any game and under both drivers."""

import os
import subprocess
import sys
from functools import cache
from math import sqrt
from pathlib import Path

import numpy as np
import pytest

from contract.cases import GAMES, decisions_of
from games import dice, solitaire
from games.refusals import one_line
from leafwise.envs.registry import game
from leafwise.models import named_leaf
from leafwise.search import Search
from leafwise.search.players import SearchPlayer, player
from leafwise.search.rollout import parse_rollout, rollout

THREES = game("threes")


@cache
def expected(state):
    """The mean return of random play, by enumeration, and that of its square."""
    if state.is_terminal:
        return np.array([state.returns, state.returns**2])
    if state.is_chance:
        return sum(p * expected(after) for p, after in state.outcomes())
    return sum(expected(state.play(a)) for a in state.legal_actions) / len(state.legal_actions)


@pytest.mark.parametrize(
    "text",
    [
        "deck=1,0,0,1,0 piles=2,3 card=3 discards=1 points=7",
        "deck=1,1,0,1,0 piles=0,4 card=1 discards=2 points=4",
        "deck=1,1,1,0,1 piles=1,0 card=2 discards=0 points=1",
    ],
)
def test_the_mean_is_the_expectation(text):
    state, n = solitaire.GAME.parse(text), 20_000
    mean, square = expected(state)
    assert state.value(rollout(solitaire.GAME, n)) == pytest.approx(mean, abs=4 * sqrt((square - mean**2) / n))


def test_it_speaks_for_the_player_who_acts():
    won = [dice.GAME.parse(line) for line in ("4,3 0,0 turn=2 steps=0,0", "0,0 4,3 turn=3 steps=0,0")]
    leaf = rollout(dice.GAME, 400)
    assert [s.current_player for s in won] == [0, 1]
    assert all(s.value(leaf) > 0.5 for s in won)


QUICK = ("trilobite", "dice", "solitaire")


@pytest.mark.parametrize(
    "g", [pytest.param(g, id=g.name, marks=() if g.name in QUICK else pytest.mark.long) for g in GAMES]
)
def test_any_game_the_same_number_each_time_and_another_for_another_seed(g):
    first, again, other = rollout(g, 3), rollout(g, 3), rollout(g, 3, seed=1)
    low, high = g.return_range
    differ = 0
    for state in decisions_of(g)[:12]:
        value = state.value(first)
        assert low <= value <= high
        assert state.value(again) == value
        differ += state.value(other) != value
    assert differ > 0 or g.name == "friday"  # there random play never wins


def test_a_search_repeats_itself_whatever_the_order_of_its_leaves():
    evaluator = rollout(dice.GAME, 5)
    state = dice.GAME.new(900_004)
    plain = Search(dice.GAME, evaluator, 3, pruning=False)
    result = plain(state)
    assert result.values == plain(state).values
    for options in ({"batched": True}, {"pruning": True}, {"pruning": True, "threads": 3}):
        assert Search(dice.GAME, evaluator, 3, **options)(state).values == pytest.approx(result.values, rel=1e-12)


def test_a_greedy_policy_plays_better():
    state = THREES.new(900_002)
    by_random, by_score = (state.value(rollout(THREES, 20, policy)) for policy in ("random", "greedy:openness"))
    assert by_score > 3 * by_random
    assert state.value(rollout(THREES, 20, "greedy")) == by_score


def test_a_stopped_search_ends_at_once():
    search = Search(THREES, rollout(THREES, 1_000_000), seconds=0.2)
    search._T.stop[0] = 1
    value = search.evaluator.compiled(THREES.new(1).row[None].copy(), np.uint64(0), search._T)
    assert value == 0.0


PROGRAM = """
from contract.cases import decisions_of
from games import dice, solitaire
from leafwise.search.rollout import rollout
for g in (dice.GAME, solitaire.GAME):
    for leaf in (rollout(g, 4), rollout(g, 2, "greedy", seed=7)):
        print([s.value(leaf) for s in decisions_of(g)[:8]])
"""


def test_both_drivers_play_the_same_games():
    tests = str(Path(__file__).parents[1])
    runs = [
        subprocess.run(
            [sys.executable, "-c", PROGRAM],
            env={**os.environ, "NUMBA_DISABLE_JIT": switch, "PYTHONPATH": tests},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for switch in ("0", "1")
    ]
    assert runs[0] == runs[1]
    assert len(runs[0].splitlines()) == 4


@pytest.mark.parametrize(
    ("text", "leaf", "depth"),
    [
        ('search:"rollout:n=4,policy=greedy:hope,seed=2",depth=2', "rollout:n=4,policy=greedy:hope,seed=2", 2),
        ("search:rollout:n=4,policy=greedy:hope,seed=2,depth=2", "rollout:n=4,policy=greedy:hope,seed=2", 2),
        ("rollout:n=7", "rollout:n=7", 1),
        ("rollout", "rollout:n=20", 1),
    ],
)
def test_players_and_leaves_are_named_by_text(text, leaf, depth):
    who, state = player(text, solitaire.GAME), solitaire.GAME.new(900_003)
    assert isinstance(who, SearchPlayer)
    assert (who.search.evaluator.name, who.search.depth, who.name) == (leaf, depth, text)
    assert who.choose(state) in state.legal_actions
    assert named_leaf(solitaire.GAME, leaf).name == leaf


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("rollout:n=0", "expected n of 1 to 1,000,000 games, got 0"),
        ("rollout:n=many", "expected a whole number for n, got 'many'"),
        ("rollout:games=3", "expected options among n, policy, seed, got 'games=3'"),
        ("rollout:20", "expected options among n, policy, seed, got '20'"),
        ("rollout:seed=-1", r"expected seed of 0 to 2\*\*64 - 1, got -1"),
        ("rollout:policy=best", "expected policy random, greedy or greedy:SCORE, got 'best'"),
        ("rollout:policy=random:hope", "expected policy random, greedy or greedy:SCORE, got 'random:hope'"),
        ("rollout:policy=greedy:fear", "expected a score among hope, points_and_discards, got 'fear'"),
    ],
)
def test_wrong_names_are_refused(text, message):
    with one_line(message):
        parse_rollout(solitaire.GAME, text)
    with one_line("expected"):
        player(f"search:{text},depth=1", solitaire.GAME)
