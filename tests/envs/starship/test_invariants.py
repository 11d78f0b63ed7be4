"""The rules that every ship keeps, over many seeds (`leafwise ship stats --check` takes any number)."""

import dataclasses
import os
import subprocess
import sys
from typing import Any, get_args

import numpy as np
import pytest
from msgspec.structs import fields, replace

from leafwise.envs.starship import (
    CLASSIC,
    SCOUT,
    STAGES,
    Generator,
    check,
    dump,
    generate,
    load,
    ship_hash,
    switched,
)
from leafwise.envs.starship.check import Broken, ShipPlan
from leafwise.envs.starship.draw import png
from twins.starship_story import check_stages

# SHA-256 of the ship without its stats, of (preset, seed): these bytes never change.
GOLDEN: dict[tuple[str, int], str] = {
    ("classic", 0): "6197dcb60c0ed9810a4af1c242aa8ec4514368479f3787b9109c98562920b6ef",
    ("classic", 7): "255c3426dc5f657fe3fb3c58a7ba7a46a3840c1f1ad3a2058bb011d353b386b8",
    ("classic", 123456789): "001a1a338f086ed0b1939d57d6844117e5a6d7d0f221de4ed731b1868d9c2369",
    ("scout", 0): "d828b1cd9bda8c6eeebefdfe46d5ecb788a7ce0479082033c15df3b89d757f03",
    ("scout", 7): "b2442658ae365494f92c708eedbf1856a5982a106409dac4f7ee13e96216b7f6",
    ("scout", 8): "4679a08cfaebbb768fc9c20976ef9fa6c26c56e8d8392a750ebe8bd99664247c",
    ("cruiser", 0): "b489ebb8a13fd6ec5ab1b46a948305b6639a6af8f00630e8eca5f69c306c3133",
    ("cruiser", 7): "e72a06e62574e7d9cd5456260eab7b1ba2614ed1083efe20a61bd8a783815535",
}
SEEDS = {"classic": range(16), "scout": range(60), "cruiser": range(6)}


@pytest.mark.parametrize("preset", SEEDS)
def test_every_ship_is_valid_and_keeps_the_rules(preset):
    """V11 and V12 too: stages undo nothing and leave no needless corridor."""
    generator = Generator(preset)
    for seed in SEEDS[preset]:
        ship = generator.ship(seed)
        assert ship.valid, (seed, ship.reasons)
        assert check(ship) == []
        assert seed > 5 or check_stages(generator.stages(seed)) == []


@pytest.mark.parametrize(("preset", "seed"), [("cruiser", 1000395), ("classic", 1006432)])
def test_filling_gaps_leaves_no_islands(preset, seed):
    """On these seeds a cell sees hull two cells away on two sides, and nothing between is filled."""
    ship = generate(seed, preset)
    assert ship.valid
    assert check(ship) == []


def test_an_invalid_attempt_names_its_reasons_and_keeps_every_other_rule():
    rules = {"thrust_below_min": "V4", "weapons_below_min": "V5", "crew_below_min": "V7"}
    rules |= {"ammo_below_min": "V6", "power_below_min": "V6"}
    generator = Generator("scout")
    reasons: set[str] = set()
    for seed in range(120):
        ship = generator.attempt(seed, 0)
        assert ship.valid == (not ship.reasons)
        assert {fault.rule for fault in check(ship)} == {rules[reason] for reason in ship.reasons}
        reasons.update(ship.reasons)
        if ship.reasons:
            assert ship.stats["quality"] == 0 < ship.stats["potential"]
    assert len(reasons) >= 2


def test_a_doctored_story_is_found_out():
    stages = Generator("scout").stages(3)
    names = [name for name, _ in stages]
    k = names.index("Fill With Armour")
    before, after = stages[k - 1][1], stages[k][1]
    reopened = dataclasses.replace(after, armour=after.armour[1:])
    assert {fault.rule for fault in check_stages([*stages[:k], (names[k], reopened)])} == {"V11", "V12"}
    closed = min(ShipPlan(after).corridors)
    armour = tuple(sorted({*after.armour, closed}, key=lambda cell: (cell[1], cell[0])))
    (fault,) = check_stages([*stages[:k], (names[k], dataclasses.replace(after, armour=armour))])
    assert str(fault) == f"V12: armour {closed} closes a way"
    turned = (before.parts[0]._replace(x=before.parts[0].x + 1), *before.parts[1:])
    faults = check_stages([*stages[: k - 1], (names[k - 1], dataclasses.replace(before, parts=turned))])
    assert Broken("V11", "Crew undoes parts") in faults


def test_v14_golden_bytes():
    for (preset, seed), wanted in GOLDEN.items():
        assert ship_hash(generate(seed, preset)) == wanted, (preset, seed)


def test_v14_the_same_bytes_without_compilation():
    code = (
        "from leafwise.envs.starship import generate, ship_hash\n"
        "for seed in (7, 8): print(ship_hash(generate(seed, 'scout')))"
    )
    plain = subprocess.run(
        [sys.executable, "-c", code], env={**os.environ, "NUMBA_DISABLE_JIT": "1"}, capture_output=True, check=True
    )
    assert plain.stdout.decode().split() == [GOLDEN["scout", 7], GOLDEN["scout", 8]]


@pytest.mark.parametrize("name", [name for _, _, name in STAGES if name not in ("Shape", "Carve")])
def test_v15_a_stage_switched_off_changes_nothing_before_it_and_the_rest_keeps_the_rules(name):
    whole = Generator("scout").stages(3)
    names = [stage for stage, _ in whole]
    generator = Generator(switched(SCOUT, [name], False))
    without = generator.stages(3)
    assert [fault for ship in map(generator.ship, range(4)) if ship.valid for fault in check(ship)] == []
    assert [stage for stage, _ in without] == [stage for stage in names if stage != name]
    for k in range(names.index(name)):
        assert dataclasses.replace(without[k][1], parameters=SCOUT) == whole[k][1]
    targets = [(ship.stats["thrust_target"], ship.stats["weapon_target"]) for ship in (whole[-1][1], without[-1][1])]
    assert all(b in (0, a) for a, b in zip(*targets, strict=True))


def test_v15_requests_do_not_depend_on_places():
    """With ties decided differently, hulls and targets are equal: places do not use the request stream."""
    changed = replace(CLASSIC, cockpit=replace(CLASSIC.cockpit, tie="first"))
    for seed in range(8):
        a, b = Generator(CLASSIC).attempt(seed, 0), Generator(changed).attempt(seed, 0)
        assert a.hull == b.hull
        for name in ("thrust_target", "weapon_target"):
            assert a.stats[name] == b.stats[name]


def test_a_supplied_hull_takes_the_place_of_stage_1():
    ship = generate(5, "scout")
    again = generate(5, switched(SCOUT, ["Fill Gaps"], False), hull=ship.hull)
    assert again.hull == ship.hull
    assert not again.parameters.shape.enabled
    assert check(again) == []
    with pytest.raises(ValueError, match="a hull if the stage Shape is disabled, got none"):
        generate(5, switched(SCOUT, ["Shape"], False))
    whole, two = ["." * 24] * 24, [" " * 24, " .  ." + " " * 19, *[" " * 24] * 22]
    for hull, said in ((whole, "outermost ring"), (two, "4-connected"), ([" .. "], "24 by 24")):
        with pytest.raises(ValueError, match=said):
            generate(5, SCOUT, hull=hull)


def test_symmetry_mirrors_the_hull():
    parameters = replace(CLASSIC, shape=replace(CLASSIC.shape, symmetry="x"))
    for seed in range(10):
        ship = generate(seed, parameters)
        assert ship.stats["symmetry"] == 1
        assert [fault for fault in check(ship) if ship.valid] == []


STRATEGIES = [
    (field, strategy)
    for _, field, _ in STAGES
    for setting in fields(getattr(SCOUT, field))
    if setting.name == "strategy"
    for strategy in get_args(setting.type)
]


@pytest.mark.parametrize(("field", "strategy"), STRATEGIES)
def test_every_strategy_keeps_the_rules_and_first_ties_draw_nothing(field, strategy):
    stage = replace(getattr(SCOUT, field), strategy=strategy, tie="first")
    generator = Generator(replace(SCOUT, **{field: stage}))
    for seed in range(3):
        ship = generator.ship(seed)
        assert [fault for fault in check(ship) if ship.valid] == []
    usual = replace(stage, strategy=getattr(SCOUT, field).strategy)
    if usual != stage:
        other = Generator(replace(SCOUT, **{field: usual}))
        assert any(other.ship(seed).parts != generator.ship(seed).parts for seed in range(15))


def test_a_hull_carved_away_is_a_reason_and_can_be_drawn():
    carve = replace(SCOUT.carve, enabled=True, min_directions=1, iterations=40, scan_range=3)
    ship = generate(1, replace(SCOUT, carve=carve, max_attempts=1))
    assert ship.text.split() == []
    assert {"shape_failed", "no_cockpit", "no_reactor", "thrust_below_min"} <= set(ship.reasons)
    assert load(dump(ship)) == ship
    assert [str(fault) for fault in check(ship)] == ["V1: no hull"]
    assert b"PNG" in png(ship)


def test_carving_takes_cells_and_keeps_one_piece():
    carved = switched(CLASSIC, ["Carve"], True)
    for seed in range(10):
        stages = dict(Generator(carved).stages(seed))
        assert stages["Carve"].stats["hull_area"] < stages["Fill Gaps"].stats["hull_area"]
        assert [fault for fault in check(stages["Carve"]) if fault.rule == "V1"] == []


def test_seeds_of_numpy_become_plain():
    int_of_numpy: Any = np.uint64(7)
    assert dump(generate(int_of_numpy, "scout")) == dump(generate(7, "scout"))


def test_strict_raises_where_no_attempt_is_valid():
    small = replace(SCOUT, crew=replace(SCOUT.crew, min_seats=200), max_attempts=2)
    ship = generate(1, small)
    assert ship.reasons == ("crew_below_min",)
    assert ship.stats["quality"] == 0
    with pytest.raises(ValueError, match="within 2 attempts, got crew_below_min"):
        generate(1, small, strict=True)


@pytest.mark.parametrize("seed", [-1, 1 << 64, 1.5, True, "7"])
def test_seeds_are_64_bits(seed):
    with pytest.raises(ValueError, match=r"expected seed of 0 to 2\*\*64 - 1, got"):
        generate(seed)
