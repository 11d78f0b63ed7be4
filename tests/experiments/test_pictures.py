"""The README's pictures: the chart of what is known, the boards with their moves."""

from __future__ import annotations

import io
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from leafwise.experiments import boards, equal_time


def test_a_match_is_told_from_both_sides() -> None:
    found = {"share": 0.75, "ci_low": 0.7, "ci_high": 0.85, "scores": [1.0, 0.5]}
    panel = equal_time.of_match("Trap", found, "5 ms a turn", "reach")
    hand_made, learned = panel.bars
    assert panel.games == "2 games"
    assert hand_made[1:4] == pytest.approx((0.25, 0.15, 0.3))
    assert learned[1:4] == (0.75, 0.7, 0.85)


@pytest.mark.long
def test_the_boards_are_those_of_the_readme(tmp_path: Path) -> None:
    assert boards.main(["--out", str(tmp_path)]) == 0
    drawn, kept = (Image.open(io.BytesIO((folder / "boards.png").read_bytes())).convert("RGB") for folder in (
        tmp_path, Path(boards.__file__).parent,
    ))  # fmt: skip
    assert drawn.size == kept.size
    assert np.abs(np.asarray(drawn, dtype=int) - np.asarray(kept, dtype=int)).mean() < 2
