"""The study of Friday's hand-made players goes on where it was, and its table shows what was played."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from leafwise.experiments.friday.baselines import PLAN, Config, Entry, Outcome, figures, page, study
from leafwise.training.evaluation.arena import Evaluation
from leafwise.training.evaluation.intervals import mean_interval, share_interval


def test_the_study_goes_on_where_it_was(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    config, path = Config(out=tmp_path, data=tmp_path), tmp_path / "baselines.json"
    study(config, [Entry("random", 4)])
    first = json.loads(path.read_text())["random level=1"]
    assert (first["games"], first["wins"], sum(first["scores"].values()), sum(first["phases"])) == (4, 0, 4, 4)
    assert "random level=1: won 0.00 %" in capsys.readouterr().out
    study(config, [Entry("random", 6), Entry("fridai:states=2000", 1)])
    assert capsys.readouterr().out.count("random level=1") == 2, "the first four games were played again"
    results = json.loads(path.read_text())
    both = results["random level=1"]
    assert both["games"] == 6
    assert Counter(first["scores"]) <= Counter(both["scores"])
    assert first["moves"] < both["moves"]
    assert (tmp_path / "baselines.md").read_text().splitlines() == page(results)
    assert sum(line.startswith("|") for line in page(results)) == 4
    study(replace(config, seconds=1e-9), [Entry("random", 60)])
    assert json.loads(path.read_text())["random level=1"]["games"] == 6
    assert set(results) <= {entry.name for entry in PLAN}
    assert "`friday random --level 1 --games 6 --seed 1000000`" in (tmp_path / "baselines.md").read_text()


def test_figures_of_parts_are_those_of_the_whole() -> None:
    outcomes = [Outcome(k % 3 == 0, 7 * k - 20, k % 4, 10 + k, 0.25) for k in range(9)]
    whole, parts = figures(outcomes), figures(outcomes[4:], figures(outcomes[:4]))
    assert json.loads(json.dumps(parts)) == json.loads(json.dumps(whole))
    assert (whole["wins"], whole["moves"], whole["seconds"]) == (3, 126, 2.25)
    assert (whole["score"], whole["reached"]) == (8.0, {"yellow": 6 / 9, "red": 4 / 9, "pirates": 2 / 9})
    expected = mean_interval(np.array([float(o.score) for o in outcomes]))
    assert (whole["score_ci_low"], whole["score_ci_high"]) == pytest.approx(expected)


def test_share_interval() -> None:
    low, high = share_interval(5, 100)
    assert (low, high) == pytest.approx((0.0215, 0.1118), abs=2e-4)
    assert share_interval(0, 10)[0] == 0.0
    assert share_interval(10, 10)[1] == pytest.approx(1.0)
    lost = Evaluation("nobody", 1_000_000, np.zeros(10), np.zeros(10, dtype=np.int64), 100, 0.1, return_range=(0, 1))
    assert lost.interval() == share_interval(0, 10)
