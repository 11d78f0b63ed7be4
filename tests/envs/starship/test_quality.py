"""The quality against a twin in plain Python; a survey of many ships; ships as a problem of the PCG Benchmark."""

import dataclasses

import numpy as np
import pytest

from leafwise.envs.starship import CLASSIC, SCOUT, Generator, Ship, generate
from leafwise.envs.starship.check import ShipPlan
from leafwise.envs.starship.pcg_problem import SHARE, ShipProblem
from leafwise.envs.starship.ship import stats_of
from leafwise.envs.starship.statistics import pairwise_distances, part_map, set_score, survey
from twins import starship_quality as twin
from twins.starship import position_of

PRICE = {"cockpit": 10000, "reactor": 25000, "ammo_supply": 4000, "power_storage": 3000, "quarters": 4200, "bunk": 1600}
PRICE |= {"thruster_small": 500, "thruster_med": 1500, "thruster_large": 4000, "cannon_med": 2000, "cannon_large": 5000}


def naive(ship: Ship, full: int) -> dict[str, float]:
    p, plan = position_of(ship), ShipPlan(ship)
    mass = sum(twin.MASS[letter] for letter, *_ in p.parts) + sum(
        3 if c in p.armour else 1 for c in p.hull - set(p.room)
    )
    return {
        **{name: getattr(twin, name)(p) for name in ("thrust", "cockpit", "supply", "crew", "skin")},
        "fire": twin.fire(p, full),
        "mass": mass,
        "price": sum(PRICE[part.id] for part in ship.parts)
        + 200 * len(ship.armour)
        + 100 * len(plan.corridors)
        + 100 * len(ship.doors),
        "hull_area": len(plan.hull),
        "corridors": len(plan.corridors),
        "doors": len(ship.doors),
        "extra_doors": sum(not door.initial for door in ship.doors),
        "forward_acceleration": sum(twin.THRUST.get(letter, 0) for letter, r, _, _ in p.parts if r == 2) / mass,
    }


@pytest.mark.parametrize(("preset", "full", "seeds"), [("scout", 4, range(6)), ("classic", 10, range(2))])
def test_the_figures_agree_with_the_twin(preset, full, seeds):
    for seed in seeds:
        ship = generate(seed, preset)
        wanted = naive(ship, full)
        assert {name: ship.stats[name] for name in wanted} == pytest.approx(wanted, abs=1e-6)
        weights = {"thrust": 0.2, "cockpit": 0.2, "supply": 0.2, "crew": 0.15, "fire": 0.15, "skin": 0.1}
        assert ship.stats["quality"] == pytest.approx(sum(w * wanted[t] for t, w in weights.items()), abs=2e-6)
        assert stats_of(ship) == ship.stats


def test_corridor_length_is_the_mean_straight_run():
    ship = generate(2, "scout")
    lines = ship.text.split("\n")
    lines += ["".join(column) for column in zip(*lines, strict=True)]
    runs = [len(run) for line in lines for run in "".join(c if c == "." else " " for c in line).split()]
    long = [run for run in runs if run > 1]
    assert ship.stats["corridor_length"] == pytest.approx(sum(long) / len(long), abs=1e-6)


def test_diversity_counts_what_differs():
    a, b = generate(1, "scout"), generate(2, "scout")
    distances = pairwise_distances([a, a, b])
    assert distances[0, 1] == 0
    assert 0.4 < distances[0, 2] == distances[2, 1] <= 1
    assert set_score(distances) == pytest.approx(2 / 3)
    assert set_score(pairwise_distances([a, b])) == 1
    shifted = dataclasses.replace(
        a,
        hull=(" " * 24, *a.hull[:-1]),
        armour=tuple((x, y + 1) for x, y in a.armour),
        parts=tuple(part._replace(y=part.y + 1) for part in a.parts),
    )
    assert pairwise_distances([a, shifted])[0, 1] == 0
    assert set(np.unique(part_map(a))) <= set(range(14))
    one_cell = dataclasses.replace(a, armour=a.armour[1:])
    area = sum(line.count(".") for line in a.hull)
    assert pairwise_distances([a, one_cell])[0, 1] == pytest.approx(1 / area)


def test_a_survey_counts_the_same_as_the_ships():
    figures = survey(SCOUT, range(60), checked=True)
    ships = [Generator("scout").ship(seed) for seed in range(60)]
    assert figures["broken"] == {}
    assert figures["valid"] == 1
    assert figures["first_attempt_valid"] == pytest.approx(np.mean([ship.attempt == 0 for ship in ships]), abs=1e-4)
    assert figures["quality"]["mean"] == pytest.approx(np.mean([s.stats["quality"] for s in ships]), abs=1e-4)
    assert figures["parts"]["mean"] == pytest.approx(np.mean([len(s.parts) for s in ships]), abs=1e-4)
    assert 0.85 < figures["first_attempt_valid"] < 1
    assert 0 < figures["controllability"]["fire"] <= 1
    assert figures["diversity"]["set_score"] > 0.9
    with pytest.raises(ValueError, match="at least one"):
        survey(SCOUT, [])


def test_requests_follow_the_weights():
    """Over many ships, sizes are near 1:2:3 and facings near 5:1:1:1 among the most frequent requests."""
    generator = Generator(CLASSIC)
    parts = [part for seed in range(60) for part in generator.ship(seed).parts if part.id.startswith("thruster")]
    south = sum(part.r == 2 for part in parts) / len(parts)
    assert 0.45 < south < 0.7
    sizes = [sum(part.id == name for part in parts) for name in ("thruster_small", "thruster_med", "thruster_large")]
    assert sizes[0] < sizes[1] < 1.3 * sizes[2]


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


def test_wrong_words_get_one_line() -> None:
    with pytest.raises(ValueError, match=r"^expected preset among scout, classic, cruiser, got 'corvette'$"):
        ShipProblem("corvette")
