"""The strength curve of Friday: parts are kept and not played again, a dry run tells what is missing."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from leafwise.envs.registry import game
from leafwise.experiments.friday import strength
from leafwise.experiments.friday.baselines import Entry, Outcome
from leafwise.experiments.friday.strength import PLAN, Config, Point, study, together
from leafwise.search.players import SearchPlayer, player
from leafwise.training.evaluation.intervals import share_interval

SMALL = (Point(1, 1, 5), Point(10, 2, 4, judged=True), Point(10, 2, 3, "mcts"), Point(1000, 4, 2))


@pytest.fixture
def played(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, int, range]]:
    """Stands in for games, every other of which is won, and notes what is played."""
    found: list[tuple[str, int, range]] = []

    def play_block(entry: Entry, seeds: range, processes: int, cluster: str = "") -> Sequence[Outcome]:
        found.append((entry.player, entry.level, seeds))
        return [Outcome(seed % 2 == 0, 50, 3, 100, 0.1, (0.5, 0.57, 1.0)) for seed in seeds]

    monkeypatch.setattr(strength, "play_block", play_block)
    return found


def test_parts_are_kept_and_a_stopped_study_goes_on(
    tmp_path: Path, played: list[tuple[str, int, range]], capsys: pytest.CaptureFixture[str]
) -> None:
    config = Config(out=tmp_path, data=tmp_path)
    study(replace(config, dry_run=True), SMALL)
    assert not played
    assert "1000 ms, level 4, 0 of 2 games known, about 0.21 hours for the others" in capsys.readouterr().out
    study(replace(config, seconds=1e-9), SMALL)
    assert not played
    study(config, SMALL[:1])
    assert [(text, level, [*seeds]) for text, level, seeds in played] == [
        ("search:friday,seconds=0.001,clock=cpu", 1, [2_000_000 + k for k in seeds])
        for seeds in ((0,), (1,), (2, 3, 4))
    ]
    study(replace(config, seconds=1000.0), SMALL)
    assert {text for text, _, _ in played[3:]} == {
        "search:friday,seconds=0.01,clock=cpu",
        "mcts:friday,seconds=0.01,clock=cpu",
        "search:friday,seconds=1.0,clock=cpu",
    }
    assert [(level, seeds[0], len(seeds)) for _, level, seeds in played[-2:]] == [(4, 2_000_000, 1), (4, 2_000_001, 1)]
    capsys.readouterr()
    study(replace(config, dry_run=True), SMALL)
    assert "about 0.0 hours of processor time in all" in capsys.readouterr().out
    known = json.loads((tmp_path / "strength.json").read_text())["results"]
    assert list(known)[:3] == [f"1 ms, level 1, from {k}" for k in (0, 1, 2)]
    assert list(known)[-2:] == [f"1000 ms, level 4, from {k}" for k in (0, 1)]
    assert known["10 ms, level 2, from 0"]["told"] == [[1, [5, 2, 1.07], [9, 1, 1.0]]]
    page = (tmp_path / "strength.md").read_text()
    assert "| 1 ms | 60.0%" in page
    assert "`friday search:friday,seconds=1.0,clock=cpu --level N --games 2 --seed 2000000`" in page
    assert "| MCTS, 10 ms | - | 66.7%" in page
    assert "| 10 ms | 2 | 4 | 0." in page
    assert (tmp_path / "strength.png").stat().st_size > 1000


def test_figures_of_parts_are_those_of_the_whole() -> None:
    parts = [{"games": n, "wins": w, "moves": 100 * n, "seconds": 0.2 * n} for n, w in ((4, 3), (6, 2))]
    found = together(parts)
    assert (found["games"], found["mean"], found["moves"], found["seconds"]) == (10, 0.5, 1000, pytest.approx(2.0))
    assert (found["ci_low"], found["ci_high"]) == share_interval(5, 10)


def test_the_plan_is_what_players_are_told() -> None:
    assert sum(point.hours(point.games) for point in PLAN) < 18
    search = player(PLAN[0].player("pirates"), game("friday"))
    assert isinstance(search, SearchPlayer)
    assert (search.search.seconds, search.search.options.clock) == (0.001, "cpu")
