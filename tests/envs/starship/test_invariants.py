"""The rules that every ship keeps, over many seeds (leafwise.experiments.starship.generator does thousands)."""

import dataclasses
import os
import subprocess
import sys

import pytest
from leafwise.envs.starship import CLASSIC, SCOUT, STAGES, Broken, Generator, check, dump, generate, ship_hash, switched
from leafwise.envs.starship.check import Plan
from leafwise.envs.starship.replay import check_stages

# SHA-256 of the ship without its stats, of (preset, seed): these bytes never change.
GOLDEN: dict[tuple[str, int], str] = {
    ("classic", 0): "5b596e50dc2df73f3ab9d47fe6633d1c01e9dff96bac5002c21120e81e1478cf",
    ("classic", 7): "3fb374b2ea4815ef41f48511c9a67525c1d92a208bd5539c6ac722ded41d5d24",
    ("classic", 123456789): "a90cf7ac7151f2a8323161855efbd2715d8e1984272e9be03be449f0d4a22fcd",
    ("scout", 0): "968ea68b4a4f05e9998fec0da159711ea6edce4217ddf342622d48f9af7c98d8",
    ("scout", 7): "f907ce4be58b1d45c4d75646dce664bf3bdc05bc457ed88b532b642575ac7c38",
    ("scout", 8): "d8140fd9ee805600f0bc775f71c284da6af7f0781605794c72f62b059ce25bdf",
    ("cruiser", 0): "b917f3450af77e5460fe8ff0e5bd842a473ebc850e5a9733239a4e49d31ca0f8",
    ("cruiser", 7): "e1ecd813a3113c27b53cfd0d0c0c54d99f0ba16090d16ad9778628b91b78bbe4",
}
SEEDS = {"classic": range(40), "scout": range(150), "cruiser": range(20)}


@pytest.mark.parametrize("preset", SEEDS)
def test_every_ship_is_valid_and_keeps_the_rules(preset):
    generator = Generator(preset)
    for seed in SEEDS[preset]:
        ship = generator.ship(seed)
        assert ship.valid, (seed, ship.reasons)
        assert check(ship) == []


def test_an_invalid_attempt_names_its_reasons_and_keeps_every_other_rule():
    rules = {"thrust_below_min": "V4", "weapons_below_min": "V5", "crew_below_min": "V7"}
    rules |= {"ammo_below_min": "V6", "power_below_min": "V6"}
    generator, reasons = Generator("scout"), set()
    for seed in range(200):
        ship = generator.attempt(seed, 0)
        assert ship.valid == (not ship.reasons)
        assert {fault.rule for fault in check(ship)} == {rules[reason] for reason in ship.reasons}
        reasons.update(ship.reasons)
        if ship.reasons:
            assert ship.stats["quality"] == 0 < ship.stats["potential"]
    assert len(reasons) >= 2


@pytest.mark.parametrize("preset", ["classic", "scout", "cruiser"])
def test_v11_and_v12_stages_undo_nothing_and_leave_no_needless_corridor(preset):
    generator = Generator(preset)
    for seed in range(12):
        assert check_stages(generator.stages(seed)) == []


def test_a_doctored_story_is_found_out():
    told = Generator("scout").stages(3)
    names = [name for name, _ in told]
    k = names.index("Fill With Armour")
    before, after = told[k - 1][1], told[k][1]
    reopened = dataclasses.replace(after, armour=after.armour[1:])
    assert {fault.rule for fault in check_stages([*told[:k], (names[k], reopened)])} == {"V11", "V12"}
    closed = min(Plan(after).corridors)
    armour = tuple(sorted({*after.armour, closed}, key=lambda cell: (cell[1], cell[0])))
    (fault,) = check_stages([*told[:k], (names[k], dataclasses.replace(after, armour=armour))])
    assert str(fault) == f"V12: armour {closed} closes a way"
    turned = (before.parts[0]._replace(x=before.parts[0].x + 1), *before.parts[1:])
    faults = check_stages([*told[: k - 1], (names[k - 1], dataclasses.replace(before, parts=turned))])
    assert Broken("V11", "Crew undoes parts") in faults


def test_v14_golden_bytes():
    for (preset, seed), wanted in GOLDEN.items():
        assert ship_hash(generate(seed, preset)) == wanted, (preset, seed)


def test_v14_the_same_bytes_without_compilation():
    code = (
        "from leafwise.envs.starship import generate, ship_hash\n"
        "for preset, seed in (('scout', 7), ('scout', 8), ('classic', 7)): print(ship_hash(generate(seed, preset)))"
    )
    plain = subprocess.run(
        [sys.executable, "-c", code], env={**os.environ, "NUMBA_DISABLE_JIT": "1"}, capture_output=True, check=True
    )
    wanted = [GOLDEN["scout", 7], GOLDEN["scout", 8], GOLDEN["classic", 7]]
    assert plain.stdout.decode().split() == wanted


@pytest.mark.parametrize("name", [name for _, _, name in STAGES if name not in ("Shape", "Carve")])
def test_v15_a_stage_switched_off_changes_nothing_before_it(name):
    whole = Generator("scout").stages(3)
    names = [stage for stage, _ in whole]
    without = Generator(switched(SCOUT, [name], False)).stages(3)
    assert [stage for stage, _ in without] == [stage for stage in names if stage != name]
    for k in range(names.index(name)):
        assert dataclasses.replace(without[k][1], parameters=SCOUT) == whole[k][1]
    targets = [(ship.stats["thrust_target"], ship.stats["weapon_target"]) for ship in (whole[-1][1], without[-1][1])]
    assert all(b in (0, a) for a, b in zip(*targets, strict=True))


def test_v15_requests_do_not_depend_on_places():
    """With ties settled otherwise, the hulls are equal and the targets too: places never touch the request stream."""
    changed = dataclasses.replace(CLASSIC, cockpit=dataclasses.replace(CLASSIC.cockpit, tie="first"))
    for seed in range(8):
        a, b = Generator(CLASSIC).attempt(seed, 0), Generator(changed).attempt(seed, 0)
        assert a.hull == b.hull
        assert [a.stats[n] for n in ("thrust_target", "weapon_target")] == [
            b.stats[n] for n in ("thrust_target", "weapon_target")
        ]


def test_every_stage_can_be_switched_off_alone_and_the_rest_keeps_the_rules():
    for _, field, name in STAGES:
        if field == "shape":
            continue
        parameters = switched(SCOUT, [name], field == "carve")
        for seed in range(4):
            ship = generate(seed, parameters)
            assert [fault for fault in check(ship) if ship.valid] == []
            assert getattr(ship.parameters, field).enabled == (field == "carve")


def test_a_supplied_hull_takes_the_place_of_stage_1():
    ship = generate(5, "scout")
    again = generate(5, switched(SCOUT, ["Fill Gaps"], False), hull=ship.hull)
    assert again.hull == ship.hull
    assert not again.parameters.shape.enabled
    assert check(again) == []
    with pytest.raises(ValueError, match="disabled only where a hull is supplied"):
        generate(5, switched(SCOUT, ["Shape"], False))
    with pytest.raises(ValueError, match="outermost ring"):
        generate(5, SCOUT, hull=["." * 24] * 24)
    with pytest.raises(ValueError, match="4-connected"):
        generate(5, SCOUT, hull=[" " * 24, " .  ." + " " * 19, *[" " * 24] * 22])
    with pytest.raises(ValueError, match="24 by 24"):
        generate(5, SCOUT, hull=[" .. "])


def test_symmetry_mirrors_the_hull():
    parameters = dataclasses.replace(CLASSIC, shape=dataclasses.replace(CLASSIC.shape, symmetry="x"))
    for seed in range(10):
        ship = generate(seed, parameters)
        assert ship.stats["symmetry"] == 1
        assert [fault for fault in check(ship) if ship.valid] == []


def test_strict_raises_where_no_attempt_is_valid():
    small = dataclasses.replace(SCOUT, crew=dataclasses.replace(SCOUT.crew, min_seats=200), max_attempts=2)
    ship = generate(1, small)
    assert ship.reasons == ("crew_below_min",)
    assert ship.stats["quality"] == 0
    with pytest.raises(ValueError, match="within 2 attempts, got crew_below_min"):
        generate(1, small, strict=True)


@pytest.mark.parametrize("seed", [-1, 1 << 64, 1.5, True, "7"])
def test_seeds_are_64_bits(seed):
    with pytest.raises(ValueError, match="seed should be an integer"):
        generate(seed)


def test_dump_is_the_same_in_one_process_and_another_generator():
    generator = Generator("scout")
    generator.ship(11)
    assert dump(generator.ship(12)) == dump(generate(12, "scout"))
