"""Runs killed at random (kill -9), players or the learner: what is learned is the same, no game is lost or counted twice."""

import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from random import Random
from typing import Any

import psutil
import pytest

from leafwise.envs.core.errors import UserError
from leafwise.models.files import load_tensors
from leafwise.training.runs.files import Curves
from leafwise.training.runs.loop import run_learner
from leafwise.training.selfplay.games import RecordedValues
from leafwise.training.selfplay.selfplay import Config, SelfPlay, train
from running.killing import Killer, alive, workers
from running.training import checkpoint, train_command
from running.waiting import until

pytestmark = [
    pytest.mark.long,
    pytest.mark.filterwarnings("ignore"),  # Ray's own
    pytest.mark.skipif(sys.platform == "win32", reason="signals of POSIX"),
]
OPTIONS: dict[str, Any] = {
    "game": "trilobite", "total_steps": 12, "positions": 100_000, "buffer_size": 50_000, "plies": 7, "epochs": 0.1,
    "batch_size": 256, "hidden": (8,), "match_pairs": 100, "solver_positions": 0, "checkpoint_seconds": 0.0, "job_size": 5_000,
    "staleness": 1, "depth": 2,
}  # fmt: skip
CLUSTER = ["--cluster", "local", "--processes", "2"]
COUNTED = ("rollout/ep_len_mean", "rollout/first_wins", "rollout/staleness", "train/loss", "eval/score_mean")


def logged(path: Path) -> dict[str, list[tuple[int, float]]]:
    """Returns what a run logged of every iteration."""
    events = Curves(path).read()
    return {tag: events[tag] for tag in COUNTED}


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run that nobody disturbed, all of it in this process."""
    return train(Config(run=str(tmp_path_factory.mktemp("whole") / "run"), **OPTIONS))


@pytest.fixture
def no_cluster() -> Iterator[None]:
    """Ends the local cluster of a test."""
    yield
    if "ray" in sys.modules:
        sys.modules["ray"].shutdown()


@pytest.mark.parametrize("where", [{}, {"cluster": "local"}], ids=["processes", "cluster"])
@pytest.mark.usefixtures("no_cluster")
def test_players_killed_at_random_change_nothing(where: dict[str, Any], whole: Path, tmp_path: Path) -> None:
    learner = SelfPlay(Config(run=str(tmp_path / "run"), processes=2, **where, **OPTIONS))
    games: list[int] = []
    following = learner.executor.next

    def counted() -> tuple[int, Any]:
        key, result = following()
        if isinstance(result, RecordedValues):
            games.append(key)
        return key, result

    learner.executor.next = counted  # type: ignore[method-assign]
    with Killer(workers, lambda: len(games), (10, 70)) as killer:
        run_learner(learner)
    summary = f"{killer.kills} processes killed, {learner.executor.repeated} pieces begun again"
    print(f"{len(games)} pieces of games, {len(set(games))} different ones, {summary}")
    assert len(games) == len(set(games)) == 12 * 20
    assert killer.kills > 2
    assert learner.executor.repeated > 0
    assert checkpoint(tmp_path / "run") == checkpoint(whole)
    assert logged(tmp_path / "run") == logged(whole)


def test_a_learner_killed_at_random_goes_on_as_if_it_had_not_been(whole: Path, tmp_path: Path) -> None:
    rng, run, kept = Random(1), tmp_path / "run", list[int]()
    words = ["--run", str(run), *CLUSTER]
    for name, value in OPTIONS.items():
        words += [f"--{name.replace('_', '-')}", *map(str, value if isinstance(value, tuple) else (value,))]
    while len(kept) < 2:
        more = ["--resume"] if (run / "config.toml").exists() else []
        driver = subprocess.Popen(train_command("selfplay", [*words, *more]), stdout=subprocess.DEVNULL)
        goal = done(run) + rng.randint(1, 3)
        until(lambda: done(run) >= goal, driver)  # noqa: B023
        time.sleep(rng.uniform(0, 0.3))
        others = psutil.Process(driver.pid).children(recursive=True)
        driver.kill()
        driver.wait()
        kept.append(done(run))
        assert not (run / "results.json").exists()
        assert len(others) > 3  # the cluster's own and its workers, which end with their driver
        until(lambda: not any(alive(other.pid) for other in others))  # noqa: B023
    command = train_command("selfplay", [*words, "--resume"])
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    print(f"{len(kept)} learners killed, with {kept} of 12 iterations kept; 12 in all, logged once each")
    assert kept == sorted(kept)
    assert checkpoint(run) == checkpoint(whole)
    assert logged(run) == logged(whole)


def done(run: Path) -> int:
    """Returns how many iterations the last checkpoint of a run holds."""
    for name in ("state", "state.previous"):  # for a moment of each save, the one before is the last
        with suppress(UserError):
            return int(load_tensors(run / f"{name}.safetensors")[1]["done"])
    return 0
