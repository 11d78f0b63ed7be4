"""Work in a thread of its own, so that Ctrl-C is heard while compiled code runs."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Generic, TypeVar

R = TypeVar("R")


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
