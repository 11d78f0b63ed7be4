"""Work for tests of executors, which other processes can import."""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path
from typing import NamedTuple

from leafwise.training.execution.executor import Executor, Ref
from running.killing import Killer


class Piece(NamedTuple):
    """A number to square, after a while."""

    number: int
    seconds: float = 0.0
    killed_unless: str = ""
    """A file: where there is none, it is made, and the process is killed."""
    times: Ref[int] | None = None
    """What the square is multiplied by."""


def square(piece: Piece) -> tuple[int, int]:
    """Returns the square, and the process that worked it out."""
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
    """Work that has something to compile: a line in a file tells of each time that it was, and how much it overlapped."""

    def __init__(self, folder: str) -> None:
        self.folder = Path(folder)

    def warm(self) -> None:
        """Compiles for a while, or finds that it is compiled."""
        if not (self.folder / "compiled").exists():
            with (self.folder / "log").open("a") as log:
                log.write(f"{os.getpid()}\n")
            time.sleep(0.5)
            (self.folder / "compiled").touch()

    def __call__(self, piece: Piece) -> int:
        """Returns the process."""
        time.sleep(piece.seconds)
        return os.getpid()


def outlive_kills(executor: Executor[Piece, tuple[int, int]], count: int, recent: int, wait: tuple[int, int]) -> int:
    """Works on pieces while processes are killed at random, of those that worked on the most recent ones; none is lost.

    Returns how many were killed.
    """
    seen: list[int] = []
    found: list[int] = []
    with Killer(lambda: seen[-recent:], lambda: len(seen), wait) as killer:
        for key, (result, pid) in executor.stream((k, Piece(k, 0.05)) for k in range(count)):
            seen.append(pid)
            assert result == key**2
            found.append(key)
    told = f"{killer.kills} processes killed and {executor.repeated} pieces begun again"
    print(f"{len(found)} pieces, each once, with {told}")
    assert sorted(found) == list(range(count))
    assert killer.kills > 1
    assert executor.repeated > 0
    return killer.kills
