"""Ships as a problem of the PCG Benchmark's interface."""

from __future__ import annotations

import numpy as np
import pytest

from leafwise.envs.starship import Generator
from leafwise.envs.starship.pcg_problem import SHARE, ShipProblem


def test_content_is_a_ship() -> None:
    problem, again = ShipProblem(), ShipProblem()
    problem.seed(3)
    again.seed(3)
    contents = [problem.random_content() for _ in range(4)]
    for content in contents:
        np.testing.assert_array_equal(content, again.random_content())
        info = problem.info(content)
        np.testing.assert_array_equal(info["map"], problem.info(content)["map"])
        assert 0 < problem.quality(info) <= 1
        assert (info["quality"] == 0) == bool(info["reasons"])
        if not info["reasons"]:
            asked = dict(zip(("thrust", "seats", "firepower"), content[1:4].tolist(), strict=True))
            assert (info["thrust"], info["firepower"]) == (asked["thrust"], asked["firepower"])
            assert problem.controlability(info, asked) == 1.0
            assert problem.controlability(info, {**asked, "thrust": 2 * asked["thrust"]}) == pytest.approx(1 - 0.5 / 3)
            assert problem.quality(info) == min(1.0, info["quality"] / problem.solved)
    first, other = (problem.info(content) for content in contents[:2])
    assert problem.diversity(first, first) == 0.0
    assert problem.diversity(first, other) == problem.diversity(other, first) > 0.9
    assert problem.render(contents[0]).size[0] > 190


def test_the_spaces() -> None:
    problem = ShipProblem()
    content, control = problem.random_content(), problem.random_control()
    assert problem._content_space.isSampled(content)
    assert not problem._content_space.isSampled([content])
    assert not problem._content_space.isSampled(content + SHARE)
    assert problem._control_space.isSampled(control)
    assert not problem._control_space.isSampled({**control, "thrust": 99})
    span = problem.content_range()
    assert span["min"].shape == span["max"].shape == content.shape == (68,)
    assert problem.control_range()["thrust"] == {"min": 8, "max": 12}
    with pytest.raises(ValueError, match=r"^expected content of the content space, got ndarray \(3,\)$"):
        problem.info(np.zeros(3, dtype=np.int64))


def test_a_seed_holds_the_hull_fast() -> None:
    problem = ShipProblem("scout", seed=5)
    ships = [problem.ship(problem.random_content()) for _ in range(3)]
    assert {ship.hull for ship in ships} == {Generator("scout").attempt(5, 0).hull}
    assert problem.content_range()["max"].shape == (64,)
    assert len({ship.parts for ship in ships}) == 3


def test_wrong_words_get_one_line() -> None:
    with pytest.raises(ValueError, match=r"^expected preset among scout, classic, cruiser, got 'corvette'$"):
        ShipProblem("corvette")
    with pytest.raises(ValueError, match=r"^expected seed of 0 to 2\*\*31 - 1, got -1$"):
        ShipProblem(seed=-1)
