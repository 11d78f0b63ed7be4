"""Looking ahead while building; ships as plans that are built, improved and mirrored."""

from __future__ import annotations

import math
import time

import numpy as np
import pytest
from numpy.typing import NDArray

import leafwise
from leafwise.envs.core.contract.state import State
from leafwise.envs.core.contract.stream import new_stream
from leafwise.envs.starship import GAME, check
from leafwise.envs.starship.heuristic_builder import HandBuilder
from leafwise.envs.starship.info import INFO
from leafwise.envs.starship.lookahead import AT_RANDOM, Children, LookAhead, TriedPlaces, followed, placeable
from leafwise.envs.starship.mirror import mirrored
from leafwise.envs.starship.plans import TRIED, TRIED_BELOW, Plans
from leafwise.envs.starship.rules import DRAW_REQUEST
from leafwise.envs.starship.ship import parts_of_row, ship_at
from leafwise.envs.starship.statistics import core_layout, entropy
from leafwise.envs.starship.tables import PHASE, STAGE_REACTOR, STAGE_THRUSTERS, TURN
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
    """Returns the largest potential `depth` placements deep, by checked calls; the preview must be long enough."""
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
    row = GAME.rows(1)
    tried = TriedPlaces(np.arange(8), scores, row, values)
    kept = followed(tried, 4, row[0])
    assert kept[:4] == [1, 0, 2, 3]
    assert len(set(kept)) == 4 + AT_RANDOM
    assert kept == followed(tried, 4, row[0])
    assert followed(tried, 6, row[0]) == list(range(8))


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


HOPEFUL = GAME.score("hopeful")


@pytest.fixture(scope="module")
def plans() -> Plans:
    return Plans(GAME, HOPEFUL)


def built(plans: Plans, seed: int, **how: float) -> NDArray[np.uint16]:
    plans.start(new_stream(seed))
    plans.by_value(new_stream(seed + 1), **how)  # type: ignore[arg-type]
    return plans.row


def test_each_place_is_one_after_which_the_ship_is_worth_most(plans: Plans) -> None:
    children = Children(GAME, bound_values(GAME, HOPEFUL))
    for seed in range(2):
        last, stream = built(plans, seed), new_stream(seed)
        after, values, strayed = plans.story()
        state = GAME.start().settle(stream)
        for row, value in zip(after, values, strict=True):
            tried = children(state.row, 10_000)
            if len(tried.places) <= TRIED:  # else which of equal places are tried is drawn
                assert value == tried.values.max()
            assert value == State(GAME, row).value(HOPEFUL)
            assert any((row == other).all() for other in tried.rows)
            state = State(GAME, row).settle(stream)
        np.testing.assert_array_equal(state.row, last)
        assert not strayed.any()
        assert plans.quality == state.returns


def test_two_placements_ahead(plans: Plans) -> None:
    children = Children(GAME, bound_values(GAME, HOPEFUL))
    compared, seeds = 0, iter(range(8))
    while compared < 5:
        built(plans, seed := next(seeds), width=1000)
        after, _, _ = plans.story()
        state = GAME.start().settle(stream := new_stream(seed))
        for row in after:
            tried = children(state.row, 10_000)
            rows, values = tried.rows.copy(), tried.values
            few = rows if len(rows) <= TRIED else rows[:0]
            below = [children(r, 10_000).values if placeable(r[None], np.uint64(0)) else None for r in few]
            if below and all(b is None or len(b) <= TRIED_BELOW for b in below):
                worth = [v if b is None else b.max() for v, b in zip(values, below, strict=True)]
                chosen = next(k for k, r in enumerate(rows) if (r == row).all())
                assert worth[chosen] == max(worth)
                compared += 1
            state = State(GAME, row).settle(stream)


def core_of(plans: Plans) -> tuple[int, int, int] | None:
    return core_layout([part for part, _ in parts_of_row(plans.row, GAME.tables().ship.grid)])


def test_heat_and_strays_draw_other_places(plans: Plans) -> None:
    cold = [built(plans, 5).tolist() for _ in range(2)]
    assert cold[0] == cold[1]
    cores = set()
    for k in range(12):
        plans.start(new_stream(5))
        plans.by_value(new_stream(k), core_heat=1.0)
        cores.add(core_of(plans))
    assert len(cores) > 4
    plans.start(new_stream(5))
    plans.by_value(new_stream(1), strays=1.0)
    assert plans.story()[2].all()


def test_changing_a_plan_makes_it_no_worse_and_keeps_to_the_rules(plans: Plans) -> None:
    gains, chances = [], new_stream(3)
    for seed in range(6):
        plans.start(new_stream(seed))
        plans.by_hand(chances)
        before = plans.quality
        for _ in range(3):
            so_far = plans.quality
            plans.improve(chances, 20)
            assert plans.quality >= so_far
        gains.append(plans.quality - before)
        ship = ship_at(plans.row, GAME.tables(), seed)
        state = State(GAME, plans.row)
        assert state.is_terminal
        assert state.returns == plans.quality
        if plans.quality > 0:
            assert not check(ship)
    assert np.mean(gains) > 0.05


def test_the_core_and_its_entropy(plans: Plans) -> None:
    ship = ship_at(built(plans, 2), GAME.tables())
    cockpit, reactor = ship.parts[:2]
    assert core_of(plans) == (cockpit.r, reactor.x - cockpit.x, reactor.y - cockpit.y)
    plans.start(new_stream(2))
    assert core_of(plans) is None
    assert plans.row[PHASE] < STAGE_REACTOR
    assert entropy("aabb") == 1.0
    assert entropy("abcdefgh") == 3.0
    assert math.isclose(entropy("aaab"), 0.8112781244591328)


def story(seed: int) -> list[State]:
    stream = new_stream(seed)
    states = [GAME.start().settle(stream)]
    builder = HandBuilder(seed)
    while not states[-1].is_terminal:
        states.append(states[-1].play(builder.choose(states[-1])).settle(stream))
    return states


def test_terms_stay_and_twice_is_nothing() -> None:
    T = GAME.tables().ship
    for seed in range(3):
        states = story(seed)
        rows = np.array([state.row for state in states])
        other = mirrored(rows, T.grid)
        assert (other != rows).any(axis=1).all()
        np.testing.assert_array_equal(mirrored(other, T.grid), rows)
        for state, row in zip(states, other, strict=True):
            assert abs(State.unchecked(GAME, row).returns - state.returns) < 1e-12


def test_a_ship_is_seen_in_the_mirror() -> None:
    state = story(1)[-1]
    T = GAME.tables()
    one, other = (ship_at(row, T) for row in (state.row, mirrored(state.row[None], T.ship.grid)[0]))
    assert [line[::-1] for line in other.text.split("\n")] == one.text.split("\n")
    turned = {0: 0, 1: 3, 2: 2, 3: 1}
    for a, b in zip(one.parts, other.parts, strict=True):
        assert (a.id, a.y) == (b.id, b.y)
        assert b.r == (turned[a.r] if a.id.startswith(("thruster", "cannon", "cockpit")) else a.r)
    assert len(one.doors) == len(other.doors)


def test_requests_in_sight_are_exchanged() -> None:
    exchanged, T = {"east": "west", "west": "east"}, GAME.tables()
    asked = set()
    for state in (state for seed in range(4) for state in story(seed)[:-1]):
        rows = np.array([state.row, mirrored(state.row[None], T.ship.grid)[0]])
        one, other = (str(name).split() for name in INFO.always(rows, T)["request"])
        assert other == [exchanged.get(word, word) for word in one]
        asked.add(one[-1])
    assert {"east", "west", "north", "south"} <= asked
