"""Executors: each piece comes back once, whatever happens to the processes that work."""

import os
import pickle
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from leafwise.training.execution import check_backend, executor_for, processes
from leafwise.training.execution.cluster import check_identity, identity
from leafwise.training.execution.executor import AHEAD, BatchingExecutor, Channel, Executor, SerialExecutor, WorkerLost
from leafwise.training.execution.processes import PickledRef, ProcessExecutor
from running.killing import alive
from running.pieces import Compiled, Piece, leave, outlive_kills, refuse, square
from running.waiting import until


def pieces(n: int, seconds: float = 0.0) -> list[tuple[int, Piece]]:
    return [(100 + k, Piece(k, seconds)) for k in range(n)]


@pytest.fixture(scope="module")
def pool() -> Iterator[Executor[Piece, tuple[int, int]]]:
    """Two processes."""
    with ProcessExecutor(square, 2) as executor:
        yield executor


def test_each_piece_comes_back_once(pool: Executor[Piece, tuple[int, int]]) -> None:
    for executor in (SerialExecutor(square), pool):
        results = list(executor.stream(pieces(20)))
        assert sorted(key for key, _ in results) == list(range(100, 120))
        assert all(result == (key - 100) ** 2 for key, (result, _) in results)
        assert [result for result, _ in executor.in_order(pieces(20))] == [k * k for k in range(20)]
    assert len({pid for _, (_, pid) in pool.stream(pieces(20, 0.02))} - {os.getpid()}) == 2


def test_pieces_are_asked_for_as_there_is_room(pool: Executor[Piece, tuple[int, int]]) -> None:
    asked: list[int] = []

    def drawn() -> Iterator[tuple[int, Piece]]:
        for one in pieces(30):
            asked.append(one[0])
            yield one

    for executor in (SerialExecutor(square), pool):
        for way in (executor.stream, executor.in_order):
            asked.clear()
            for done, _ in enumerate(way(drawn()), 1):
                most = AHEAD * executor.slots if way == executor.stream else 8 * executor.slots
                assert len(asked) <= done + most
            assert len(asked) == 30


def test_a_shared_thing_reaches_the_pieces(pool: Executor[Piece, tuple[int, int]]) -> None:
    for executor in (SerialExecutor(square), pool):
        seven, nine = executor.share(7), executor.share(9)
        numbered = ((k, Piece(k, times=seven if k % 2 else nine)) for k in range(6))
        assert [n for n, _ in executor.in_order(numbered)] == [k * k * (7 if k % 2 else 9) for k in range(6)]


def test_arrays_in_a_shared_thing_are_one_memory_that_nobody_else_sees_written() -> None:
    sent = PickledRef(("a", np.arange(5), np.arange(6.0)))
    one, other = (pickle.loads(pickle.dumps(sent))._fetch() for _ in range(2))
    one[1][:] = 7
    assert one[1].flags.aligned
    assert other[0] == "a"
    assert (other[1].tolist(), other[2].tolist()) == ([0, 1, 2, 3, 4], [0, 1, 2, 3, 4, 5])
    assert np.array_equal(one[2], other[2])


def test_large_results_come_back_and_leave_no_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    sizes = [1, processes.LARGE - 100, processes.LARGE, 10 * processes.LARGE]
    with ProcessExecutor(bytes, 1) as executor:
        assert [len(result) for result in executor.in_order(enumerate(sizes))] == sizes
        (folder,) = tmp_path.iterdir()
        assert not list(folder.iterdir())
    assert not list(tmp_path.iterdir())


def test_what_is_given_up_does_not_come_back(pool: Executor[Piece, tuple[int, int]]) -> None:
    for executor in (SerialExecutor(square), pool):
        for key, piece in pieces(6, 0.02):
            executor.submit(key, piece)
        executor.next()
        executor.cancel()
        assert [key for key, _ in executor.stream([(7, Piece(3))])] == [7]


def test_a_killed_process_costs_no_piece(tmp_path: Path) -> None:
    numbered = pieces(12) + [(7, Piece(50, 0.0, str(tmp_path / "killed")))]
    with ProcessExecutor(square, 2) as executor:
        results = list(executor.stream(numbered))
        assert sorted(key for key, _ in results) == [7, *range(100, 112)]
        assert dict(results)[7][0] == 2500
        assert executor.repeated > 0


def test_work_that_ends_its_process_each_time_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(processes, "MOST_BREAKS", 1)
    with (
        ProcessExecutor(leave, 1) as executor,
        pytest.raises(
            WorkerLost, match=r"expected work that leaves its process alive, got 2 processes that ended in a row"
        ),
    ):
        list(executor.stream(pieces(2)))


def test_what_the_work_raises_is_raised_here() -> None:
    with ProcessExecutor(refuse, 1) as executor, pytest.raises(ValueError, match="expected another number, got 0"):
        list(executor.stream(pieces(1)))


def test_one_of_a_machines_processes_compiles(tmp_path: Path) -> None:
    with ProcessExecutor(Compiled(str(tmp_path)), 2) as executor:
        pids = {pid for _, pid in executor.stream(pieces(8, 0.1))}
    assert len(pids) == 2
    assert len((tmp_path / "log").read_text().split()) == 1


@pytest.mark.long
def test_processes_killed_at_random_cost_no_piece() -> None:
    with ProcessExecutor(square, 3) as executor:
        kills = outlive_kills(executor, 600, 6, (50, 200))
        assert executor.repeated >= kills > 2


DRIVER = """
import sys
from leafwise.training.execution.processes import ProcessExecutor
from running.pieces import Piece, square
if __name__ == "__main__":
    with ProcessExecutor(square, 2) as executor:
        for key, (_, pid) in executor.stream((k, Piece(k, 0.2)) for k in range(10_000)):
            print(pid, flush=True)
"""


@pytest.mark.skipif(sys.platform == "win32", reason="signals of POSIX")
def test_processes_end_with_a_driver_that_is_killed(tmp_path: Path) -> None:
    script = tmp_path / "driver.py"
    script.write_text(DRIVER)
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])}
    command = [sys.executable, str(script)]
    pipe, null = subprocess.PIPE, subprocess.DEVNULL
    with subprocess.Popen(command, stdout=pipe, stderr=null, text=True, env=environment) as driver:
        assert driver.stdout is not None
        pids = {int(driver.stdout.readline()) for _ in range(6)}
        driver.kill()
    until(lambda: not any(alive(pid) for pid in pids))


@pytest.mark.parametrize(
    ("given", "problem"),
    [
        ((0, ""), "expected 1 to 1,024 processes, got 0"),
        ((1, "everywhere"), "expected a cluster auto, local or HOST:PORT, got 'everywhere'"),
        ((1, "ray://head:10001"), "expected a cluster auto, local or HOST:PORT, got 'ray://head:10001'"),
        ((2, "auto"), "expected processes of this machine or a running cluster, got 2 and 'auto'"),
    ],
)
def test_wrong_places_are_refused(given: tuple[int, str], problem: str) -> None:
    with pytest.raises(ValueError, match=problem):
        executor_for(square, *given)


def test_a_missing_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ray", None)
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(ValueError, match=r"expected ray, found none: pip install 'leafwise\[cluster\]'"):
        check_backend(1, "auto")


def test_what_differs_on_a_machine_is_one_line() -> None:
    versions = identity()
    check_identity(versions, "the machine 10.0.0.7")
    for name in ("Python", "leafwise", "sources"):
        with pytest.raises(
            ValueError, match=f"expected {name} 0 on the machine 10.0.0.7 as on the driver, got {versions[name]}"
        ):
            check_identity({**versions, name: "0"}, "the machine 10.0.0.7")
    with pytest.raises(ValueError, match=r"expected game pig abc on the machine x as on the driver, got none"):
        check_identity({**versions, "game pig": "abc"}, "the machine x")


NO_RAY = """
import sys
sys.modules["ray"] = None  # importing it now raises ImportError
import leafwise
from leafwise.training.evaluation.arena import arena, evaluate
import leafwise.training.dataset, leafwise.training.publish, leafwise.training.selfplay.selfplay, leafwise.training.dqn.dqn
import leafwise.commands.eval, leafwise.commands.arena, leafwise.experiments.friday.baselines
from leafwise.training.execution import executor_for
from running.pieces import Piece, square
if __name__ == "__main__":
    for processes in (1, 2):
        with executor_for(square, processes) as executor:
            print(sorted(n for _, (n, _) in executor.stream((k, Piece(k)) for k in range(4))))
"""


def test_no_ray_is_imported_where_none_is_asked_for(tmp_path: Path) -> None:
    script = tmp_path / "no_ray.py"
    script.write_text(NO_RAY)
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])}
    run = subprocess.run([sys.executable, str(script)], capture_output=True, text=True, env=environment)
    assert (run.returncode, run.stdout) == (0, "[0, 1, 4, 9]\n" * 2), run.stderr


def test_an_executor_ends_while_pieces_are_under_way() -> None:
    begun = time.monotonic()
    with ProcessExecutor(square, 1) as executor:
        list(executor.stream(pieces(1)))
        executor.submit(1, Piece(1, 600.0))
    assert time.monotonic() - begun < 300


def test_those_who_share_an_executor_hear_of_their_own_pieces(pool: Executor[Piece, tuple[int, int]]) -> None:
    for executor in (SerialExecutor(square), pool):
        owners: dict[int, Any] = {}
        one, other = (Channel(executor, owners) for _ in range(2))
        for key in range(5):
            one.submit(key, Piece(key))
        assert [n for n, _ in other.in_order((k, Piece(10 * k)) for k in range(5))] == [100 * k * k for k in range(5)]
        assert sorted(one.next()[0] for _ in range(3)) != []
        one.cancel()
        assert not owners
        assert [key for key, _ in one.stream([(9, Piece(3))])] == [9]


def squares(bundle: tuple[Piece, ...]) -> list[int]:
    return [square(piece)[0] for piece in bundle]


def test_short_pieces_travel_in_bundles() -> None:
    sizes: list[int] = []

    def work(bundle: tuple[Piece, ...]) -> list[int]:
        sizes.append(len(bundle))
        return squares(bundle)

    executor: BatchingExecutor[Piece, int] = BatchingExecutor(SerialExecutor(work), 0.5, 200, 16)
    results = dict(executor.stream(pieces(200)))
    assert results == {100 + k: k * k for k in range(200)}
    assert max(sizes) == 16
    assert sum(sizes) == 200
    assert sizes[-3:] == [1, 1, 1]
    sizes.clear()
    assert list(BatchingExecutor(SerialExecutor(work), 0.05, 6).in_order(pieces(6, 0.1))) == [k * k for k in range(6)]
    assert max(sizes) <= 2
