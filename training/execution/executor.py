"""The protocol of executors: pieces of work, each known by a key, are handed over, and their results come back in any order.

A piece holds all that its result depends on, its seed too. So where it is worked on changes nothing, and a piece whose process or
machine is gone is begun again, and comes to the same.
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
"""Clusters by name: the one that this machine belongs to, and one of this machine's cores."""
AHEAD = 2
"""Pieces in flight for each that is worked on: the next is there when one is done, and what is lost with a machine is little."""
KEPT = 8
"""Results for each piece that is worked on that may wait for an earlier one, where they are wanted in order."""


class Unfit(UserError):
    """There is no such cluster, or what runs on a machine of it is not what runs here."""


class Lost(UserError, RuntimeError):
    """A piece of work whose process ended again and again."""


class Shared(Protocol[T_co]):
    """Stands for a thing in pieces of work, so that it travels once, however many of them hold it."""

    def get(self) -> T_co:
        """Returns the thing, where the piece is worked on."""


class Executor(ABC, Generic[P, R]):
    """Does one kind of work, made for it by `leafwise.training.execution.executor_for`.

    Leaving a `with` block ends it, and what it still works on.
    """

    slots: int = 1
    """Pieces that are worked on at the same time."""
    repeated: int = 0
    """Pieces that were begun again, since their process or machine was gone."""

    @abstractmethod
    def submit(self, key: int, piece: P) -> None:
        """Takes a piece; no other that is not done yet has this key."""

    @abstractmethod
    def next(self) -> tuple[int, R]:
        """Returns the key and the result of a piece that is done, once for each; waits until there is one.

        Raises what the work raises, and `Lost` where a piece ends its process each time.
        """

    @abstractmethod
    def cancel(self, *keys: int) -> None:
        """Gives up these pieces, or all that are not done yet; their results are not returned."""

    def shutdown(self) -> None:
        """Gives up what is not done yet, and takes no more."""
        self.cancel()

    def share(self, thing: T) -> Shared[T]:
        """Returns what stands for a thing in pieces (default: the thing, which travels with each of them)."""
        return Own(thing)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: Any) -> None:
        self.shutdown()

    def stream(self, pieces: Iterable[tuple[int, P]]) -> Iterator[tuple[int, R]]:
        """Yields key and result of every piece as they are done; pieces are asked for as there is room for them."""
        waiting, flying = iter(pieces), 0
        while True:
            while flying < AHEAD * self.slots and (one := next(waiting, None)) is not None:
                self.submit(*one)
                flying += 1
            if not flying:
                return
            yield self.next()
            flying -= 1

    def in_order(self, pieces: Iterable[tuple[int, P]]) -> Iterator[R]:
        """Yields the results in the order of the pieces. Whoever leaves early calls `cancel` for what is under way."""
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


class Own(Generic[T]):
    """A thing that is used where it is."""

    def __init__(self, thing: T) -> None:
        self.thing = thing

    def get(self) -> T:
        """Returns the thing."""
        return self.thing


class Here(Executor[P, R]):
    """Works in this process, on one piece after another, when their results are asked for."""

    def __init__(self, work: Callable[[P], R]) -> None:
        self.work = work
        self._waiting: deque[tuple[int, P]] = deque()

    def submit(self, key: int, piece: P) -> None:
        """Takes a piece."""
        self._waiting.append((key, piece))

    def next(self) -> tuple[int, R]:
        """Works on the piece that was submitted first."""
        key, piece = self._waiting.popleft()
        return key, self.work(piece)

    def cancel(self, *keys: int) -> None:
        """Forgets what was submitted."""
        self._waiting = deque((key, piece) for key, piece in self._waiting if keys and key not in keys)


class Line(Executor[P, R]):
    """One of several who hand work to the same executor, each with keys of its own, and hear only of their own pieces."""

    def __init__(self, executor: Executor[P, R], owners: dict[int, tuple[Line[P, R], int]]) -> None:
        """`owners` is the same for all of them: who submitted the pieces that are under way, and under what key."""
        self.executor, self._owners = executor, owners
        self._done: deque[tuple[int, R]] = deque()

    @property
    def slots(self) -> int:  # type: ignore[override]
        """Pieces that the executor works on at the same time."""
        return self.executor.slots

    def submit(self, key: int, piece: P) -> None:
        """Takes a piece."""
        number = next(_numbers)
        self._owners[number] = self, key
        self.executor.submit(number, piece)

    def next(self) -> tuple[int, R]:
        """Returns a piece of this one's that is done; what is done of the others they are told."""
        while not self._done:
            number, result = self.executor.next()
            owner, key = self._owners.pop(number)
            owner._done.append((key, result))
        return self._done.popleft()

    def cancel(self, *keys: int) -> None:
        """Gives up this one's pieces."""
        numbers = [n for n, (owner, key) in self._owners.items() if owner is self and (not keys or key in keys)]
        for number in numbers:
            del self._owners[number]
        if numbers:
            self.executor.cancel(*numbers)
        self._done = deque(one for one in self._done if keys and one[0] not in keys)

    def share(self, thing: T) -> Shared[T]:
        """Returns what stands for a thing in pieces."""
        return self.executor.share(thing)


class Bundles(Executor[P, R]):
    """Hands short pieces over several at a time, about as many as are done in `seconds`: each that travels costs time.

    Towards the last of them bundles get smaller again, so that nobody waits long for the one who has the last.
    """

    def __init__(self, executor: Executor[tuple[P, ...], list[R]], seconds: float, pieces: int, most: int = 64) -> None:
        """The executor works on bundles, at most `most` in one, of so many pieces in all; it returns their results in order."""
        self.executor, self.seconds, self.most = executor, seconds, most
        self.size, self._left = 1, pieces
        self._waiting: deque[tuple[int, P]] = deque()
        self._flying: dict[int, tuple[list[int], float]] = {}
        self._done: deque[tuple[int, R]] = deque()

    @property
    def slots(self) -> int:  # type: ignore[override]
        """Pieces that are worked on, or lie in a bundle that is worked on."""
        return self.executor.slots * self.size

    def submit(self, key: int, piece: P) -> None:
        """Takes a piece."""
        self._waiting.append((key, piece))

    def next(self) -> tuple[int, R]:
        """Returns the key and the result of a piece that is done."""
        while not self._done:
            while self._waiting and len(self._flying) < AHEAD * self.executor.slots:
                size = max(1, min(self.size, len(self._waiting), self._left // (AHEAD * self.executor.slots)))
                bundle = [self._waiting.popleft() for _ in range(size)]
                self._left -= size
                self._flying[bundle[0][0]] = [key for key, _ in bundle], time.monotonic()
                self.executor.submit(bundle[0][0], tuple(piece for _, piece in bundle))
            first, results = self.executor.next()
            keys, begun = self._flying.pop(first)
            each = (time.monotonic() - begun) / (AHEAD * len(keys))  # it has waited for the one before it
            self.size = max(1, min(self.most, 2 * self.size, int(self.seconds / max(each, 1e-6))))
            self._done.extend(zip(keys, results, strict=True))
        self.repeated = self.executor.repeated
        return self._done.popleft()

    def cancel(self, *keys: int) -> None:
        """Gives up all pieces; it cannot do so with some of them."""
        self.executor.cancel()
        for things in (self._waiting, self._flying, self._done):
            things.clear()

    def shutdown(self) -> None:
        """Gives up all pieces, and takes no more."""
        self.cancel()
        self.executor.shutdown()
