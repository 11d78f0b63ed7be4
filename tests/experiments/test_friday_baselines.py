"""The study of Friday's hand-made players goes on where it was, and its table shows what was played."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from leafwise.experiments.friday.baselines import PLAN, Entry, share_interval, study, table


def test_the_study_goes_on_where_it_was(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    study(tmp_path, 1, [Entry("random", 4)])
    first = json.loads((tmp_path / "baselines.json").read_text())
    assert "random level=1" in capsys.readouterr().out
    results = study(tmp_path, 1, [Entry("random", 6), Entry("fridai:states=2000", 1)])
    games = results["random level=1"]["outcomes"]
    assert len(games) == 6
    assert json.loads(json.dumps(games[:4])) == first["random level=1"]["outcomes"], "played again"
    assert table(results) == (tmp_path / "baselines.md").read_text()
    assert table(results).count("\n") == 4
    assert study(tmp_path, 1, [Entry("random", 60)], seconds=1e-9)["random level=1"]["games"] == 6
    assert set(results) <= {entry.name for entry in PLAN}


def test_share_interval() -> None:
    low, high = share_interval(5, 100)
    assert (low, high) == pytest.approx((0.0215, 0.1118), abs=2e-4)
    assert share_interval(0, 10)[0] == 0.0
    assert share_interval(10, 10)[1] == pytest.approx(1.0)
