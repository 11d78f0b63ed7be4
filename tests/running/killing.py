"""Kills random processes (kill -9), so that tests see whether work is lost."""

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
    """Kills a random one of `processes()` after every few pieces of work, inside its `with` block."""

    def __init__(
        self, processes: Callable[[], Sequence[int]], done: Callable[[], int], between: tuple[int, int], seed: int = 1
    ) -> None:
        """`done` returns the number of finished pieces; `between` has the minimum and maximum of pieces between two kills."""
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
            if self.done() >= due and (pids := self.processes()):
                try:
                    os.kill(self.rng.choice(pids), signal.SIGKILL)
                    self.kills += 1
                except ProcessLookupError:  # it has just ended
                    pass
                due = self.done() + self.rng.randint(*self.between)


def workers(parent: int | None = None) -> list[int]:
    """Returns the workers of a process (default: this one): those of a pool and those of a local Ray cluster.

    Ray's agents do not count: the node ends with them.
    """
    pids = []
    for process in psutil.Process(parent).children(recursive=True):
        try:
            words = process.cmdline()
        except psutil.Error:
            continue
        if words and (re.match(r"ray::(?!\w*Agent)", words[0]) or "spawn_main" in " ".join(words)):
            pids.append(process.pid)
    return pids


def alive(pid: int) -> bool:
    """Whether a process runs, and is not a zombie."""
    try:
        return bool(psutil.Process(pid).status() != psutil.STATUS_ZOMBIE)
    except psutil.NoSuchProcess:
        return False
