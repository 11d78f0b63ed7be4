"""The protocol of executors: callers submit pieces of work with keys, and receive the results in any order.

A piece contains everything its result depends on, including its seed. So its result does not depend on where it runs, and a piece
whose process or machine is lost runs again with the same result.
"""

from __future__ import annotations

import itertools
import time
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from typing import Any, Generic, Protocol, Self, TypeVar

from leafwise.envs.core.errors import UserError

P = TypeVar("P")
R = TypeVar("R")
T = TypeVar("T")
T_co = TypeVar("T_co", covariant=True)
_numbers = itertools.count()

AUTO, LOCAL = "auto", "local"
"""Names of clusters: the one that this machine belongs to, and a new one on this machine's cores."""
AHEAD = 2
"""Pieces in flight per slot. A worker never waits for its next piece, and a lost machine loses few pieces."""
KEPT = 8
"""Maximum number of submitted pieces per slot whose results are not yet yielded, if they are yielded in order."""


class IncompatibleWorker(UserError):
    """The cluster does not exist, or one of its machines runs other versions or sources."""


class WorkerLost(UserError, RuntimeError):
    """The process of a piece of work ended several times."""


class Ref(Protocol[T_co]):
    """Reference to an object that many pieces use. The object is sent once."""

    def get(self) -> T_co:
        """Returns the object, in the process that runs the piece."""


class Executor(ABC, Generic[P, R]):
    """Runs one kind of work; `leafwise.training.execution.executor_for` creates it.

    Leaving a `with` block cancels all unfinished pieces and closes the executor.
    """

    slots: int = 1
    """Number of pieces that run at the same time."""
    repeated: int = 0
    """Number of pieces that ran again because their process or machine was lost."""

    @abstractmethod
    def submit(self, key: int, piece: P) -> None:
        """Submits a piece; its key must differ from those of all unfinished pieces."""

    @abstractmethod
    def next(self) -> tuple[int, R]:
        """Waits for a finished piece; returns its key and result, once for each piece.

        Raises what the work raises, and `WorkerLost` if a piece ends its process each time.
        """

    @abstractmethod
    def cancel(self, *keys: int) -> None:
        """Cancels these pieces, or all unfinished ones; their results are not returned."""

    def shutdown(self) -> None:
        """Cancels all unfinished pieces and closes the executor."""
        self.cancel()

    def share(self, obj: T) -> Ref[T]:
        """Returns a reference to an object for use in pieces (default: the object itself, sent with each piece)."""
        return LocalRef(obj)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: Any) -> None:
        self.shutdown()

    def stream(self, pieces: Iterable[tuple[int, P]]) -> Iterator[tuple[int, R]]:
        """Yields key and result of every piece as it finishes; takes new pieces as slots become free."""
        waiting, in_flight = iter(pieces), 0
        while True:
            while in_flight < AHEAD * self.slots and (one := next(waiting, None)) is not None:
                self.submit(*one)
                in_flight += 1
            if not in_flight:
                return
            yield self.next()
            in_flight -= 1

    def in_order(self, pieces: Iterable[tuple[int, P]]) -> Iterator[R]:
        """Yields the results in the order of the pieces. A caller that stops early calls `cancel`."""
        waiting, order = iter(pieces), deque[int]()
        done: dict[int, R] = {}
        while True:
            while (
                len(order) - len(done) < AHEAD * self.slots
                and len(order) < KEPT * self.slots
                and (one := next(waiting, None)) is not None
            ):
                self.submit(*one)
                order.append(one[0])
            if not order:
                return
            if order[0] in done:
                yield done.pop(order.popleft())
            else:
                key, result = self.next()
                done[key] = result


class LocalRef(Generic[T]):
    """Reference to an object of this process."""

    def __init__(self, obj: T) -> None:
        self.obj = obj

    def get(self) -> T:
        """Returns the object."""
        return self.obj


class SerialExecutor(Executor[P, R]):
    """Runs pieces one after another in this process, when their results are requested."""

    def __init__(self, work: Callable[[P], R]) -> None:
        self.work = work
        self._waiting: deque[tuple[int, P]] = deque()

    def submit(self, key: int, piece: P) -> None:
        """Submits a piece."""
        self._waiting.append((key, piece))

    def next(self) -> tuple[int, R]:
        """Runs the piece that was submitted first."""
        key, piece = self._waiting.popleft()
        return key, self.work(piece)

    def cancel(self, *keys: int) -> None:
        """Drops the submitted pieces."""
        self._waiting = deque((key, piece) for key, piece in self._waiting if keys and key not in keys)


class Channel(Executor[P, R]):
    """Channel of one of several users of the same executor, with its own keys and results."""

    def __init__(self, executor: Executor[P, R], owners: dict[int, tuple[Channel[P, R], int]]) -> None:
        """All channels share `owners`: the channel and the key of each unfinished piece."""
        self.executor, self._owners = executor, owners
        self._done: deque[tuple[int, R]] = deque()

    @property
    def slots(self) -> int:  # type: ignore[override]
        """Number of pieces that the executor runs at the same time."""
        return self.executor.slots

    def submit(self, key: int, piece: P) -> None:
        """Submits a piece."""
        number = next(_numbers)
        self._owners[number] = self, key
        self.executor.submit(number, piece)

    def next(self) -> tuple[int, R]:
        """Returns a finished piece of this user; passes finished pieces of others on to them."""
        while not self._done:
            number, result = self.executor.next()
            owner, key = self._owners.pop(number)
            owner._done.append((key, result))
        return self._done.popleft()

    def cancel(self, *keys: int) -> None:
        """Cancels this user's pieces."""
        numbers = [n for n, (owner, key) in self._owners.items() if owner is self and (not keys or key in keys)]
        for number in numbers:
            del self._owners[number]
        if numbers:
            self.executor.cancel(*numbers)
        self._done = deque(one for one in self._done if keys and one[0] not in keys)

    def share(self, obj: T) -> Ref[T]:
        """Returns a reference to an object for use in pieces."""
        return self.executor.share(obj)


class BatchingExecutor(Executor[P, R]):
    """Sends short pieces in batches of about `seconds` of work, because each transfer takes time.

    Batches get smaller towards the end, so that no process finishes much later than the others.
    """

    def __init__(self, executor: Executor[tuple[P, ...], list[R]], seconds: float, pieces: int, most: int = 64) -> None:
        """The executor runs batches of at most `most` out of `pieces` pieces; it returns their results in order."""
        self.executor, self.seconds, self.most = executor, seconds, most
        self.size, self._left = 1, pieces
        self._waiting: deque[tuple[int, P]] = deque()
        self._in_flight: dict[int, tuple[list[int], float]] = {}
        self._done: deque[tuple[int, R]] = deque()

    @property
    def slots(self) -> int:  # type: ignore[override]
        """Number of pieces in the batches that run at the same time."""
        return self.executor.slots * self.size

    def submit(self, key: int, piece: P) -> None:
        """Submits a piece."""
        self._waiting.append((key, piece))

    def next(self) -> tuple[int, R]:
        """Waits for a finished piece; returns its key and result."""
        while not self._done:
            while self._waiting and len(self._in_flight) < AHEAD * self.executor.slots:
                size = max(1, min(self.size, len(self._waiting), self._left // (AHEAD * self.executor.slots)))
                batch = [self._waiting.popleft() for _ in range(size)]
                self._left -= size
                self._in_flight[batch[0][0]] = [key for key, _ in batch], time.monotonic()
                self.executor.submit(batch[0][0], tuple(piece for _, piece in batch))
            first, results = self.executor.next()
            keys, begun = self._in_flight.pop(first)
            each = (time.monotonic() - begun) / (AHEAD * len(keys))  # the batch waited for the one before it
            self.size = max(1, min(self.most, 2 * self.size, int(self.seconds / max(each, 1e-6))))
            self._done.extend(zip(keys, results, strict=True))
        self.repeated = self.executor.repeated
        return self._done.popleft()

    def cancel(self, *keys: int) -> None:
        """Cancels all pieces; it cannot cancel single ones."""
        self.executor.cancel()
        for queue in (self._waiting, self._in_flight, self._done):
            queue.clear()

    def shutdown(self) -> None:
        """Cancels all pieces and closes the executor."""
        self.cancel()
        self.executor.shutdown()
