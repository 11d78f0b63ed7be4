"""The studies of ships that are asked for, and of evolution against builders."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from leafwise.experiments.starship.evolution import __main__ as evolution
from leafwise.experiments.starship.targets import __main__ as targets


def test_targets(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(targets, "GRID", {"scout": {"thrust": [8], "firepower": [{"south": 4}]}})
    monkeypatch.setattr(targets, "TOGETHER", {"scout": []})
    assert targets.main(["--ships", "4", "--out", str(tmp_path)]) == 0
    rows = json.loads((tmp_path / "results.json").read_text())["rows"]
    assert [row["targets"] for row in rows] == [{"thrust": 8}, {"firepower": {"south": 4}}]
    assert all(row["first"] <= row["met"] <= 1 for row in rows)
    assert "| scout | firepower 4 south | " in (tmp_path / "README.md").read_text()


def test_evolution(tmp_path: Path) -> None:
    words = ["--hulls", "2", "--seconds", "0.02", "--out", str(tmp_path), "--builders", "hand"]
    assert evolution.main(words) == 0
    methods = json.loads((tmp_path / "results.json").read_text())["methods"]
    assert set(methods) == {"random places", "genetic algorithm", "evolution strategy", "best by hand", "hand"}
    assert all(ship["quality"] <= 1 and ship["tries"] > 0 for ships in methods.values() for ship in ships)
    page = (tmp_path / "README.md").read_text()
    assert "| genetic algorithm | " in page
    (tmp_path / "README.md").unlink()
    assert evolution.main([*words, "--redraw"]) == 0
    assert (tmp_path / "README.md").read_text() == page
    assert json.loads((tmp_path / "results.json").read_text())["methods"] == methods
