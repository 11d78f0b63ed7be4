"""What values mean to people: a map that never falls, kept with every shipped model, off by at most 0.03 in a tenth."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

import leafwise
from leafwise.models.tensors import WEIGHTS, load_tensors, save_tensors
from leafwise.models.units import Units, shipped_units, units_of, units_of_file, written

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
    low, high = (0.0, 1.0) if not units.name.startswith("expected final") else (0.0, 16.0 * 3**13)
    assert low <= meanings[0] < meanings[-1] <= high


def test_units_are_found_by_the_leaf_s_name(tmp_path: Path) -> None:
    game = leafwise.game("trilobite")
    found = units_of(game, "best")
    assert found == units_of(game, "learned") == units_of(game, "trilobite") == units_of(game, "")
    assert found == Units.of_json(shipped_units()["trilobite.safetensors"], "shipped")
    assert units_of(game, "lines") is None
    assert units_of(game, "rollout:n=3") is None
    assert units_of(game.variant(board="4x4"), "best") is None
    tensors, told = load_tensors(WEIGHTS / "trilobite.safetensors")
    file = tmp_path / "model.safetensors"
    save_tensors(file, tensors, told)
    assert units_of(game, str(file)) is None
    units = Units("chance to win", (-1.0, 1.0), (0.0, 1.0), 0.01)
    save_tensors(file, tensors, {**told, "units": units.as_json()})
    assert units_of(game, str(tmp_path)) == units_of(game, str(file)) == units
    save_tensors(file, tensors, {**told, "units": {"name": "x"}})
    with pytest.raises(ValueError, match="expected units of values, got"):
        units_of(game, str(file))


def test_numbers_as_people_read_them() -> None:
    chance = Units("chance to win, a draw counting half", (-1.0, 1.0), (0.0, 1.0), 0.01)
    assert (chance.written(0.0), chance.written(5.0), written(0.5, chance)) == ("50.0 %", "100.0 %", "75.0 %")
    score = Units("expected final score", (0.0, 10.0), (0.0, 100_000.0), 0.01)
    assert score.written(1.23456) == "12,346"
    assert Units("expected quality", (0.0, 1.0), (0.2, 0.9), 0.01).written(0.5) == "0.550"
    assert written(0.5, None) == "0.5000"
    assert Units.of_json(json.loads(json.dumps(score.as_json())), "here") == score


@pytest.mark.parametrize(
    ("values", "meanings"),
    [((), ()), ((0.0, 0.0), (0.0, 1.0)), ((0.0, 1.0), (1.0, 0.0)), ((0.0,), (float("nan"),)), ((0.0,), (0.0, 1.0))],
)
def test_what_is_no_map_is_refused(values: tuple[float, ...], meanings: tuple[float, ...]) -> None:
    with pytest.raises(ValueError, match=r"^units: expected "):
        Units("x", values, meanings, 0.0)
