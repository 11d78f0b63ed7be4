"""The solved table of Cassis: counts, values, and agreement with the solver on every position of n = 6."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

import leafwise
from leafwise.envs.cassis.canon import make_scratch
from leafwise.envs.cassis.options import Options
from leafwise.envs.cassis.solver import Solver
from leafwise.envs.cassis.tables import make_tables
from leafwise.experiments.cassis import solved

RECORDED = json.loads(Path(solved.__file__).with_name("solved.json").read_text())


@pytest.mark.parametrize("n", [3, 4, 5, 6])
def test_the_solver_agrees_on_every_position(n: int) -> None:
    T, C = make_tables(Options(n)), make_scratch()
    levels = solved.enumerate_levels(T, C)
    values = solved.value_levels(levels, T, C)
    solver = Solver(leafwise.game("cassis", n=n))
    low = np.uint64((1 << 28) - 1)
    for coloured, (boards, expected) in enumerate(zip(levels, values, strict=True)):
        mover, other = boards & low, boards >> np.uint64(28)
        rows = np.stack([other, mover] if coloured % 2 else [mover, other], axis=1)
        assert solver.values(rows).tolist() == expected.tolist()


def test_the_recorded_figures_are_what_the_study_finds(tmp_path: Path) -> None:
    assert solved.main(["--most", "6", "--out", str(tmp_path), "--data", str(tmp_path)]) == 0
    found = json.loads((tmp_path / "solved.json").read_text())
    assert [r["levels"] for r in found] == [r["levels"] for r in RECORDED[:4]]
    assert (tmp_path / "growth.png").read_bytes().startswith(b"\x89PNG")
    assert [r["value"] for r in RECORDED] == [0, 0, 0, -1, -1, -1]
    assert [r["positions"] for r in RECORDED] == [4, 18, 136, 2_250, 77_608, 5_596_437]
    for r in RECORDED:
        assert all(level["positions"] == level["wins"] + level["draws"] + level["losses"] for level in r["levels"])
        assert sum(level["positions"] for level in r["levels"]) == r["positions"]
