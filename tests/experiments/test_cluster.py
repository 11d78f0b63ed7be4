"""What the study of executors makes of its times."""

from __future__ import annotations

from pathlib import Path

from leafwise.experiments.cluster import ONE, SEVERAL, Config, Spent, page, summary


def test_ratios_are_within_a_repeat_and_the_page_tells_them(tmp_path: Path) -> None:
    told = [
        (ONE, Spent(8.0, 8.0, 0.0)), (SEVERAL, Spent(4.0, 8.0, 150.0)),
        (ONE, Spent(16.0, 8.0, 0.0)), (SEVERAL, Spent(10.0, 10.0, 160.0)),
    ]  # fmt: skip
    ways = summary(told)
    assert (ways[SEVERAL]["least"], ways[SEVERAL]["most"]) == (1.6, 2.0)
    assert ways[SEVERAL]["times_faster"] == 1.8
    assert ways[SEVERAL]["work"] == 1.125
    assert ways[SEVERAL]["megabytes"] == 160
    found = {"hardware": "2 of 2 cores", "load": 0.1, "cases": {"eval": {"what": "games", "ways": ways}}}
    text = "\n".join(page(Config(out=tmp_path), found))
    assert "| games | processes | 7.00 | 9.00 | 1.80 (1.60 to 2.00) | 1.78 | 160 |" in text
