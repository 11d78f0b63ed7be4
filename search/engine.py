"""Depth-limited search over any game: `Search` and its `Result`."""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from leafwise.envs.core.evaluator import Evaluator
from leafwise.envs.core.game import Game
from leafwise.envs.core.state import State
from leafwise.search.alpha_beta import bounds
from leafwise.search.background import Background
from leafwise.search.frontier import Frontier
from leafwise.search.templates import FAILED, LEAVES, NO_ROWS, NODES, Buffers, compiled_search

ROOT, TOP = np.uint64(0), np.uint64(1)
MAX_DEPTH = 64
"""Where iterative deepening ends if no clock ends it."""
LISTENING_DEPTH = 4
"""From this depth on a search may be long enough to press Ctrl-C; a thread that listens costs some 0.1 ms."""


@dataclass(frozen=True)
class Result:
    """What a search found. Values are for the player to move, in the evaluator's unit."""

    action: int | None
    """Id of the best action, the first of equals; None at a chance stage."""
    value: float
    values: dict[int, float]
    """Value of every legal root action, by id."""
    nodes: int
    """Decisions searched, the root included."""
    leaves: int
    depth: int
    seconds: float
    state: State = field(repr=False)
    _follow: Callable[[State, int], Result] = field(repr=False, compare=False)

    @property
    def name(self) -> str | None:
        """Name of the best action."""
        return None if self.action is None else self.state.game.actions[self.action]

    @property
    def action_values(self) -> dict[str, float]:
        """Value of every legal root action, by name."""
        return {self.state.game.actions[a]: v for a, v in self.values.items()}

    @cached_property
    def line(self) -> tuple[str, ...]:
        """The principal line: best actions, and what chance does most probably in between.

        Searched when first asked for: every step after the first costs a search one shallower.
        """
        names: list[str] = []
        state, step, depth = self.state, self, self.depth
        while depth > 0 and step.action is not None:
            names.append(state.game.actions[step.action])
            cost = int(state.game.rules.action_cost(state._rows(), ROOT, step.action, state.game._shared_tables))
            state, depth = state.play(step.action), depth - cost
            while state.is_chance:
                before, (_, state) = state, max(state.outcomes(), key=lambda outcome: outcome[0])
                names.append(state.game.outcome_name(before.row, state.row, state.game._shared_tables))
            if state.is_terminal or depth <= 0:
                break
            step = self._follow(state, depth)
        return tuple(names)


class Stopped(Exception):
    """A search was stopped before its first depth was complete."""


class Search:
    """Searches a fixed number of decisions deep, or deeper and deeper until the time is up.

    One instance serves one thread. Exact: expectimax over max, min and chance nodes, whose values no option changes
    but `cutoff`.
    """

    def __init__(
        self,
        game: Game,
        evaluator: Evaluator,
        depth: int | None = None,
        *,
        seconds: float | None = None,
        table_mb: float = 0.0,
        cutoff: float = 0.0,
        pruning: bool = False,
        batched: bool | None = None,
    ) -> None:
        """Compiles the search, or finds it in the cache.

        Args:
            depth: decisions looked ahead, at least 1; with `seconds` the most (default: 3, with `seconds` no limit).
            seconds: wall time per search; the deepest complete depth counts, the first is always completed.
            table_mb: size of the transposition table in MB (16 bytes a position; 0: none).
            cutoff: decisions less probable than this are leaves (0: exact; above 0: approximate).
            pruning: alpha-beta at decisions, Star1 at chance nodes if the evaluator has bounds (exact; no table or cutoff).
            batched: grow the tree first and value its leaves in batches (exact; no table or pruning); by default only
                for an evaluator that has no compiled value.

        Raises ValueError for a depth below 1, a time, size or cutoff below 0, or an evaluator of another game.
        """
        if depth is None:
            depth = 3 if seconds is None else MAX_DEPTH
        if isinstance(depth, bool) or not isinstance(depth, int) or not 1 <= depth <= MAX_DEPTH:
            raise ValueError(f"search: expected a depth of 1 to {MAX_DEPTH}, got {depth!r}")
        if seconds is not None and not seconds > 0:
            raise ValueError(f"search: expected seconds above 0, got {seconds!r}")
        if not 0 <= table_mb <= 65536:
            raise ValueError(f"search: expected table_mb of 0 to 65536, got {table_mb!r}")
        if not 0 <= cutoff < 1:
            raise ValueError(f"search: expected a cutoff in [0, 1), got {cutoff!r}")
        if pruning and (table_mb or cutoff):
            raise ValueError(f"search: expected pruning without table_mb and cutoff, got {table_mb!r} and {cutoff!r}")
        if batched is None:
            batched = evaluator.value is None
        if batched and (table_mb or pruning):
            raise ValueError(f"search: expected batched without table_mb and pruning, got {table_mb!r} and {pruning!r}")
        self.game, self.evaluator, self.depth, self.seconds = game, evaluator, depth, seconds
        self._T = game.tables(evaluator)
        self._frontier = Frontier(game, evaluator, self._T, cutoff=cutoff) if batched else None
        if not batched:
            compiled = compiled_search(game, evaluator)
            self._run, self._prune = compiled.depth_first, compiled.alpha_beta if pruning else None
        self._bounds = bounds(game, evaluator)
        levels = depth * game.decisions_per_depth + 1
        n = 1 + levels * (1 + game.max_stages * game.max_outcomes) + game.max_outcomes
        frames = (levels + 1) * (1 + game.max_stages)
        slots = 1 if table_mb == 0 else 1 << max(1, int(table_mb * 1e6 / 16).bit_length() - 1)
        self._S = game.rows(n)
        self._B = Buffers(
            P=np.zeros(n),
            A=np.zeros((frames, game.max_actions), dtype=np.int64),
            frames=np.zeros((frames, 8), dtype=np.uint64),
            worth=np.zeros((frames, 4)),
            counts=np.zeros(4, dtype=np.int64),
            keys=np.zeros(slots, dtype=np.uint64),
            values=np.zeros(slots),
            cutoff=float(cutoff),
        )

    def stop(self) -> None:
        """Ends the running search soon; it answers with its deepest complete depth. Callable from any thread."""
        self._T.stop[0] = 1

    def __call__(self, state: State) -> Result:
        """Searches a position.

        Raises ValueError for a position of another game or a finished one, and Stopped if `stop` came before a first
        depth was complete. Ctrl-C ends a search with `seconds` like `stop`; from any other it is raised.
        """
        if state.game != self.game:
            raise ValueError(f"search: expected a position of {self.game!r}, got one of {state.game!r}")
        if state.is_terminal:
            raise ValueError(f"search: expected a position to play, got a finished game: {state}")
        start = time.perf_counter()
        self._T.stop[0] = 0
        self._B.counts[:] = 0
        self._B.keys[:] = 0
        slow = self.evaluator.slow or self._frontier is not None
        quick = self.seconds is None and self.depth < LISTENING_DEPTH and not slow
        if quick or threading.current_thread() is not threading.main_thread():
            return self._deepen(state, start)
        return self._listening(lambda: self._deepen(state, start))

    def _listening(self, work: Callable[[], Result]) -> Result:
        """Runs `work` in a thread, so that Ctrl-C is heard while compiled code runs.

        Ctrl-C ends a search against the clock early; from any other it is passed on.
        """
        task = Background(work)
        interrupt: KeyboardInterrupt | None = None
        while True:
            try:
                if task.wait(0.1):
                    break
            except KeyboardInterrupt as pressed:
                interrupt = pressed
            if interrupt is not None:
                self.stop()  # again and again: the byte is cleared where a search begins
        try:
            return task.result()
        except Stopped:
            raise interrupt or Stopped from None

    def _deepen(self, state: State, start: float) -> Result:
        """Searches the one depth, or depth after depth against the clock."""
        if self.seconds is None:
            return self._root(state, self.depth, start)
        best = self._root(state, 1, start)
        left = self.seconds - (time.perf_counter() - start)
        timer = threading.Timer(max(left, 0.0), self.stop)
        timer.daemon = True
        timer.start()
        try:
            for depth in range(2, self.depth + 1):
                best = self._root(state, depth, start)
        except Stopped:
            pass
        finally:
            timer.cancel()
        return best

    def _root(self, state: State, depth: int, start: float) -> Result:
        """Searches one depth: every root action in turn."""
        S, B, T, rules = self._S, self._B, self._T, self.game.rules
        S[0] = state.row
        values: dict[int, float] = {}
        if self._frontier is not None:
            value, children = self._frontier(state.row, depth, B.counts)
            self._check(depth)
            sign = -1.0 if state.current_player == 1 else 1.0
            values = {a: sign * v for a, v in zip(state.legal_actions, children, strict=False)}
            value *= sign
        elif state.is_chance:
            value = self._value(ROOT, TOP, depth)
        else:
            B.counts[NODES] += 1
            for a in state.legal_actions:
                rules.apply_action(S, ROOT, a, TOP, T)
                cost = int(rules.action_cost(S, ROOT, a, T))
                values[a] = self._value(TOP, TOP + ROOT + np.uint64(1), depth - cost)
            sign = -1.0 if state.current_player == 1 else 1.0
            values = {a: sign * v for a, v in values.items()}
            value = max(values.values())
        return Result(
            action=max(values, key=values.__getitem__) if values else None,
            value=value,
            values=values,
            nodes=int(B.counts[NODES]),
            leaves=int(B.counts[LEAVES]),
            depth=depth,
            seconds=time.perf_counter() - start,
            state=state,
            _follow=self._again,
        )

    def _value(self, i: np.uint64, top: np.uint64, depth: int) -> float:
        """Returns player 0's value of a row; raises Stopped if the stop byte ended the search."""
        if self._prune is None:
            value = float(self._run(self._S, self._B, i, top, depth, self._T))
        else:
            window = (-math.inf, math.inf, *self._bounds)
            value = float(self._prune(self._S, self._B, i, top, depth, *window, self._T))
        self._check(depth)
        return value

    def _check(self, depth: int) -> None:
        """Raises Stopped if the stop byte ended the search."""
        if self._B.counts[FAILED] == NO_ROWS:
            where = f"{self.game.name}, depth {depth}"
            raise ValueError(
                f"search: expected at most {self.game.max_stages} chance stages in a row ({where}), got more"
            )
        if self._B.counts[FAILED] or (self.evaluator.slow and self._T.stop[0]):
            raise Stopped

    def _again(self, state: State, depth: int) -> Result:
        """Searches a position on the principal line."""
        self._T.stop[0] = 0
        self._B.counts[:] = 0
        return self._root(state, depth, time.perf_counter())
