"""The quality against a twin in plain Python, written from the rules; and what a survey of many ships says."""

import dataclasses

import numpy as np
import pytest

from leafwise.envs.starship import CLASSIC, SCOUT, Generator, Ship, generate
from leafwise.envs.starship.check import Plan
from leafwise.envs.starship.ship import stats_of
from leafwise.envs.starship.statistics import pairwise_distances, part_map, set_score, survey

THRUST = {"thruster_small": 400, "thruster_med": 1200, "thruster_large": 3200}
FIRE = {"cannon_med": 1, "cannon_large": 2}
MASS: dict[str, float] = {"cockpit": 4, "reactor": 4, "ammo_supply": 4, "power_storage": 4, "quarters": 4, "bunk": 2}
MASS |= {"thruster_small": 1.3, "thruster_med": 2.45, "thruster_large": 4.99, "cannon_med": 4.44, "cannon_large": 12.29}
PRICE = {"cockpit": 10000, "reactor": 25000, "ammo_supply": 4000, "power_storage": 3000, "quarters": 4200, "bunk": 1600}
PRICE |= {"thruster_small": 500, "thruster_med": 1500, "thruster_large": 4000, "cannon_med": 2000, "cannon_large": 5000}


def steps_from(plan: Plan, starts: list[int], part: int) -> int:
    """Crew steps from any cell of the parts `starts` to any cell of `part`."""
    best = 999
    for k in starts:
        for cell in plan.ship.parts[k].cells:
            reach = plan.distances(cell, plan.doors)
            best = min([best, *(reach.get(c, 999) for c in plan.ship.parts[part].cells)])
    return best


def naive(ship: Ship, full: int) -> dict[str, float]:
    plan, parts = Plan(ship), ship.parts
    hull, armour = plan.hull, set(ship.armour)
    cells = [(x, y, 3.0 if (x, y) in armour else 1.0) for x, y in hull if (x, y) not in plan.room]
    cells += [(x, y, MASS[p.id] / len(p.cells)) for p in parts for x, y in p.cells]
    mass = sum(m for _, _, m in cells)
    com = [sum(m * (cell[axis] + 0.5) for *cell, m in cells) / mass for axis in (0, 1)]
    thrust = 0.0
    for facing, weight in enumerate((1 / 8, 1 / 8, 5 / 8, 1 / 8)):
        axis = facing % 2
        mine = [p for p in parts if p.id in THRUST and p.r == facing]
        if mine:
            middle = sum(THRUST[p.id] * ((p.x, p.y)[axis] + p.size[axis] / 2) for p in mine)
            middle /= sum(THRUST[p.id] for p in mine)
            along = [cell[axis] for cell in hull]
            half = (max(along) - min(along) + 1) / 2
            thrust += weight * max(0.0, 1 - 2 * abs(middle - com[axis]) / half)
    cockpit = next(p for p in parts if p.id == "cockpit")
    shelters = []
    for x, y in cockpit.cells:
        for dx, dy in ((0, -1), (1, 0), (0, 1), (-1, 0)):
            i, j, total = x + dx, y + dy, 0.0
            if (i, j) in cockpit.cells:
                continue
            while 0 <= i < ship.grid and 0 <= j < ship.grid:
                total += 1 if (i, j) in armour else 0.5 if (i, j) in plan.room else 0.25 if (i, j) in hull else 0
                i, j = i + dx, j + dy
            shelters.append(min(1, total / 6))
    numbered = list(enumerate(parts))
    weapons = [k for k, p in numbered if p.id in FIRE]
    powered = [k for k, p in numbered if p.id in THRUST or p.id == "ammo_supply"]
    ammo = [k for k, p in numbered if p.id == "ammo_supply"]
    power = [k for k, p in numbered if p.id in ("reactor", "power_storage")]
    crew = [k for k, p in numbered if p.id in ("quarters", "bunk")]
    supply = 0.5 * np.mean([steps_from(plan, ammo, k) <= 12 for k in weapons])
    supply += 0.5 * np.mean([steps_from(plan, power, k) <= 12 for k in powered])
    stations = [*weapons, parts.index(cockpit)]
    walks = np.mean([min(24, steps_from(plan, crew, k)) for k in stations])
    fire = [sum(FIRE[p.id] for p in parts if p.id in FIRE and p.r == d) for d in range(4)]
    differs = sum(abs(f / sum(fire) - w) for f, w in zip(fire, (0.4, 0.2, 0.2, 0.2), strict=True)) / 2
    beside = [(x, y) for x, y in hull if {(x, y - 1), (x + 1, y), (x, y + 1), (x - 1, y)} - hull]
    mounted = {c for p in parts if p.id in THRUST or p.id in FIRE for c in p.cells}
    return {
        "thrust": thrust,
        "cockpit": float(np.mean(shelters)),
        "supply": float(supply),
        "crew": float(1 - walks / 24),
        "fire": min(1, sum(fire) / full) * (1 - differs),
        "skin": len([c for c in beside if c in armour or c in mounted]) / len(beside),
        "mass": mass,
        "price": sum(PRICE[p.id] for p in parts)
        + 200 * len(armour)
        + 100 * len(plan.corridors)
        + 100 * len(ship.doors),
        "hull_area": len(hull),
        "corridors": len(plan.corridors),
        "doors": len(ship.doors),
        "extra_doors": sum(not door.initial for door in ship.doors),
        "forward_acceleration": sum(THRUST[p.id] for p in parts if p.id in THRUST and p.r == 2) / mass,
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
    """Over many ships sizes come out near 1:2:3 and facings near 5:1:1:1, seen in what is asked for most."""
    generator = Generator(CLASSIC)
    parts = [part for seed in range(60) for part in generator.ship(seed).parts if part.id.startswith("thruster")]
    south = sum(part.r == 2 for part in parts) / len(parts)
    assert 0.45 < south < 0.7
    sizes = [sum(part.id == name for part in parts) for name in ("thruster_small", "thruster_med", "thruster_large")]
    assert sizes[0] < sizes[1] < 1.3 * sizes[2]
