"""Two models against each other: a network that has learned beats one that has not, and what does not fit is one line."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import leafwise
from leafwise.experiments.cassis import critical
from leafwise.experiments.versus import main
from leafwise.models import SparseNetwork, save_network
from leafwise.training.evaluation.agreement import Judged
from leafwise.training.evaluation.statistics import share_interval

GAME = leafwise.game("trilobite")


def untrained(folder: Path) -> Path:
    """Returns the file of a network that knows nothing."""
    rng = np.random.default_rng(1)
    blank = SparseNetwork.create(GAME, (8,))
    network = blank.with_tensors({k: rng.normal(0, 0.4, t.shape).astype(np.float32) for k, t in blank.tensors.items()})
    save_network(folder / "untrained.safetensors", network, {"steps": 0, "command": "none", "commit": "none"})
    return folder / "untrained.safetensors"


def test_the_better_of_two_models_is_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    options = ["--variant", "board=3x3,k=3", "--depth", "1", "--plies", "0", "5", "--pairs", "100"]
    assert main([*options, "--models", "trilobite", str(untrained(tmp_path))]) == 0
    assert capsys.readouterr().out.splitlines()[-1].endswith("Elo; better")


def test_shares_of_kept_values_have_intervals_and_are_of_the_leaf_that_is_named() -> None:
    cassis = leafwise.game("cassis")
    start = cassis.start().play(0)
    keeps = np.zeros((2, len(cassis.actions)), dtype=bool)
    keeps[0] = True
    judged = Judged(cassis, np.array([start.row, start.row]), keeps)
    assert critical.kept(judged, "", 1)["mean"] == 0.5
    assert critical.kept(judged, "", 1)["ci_low"] == share_interval(1, 2)[0] > 0
