"""Parameters: TOML and back, disabled stages, lists of stages, symmetrical presets, and the errors for wrong values."""

import dataclasses
from types import MappingProxyType
from typing import Any

import pytest
from msgspec.structs import replace

from leafwise.envs.starship import (
    CLASSIC,
    CRUISER,
    SCOUT,
    STAGES,
    Generator,
    Parameters,
    Ship,
    check,
    dump,
    from_toml,
    load,
    preset,
    switched,
    to_toml,
)
from leafwise.envs.starship.check import ShipPlan
from leafwise.envs.starship.settings import Shape, Thrusters, changed, final, most_parts, runs
from leafwise.envs.starship.statistics import core_entropy, survey
from leafwise.envs.starship.targets import asked_errors, with_targets
from twins.starship_story import check_stages


@pytest.mark.parametrize("parameters", [CLASSIC, SCOUT, CRUISER])
def test_toml_and_back(parameters):
    assert from_toml(to_toml(parameters)) == parameters


def test_toml_changes_a_preset():
    text = 'preset = "scout"\n[thrusters]\nmin_score = 4\n[shape.circle]\nweight = 0\n[carve]\nenabled = true\n'
    parameters = from_toml(text)
    assert parameters.grid == 24
    assert parameters.thrusters == replace(SCOUT.thrusters, min_score=4)
    assert parameters.shape.circle.weight == 0
    assert parameters.carve.enabled


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a =", "in TOML"),
        ("a = " + "[" * 5000, "in TOML"),
        ('[thrusters]\nmin_score = "x"', "thrusters.min_score as an integer from 0 to 1000, got 'x'"),
        ("[thrusters]\nmin_score = 1.5", "thrusters.min_score as an integer from 0 to 1000, got 1.5"),
        ("[thrusters]\nmin_score = true", "thrusters.min_score as an integer from 0 to 1000, got True"),
        ("[thrusters]\nspeed = 1", "a field of thrusters among .*, got 'speed'"),
        ("[engines]\nspeed = 1", "a field of parameters among .*, got 'engines'"),
        ("shape = 3", "shape as an object, got 3"),
        ("[crew]\nenabled = 1", "crew.enabled as true or false"),
        (
            '[reactor]\nstrategy = "x"',
            "reactor.strategy as one of centralized, centralized_a.*, random, got 'x'",
        ),
        ("grid = 65", "grid as an integer from 12 to 64, got 65"),
        ("[thrusters]\nmin_score = 46", "thrusters.min_score of at most max_score = 45, got 46"),
        ("[thrusters]\nmax_score = 900", "at most 250 parts, got up to 933"),
        ("[crew]\nweight_bunk = -1", "crew.weight_bunk as an integer from 0 to 1000, got -1"),
        ("[crew]\nweight_bunk = 0\nweight_quarters = 0", "a weight of crew greater than 0"),
        ("[shape.rectangle]\nmax_width = 47", "shape.rectangle.max_width as an integer from 1 to 46"),
        ("[fill_gaps]\nmin_directions = 5", "fill_gaps.min_directions as an integer from 1 to 4"),
        ("[crew]\nmin_seats = nan", "crew.min_seats as an integer from 0 to 1000, got nan"),
        ("grid = " + "9" * 400, r"grid as an integer from 12 to 64, got 9+\.\.\.9+$"),
        ("[crew]\nmin_seats = 1979-05-27", "crew.min_seats as an integer from 0 to 1000, got datetime.date"),
        ('[crew]\n"a` - at `$.b\\n" = 3', "a field of crew among .*, got 'a` - at `"),
        ('"a` - at `$.crew\\n" = 3', "among .*, got 'a"),
    ],
)
def test_wrong_toml_gets_one_line(text, message):
    with pytest.raises(ValueError, match=message) as caught:
        from_toml(text)
    assert "\n" not in str(caught.value)


def test_stages_are_switched_by_name():
    assert not switched(CLASSIC, ["Exterior Armour"], False).exterior_armour.enabled
    assert not switched(CLASSIC, ["add-extra-doors", "CREW"], False).crew.enabled
    assert switched(CLASSIC, ["carve"], True).carve.enabled
    with pytest.raises(ValueError, match="stage as one of Shape, Fill Gaps"):
        switched(CLASSIC, ["Sails"], False)


def test_the_presets_are_those_of_the_rules():
    assert [preset(name).grid for name in ("classic", "scout", "cruiser")] == [48, 24, 64]
    assert (SCOUT.thrusters.min_score, SCOUT.thrusters.max_score, SCOUT.crew.min_seats) == (8, 12, 8)
    assert (SCOUT.shape.circle.max_radius, SCOUT.shape.rectangle.max_width) == (4, 9)
    assert (CRUISER.shape.circle.max_radius, CRUISER.shape.rectangle.max_height) == (7, 14)
    assert [number for number, _, _ in STAGES if number != 15] == list(range(1, 15))
    assert all(getattr(CLASSIC, field).enabled == (field != "carve") for _, field, _ in STAGES)
    assert most_parts(CLASSIC) <= 250
    with pytest.raises(ValueError, match="expected preset among classic, scout, cruiser, corvette, frigate, got 'tug'"):
        preset("tug")


def test_parameters_check_themselves():
    with pytest.raises(ValueError, match=r"thrusters\.max_score as an integer"):
        Parameters(thrusters=Thrusters(max_score="many"))  # type: ignore[arg-type]
    with pytest.raises(ValueError, match=r"shape\.min_modules as an integer from 1"):
        Parameters(shape=Shape(min_modules=0))
    with pytest.raises(ValueError, match="thrusters as an object, got 3"):
        Parameters(thrusters=3)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match=r"shape\.symmetry as one of none, pairs, x"):
        Parameters(shape=Shape(symmetry="y"))  # type: ignore[arg-type]


def test_the_sources_spelling_of_stages_is_understood():
    for name in ("Cockpit Armor", "cockpit-armor", "COCKPIT_ARMOUR"):
        assert not switched(CLASSIC, [name], False).cockpit_armour.enabled
    assert switched(CLASSIC, ["Fill With Armor", "Exterior Armor"], True) == switched(
        CLASSIC, ["fill_with_armour", "exterior_armour"], True
    )
    with pytest.raises(ValueError, match=r"stage as one of Shape, .*, got 'Armory'"):
        switched(CLASSIC, ["Armory"], True)


def test_any_mapping_changes_a_preset() -> None:
    changes = MappingProxyType({"crew": MappingProxyType({"min_seats": 4})})
    assert changed("scout", changes) == replace(SCOUT, crew=replace(SCOUT.crew, min_seats=4))


USUAL = tuple(run.title for run in runs(SCOUT))


def listed(*stages: str) -> Parameters:
    return replace(SCOUT, stages=stages)


def test_the_usual_list_makes_the_usual_ship() -> None:
    usual, same = Generator(SCOUT).ship(7), Generator(listed(*USUAL)).ship(7)
    assert dataclasses.replace(same, parameters=SCOUT) == usual
    assert same.parameters.stages == USUAL


def test_stages_run_in_the_order_of_the_list_and_again() -> None:
    order = ["Shape", "Cockpit", "Reactor", "Crew", "Weapons min_score=2 max_score=2", "Thrusters", "Weapons"]
    order += ["Armor part=quarters layers=1", "armour part=bunk", "Add Extra Doors"]
    generator = Generator(listed(*order))
    stages = generator.stages(3)
    titles = ["Shape", "Cockpit", "Reactor", "Crew", "Weapons", "Thrusters", "Weapons", "Armour", "Armour"]
    assert [name for name, _ in stages] == [*titles, "Add Extra Doors"]
    ships = [ship for _, ship in stages]
    assert ships[4].stats["weapon_score"] == 2
    assert 3 <= ships[6].stats["weapon_score"] <= 5
    assert ships[6].parts[: len(ships[5].parts)] == ships[5].parts
    assert len(ships[8].armour) > len(ships[6].armour) == 0
    ship = generator.ship(3)
    assert check(ship) == []
    assert check_stages(generator.stages(3, ship.attempt)) == []
    assert load(dump(ship)) == ship
    assert from_toml(to_toml(ship.parameters)) == ship.parameters


def test_a_finished_ship_has_to_keep_the_last_run() -> None:
    parameters = final(listed("Shape", "Weapons min_score=2 max_score=2", "Weapons max_score=9"))
    assert (parameters.weapons.min_score, parameters.weapons.max_score) == (3, 9)
    assert parameters.shape.enabled
    assert not parameters.cockpit.enabled
    assert final(SCOUT) == SCOUT


@pytest.mark.parametrize(
    ("stages", "message"),
    [
        (["Sails"], "stages[0]: expected stage as one of Shape, Fill Gaps"),
        (["Shape", "Armour"], "stages[1]: expected the part that armour goes round, like 'Armour part=reactor', got"),
        (["Shape", "Armour part=sail"], "stages[1]: expected part as one of ammo_supply"),
        (["Shape", "Weapons max_score=2"], "stages[1]: expected min_score of at most max_score = 2, got 3"),
        (["Shape", "Weapons min_score=x"], "stages[1]: expected min_score as an integer from 0 to 1000, got 'x'"),
        (["Shape", "Crew range=3"], "stages[1]: expected a field of Crew among "),
        (["Shape", "Crew enabled=false"], "stages[1]: expected a field of Crew among "),
        (
            ["Cockpit", "Shape"],
            "expected stages that begin with those of the hull (Shape, Fill Gaps, Carve), got Shape after",
        ),
        (["Fill Gaps", "Shape"], "expected Shape once in stages, as the first, got it later"),
        (["Shape", "Add Extra Doors", "Crew"], "expected Add Extra Doors once in stages, as the last, got it earlier"),
        (["Shape", *["Crew"] * 30], "expected at most 30 stages, got 31"),
        ([3], "expected stages[0] as a text, got 3"),
        ("Shape", "expected stages as a list of texts, got 'Shape'"),
    ],
)
def test_wrong_lists_get_one_line(stages: Any, message: str) -> None:
    with pytest.raises(ValueError, match="stage") as caught:
        replace(SCOUT, stages=tuple(stages) if isinstance(stages, list) else stages)
    assert str(caught.value).startswith(message)


def mirrored(ship: Ship) -> float:
    """Returns the share of parts whose mirror image is on the ship too."""
    columns = [x for x, _ in ship.hull_cells]
    axis = min(columns) + max(columns) + 1
    placed = {(part.id, part.x, part.y, part.r) for part in ship.parts}
    turned = {0: 0, 1: 3, 2: 2, 3: 1}
    images = [
        (part.id, axis - part.x - part.size[0], part.y, turned[part.r] if "_" in part.id else part.r)
        for part in ship.parts
        if part.id != "cockpit"
    ]
    return sum(image in placed for image in images) / len(images)


def test_symmetrical_presets() -> None:
    generator, plain = Generator("corvette"), Generator("scout")
    ships = [generator.ship(seed) for seed in range(12)]
    assert all(ship.valid and ship.stats["symmetry"] == 1.0 for ship in ships)
    mirrored_share, plain_share = (
        sum(map(mirrored, some)) / 12 for some in (ships, [plain.ship(seed) for seed in range(12)])
    )
    assert mirrored_share > 0.6 > 3 * plain_share
    for ship in ships[:3]:
        assert check(ship) == []
        assert check_stages(generator.stages(ship.seed, ship.attempt)) == []
    assert preset("frigate").grid == 48


def test_filling_inwards_leaves_as_many_level_corridors_as_upright_ones() -> None:
    shares = {}
    for order in ("raster", "inward"):
        filling = replace(CLASSIC.fill_with_armour, order=order)
        generator, links = Generator(replace(CLASSIC, fill_with_armour=filling)), [0, 0]
        for seed in range(16):
            cells = ShipPlan(generator.attempt(seed, 0)).corridors
            links[0] += sum((x, y + 1) in cells for x, y in cells)
            links[1] += sum((x + 1, y) in cells for x, y in cells)
        shares[order] = links[0] / links[1]
    assert shares["raster"] > 1.25
    assert 0.85 < shares["inward"] < 1.1


def test_a_survey_compares_with_the_targets_that_were_given() -> None:
    targets = {"thrust": 10, "seats": 60}
    figures = survey(with_targets(SCOUT, targets), range(30), targets=targets)
    assert set(figures["controllability"]) == set(figures["target_error"]) == {"thrust", "seats"}
    assert 0 < figures["controllability"]["seats"] < 1
    assert figures["target_error"]["seats"] > 0
    ship = Generator("scout").ship(1)
    off = asked_errors(ship, {"thrust": 20, "firepower": {"south": 1}})
    assert off["thrust"] == 20 - ship.stats["thrust_score"]
    assert set(off) == {"thrust", *(f"firepower_{way}" for way in ("north", "east", "south", "west"))}
    assert set(survey(SCOUT, range(2))["controllability"]) == {"fire"}


def test_entropy_of_the_core() -> None:
    ships = [Generator("scout").ship(seed) for seed in range(16)]
    assert core_entropy(ships[:1] * 5) == core_entropy([]) == 0.0
    assert core_entropy(ships) > 2.0
    assert survey(SCOUT, range(3))["diversity"]["core_entropy"] >= 0
