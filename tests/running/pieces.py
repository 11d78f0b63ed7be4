"""Work for tests of executors, in a module that other processes can import."""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path
from typing import NamedTuple

from leafwise.training.execution.executor import Executor, Ref
from running.killing import Killer


class Piece(NamedTuple):
    """A number to square after `seconds`."""

    number: int
    seconds: float = 0.0
    killed_unless: str = ""
    """Path of a file; if it does not exist, it is created and the process is killed."""
    times: Ref[int] | None = None
    """Factor of the square."""


def square(piece: Piece) -> tuple[int, int]:
    """Returns the square and the id of the process that computed it."""
    time.sleep(piece.seconds)
    if piece.killed_unless and not os.path.exists(piece.killed_unless):
        Path(piece.killed_unless).touch()
        os.kill(os.getpid(), signal.SIGKILL)
    return piece.number**2 * (1 if piece.times is None else piece.times.get()), os.getpid()


def leave(piece: Piece) -> None:
    """Ends its process."""
    os._exit(7)


def refuse(piece: Piece) -> None:
    """Raises ValueError."""
    raise ValueError(f"expected another number, got {piece.number}")


class Compiled:
    """Work that has to be compiled; each compilation writes a line with the process id to a file."""

    def __init__(self, folder: str) -> None:
        self.folder = Path(folder)

    def warm(self) -> None:
        """Compiles for half a second, if nobody has compiled yet."""
        if not (self.folder / "compiled").exists():
            with (self.folder / "log").open("a") as log:
                log.write(f"{os.getpid()}\n")
            time.sleep(0.5)
            (self.folder / "compiled").touch()

    def __call__(self, piece: Piece) -> int:
        """Returns the process id."""
        time.sleep(piece.seconds)
        return os.getpid()


def outlive_kills(executor: Executor[Piece, tuple[int, int]], count: int, recent: int, wait: tuple[int, int]) -> int:
    """Fails if the executor loses or repeats a piece while random ones of its `recent` last processes are killed.

    Returns the number of killed processes.
    """
    seen: list[int] = []
    keys: list[int] = []
    with Killer(lambda: seen[-recent:], lambda: len(seen), wait) as killer:
        for key, (result, pid) in executor.stream((k, Piece(k, 0.05)) for k in range(count)):
            seen.append(pid)
            assert result == key**2
            keys.append(key)
    print(f"{len(keys)} pieces; {killer.kills} processes killed, {executor.repeated} pieces repeated")
    assert sorted(keys) == list(range(count))
    assert killer.kills > 1
    assert executor.repeated > 0
    return killer.kills
