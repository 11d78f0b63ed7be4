"""Looking ahead while building: the places followed, values backed up as maxima, time and wrong options."""

from __future__ import annotations

import time

import numpy as np
import pytest
from numpy.typing import NDArray

import leafwise
from leafwise.envs.core.contract.state import State
from leafwise.envs.core.contract.stream import new_stream
from leafwise.envs.starship import GAME
from leafwise.envs.starship.lookahead import AT_RANDOM, Children, LookAhead, followed
from leafwise.envs.starship.rules import DRAW_REQUEST
from leafwise.envs.starship.tables import PHASE, STAGE_THRUSTERS, TURN
from leafwise.search.frontier import bound_values

VALUES = bound_values(GAME, GAME.score("potential"))


def first_thruster(seed: int) -> State:
    """Returns a state in which the first thruster is to be placed."""
    stream, choose = new_stream(seed), leafwise.player("hand", GAME).choose
    state = GAME.start().settle(stream)
    while state.row[PHASE] < STAGE_THRUSTERS:
        state = state.play(choose(state)).settle(stream)
    return state


def worth(state: State, depth: int) -> float:
    """Returns the greatest potential `depth` placements deep, by the checked door; the preview must be long enough."""
    if depth == 0 or state.is_terminal or (state.row[TURN] != DRAW_REQUEST and state.is_chance):
        return state.returns
    if state.is_chance:  # the end of the preview does not matter here: any draw will do
        state = state.settle(new_stream(1))
    return max(worth(state.play(a), depth - 1) for a in state.legal_actions)


def test_children_are_what_the_legal_actions_lead_to() -> None:
    state, children = first_thruster(4), Children(GAME, VALUES)
    places, scores, rows, values = children(state.row, 1000)
    assert places.tolist() == list(state.legal_actions)
    assert set(scores) == {0.0}  # thrusters go anywhere
    for place, row, value in zip(places, rows, values, strict=True):
        after = state.play(int(place))
        np.testing.assert_array_equal(row, after.row)
        assert value == after.returns


def test_of_many_places_the_strategys_best_are_tried() -> None:
    state, children = GAME.new(4), Children(GAME, VALUES)
    places, scores, _, _ = children(state.row, 1000)
    every = dict(zip(places.tolist(), scores.tolist(), strict=True))
    fewer = children(state.row, 12)
    assert len(fewer.places) == 12
    assert [every[p] for p in fewer.places.tolist()] == fewer.scores.tolist()
    assert min(fewer.scores) >= sorted(every.values())[-12]


@pytest.mark.parametrize("seed", [4, 5])
def test_wide_enough_it_finds_the_best_two_places(seed: int) -> None:
    state = first_thruster(seed)
    best = LookAhead(GAME, VALUES, "wide", depth=2, width=1024).choose(state)
    expected = {a: worth(state.play(a), 1) for a in state.legal_actions}
    assert expected[best] == max(expected.values())


def test_what_is_followed() -> None:
    scores, values = np.array([3.0, 9, 1, 1, 1, 1, 1, 1]), np.array([0.0, 0, 5, 4, 3, 2, 1, 0.5])
    kept = followed(scores, values, 4, 0)
    assert kept[:4] == [1, 0, 2, 3]
    assert len(set(kept)) == 4 + AT_RANDOM
    assert kept == followed(scores, values, 4, 0)
    assert followed(scores, values, 6, 0) == list(range(8))


def test_a_clock_is_kept() -> None:
    state = first_thruster(4)
    quick = LookAhead(GAME, VALUES, "quick", depth=8, width=1024, seconds=0.05)
    quick.choose(state)
    started = time.process_time()
    assert quick.choose(state) in state.legal_actions
    assert time.process_time() - started < 2.0  # the whole search takes minutes
    only = LookAhead(GAME, VALUES, "no time", depth=8, seconds=1e-9)
    assert only.choose(state) == LookAhead(GAME, VALUES, "greedy", depth=1).choose(state)


def test_given_time_it_widens_to_the_whole_search(monkeypatch: pytest.MonkeyPatch) -> None:
    state, tried = first_thruster(5), []
    boxed = LookAhead(GAME, VALUES, "boxed", depth=3, width=6, seconds=600)
    search = boxed._best

    def spied(row: NDArray[np.uint16], depth: int, width: int, end: float | None) -> int:
        tried.append((depth, width))
        return search(row, depth, width, end)

    monkeypatch.setattr(boxed, "_best", spied)
    chosen = boxed.choose(state)
    assert tried == [(1, 6), (2, 2), (2, 4), (2, 6), (3, 2), (3, 4), (3, 6)]
    assert chosen == LookAhead(GAME, VALUES, "plain", depth=3, width=6).choose(state)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("build:potential,depth=0", "expected depth of 1 to 8, got 0"),
        ("build:potential,width=5000", "expected width of 1 to 1,024, got 5000"),
        ("build:potential,seconds=0", "expected seconds above 0, got 0.0"),
        ("build:potential,pruning=1", "expected options among depth, width, seconds, got 'pruning=1'"),
        ("build:tug", "expected a score among"),
    ],
)
def test_wrong_options_are_one_line(text: str, said: str) -> None:
    with pytest.raises(ValueError, match=said):
        leafwise.search.players.player(text, GAME)
    with pytest.raises(ValueError, match="expected a decision"):
        LookAhead(GAME, VALUES, "early").choose(GAME.start())
