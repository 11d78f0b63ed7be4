"""What every search has: parts that fit, whose turn it is, Ctrl-C and `stop`, the clock, and copies."""

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
from leafwise.search.search_options import Buffers

if TYPE_CHECKING:
    from leafwise.search.search_options import MctsOptions, SearchOptions

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


class BaseSearch(ABC):
    """A search of one game with one leaf; its copies and pickles are made anew, with memory of their own."""

    kind: ClassVar[str]
    """Whom messages speak of."""
    game: Game
    evaluator: Evaluator
    options: Any
    """The options that it was made with, those that were left to it resolved."""
    seconds: float | None
    """Time for a search; None: no limit."""
    _B: Buffers
    _others: Sequence[BaseSearch] = ()
    """Who shares its work."""
    _reads_clock: bool
    """Whether its compiled code looks at the clock itself."""

    def __init__(self, game: Game, evaluator: Evaluator, options: SearchOptions | MctsOptions) -> None:
        """Takes the parts; raises ValueError for those that do not fit."""
        check_is_game(game, self.kind)
        if not isinstance(evaluator, Evaluator):
            expected = "an Evaluator, as leafwise.leaf(game, model) makes of a model"
            raise UserError(f"{self.kind}: expected {expected}, got {type(evaluator).__name__}")
        self.game, self.evaluator, self.options = game, evaluator, options.resolved(game, evaluator)
        self.seconds = self.options.seconds
        self._T = game.tables(evaluator, self.options.candidates)
        self._rules_T = self._T._replace(leaf=())
        """Tables without the leaf's weights, for which rules are compiled once."""
        self._lock, self._holder = threading.Lock(), 0
        self._loaded: set[Hashable] = set()

    @property
    def _workers(self) -> tuple[Any, ...]:
        """Itself and who shares its work; not kept: a search in a cycle keeps its memory until garbage is looked for."""
        return (self, *self._others)

    def stop(self) -> None:
        """Ends the running search soon; it answers with what it knows. Callable from any thread."""
        for worker in self._workers:
            worker._T.stop[0] = 1

    def _take_turn(self, work: Callable[[], R], searches: bool = False) -> R:
        """Returns what `work` returns, alone with the memory of this search: other threads wait, its own evaluator is refused.

        Where it `searches`, Ctrl-C ends it with KeyboardInterrupt.
        """
        if self._lock.locked() and self._holder in (threading.get_ident(), *working_for.get()):
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
        """Begins the time of a search; only where it counts is the thread's own clock read, by a call of the system."""
        self._start = time.perf_counter()
        if self.seconds is not None and self.options.clock == "cpu":
            self._cpu_start = time.thread_time()

    def _exclude_loading(self, what: Hashable) -> None:
        """Begins the time anew after the first search of `what`: loading compiled code is excluded from the time limit."""
        if what not in self._loaded:
            self._loaded.add(what)
            self._begin_time()

    @contextmanager
    def _until_late(self, seconds: float) -> Iterator[None]:
        """Ends the compiled calls of a block when the time of this search is up."""
        clock = self.options.clock
        spent = time.perf_counter() - self._start if clock == "wall" else time.thread_time() - self._cpu_start
        left, workers = seconds - spent, self._workers
        alarm = None if self._reads_clock else Alarm(left, self.stop, clock)
        deadline = deadline_in(left, clock) if alarm is None else (0, 0)
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
        """Returns the principal line of a result of this search."""

    def __copy__(self) -> Any:
        return type(self)(self.game, self.evaluator, **vars(self.options))

    def __deepcopy__(self, memo: dict[int, Any]) -> Any:
        return self.__copy__()

    def __reduce__(self) -> tuple[Any, ...]:
        return made, (type(self), self.game, pickled_leaf(self.game, self.evaluator), dict(vars(self.options)))


class Alarm:
    """Calls back from a thread of its own when the caller's time is up, unless it is cancelled before.

    For searches whose code cannot look at the clock itself: leaves in Python, systems whose clock compiled code does not read.
    """

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


class Line:
    """Finds the principal line of a result: by the search that it is of, or one made anew where that is gone."""

    def __init__(self, search: BaseSearch) -> None:
        self._search = weakref.ref(search)
        self._parts = type(search), search.game, search.evaluator, vars(search.options)

    def __call__(self, result: Any) -> tuple[str, ...]:
        """Returns the names of the line."""
        search = self._search()
        return (made(*self._parts) if search is None else search)._line(result)


def made(kind: type[Any], game: Game, leaf: str | Evaluator, options: Mapping[str, Any]) -> Any:
    """Returns a search of its parts; a leaf may be told by its name."""
    return kind(game, registry.leaf(leaf, game) if isinstance(leaf, str) else leaf, **options)


def pickled_leaf(game: Game, evaluator: Evaluator) -> str | Evaluator:
    """Returns what a leaf is pickled as: its name where one stands for it, else itself.

    Raises ValueError for a leaf of functions that no other process can find.
    """
    try:
        if is_same(registry.leaf(evaluator.name, game), evaluator):
            return evaluator.name
    except (UserError, Warning):  # no name of a leaf; or of a file that is not to be opened without a word
        pass
    expected = "expected a leaf that has a name like a score's or a file's, or is made of a module's functions, to pickle a search"
    check_pickles(evaluator, f"{expected}, got {evaluator.name!r}")
    return evaluator


def check_pickles(thing: Any, problem: str) -> None:
    """Raises ValueError for what cannot be pickled."""
    try:
        pickle.dumps(thing)
    except Exception as reason:  # pickle raises whatever the parts' own methods do
        raise UserError(f"{problem}: {short(reason)}") from None


def is_same(first: Any, second: Any) -> bool:
    """Whether two leaves, or parts of leaves, are the same thing made twice."""
    if first is second:
        return True
    if type(first) is not type(second):
        return False
    if isinstance(first, Evaluator):
        compared = [field.name for field in fields(first) if field.compare]
        return all(is_same(getattr(first, name), getattr(second, name)) for name in compared)
    if isinstance(first, tuple):
        return len(first) == len(second) and all(map(is_same, first, second))
    if isinstance(first, np.ndarray):
        return first.dtype == second.dtype and np.array_equal(first, second)
    return bool(first == second)
