"""The ladder of Trap's leaves: ratings that are known, and a study that goes on where it was."""

from __future__ import annotations

from pathlib import Path

import pytest

from leafwise.envs.trap import GAME
from leafwise.experiments.trap.clock import Config as ClockConfig
from leafwise.experiments.trap.clock import grid_of, timed_turns
from leafwise.experiments.trap.ladder import LEAVES, Config, main, matches, ratings


def test_intervals_hold_the_rating() -> None:
    means = {"a b": [1.0, 0.0, 1.0, 1.0], "a c": [1.0, -1.0, 1.0, 1.0], "b c": [0.0, 0.0, 1.0, -1.0]}
    found = ratings({pair: {"by_seed": kept} for pair, kept in means.items()}, ["a", "b", "c"])
    assert found["a"][0] > found["b"][0]
    assert all(low <= elo <= high for elo, low, high in found.values())
    assert sum(elo for elo, _, _ in found.values()) == pytest.approx(0, abs=1e-6)


def test_every_pair_meets_and_the_best_stands_first(tmp_path: Path) -> None:
    config = Config(seconds=0.002, games=2, leaves=("reach", "is", "random"), out=tmp_path, data=tmp_path)
    found = {match.title: match for match in matches(config)}
    assert list(found) == ["reach is", "reach random", "is random"]
    assert found["is random"].player == "search:is,seconds=0.001,clock=cpu,candidates=near+traps,rare=0.25"
    assert found["is random"].opponent == "random"
    (learned,) = matches(Config(leaves=("learned", "is")))
    assert len(str(learned.network)) == 16
    main(
        [
            "--seconds",
            "0.002",
            "--games",
            "2",
            "--leaves",
            "is",
            "random",
            "--out",
            str(tmp_path),
            "--data",
            str(tmp_path),
        ]
    )
    table = (tmp_path / "ladder.md").read_text()
    assert table.startswith("Equal processor time, 2 ms a turn")
    assert [line.split("`")[1] for line in table.splitlines() if "`" in line] == ["is", "random"]
    assert set(LEAVES) - set(GAME.scores) == {"learned", "course:is", "random"}


def test_turns_are_timed() -> None:
    spent = timed_turns(ClockConfig(turns=3, seconds=0.02))
    assert len(spent) == 3
    assert min(spent) > 0
    state = GAME.parse("1....../......./..#..../......./......./......./......2 turn=1")
    grid = grid_of(state)
    assert (grid.find(1), grid.find(2), grid.getCellValue((2, 2))) == ((0, 0), (6, 6), -1)
    assert len(grid.getAvailableCells()) == 46
