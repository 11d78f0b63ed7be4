"""What values mean to people: a map that never falls, kept with every shipped model, off by at most 0.03 in a tenth."""

from __future__ import annotations

import json
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import leafwise
from games.refusals import one_line
from leafwise.models.tensors import WEIGHTS, load_tensors, save_tensors
from leafwise.models.units import Units, shipped_units, units_of, units_of_file, why_no_units, written

# the errors of maps with flat steps, which never fell
BEFORE = {
    "cassis": 0.0032, "cassis7": 0.0014, "cassis8": 0.011, "friday": 0.0265, "starshipplace": 0.0085, "threes": 0.0286,
    "threes-small": 0.0181, "trap": 0.0067, "trap-size5": 0.0145, "trap-size6": 0.0217, "trap-size8": 0.0067,
    "trap-size9": 0.0219, "trilobite": 0.0031, "trilobite7x6": 0.0073,
}  # fmt: skip
MODELS = sorted(WEIGHTS.glob("*.safetensors"))


@pytest.mark.parametrize("path", MODELS, ids=lambda path: path.stem)
def test_every_shipped_model_says_what_its_values_mean(path: Path) -> None:
    units = units_of_file(path)
    assert units is not None
    assert 0 <= units.error <= 0.03
    assert 900_000 <= units.fitted["first_seed"] < units.fitted["first_seed"] + units.fitted["games"] <= 1_000_000
    spread = np.linspace(units.values[0] - 1, units.values[-1] + 1, 500)
    meanings = [units(value) for value in spread]
    assert meanings == sorted(meanings)
    assert (np.diff(units.meanings) > 0).all()
    metadata = [units.written(value) for value in np.linspace(units.values[0], units.values[-1], 1001)]
    flat = np.mean([a == b for a, b in pairwise(metadata)])
    assert flat <= 0.1 or path.stem == "cassis"  # whose values are won or lost, and tell which
    assert units.error <= BEFORE[path.stem] + 0.005
    low, high = (0.0, 1.0) if not units.name.startswith("expected final") else (0.0, 16.0 * 3**13)
    assert low <= meanings[0] < meanings[-1] <= high


def test_units_are_found_by_the_leaf_s_name(tmp_path: Path) -> None:
    game = leafwise.game("trilobite")
    units_found = units_of(game, "best")
    assert units_found == units_of(game, "learned") == units_of(game, "trilobite") == units_of(game, "")
    assert units_found == Units.of_json(shipped_units()["trilobite.safetensors"], "shipped")
    assert units_of(game, "lines") is None
    assert units_of(game, "rollout:n=3") is None
    assert units_of(game.variant(board="4x4"), "best") is None
    tensors, metadata = load_tensors(WEIGHTS / "trilobite.safetensors")
    file = tmp_path / "model.safetensors"
    save_tensors(file, tensors, metadata)
    assert units_of(game, str(file)) is None
    units = Units("chance to win", (-1.0, 1.0), (0.0, 1.0), 0.01)
    save_tensors(file, tensors, {**metadata, "units": units.as_json()})
    assert units_of(game, str(tmp_path)) == units_of(game, str(file)) == units
    save_tensors(file, tensors, {**metadata, "units": {"name": "x"}})
    with one_line("expected units of values, got"):
        units_of(game, str(file))


MEASURED: list[tuple[str, dict[str, Any]]] = [
    ("friday", {}),
    *(("friday", {"level": level}) for level in (2, 3, 4)),
    ("friday", {"level": 4, "start_life": 18}),  # what the level has anyway
    ("trap", {}),
    ("trap", {"size": 5, "max_turns": 100}),  # four turns a cell, as usual
    ("trap", {"observe_turn": True}),
    ("starship", {"preset": "classic"}),
    ("starship", {"preset": "cruiser"}),
]
OTHERS: list[tuple[str, dict[str, Any]]] = [
    ("friday", {"level": 4, "start_life": 30}),
    ("friday", {"level": 4, "start_life": 20}),
    ("friday", {"scared_stacking": "one"}),
    ("friday", {"empty_aging": "reshuffle_only"}),
    ("friday", {"destroy": "immediate"}),
    ("friday", {"double_needs_source": False}),
    ("trap", {"max_turns": 20}),
    ("trap", {"size": 5, "self_trap": "deferred"}),
    ("starship", {"preset": "frigate"}),
    ("starship", {"targets": '{"thrust": 10}'}),
]


@pytest.mark.parametrize(("name", "options"), [*MEASURED, *OTHERS])
def test_rules_that_were_measured_have_units_and_for_others_a_line_says_why(name: str, options: dict[str, Any]) -> None:
    game, why = leafwise.game(name, **options), why_no_units(leafwise.game(name, **options), "best")
    assert units_of(game, "best") == units_of(game, "learned")
    assert why_no_units(game, game.default_score) == ""
    if (name, options) in MEASURED:
        assert units_of(game, "best") is not None
        assert why == ""
    else:
        assert units_of(game, "best") is None
        here = ",".join(f"{option}={game.given_options[option]}" for option in options if option in game.rule_options)
        assert why.endswith(f", not with {here}")
        assert "\n" not in why


def test_every_rule_option_is_tried_above() -> None:
    tried = {(name, option) for cases in (OTHERS, MEASURED) for name, options in cases for option in options}
    for name in ("threes", "trilobite", "cassis", "trap", "friday", "starship"):
        game = leafwise.game(name)
        texts = {"parameters", "hull"}  # files of a ship's
        assert {(name, option) for option in game.rule_options if option not in texts} <= tried


def test_a_file_without_variants_was_measured_with_its_own_rules(tmp_path: Path) -> None:
    tensors, metadata = load_tensors(WEIGHTS / "trap-size5.safetensors")
    file = tmp_path / "model.safetensors"
    save_tensors(file, tensors, {**metadata, "options": {"size": 5, "self_trap": "deferred"}})
    usual = leafwise.game("trap", size=5)
    assert units_of(usual.variant(self_trap="deferred"), str(file)) is not None
    assert units_of(usual, str(file)) is None
    told_why = "no unit: the network was measured with self_trap=deferred, not with the usual rules"
    assert why_no_units(usual, str(file)) == told_why
    for other in (leafwise.game("trap"), leafwise.game("threes")):  # which cannot load it
        assert (units_of(other, str(file)), why_no_units(other, str(file))) == (None, "")
    both = {**metadata["units"], "fitted": {**metadata["units"]["fitted"], "variants": [{}, {"self_trap": "deferred"}]}}
    save_tensors(file, tensors, {**metadata, "units": both})
    assert units_of(usual, str(file)) == units_of(usual.variant(self_trap="deferred"), str(file)) is not None
    assert units_of(usual.variant(max_turns=9), str(file)) is None


def test_numbers_as_people_read_them() -> None:
    chance = Units("chance to win, a draw counting half", (-1.0, 1.0), (0.0, 1.0), 0.01)
    assert (chance.written(0.0), chance.written(5.0), written(0.5, chance)) == ("50.00 %", "100.00 %", "75.00 %")
    score = Units("expected final score", (0.0, 10.0), (0.0, 100_000.0), 0.01)
    assert score.written(1.23456) == "12,346"
    assert Units("expected quality", (0.0, 1.0), (0.2, 0.9), 0.01).written(0.5) == "55.00 %"
    assert written(0.5, None) == "0.5000"
    assert Units.of_json(json.loads(json.dumps(score.as_json())), "here") == score


@pytest.mark.parametrize(
    ("values", "meanings"),
    [((), ()), ((0.0, 0.0), (0.0, 1.0)), ((0.0, 1.0), (1.0, 0.0)), ((0.0,), (float("nan"),)), ((0.0,), (0.0, 1.0))],
)
def test_what_is_no_map_is_refused(values: tuple[float, ...], meanings: tuple[float, ...]) -> None:
    with one_line(r"^units: expected "):
        Units("x", values, meanings, 0.0)


@pytest.mark.parametrize("wrong", [None, 1.0, np.zeros(2)])
def test_units_of_no_tuples_are_refused(wrong: Any) -> None:
    for values, meanings in ((wrong, (0.0, 1.0)), ((0.0, 1.0), wrong)):
        with one_line(r"^units: expected a tuple of numbers, got "):
            Units("points", values, meanings, 0.0)
