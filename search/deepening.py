"""Depth after depth against the clock: what a search answers when the time is up."""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from typing import Any

from leafwise.envs.core.compile import clock as clocks
from leafwise.envs.core.contract.state import State
from leafwise.search.background import Alarm
from leafwise.search.frames import CUTS, FAILED
from leafwise.search.result import Result
from leafwise.search.settings import Settings

FEWEST, MORE = 64, 4
"""Decisions that a first depth without bounds is sure of, and how many times as many it is given next, until the time is up."""
ROUNDING = 1e-12
"""What the order of sums may change in a value, relative to the greater of 1 and its size."""


class Stopped(Exception):
    """A search was stopped before its first depth was complete."""


class Deepening(ABC):
    """The part of a search that says which depths are searched; how one is searched is the search's own."""

    settings: Settings
    depth: int
    seconds: float | None
    _B: Any
    """Buffers of the compiled search."""
    _limit: int
    """Most decisions of the depth that is searched, 0: no limit."""
    _grows: bool
    """Whether the first depth has no bounds of its own, and is given more and more decisions."""
    _needs_alarm: bool
    _loaded: set[bool]
    """What kinds of positions were searched before, decisions (False) or chance."""

    @property
    @abstractmethod
    def _crew(self) -> Sequence[Any]:
        """Returns the search and who shares its work."""

    @abstractmethod
    def stop(self) -> None:
        """Ends the running search soon."""

    @abstractmethod
    def _root(self, state: State, depth: int, start: float, before: Result | None = None) -> Result:
        """Searches one depth."""

    def _deepen(self, state: State, start: float) -> Result:
        """Searches the one depth, or depth after depth against the clock."""
        if self.seconds is None:
            found = None
            for depth in range(1 if self.settings.deepening else self.depth, self.depth + 1):
                found = self._root(state, depth, start, found)
            assert found is not None
            return found
        kind, begun = self.settings.clock, time.thread_time()
        best = self._limited(state, FEWEST, start) if self._grows else self._root(state, 1, start)
        if state.is_chance not in self._loaded:  # the first also loads the compiled code, which is no part of the time
            self._loaded.add(state.is_chance)
            start, begun = time.perf_counter(), time.thread_time()
        left = self.seconds - (time.perf_counter() - start if kind == "wall" else time.thread_time() - begun)
        alarm = Alarm(left, self.stop, kind) if self._needs_alarm else None
        deadline = (0, 0) if alarm else clocks.after(left, kind)
        for search in self._crew:
            search._B.deadline[:2] = deadline
        try:
            for found in self._deeper(state, best, start):
                best = found
        except Stopped:
            pass
        finally:
            for search in self._crew:
                search._B.deadline[:2] = 0
            if alarm:
                alarm.cancel()
        return best

    def _deeper(self, state: State, best: Result, start: float) -> Iterator[Result]:
        """Yields what comes after the first answer: the first depth with more and more decisions until none is cut; the next."""
        nodes = FEWEST
        while self._grows and self._cuts() and not self._settled(best):
            nodes *= MORE
            best = self._limited(state, nodes, start)
            yield best
        for depth in range(2, self.depth + 1):
            if self._settled(best) or self._B.counts[FAILED]:
                break
            best = self._root(state, depth, start, best)
            yield best

    def _limited(self, state: State, nodes: int, start: float) -> Result:
        """Searches the first depth with at most so many decisions."""
        for search in self._crew:
            search._B.counts[CUTS] = 0
        self._limit = nodes
        try:
            return self._root(state, 1, start)
        finally:
            self._limit = 0

    def _cuts(self) -> int:
        """Returns how many decisions the last search took as leaves, since it was limited."""
        return sum(int(search._B.counts[CUTS]) for search in self._crew)

    def _settled(self, best: Result) -> bool:
        """Whether a deeper search could choose no better action (asked only if the others' values do not matter)."""
        if self.settings.all_values or not best.values:
            return False
        return len(best.values) == 1 or best.value >= self._B.options.most - ROUNDING
