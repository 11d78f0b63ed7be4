"""A Ray cluster on this machine: the same results as everywhere, whatever is killed, and mismatches are told."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import leafwise
from leafwise.training.evaluation.arena import arena, evaluate
from leafwise.training.execution import cluster, executor_for
from leafwise.training.execution.executor import IncompatibleWorker
from running.pieces import Piece, leave, outlive_kills, refuse, square
from running.waiting import until

pytestmark = [
    pytest.mark.long,
    pytest.mark.filterwarnings("ignore"),  # Ray's own
    pytest.mark.skipif(sys.platform == "win32", reason="signals of POSIX"),
]
TESTS = Path(__file__).parents[2]
TRILOBITE = leafwise.game("trilobite")
WHERE: dict[str, Any] = {"cluster": "local", "processes": 2}


@pytest.fixture(autouse=True, scope="module")
def ends() -> Iterator[None]:
    """A cluster of two workers, which is gone after these tests."""
    import ray

    ray.shutdown()  # an earlier test's, whose workers do not know the tests
    before = os.environ.get("PYTHONPATH")
    os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, [str(TESTS), before]))
    yield
    ray.shutdown()
    if before is None:
        del os.environ["PYTHONPATH"]
    else:
        os.environ["PYTHONPATH"] = before


def pieces(n: int, seconds: float = 0.0) -> list[tuple[int, Piece]]:
    return [(k, Piece(k, seconds)) for k in range(n)]


def test_each_piece_comes_back_once_and_shared_things_reach_it() -> None:
    with executor_for(square, **WHERE) as executor:
        assert executor.slots == 2
        results = list(executor.stream(pieces(30)))
        assert sorted(key for key, _ in results) == list(range(30))
        assert all(result == key**2 for key, (result, _) in results)
        seven = executor.share(7)
        numbered = ((k, Piece(k, times=seven)) for k in range(6))
        assert [n for n, _ in executor.in_order(numbered)] == [7 * k * k for k in range(6)]
    with executor_for(refuse, **WHERE) as other, pytest.raises(ValueError, match="expected another number, got 0"):
        list(other.stream(pieces(1)))


def test_games_are_the_same_to_the_digit_everywhere() -> None:
    evaluations = [
        evaluate(TRILOBITE, "search:lines,depth=1", 40, 900_000, opponent="greedy", keep=True, **where)
        for where in ({}, {"processes": 2}, WHERE)
    ]
    for other in evaluations[1:]:
        assert np.array_equal(evaluations[0].scores, other.scores)
        assert evaluations[0].records == other.records
    arenas = [arena(TRILOBITE, ["random", "greedy"], 10, seed=5, **where) for where in ({}, {"processes": 2}, WHERE)]
    for tournament in arenas[1:]:
        assert {k: (p.result, p.moves) for k, p in tournament.played.items()} == {
            k: (p.result, p.moves) for k, p in arenas[0].played.items()
        }


@pytest.mark.parametrize(
    ("bad", "what"), [("leave", "its process ended with status 3"), ("hang", "took more than 2 s")]
)
def test_a_player_that_crashes_or_hangs_loses_and_the_cluster_does_not(bad: str, what: str) -> None:
    from games import faulty

    tournament = arena(faulty.GAME, ["last", bad], 4, plies=2, seconds=2 if bad == "hang" else 60, **WHERE)
    assert tournament.complete
    faults = [p.fault for p in tournament.played.values() if p.fault]
    assert faults
    assert all(fault["player"] == bad and what in fault["what"] for fault in faults)


def test_work_that_ends_its_process_each_time_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cluster, "MOST_LOSSES", 1)
    with (
        executor_for(leave, **WHERE) as executor,
        pytest.raises(RuntimeError, match=r"expected work that leaves its process alive, got one lost 1 times"),
    ):
        list(executor.stream(pieces(1)))


def test_workers_killed_at_random_cost_no_piece() -> None:
    with executor_for(square, **WHERE) as executor:
        outlive_kills(executor, 300, 4, (10, 80))


def test_a_mismatch_names_the_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    real = cluster.identity
    monkeypatch.setattr(cluster, "identity", lambda: {**real(), "leafwise": "99.0"})
    with pytest.raises(
        IncompatibleWorker, match=r"^expected leafwise 99.0 on the machine [\d.]+ as on the driver, got "
    ):
        executor_for(square, **WHERE)


def test_a_driver_killed_at_random_loses_no_game_and_plays_none_twice(tmp_path: Path) -> None:
    file = tmp_path / "games.json"
    words = ["eval", "trilobite", "random", "--opponent", "greedy", "--games", "4000", "--seed", "900000"]
    words += ["--file", str(file), "--resume", "--cluster", "local", "--processes", "2"]
    kills = 0
    for _ in range(2):
        driver = subprocess.Popen([sys.executable, "-m", "leafwise", *words], stdout=subprocess.DEVNULL)
        before = held(file)
        until(lambda: held(file) > before, driver)  # noqa: B023
        driver.kill()
        driver.wait()
        kills += 1
        assert held(file) < 4000
    counts = held(file)
    played: list[int] = []
    options: dict[str, Any] = {"opponent": "greedy", "file": file, "resume": True}
    resumed = evaluate(TRILOBITE, "random", 4000, 900_000, progress=played.append, **options, **WHERE)
    assert played[0] - counts in range(1, 11)
    assert played[-1] == 4000
    assert np.array_equal(resumed.scores, evaluate(TRILOBITE, "random", 4000, 900_000, opponent="greedy").scores)
    print(f"{kills} drivers killed, {counts} games kept from before, {4000 - counts} played after, 4000 in all")


def held(file: Path) -> int:
    """Returns how many games a file holds."""
    return sum(map(len, json.loads(file.read_text())["batches"].values())) if file.exists() else 0


NO_CLUSTER = "eval trilobite random --games 4 --cluster auto"


def test_a_missing_cluster_is_one_line() -> None:
    environment = {**os.environ, "RAY_ADDRESS": ""}
    run = subprocess.run(
        [sys.executable, "-m", "leafwise", *NO_CLUSTER.replace("auto", "127.0.0.1:1").split()],
        capture_output=True, text=True, env=environment,
    )  # fmt: skip
    assert run.returncode == 2
    assert run.stderr.splitlines()[-1].startswith("error: expected a running Ray cluster, got '127.0.0.1:1'")
