"""What all searches share: checked arguments, one call at a time, Ctrl-C and `stop`, the time limit, copies and pickles."""

from __future__ import annotations

import pickle
import threading
import time
import weakref
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar, copy_context
from dataclasses import fields
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar

import numpy as np

from leafwise.envs import registry
from leafwise.envs.core.compile.intrinsics import deadline_in
from leafwise.envs.core.contract.evaluator import Evaluator
from leafwise.envs.core.contract.game import Game, check_is_game
from leafwise.envs.core.errors import UserError, short
from leafwise.envs.core.interrupts import stoppable
from leafwise.search.search_options import SearchBuffers

if TYPE_CHECKING:
    from leafwise.search.search_options import MctsOptions, SearchOptions

R = TypeVar("R")
W = TypeVar("W")
I = TypeVar("I")


waiting_threads: ContextVar[tuple[int, ...]] = ContextVar("waiting_threads", default=())
"""Ids of the threads that wait for this one: the one that started it, and those that wait for that one."""


def share_out(
    workers: Sequence[W], items: Sequence[I], work: Callable[[W, I], R], give_up: Callable[[], None]
) -> list[R]:
    """Runs `work(worker, item)` for all items, a thread for each worker; returns the results in the order of the items.

    A worker takes the next item when it is free. The first one runs in the caller's thread, the others in daemon threads with its
    context variables. The caller waits for Events: `Thread.join` takes a running thread for a finished one when Ctrl-C interrupts
    it. If a call fails, `give_up` is called to end the others, and the error is raised again.
    """
    results: dict[int, R] = {}
    queue = deque(enumerate(items))
    errors: list[BaseException] = []

    def run(worker: W) -> None:
        try:
            while not errors:
                try:
                    k, item = queue.popleft()
                except IndexError:
                    return
                results[k] = work(worker, item)
        except BaseException as error:
            errors.append(error)
            give_up()

    caller, finished = threading.get_ident(), []

    def run_in_thread(worker: W, done: threading.Event) -> None:
        waiting_threads.set((*waiting_threads.get(), caller))
        run(worker)
        done.set()

    for worker in workers[1 : len(items)]:
        finished.append(threading.Event())
        threading.Thread(target=copy_context().run, args=(run_in_thread, worker, finished[-1]), daemon=True).start()
    run(workers[0])
    for done in finished:
        is_done = False
        while not is_done:
            try:
                is_done = done.wait(0.1)
            except KeyboardInterrupt as error:  # the other threads use the same memory until they end
                errors.insert(0, error)
                give_up()
    if errors:
        raise errors[0]
    return [results[k] for k in range(len(items))]


class BaseSearch(ABC):
    """A search of one game with one evaluator. Copies and pickles are built anew, with memory of their own."""

    kind: ClassVar[str]
    """What error messages call it."""
    game: Game
    evaluator: Evaluator
    options: Any
    """Its options, with all defaults filled in."""
    seconds: float | None
    """Time limit of a search; None: no limit."""
    _B: SearchBuffers
    _helpers: Sequence[BaseSearch] = ()
    """The searches of its other threads."""
    _reads_clock: bool
    """Whether its compiled code reads the clock itself."""

    def __init__(self, game: Game, evaluator: Evaluator, options: SearchOptions | MctsOptions) -> None:
        """Checks game, evaluator and options and fills in defaults; raises ValueError for what does not fit."""
        check_is_game(game, self.kind)
        if not isinstance(evaluator, Evaluator):
            expected = "an Evaluator, as leafwise.leaf(game, model) makes of a model"
            raise UserError(f"{self.kind}: expected {expected}, got {type(evaluator).__name__}")
        self.game, self.evaluator, self.options = game, evaluator, options.resolved(game, evaluator)
        self.seconds = self.options.seconds
        self._T = game.tables(evaluator, self.options.candidates)
        self._rules_T = self._T._replace(leaf=())
        """Tables without the evaluator's weights, so that the rules are compiled once for all evaluators."""
        self._lock, self._holder = threading.Lock(), 0
        self._loaded: set[Hashable] = set()

    @property
    def _workers(self) -> tuple[Any, ...]:
        """This search and those of its other threads. Not stored: in a cycle it would live until garbage is collected."""
        return (self, *self._helpers)

    def stop(self) -> None:
        """Ends the running search soon; it returns what it has found so far. Callable from any thread."""
        for worker in self._workers:
            worker._T.stop[0] = 1

    def _take_turn(self, work: Callable[[], R], searches: bool = False) -> R:
        """Runs `work` while no other call uses this search's memory, and returns its result.

        Other threads wait. Raises RuntimeError for a call by its own evaluator. If `work` searches, Ctrl-C ends it with
        KeyboardInterrupt.
        """
        if self._lock.locked() and self._holder in (threading.get_ident(), *waiting_threads.get()):
            raise RuntimeError(
                f"{self.kind}: expected no call while it searches, got one by its own evaluator; give that a search of its own"
            )
        with self._lock:
            try:
                self._holder = threading.get_ident()
                if not searches:
                    return work()
                stops = [worker._T.stop for worker in self._workers]
                for stop in stops:
                    stop[0] = 0
                self._begin_time()
                return stoppable(work, *stops)
            finally:
                self._holder = 0

    def _begin_time(self) -> None:
        """Starts the time of a search. The thread's own clock is read only if it limits the search: that is a system call."""
        self._start = time.perf_counter()
        if self.seconds is not None and self.options.clock == "cpu":
            self._cpu_start = time.thread_time()

    def _exclude_loading(self, what: Hashable) -> None:
        """Starts the time again after the first search of `what`: loading compiled code is excluded from the time limit."""
        if what not in self._loaded:
            self._loaded.add(what)
            self._begin_time()

    @contextmanager
    def _until_late(self, seconds: float) -> Iterator[None]:
        """Ends the compiled calls inside a `with` block when the time of this search is up."""
        clock = self.options.clock
        elapsed = time.perf_counter() - self._start if clock == "wall" else time.thread_time() - self._cpu_start
        remaining, workers = seconds - elapsed, self._workers
        alarm = None if self._reads_clock else Alarm(remaining, self.stop, clock)
        deadline = deadline_in(remaining, clock) if alarm is None else (0, 0)
        for worker in workers:
            worker._B.deadline[:2] = deadline
        try:
            yield
        finally:
            for worker in workers:
                worker._B.deadline[:2] = 0
            if alarm:
                alarm.cancel()

    @abstractmethod
    def _line(self, result: Any) -> tuple[str, ...]:
        """Returns the principal variation of a result of this search, as names."""

    def __copy__(self) -> Any:
        return type(self)(self.game, self.evaluator, **vars(self.options))

    def __deepcopy__(self, memo: dict[int, Any]) -> Any:
        return self.__copy__()

    def __reduce__(self) -> tuple[Any, ...]:
        return rebuilt, (type(self), self.game, pickled_leaf(self.game, self.evaluator), dict(vars(self.options)))


class Alarm:
    """Calls back from a thread of its own when the caller's time is up, unless it is cancelled first.

    For searches that cannot read the clock in compiled code: evaluators in Python, and systems without such a clock.
    """

    def __init__(self, seconds: float, callback: Callable[[], None], clock: str = "wall") -> None:
        """Starts to wait. With the clock "cpu" it waits for processor time of the calling thread, which not every system tells."""
        self._read, self._callback, self._cancelled = time.perf_counter, callback, threading.Event()
        if clock == "cpu":
            self._read = partial(time.clock_gettime, time.pthread_getcpuclockid(threading.get_ident()))
        self._end = self._read() + seconds
        threading.Thread(target=self._run, daemon=True).start()

    def _run(self) -> None:
        left = self._end - self._read()
        while left > 0:
            if self._cancelled.wait(left):
                return
            try:
                left = self._end - self._read()
            except OSError:  # the calling thread has ended meanwhile
                return
        if not self._cancelled.is_set():
            self._callback()

    def cancel(self) -> None:
        """Cancels the call."""
        self._cancelled.set()


class LineFinder:
    """Finds the principal variation of a result, by the search that returned it or, once that is gone, by a new one."""

    def __init__(self, search: BaseSearch) -> None:
        self._search = weakref.ref(search)
        self._parts = type(search), search.game, search.evaluator, vars(search.options)

    def __call__(self, result: Any) -> tuple[str, ...]:
        """Returns the names of the actions and outcomes."""
        search = self._search()
        return (rebuilt(*self._parts) if search is None else search)._line(result)


def rebuilt(kind: type[Any], game: Game, leaf: str | Evaluator, options: Mapping[str, Any]) -> Any:
    """Builds a search again from its parts; the leaf is an evaluator or its name."""
    return kind(game, registry.leaf(leaf, game) if isinstance(leaf, str) else leaf, **options)


def pickled_leaf(game: Game, evaluator: Evaluator) -> str | Evaluator:
    """Returns what to pickle for an evaluator: the name of the leaf that it is, or the evaluator itself.

    Raises ValueError for one whose functions no other process can find.
    """
    try:
        if is_same(registry.leaf(evaluator.name, game), evaluator):
            return evaluator.name
    except (UserError, Warning):  # not the name of a leaf, or of a file that must not be opened without a warning
        pass
    wanted = "expected a leaf with a name (a score, a file), or made of a module's functions, to pickle a search"
    check_pickles(evaluator, f"{wanted}, got {evaluator.name!r}")
    return evaluator


def check_pickles(value: Any, problem: str) -> None:
    """Raises ValueError, beginning with `problem`, for a value that cannot be pickled."""
    try:
        pickle.dumps(value)
    except Exception as error:  # pickle raises whatever the value's own methods raise
        raise UserError(f"{problem}: {short(error)}") from None


def is_same(first: Any, second: Any) -> bool:
    """Whether two evaluators, or parts of them, are equal."""
    if first is second:
        return True
    if type(first) is not type(second):
        return False
    if isinstance(first, Evaluator):
        names = [field.name for field in fields(first) if field.compare]
        return all(is_same(getattr(first, name), getattr(second, name)) for name in names)
    if isinstance(first, tuple):
        return len(first) == len(second) and all(map(is_same, first, second))
    if isinstance(first, np.ndarray):
        return first.dtype == second.dtype and np.array_equal(first, second)
    return bool(first == second)
