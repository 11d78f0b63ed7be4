"""The ladder of Trap's leaves: ratings that are known, and a study that goes on where it was."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from leafwise.envs.trap import GAME
from leafwise.experiments.trap.clock import Config as ClockConfig
from leafwise.experiments.trap.clock import grid_of, timed_turns
from leafwise.experiments.trap.ladder import LEAVES, Config, ratings, study


def test_intervals_hold_the_rating() -> None:
    found = ratings(
        {"a b": [1.0, 0.0, 1.0, 1.0], "a c": [1.0, -1.0, 1.0, 1.0], "b c": [0.0, 0.0, 1.0, -1.0]}, ["a", "b", "c"]
    )
    assert found["a"][0] > found["b"][0]
    assert all(low <= elo <= high for elo, low, high in found.values())
    assert sum(elo for elo, _, _ in found.values()) == pytest.approx(0, abs=1e-6)


def test_the_study_goes_on_where_it_was(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    config = Config(seconds=0.002, games=2, leaves=("reach", "is"), out=tmp_path, data=tmp_path)
    study(config)
    first = json.loads((tmp_path / "ladder.json").read_text())["pairs"]
    assert "reach is" in capsys.readouterr().out
    study(replace(config, leaves=("reach", "is", "ocls")))
    assert "reach is:" not in capsys.readouterr().out, "played again"
    again = json.loads((tmp_path / "ladder.json").read_text())["pairs"]
    assert again["reach is"] == first["reach is"]
    assert set(again) == {"reach is", "reach ocls", "is ocls"}
    table = (tmp_path / "ladder.md").read_text()
    assert table.startswith("Equal processor time, 2 ms a turn")
    assert sorted(line.split("`")[1] for line in table.splitlines() if "`" in line) == ["is", "ocls", "reach"]
    with pytest.raises(ValueError, match=r"ladder.json': expected seconds 0.5, got 0.002$"):
        study(Config(seconds=0.5, out=tmp_path))
    assert set(LEAVES) - set(GAME.scores) == {"learned", "course:is", "random"}


def test_turns_are_timed() -> None:
    spent = timed_turns(ClockConfig(turns=3, seconds=0.02))
    assert len(spent) == 3
    assert min(spent) > 0
    state = GAME.parse("1....../......./..#..../......./......./......./......2 turn=1")
    grid = grid_of(state)
    assert (grid.find(1), grid.find(2), grid.getCellValue((2, 2))) == ((0, 0), (6, 6), -1)
    assert len(grid.getAvailableCells()) == 46
