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
LISTENING_SECONDS, UNKNOWN_DEPTH = 0.25, 4
"""A search that is expected to take so long, or a first one from that depth on, is listened to."""
FORGETTING = 0.5
"""How much of a long search is still expected of each one after it."""
SOON = 0.01
"""Searches that are expected to take less seconds are timed by the wall's clock."""


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

    def wait_listening(self, stop: Callable[[], None]) -> KeyboardInterrupt | None:
        """Waits for the call's end; Ctrl-C calls `stop`, again and again until it helps. Returns what Ctrl-C raised."""
        pressed: KeyboardInterrupt | None = None
        while True:
            try:
                if self.wait(0.1):
                    return pressed
            except KeyboardInterrupt as interrupt:
                pressed = interrupt
            if pressed is not None:
                stop()

    def result(self) -> R:
        """Returns what the call returned, or raises what it raised; to be asked when it has ended."""
        if self._problem is not None:
            raise self._problem
        return self._answer[0]


class Patience:
    """Knows what to expect of the next search, by what those before it took: one that is soon over needs nobody who listens.

    A thread of its own costs a search 0.1 ms, and on a busy core 10 and more.
    """

    expected: float | None = None
    """Processor time that the next search to the same depth may take, in seconds; None before the first."""

    def is_needed(self, depth: int, seconds: float | None) -> bool:
        """Whether the next search may take long enough to press Ctrl-C; `seconds` are those of its clock, if any."""
        expected = self.expected if seconds is None else seconds
        return depth >= UNKNOWN_DEPTH if expected is None else expected >= LISTENING_SECONDS

    def timed(self, work: Callable[[], R]) -> R:
        """Returns what a search returns, and notes what it took this thread, which on a busy core waits besides.

        Where all is soon over the wall's clock will do: it is read ten times as fast, and errs to the safe side.
        """
        expected = self.expected
        clock = time.perf_counter if expected is not None and expected < SOON else time.thread_time
        begun = clock()
        try:
            return work()
        finally:
            self.expected = max(clock() - begun, FORGETTING * (expected or 0.0))


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
