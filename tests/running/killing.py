"""Processes killed at random (kill -9), so that tests see whether what they worked on is lost."""

from __future__ import annotations

import os
import re
import signal
import threading
from collections.abc import Callable, Sequence
from random import Random
from types import TracebackType

import psutil


class Killer:
    """Kills one of the processes that there are, at random, whenever some work has been done; while its `with` block lasts."""

    def __init__(
        self, processes: Callable[[], Sequence[int]], done: Callable[[], int], between: tuple[int, int], seed: int = 1
    ) -> None:
        """`done` says how many pieces of work are done, `between` the least and most of them from one kill to the next."""
        self.processes, self.done, self.between, self.rng = processes, done, between, Random(seed)
        self.kills = 0
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run)

    def __enter__(self) -> Killer:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, problem: BaseException | None, where: TracebackType | None
    ) -> None:
        self._stop.set()
        self._thread.join()

    def _run(self) -> None:
        due = self.rng.randint(*self.between)
        while not self._stop.wait(0.01):
            if self.done() >= due and (found := self.processes()):
                try:
                    os.kill(self.rng.choice(found), signal.SIGKILL)
                    self.kills += 1
                except ProcessLookupError:  # it has just ended
                    pass
                due = self.done() + self.rng.randint(*self.between)


def workers(parent: int | None = None) -> list[int]:
    """Returns the processes that work for one (default: this): those of a pool, and the workers of a local Ray cluster.

    Ray's agents are no workers: they are the machine, which ends with them.
    """
    found = []
    for process in psutil.Process(parent).children(recursive=True):
        try:
            words = process.cmdline()
        except psutil.Error:
            continue
        if words and (re.match(r"ray::(?!\w*Agent)", words[0]) or "spawn_main" in " ".join(words)):
            found.append(process.pid)
    return found


def alive(pid: int) -> bool:
    """Whether a process is there and has not ended."""
    try:
        return bool(psutil.Process(pid).status() != psutil.STATUS_ZOMBIE)
    except psutil.NoSuchProcess:
        return False
