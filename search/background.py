"""Work in a thread of its own, so that Ctrl-C is heard while compiled code runs."""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable, Sequence
from functools import partial
from typing import Generic, TypeVar

R = TypeVar("R")
W = TypeVar("W")
I = TypeVar("I")


class Background(Generic[R]):
    """A call that runs in a daemon thread.

    Whoever waits does so for an Event, not in `Thread.join`: that takes a running thread for a finished one when Ctrl-C
    interrupts it.
    """

    def __init__(self, work: Callable[[], R]) -> None:
        """Starts the call."""
        self._work = work
        self._answer: list[R] = []
        self._problem: BaseException | None = None
        self._done = threading.Event()
        threading.Thread(target=self._run, daemon=True).start()

    def _run(self) -> None:
        try:
            self._answer.append(self._work())
        except BaseException as problem:
            self._problem = problem
        self._done.set()

    def wait(self, seconds: float) -> bool:
        """Waits for the call's end, at most `seconds`; returns whether it has ended. Raises KeyboardInterrupt."""
        return self._done.wait(seconds)

    def result(self) -> R:
        """Returns what the call returned, or raises what it raised; to be asked when it has ended."""
        if self._problem is not None:
            raise self._problem
        return self._answer[0]


class Alarm:
    """Calls back from a thread of its own when the caller's time is up, unless it is cancelled before."""

    def __init__(self, seconds: float, ring: Callable[[], None], clock: str = "wall") -> None:
        """Starts to wait; "cpu": until the calling thread has computed for so long, which not every system can tell."""
        self._read, self._ring, self._off = time.perf_counter, ring, threading.Event()
        if clock == "cpu":
            self._read = partial(time.clock_gettime, time.pthread_getcpuclockid(threading.get_ident()))
        self._end = self._read() + seconds
        threading.Thread(target=self._run, daemon=True).start()

    def _run(self) -> None:
        left = self._end - self._read()
        while left > 0:
            if self._off.wait(left):
                return
            try:
                left = self._end - self._read()
            except OSError:  # the thread whose time it was has ended meanwhile
                return
        if not self._off.is_set():
            self._ring()

    def cancel(self) -> None:
        """Calls the alarm off."""
        self._off.set()


def share_out(
    workers: Sequence[W], items: Sequence[I], work: Callable[[W, I], R], give_up: Callable[[], None]
) -> list[R]:
    """Returns `work(worker, item)` of all items in their order; each worker has a thread and takes the next item when free.

    The first worker's thread is the caller's. If a call fails, `give_up` is called to end the others, and what it raised is
    raised.
    """
    found: dict[int, R] = {}
    left = deque(enumerate(items))
    problems: list[BaseException] = []

    def run(worker: W) -> None:
        try:
            while not problems:
                try:
                    k, item = left.popleft()
                except IndexError:
                    return
                found[k] = work(worker, item)
        except BaseException as problem:
            problems.append(problem)
            give_up()

    others = [Background(lambda worker=worker: run(worker)) for worker in workers[1 : len(items)]]  # type: ignore[misc]
    run(workers[0])
    for other in others:
        while not other.wait(0.1):
            pass
    if problems:
        raise problems[0]
    return [found[k] for k in range(len(items))]
