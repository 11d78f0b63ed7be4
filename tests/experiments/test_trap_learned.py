"""The study of Trap's learned leaf goes on where it was; the shipped network beats the hand-made leaf."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from leafwise.experiments.trap.curves import curves
from leafwise.experiments.trap.learned import Config, figures, study


def test_the_study_goes_on_where_it_was(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    config = Config(tmp_path, tmp_path, parts=("depth",), rivals=("reach",), depths=(4,), games=20, first_seed=920_000)
    title = "depth 4 (2 turns), against `reach`"
    study(config)
    first = json.loads((tmp_path / "learned.json").read_text())[title]
    assert first["share"] > 0.5
    study(replace(config, games=40))
    more = json.loads((tmp_path / "learned.json").read_text())[title]
    assert more["scores"][:20] == first["scores"]
    assert len(more["scores"]) == 40
    assert "| depth 4 (2 turns), against `reach` | 40 |" in (tmp_path / "learned.md").read_text()
    with pytest.raises(ValueError, match="give another --data and --out"):
        study(replace(config, rare=0.1))
    with pytest.raises(
        ValueError, match=r"^expected parts among depth, time, course, options, patience, chance, got 'width'$"
    ):
        study(replace(config, parts=("width",)))


def test_figures_are_of_pairs() -> None:
    found = figures([1.0, -1.0, 1.0, 1.0, 1.0, 0.0])
    assert found["share"] == pytest.approx(0.75)
    assert found["ci_low"] <= 0.75 <= found["ci_high"]
    assert found["elo"] > 0


def test_figures_are_worked_out_of_the_scores_each_time(tmp_path: Path) -> None:
    scores = [1.0, -1.0, 1.0, 1.0]
    told = {"player": "a", "opponent": "b", "scores": scores} | dict.fromkeys(figures([1.0, 1.0]), 0.0)
    (tmp_path / "learned.json").write_text(json.dumps({"a match": told}))
    study(Config(tmp_path, tmp_path, parts=()))
    found = json.loads((tmp_path / "learned.json").read_text())["a match"]
    assert found == told | figures(scores)
    assert f"| a match | 4 | 3 / 0 / 1 | 75.0% ({found['ci_low']:.1%} to" in (tmp_path / "learned.md").read_text()


def test_curves_want_a_run(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"^expected a run that logged eval/elo, .*, got "):
        curves(str(tmp_path))
