"""What the study of executors makes of its times."""

from __future__ import annotations

from pathlib import Path

from leafwise.experiments.cluster import ONE, PLAIN, RAY, SEVERAL, Config, Spent, page, summary


def test_ratios_are_within_a_repeat_and_the_page_tells_them(tmp_path: Path) -> None:
    told = [
        (PLAIN, Spent(7.9, 7.9, 0.0)), (ONE, Spent(8.0, 8.0, 0.0)), (SEVERAL, Spent(4.0, 8.0, 150.0)),
        (PLAIN, Spent(7.9, 7.9, 0.0)), (ONE, Spent(16.0, 8.0, 0.0)), (SEVERAL, Spent(10.0, 10.0, 160.0)),
    ]  # fmt: skip
    ways = summary(told)
    assert (ways[SEVERAL]["least"], ways[SEVERAL]["most"]) == (1.6, 2.0)
    assert ways[SEVERAL]["times_faster"] == 1.8
    assert ways[SEVERAL]["work"] == 1.125
    assert ways[SEVERAL]["megabytes"] == 160
    learner = {"positions": 40_000, "passes": 4.0, "play": 3.0, "learn": 1.5}
    network = {"megabytes": 7.0, "pickle_ms": 10.0, "unpickle_ms": 20.0}
    found = {"hardware": "2 of 2 cores", "load": 0.1, "cases": {"eval": {"what": "games", "ways": ways}}}
    found["limits"] = {"ms_a_piece": {SEVERAL: 0.5, RAY: 1.0}, "network": network, "learner": learner}
    text = "\n".join(page(Config(out=tmp_path), found))
    assert "| games | processes | 7.00 | 9.00 | 1.80 (1.60 to 2.00) | 1.78 | 160 |" in text
    assert "a piece costs it 1.00 ms" in text
    assert "it keeps 1,500 cores busy" in text  # a piece is 1.5 core-s
    assert "2.0 cores that play keep it busy" in text
