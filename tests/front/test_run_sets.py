"""Sets of runs are compared by figures that plain loops come to as well, and runs with several seeds are trained as one."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from front.console import Shell

from leafwise.envs.core.errors import UserError
from leafwise.training.dqn import dqn
from leafwise.training.evaluation import run_sets
from leafwise.training.evaluation.run_sets import estimate, improvement, interquartile_mean, profile
from leafwise.training.runs.run_options import described, to_toml

RNG = np.random.default_rng(3)
FIRST, SECOND = ([RNG.normal(mean, size=8), RNG.normal(10 * mean, size=8)] for mean in (1.0, 0.5))


def test_figures_are_those_of_their_definitions() -> None:
    middle = sorted([*FIRST[0], *FIRST[1]])[4:12]
    assert interquartile_mean(FIRST) == pytest.approx(np.mean(middle))
    wins = [np.mean([(x > y) + (x == y) / 2 for x in a for y in b]) for a, b in zip(FIRST, SECOND, strict=True)]
    assert improvement(FIRST, SECOND) == pytest.approx(np.mean(wins))
    assert improvement([np.ones(3)], [np.ones(2)]) == 0.5
    levels = np.array([0.0, 1.0, 5.0])
    shares = [np.mean([x > level for scores in FIRST for x in scores]) for level in levels]
    assert profile(levels)(FIRST) == pytest.approx(shares)


def test_intervals_are_those_of_runs_drawn_anew_within_each_game(monkeypatch: pytest.MonkeyPatch) -> None:
    result = estimate(improvement, FIRST, SECOND)
    assert 0 <= result.low < result.value < result.high <= 1
    apart = [
        np.full(4, 1.0),
        np.full(4, 9.0),
    ]  # among themselves the runs of each game are alike, and so is what is drawn
    assert estimate(interquartile_mean, apart) == (5.0, 5.0, 5.0)
    monkeypatch.setattr(run_sets, "SAMPLES", 4000)
    normal = np.random.default_rng(1).normal(size=400)
    low, high = estimate(lambda scores: scores[0].mean(axis=-1), [normal])[1:]
    assert high - low == pytest.approx(2 * 1.96 * normal.std() / 20, rel=0.06)


def kept(path: Path, text: str) -> None:
    """Writes a finished run with such options."""
    path.mkdir(parents=True)
    (path / "config.toml").write_text(text)
    (path / "results.json").write_text("{}")


@pytest.mark.usefixtures("dice_game")
def test_compare_has_all_runs_play_the_same_games(shell: Shell, tmp_path: Path) -> None:
    for name in ("a/one", "a/two", "b/one"):
        kept(tmp_path / name, 'game = "dice"\n')
    sets = [str(tmp_path / name) for name in "ab"]
    words = ["--games", "20", "--player", "random", "--opponent", "random"]
    picture = tmp_path / "c.png"
    result = shell("compare", *sets, *words, "--picture", str(picture), "--json").json
    (one, two), (other,) = (next(iter(entry["scores"].values())) for entry in result["sets"])
    assert one == two == other == result["sets"][0]["iqm"][0]
    assert result["pairs"][0]["probability"] == [0.5, 0.5, 0.5]
    assert picture.read_bytes().startswith(b"\x89PNG")
    out = shell("compare", *sets, *words).out
    assert out.startswith("dice: random against random, 20 games a run")
    assert f"{sets[0]} is better than {sets[1]} with probability 0.50 (0.50 to 0.50): no significant difference" in out
    assert "a plain bootstrap over the runs of one game" in out
    refused = shell("compare", *sets, "--picture", "c.xyz").refusal
    assert refused == "error: expected a file name that ends with .png for --picture, got 'c.xyz'"
    kept(tmp_path / "b" / "sim", 'game = "cassis"\n')
    assert (
        "expected sets of runs that learned the same games, got leafwise.game('dice') and"
        in shell("compare", *sets).refusal
    )
    (tmp_path / "a" / "two" / "results.json").unlink()
    assert "got two, which is not finished: continue it with --resume" in shell("compare", *sets).refusal
    assert "expected a folder with runs in it" in shell("compare", str(tmp_path / "none")).refusal


def fake_train(fails: set[int]) -> Callable[[Any], None]:
    """Returns a `train` that writes what a run leaves, and fails for some seeds."""

    def train(config: Any) -> None:
        path = Path(config.run)
        (path / "config.toml").write_text(to_toml(described(dataclasses.replace(config, resume=False))))
        print("trained with", config.seed, config.resume)
        if config.seed in fails:
            raise UserError(f"no luck with {config.seed}")
        (path / "results.json").write_text(json.dumps({"steps": config.total_steps, "seconds": 1.0}))

    return train


@pytest.mark.usefixtures("dice_game")
def test_seeds_are_runs_that_go_on_as_one(shell: Shell, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder, where = tmp_path / "set", ["--run", str(tmp_path / "set"), "--processes", "1"]
    monkeypatch.setattr(dqn, "train", fake_train({4}))
    line = ["train", "dice", "--method", "dqn", "--total-steps", "2000", *where]
    first = [*line, "--seed", "3", "--seeds", "3"]
    assert f"{folder}/seed-4: no luck with 4" in shell(*first).error
    options = [(folder / f"seed-{seed}" / "config.toml").read_text() for seed in (3, 4, 5)]
    assert options[0].replace("seed = 3", "seed = 5") == options[2]
    assert "expected no runs in" in shell(*first).refusal
    monkeypatch.setattr(dqn, "train", fake_train(set()))
    out = shell(
        "train", "dice", "--method", "dqn", "--seed", "3", *where, "--resume", "--seeds", "4"
    ).out  # one more than there were, with the options of those
    assert f"all         4 runs in {folder}, 4 s of processor time" in out
    assert f"{folder}/seed-6: 2,000 steps" in out
    logs = [(folder / f"seed-{seed}" / "train.log").read_text().splitlines() for seed in (4, 6)]
    assert logs == [["trained with 4 False", "trained with 4 True"], ["trained with 6 False"]]
    assert "expected runs to resume in" in shell(*line, "--resume", "--seeds", "1", "--seed", "9").refusal
    assert "expected 1 to 1,000 --seeds, got 0" in shell(*line, "--seeds", "0").refusal
