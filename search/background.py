"""Work that threads share: the root actions of a search."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Sequence
from contextvars import ContextVar, copy_context
from typing import TypeVar

R = TypeVar("R")
W = TypeVar("W")
I = TypeVar("I")


working_for: ContextVar[tuple[int, ...]] = ContextVar("working_for", default=())
"""The threads that wait for the work of this one: who started it, and for whom that one works."""


def share_out(
    workers: Sequence[W], items: Sequence[I], work: Callable[[W, I], R], give_up: Callable[[], None]
) -> list[R]:
    """Returns `work(worker, item)` of all items in their order; each worker has a thread and takes the next item when free.

    The first worker's thread is the caller's, the others are daemons with its context variables. It waits for their Events, not in
    `Thread.join`: that takes a running thread for a finished one when Ctrl-C interrupts it. If a call fails, `give_up` is called to
    end the others, and what it raised is raised.
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

    starter, ends = threading.get_ident(), []

    def help_out(worker: W, end: threading.Event) -> None:
        working_for.set((*working_for.get(), starter))
        run(worker)
        end.set()

    for worker in workers[1 : len(items)]:
        ends.append(threading.Event())
        threading.Thread(target=copy_context().run, args=(help_out, worker, ends[-1]), daemon=True).start()
    run(workers[0])
    for end in ends:
        ended = False
        while not ended:
            try:
                ended = end.wait(0.1)
            except KeyboardInterrupt as problem:  # the others use the same memory until they have ended
                problems.insert(0, problem)
                give_up()
    if problems:
        raise problems[0]
    return [found[k] for k in range(len(items))]
