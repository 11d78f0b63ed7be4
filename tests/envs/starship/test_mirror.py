"""Left and right exchanged: twice is nothing, and the terms of the quality stay."""

from __future__ import annotations

import numpy as np

from leafwise.envs.core.contract.state import State
from leafwise.envs.core.contract.stream import new_stream
from leafwise.envs.starship import GAME
from leafwise.envs.starship.heuristic_builder import HandBuilder
from leafwise.envs.starship.info import INFO
from leafwise.envs.starship.mirror import mirrored
from leafwise.envs.starship.ship import ship_at


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
