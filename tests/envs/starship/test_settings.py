"""Parameters: TOML and back, switches, and the errors of wrong values."""

from types import MappingProxyType

import pytest
from msgspec.structs import replace

from leafwise.envs.starship import CLASSIC, CRUISER, SCOUT, STAGES, Parameters, from_toml, preset, switched, to_toml
from leafwise.envs.starship.settings import Shape, Thrusters, changed, most_parts


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
        ("a =", "should be TOML"),
        ("a = " + "[" * 5000, "should be TOML"),
        ('[thrusters]\nmin_score = "x"', "thrusters.min_score should be an integer from 0 to 1000, got 'x'"),
        ("[thrusters]\nmin_score = 1.5", "thrusters.min_score should be an integer from 0 to 1000, got 1.5"),
        ("[thrusters]\nmin_score = true", "thrusters.min_score should be an integer from 0 to 1000, got True"),
        ("[thrusters]\nspeed = 1", "thrusters has no 'speed'"),
        ("[engines]\nspeed = 1", "parameters has no 'engines'"),
        ("shape = 3", "shape should be an object, got 3"),
        ("[crew]\nenabled = 1", "crew.enabled should be true or false"),
        (
            '[reactor]\nstrategy = "align_edges"',
            "reactor.strategy should be one of centralized, centralized_amidships, .*, random, got 'align_edges'",
        ),
        ("grid = 65", "grid should be an integer from 12 to 64, got 65"),
        ("[thrusters]\nmin_score = 46", "thrusters.min_score should be at most max_score = 45, got 46"),
        ("[thrusters]\nmax_score = 900", "at most 250 parts, got up to 933"),
        ("[crew]\nweight_bunk = -1", "crew.weight_bunk should be an integer from 0 to 1000, got -1"),
        ("[crew]\nweight_bunk = 0\nweight_quarters = 0", "crew: at least one weight"),
        ("[shape.rectangle]\nmax_width = 47", "shape.rectangle.max_width should be an integer from 1 to 46"),
        ("[fill_gaps]\nmin_directions = 5", "fill_gaps.min_directions should be an integer from 1 to 4"),
        ("[crew]\nmin_seats = nan", "crew.min_seats should be an integer from 0 to 1000, got nan"),
        ("grid = " + "9" * 400, r"grid should be an integer from 12 to 64, got 9+\.\.\.9+$"),
        ("[crew]\nmin_seats = 1979-05-27", "crew.min_seats should be an integer from 0 to 1000, got datetime.date"),
        ('[crew]\n"a` - at `$.b\\n" = 3', "crew has no 'a` - at `"),
        ('"a` - at `$.crew\\n" = 3', "has no 'a"),
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
    with pytest.raises(ValueError, match="stage should be one of Shape, Fill Gaps"):
        switched(CLASSIC, ["Sails"], False)


def test_the_presets_are_those_of_the_rules():
    assert [preset(name).grid for name in ("classic", "scout", "cruiser")] == [48, 24, 64]
    assert (SCOUT.thrusters.min_score, SCOUT.thrusters.max_score, SCOUT.crew.min_seats) == (8, 12, 8)
    assert (SCOUT.shape.circle.max_radius, SCOUT.shape.rectangle.max_width) == (4, 9)
    assert (CRUISER.shape.circle.max_radius, CRUISER.shape.rectangle.max_height) == (7, 14)
    assert [number for number, _, _ in STAGES if number != 15] == list(range(1, 15))
    assert all(getattr(CLASSIC, field).enabled == (field != "carve") for _, field, _ in STAGES)
    assert most_parts(CLASSIC) <= 250
    with pytest.raises(
        ValueError, match="preset should be one of classic, scout, cruiser, corvette, frigate, got 'tug'"
    ):
        preset("tug")


def test_parameters_check_themselves():
    with pytest.raises(ValueError, match=r"thrusters\.max_score should be an integer"):
        Parameters(thrusters=Thrusters(max_score="many"))  # type: ignore[arg-type]
    with pytest.raises(ValueError, match=r"shape\.min_modules should be an integer from 1"):
        Parameters(shape=Shape(min_modules=0))
    with pytest.raises(ValueError, match="thrusters should be an object, got 3"):
        Parameters(thrusters=3)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match=r"shape\.symmetry should be one of none, pairs, x"):
        Parameters(shape=Shape(symmetry="y"))  # type: ignore[arg-type]


def test_the_sources_spelling_of_stages_is_understood():
    for name in ("Cockpit Armor", "cockpit-armor", "COCKPIT_ARMOUR"):
        assert not switched(CLASSIC, [name], False).cockpit_armour.enabled
    assert switched(CLASSIC, ["Fill With Armor", "Exterior Armor"], True) == switched(
        CLASSIC, ["fill_with_armour", "exterior_armour"], True
    )
    with pytest.raises(ValueError, match=r"stage should be one of Shape, .*, got 'Armory'"):
        switched(CLASSIC, ["Armory"], True)


def test_any_mapping_changes_a_preset() -> None:
    changes = MappingProxyType({"crew": MappingProxyType({"min_seats": 4})})
    assert changed("scout", changes) == replace(SCOUT, crew=replace(SCOUT.crew, min_seats=4))
