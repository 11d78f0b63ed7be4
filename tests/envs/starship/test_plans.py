"""Ships as plans: built by hand and by values as elsewhere, changed for the better, how their cores are laid out."""

from __future__ import annotations

import math

import numpy as np
import pytest
from numpy.typing import NDArray

from leafwise.envs.core.contract.state import State
from leafwise.envs.core.contract.stream import new_stream
from leafwise.envs.starship import GAME, check
from leafwise.envs.starship.lookahead import Children, placeable
from leafwise.envs.starship.plans import TRIED, TRIED_BELOW, Plans
from leafwise.envs.starship.ship import parts_of_row, ship_at
from leafwise.envs.starship.statistics import core_layout, entropy
from leafwise.envs.starship.tables import PHASE, STAGE_REACTOR
from leafwise.search.frontier import bound_values

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
    for seed in range(3):
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
    compared = 0
    for seed in range(4):
        built(plans, seed, width=1000)
        after, _, _ = plans.story()
        state = GAME.start().settle(stream := new_stream(seed))
        for row in after:
            tried = children(state.row, 10_000)
            rows, values = tried.rows.copy(), tried.values.copy()
            below = [children(r, 10_000) if placeable(r[None], np.uint64(0)) else None for r in rows]
            narrow = len(rows) <= TRIED and all(b is None or len(b.places) <= TRIED_BELOW for b in below)
            if narrow:
                worth = [
                    v if b is None else children(r, 10_000).values.max()
                    for r, v, b in zip(rows, values, below, strict=True)
                ]
                chosen = next(k for k, r in enumerate(rows) if (r == row).all())
                assert worth[chosen] == max(worth)
                compared += 1
            state = State(GAME, row).settle(stream)
    assert compared > 4


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
    for seed in range(12):
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
