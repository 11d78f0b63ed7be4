"""The study of ships that are asked for."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from leafwise.experiments.starship.targets import __main__ as targets


def test_targets(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(targets, "GRID", {"scout": {"thrust": [8], "firepower": [{"south": 4}]}})
    monkeypatch.setattr(targets, "TOGETHER", {"scout": []})
    assert targets.main(["--ships", "4", "--out", str(tmp_path)]) == 0
    rows = json.loads((tmp_path / "results.json").read_text())["rows"]
    assert [row["targets"] for row in rows] == [{"thrust": 8}, {"firepower": {"south": 4}}]
    assert all(row["first"] <= row["met"] <= 1 for row in rows)
    assert "| scout | firepower 4 south | " in (tmp_path / "README.md").read_text()
