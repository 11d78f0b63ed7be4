"""Work that threads share: the root actions of a search."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Sequence
from contextvars import ContextVar, copy_context
from typing import Generic, TypeVar

R = TypeVar("R")
W = TypeVar("W")
I = TypeVar("I")


working_for: ContextVar[tuple[int, ...]] = ContextVar("working_for", default=())
"""The threads that wait for the work of this one: who started it, and for whom that one works."""


class Background(Generic[R]):
    """A call that runs in a daemon thread, with the context variables of the thread that starts it.

    Whoever waits does so for an Event, not in `Thread.join`: that takes a running thread for a finished one when Ctrl-C
    interrupts it.
    """

    def __init__(self, work: Callable[[], R]) -> None:
        """Starts the call."""
        self._work = work
        self._answer: list[R] = []
        self._problem: BaseException | None = None
        self._done = threading.Event()
        self._starter = threading.get_ident()
        threading.Thread(target=copy_context().run, args=(self._run,), daemon=True).start()

    def _run(self) -> None:
        working_for.set((*working_for.get(), self._starter))
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
        ended = False
        while not ended:
            try:
                ended = other.wait(0.1)
            except KeyboardInterrupt as problem:  # the others use the same memory until they have ended
                problems.insert(0, problem)
                give_up()
    if problems:
        raise problems[0]
    return [found[k] for k in range(len(items))]
