"""Depth-limited search over any game: `Search`, one depth or ever deeper ones, and what it hands to compiled code."""

from __future__ import annotations

import math
import time
from collections.abc import Iterable, Iterator

import numpy as np

from leafwise.envs.core.compile.intrinsics import HAS_CLOCKS
from leafwise.envs.core.compile.jit import ResolvedEntry
from leafwise.envs.core.contract.evaluator import Evaluator, value_bounds
from leafwise.envs.core.contract.game import MAX_DEPTH, Game
from leafwise.envs.core.contract.rules import CHANCE, TERMINAL
from leafwise.envs.core.contract.state import State
from leafwise.envs.core.errors import UserError
from leafwise.search.base import BaseSearch, Line, share_out
from leafwise.search.compiled import compiled_search
from leafwise.search.expectiminimax import CUTS, FAILED, LEAVES, NO_ROWS, NODES, STOPPED
from leafwise.search.frontier import Frontier
from leafwise.search.result import Result, principal_line
from leafwise.search.search_options import ORDERINGS, ROUNDED, SearchOptions, make_buffers
from leafwise.search.table import begin_search

ROOT, TOP = np.uint64(0), np.uint64(1)
FEWEST, MORE = 64, 4
"""Decisions that a first depth without bounds is sure of, and how many times as many it is given next, until the time is up."""
ROUNDING = 1e-12
"""What the order of sums may change in a value, relative to the greater of 1 and its size."""


class Stopped(Exception):
    """A search was stopped before its first depth was complete."""


class Search(BaseSearch):
    """Searches a fixed number of decisions deep, or deeper and deeper until the time is up.

    One instance searches one position at a time: calls from other threads wait for their turn, and its own evaluator has to ask
    another. Exact: expectiminimax over max, min and chance nodes, whose values no option changes but `cutoff`, `nodes`, `rare`,
    `width` and `candidates`.
    """

    kind = "search"
    options: SearchOptions

    def __init__(
        self,
        game: Game,
        evaluator: Evaluator,
        depth: int | None = None,
        *,
        seconds: float | None = None,
        all_values: bool = True,
        pruning: bool | None = None,
        table_mb: float | None = None,
        ordering: Iterable[str] = ORDERINGS,
        star2: bool = False,
        deepening: bool = False,
        cutoff: float = 0.0,
        nodes: int | None = None,
        rare: float = 0.0,
        width: int | None = None,
        candidates: str | None = None,
        batched: bool | None = None,
        threads: int = 1,
        clock: str = "wall",
        whole_rows: bool = False,
        symmetric: bool = False,
    ) -> None:
        """Compiles the search, or finds it in the cache.

        Args:
            depth: Number of decisions to look ahead; with `seconds` the maximum.
            seconds: Time limit of a search; the result is that of the deepest complete depth.
            all_values: Every root action gets its exact value. With False only the best action does, which is faster
                with pruning.
            pruning: Alpha-beta at decisions, and Star1 at chance nodes if the leaf has bounds.
            table_mb: Size of the transposition table in MB (32 bytes a position); 0: no table.
            ordering: What a pruning search tries first: "table", "values", "killers".
            star2: At a chance node, first tries one action of each outcome (Star2); needs pruning and a leaf with
                bounds.
            deepening: Searches depth 1, then 2, and so on, also without `seconds`, to order the actions.
            cutoff: Decisions less probable than this become leaves; 0: none.
            nodes: Maximum number of decisions searched at each depth, the root included; 0: no limit.
            rare: Outcomes of chance less probable than this become leaves; 0: none.
            width: Maximum number of actions searched at a decision: the best by one-ply value. Default: no limit.
            candidates: The actions considered, one of `game.search.candidates`; default: all legal actions.
            batched: Grows the tree first, then values its leaves in batches; not with pruning, table, width, threads or
                rare.
            threads: Number of threads that share the root actions, each with its own memory.
            clock: How `seconds` are measured: "wall" time, or "cpu" time of the searching thread.
            whole_rows: The table compares whole positions instead of 93 bits of hashes; for tests.
            symmetric: Positions that are equal up to a symmetry of the board share an entry of the table.

        Raises ValueError for options out of range, or an evaluator of another game.
        """
        # How deep and how many decisions, by the game where it is not given
        super().__init__(game, evaluator, SearchOptions.of_call(locals()))
        options = self.options
        nodes = options.nodes or 0
        depth = options.depth or (MAX_DEPTH if options.seconds else game.search.depth)
        self.depth, self._limit = depth, nodes
        self._grows = bool(game.search.nodes and options.seconds) and not (nodes or options.cutoff or options.batched)
        """Whether the first depth is searched with more and more decisions: against the clock, where the game bounds a depth."""
        self._prunes = options.prunes(game)
        # What is compiled: trees whose leaves are valued in batches, or searches without and with pruning
        self._frontier = None
        if options.batched:
            least, node_cost = (ROUNDED / nodes, 1.0 / nodes) if nodes else (options.cutoff, 0.0)
            self._frontier = Frontier(game, evaluator, self._T, cutoff=least, node_cost=node_cost)
        else:
            compiled = compiled_search(game, evaluator)
            self._leaves_out = bool(self._prunes or options.width is not None or options.rare)
            if self._leaves_out:
                search, root = compiled.pruning, compiled.pruning_root
            elif options.entries(game) > 1:
                search, root = compiled.with_table, compiled.with_table_root
            else:
                search, root = compiled.plain, compiled.plain_root
            self._search_row, self._search_root = ResolvedEntry(search), ResolvedEntry(root)
        self._find_actions = ResolvedEntry(game.rules.candidates or game.rules.legal_actions)
        self._action_cost = ResolvedEntry(game.rules.action_cost)
        # What every search writes to
        self._actions, self._values = np.zeros(game.max_actions, dtype=np.int64), np.zeros(game.max_actions)
        self._exact = options.all_values or not self._prunes
        self._rounding = ROUNDING if game.max_stages else 0.0
        """What the order of sums changes where there are sums."""
        self._is_bound = np.zeros(game.max_actions, dtype=np.bool_)
        self._reads_clock = HAS_CLOCKS and not options.batched and not evaluator.python_only
        read = options.compiled(game, *value_bounds(game, evaluator))
        self._S, self._B = make_buffers(
            game, depth, options.entries(game), options.whole_rows, read, evaluator.speed.cache_values
        )
        self._remembers = self._prunes or len(self._B.table) > 1
        self._line_of = Line(self)
        # The others that share the root's actions
        alone = {**vars(options), "threads": 1}
        self._others = [Search(game, evaluator, **alone) for _ in range(options.threads - 1)]

    def __call__(self, state: State) -> Result:
        """Searches a position.

        Raises ValueError for a position of another game or a finished one, Stopped if `stop` came before a first depth was
        complete, and RuntimeError where its own evaluator calls it. Ctrl-C ends it at once with KeyboardInterrupt.
        """
        if state.game is not self.game and state.game != self.game:
            raise UserError(f"search: expected a position of {self.game!r}, got one of {state.game!r}")
        if state.current_player == TERMINAL:
            raise UserError(f"search: expected a position to play, got a finished game: {state}")
        return self._take_turn(lambda: self._search(state), searches=True)

    def _search(self, state: State) -> Result:
        """Searches the one depth, or depth after depth, against the clock too."""
        for worker in self._workers:
            worker._B.counts[:] = 0
            if self._remembers:  # old entries give way, and count only against the clock: see `Options.recall`
                begin_search(worker._B)
        if self.seconds is None:
            best = None
            for depth in range(1 if self.options.deepening else self.depth, self.depth + 1):
                best = self._root(state, depth, best)
            assert best is not None
            return best
        best = self._limited(state, FEWEST) if self._grows else self._root(state, 1)
        self._exclude_loading(state.current_player == CHANCE)
        with self._until_late(self.seconds):
            try:
                for found in self._deeper(state, best):
                    best = found
            except Stopped:
                pass
        return best

    def _deeper(self, state: State, best: Result) -> Iterator[Result]:
        """Yields what comes after the first answer: the first depth with more and more decisions until none is cut; the next."""
        nodes = FEWEST
        while self._grows and not self._settled(best) and any(worker._B.counts[CUTS] for worker in self._workers):
            nodes *= MORE
            best = self._limited(state, nodes)
            yield best
        for depth in range(2, self.depth + 1):
            if self._settled(best) or self._B.counts[FAILED]:
                break
            best = self._root(state, depth, best)
            yield best

    def _limited(self, state: State, nodes: int) -> Result:
        """Searches the first depth with at most so many decisions."""
        for worker in self._workers:
            worker._B.counts[CUTS] = 0
        self._limit = nodes
        try:
            return self._root(state, 1)
        finally:
            self._limit = 0

    def _settled(self, best: Result) -> bool:
        """Whether a deeper search could choose no better action (asked only if the others' values do not matter)."""
        if self.options.all_values or not best.values:
            return False
        return len(best.values) == 1 or best.value >= self._B.options.most - ROUNDING

    def _root(self, state: State, depth: int, before: Result | None = None) -> Result:
        """Searches one depth: every root action in turn, the best of the depth before first."""
        for worker in self._workers:
            worker._S[0] = state.row
        upper_bounds: frozenset[int] = frozenset()
        if self._frontier is not None:
            value, children = self._frontier(state.row, depth, self._B.counts)
            self._check(depth)
            values = {}
            if state.current_player != CHANCE:  # whose children are outcomes
                sign = -1.0 if state.current_player == 1 else 1.0
                value *= sign
                values = {a: sign * v for a, v in zip(self._considered(), children, strict=True)}
        elif state.current_player == CHANCE:
            self._share(0)
            value = float(self._search_row(self._S, self._B, ROOT, TOP, depth, -math.inf, math.inf, self._T))
            self._check(depth)
            values = {}
        else:
            self._B.counts[NODES] += 1
            alone, limited = self.options.threads == 1, self._grows or self.options.nodes
            actions = self._considered() if self._leaves_out or limited or not alone else []
            if before is not None and self._prunes:
                actions.sort(key=lambda a: -before.values[a])
            self._share(len(actions))
            if alone:
                values, upper_bounds = self._in_turn(actions, depth, before)
            else:
                values, upper_bounds = self._shared_out(actions, depth)
            value = max(values.values())
        exact = [a for a in values if a not in upper_bounds] if upper_bounds else values
        counts = self._B.counts.tolist()
        return Result(
            action=max(exact, key=values.__getitem__) if exact else None,
            value=value,
            values=values,
            nodes=sum([int(worker._B.counts[NODES]) for worker in self._others], counts[NODES]),
            leaves=sum([int(worker._B.counts[LEAVES]) for worker in self._others], counts[LEAVES]),
            depth=before.depth if before and counts[FAILED] else depth,
            seconds=time.perf_counter() - self._start,
            bounds=upper_bounds,
            state=state,
            _line_of=self._line_of,
            _units_of=self.evaluator.units,
        )

    def _share(self, actions: int) -> None:
        """Shares the limit of work out among so many root actions."""
        if self._grows or self.options.nodes:
            cutoff, node_cost = self.options.share(actions, self._limit)
            for worker in self._workers:
                worker._B = worker._B._replace(options=worker._B.options._replace(cutoff=cutoff, node_cost=node_cost))

    def _in_turn(
        self, actions: list[int], depth: int, before: Result | None
    ) -> tuple[dict[int, float], frozenset[int]]:
        """Returns the values of root actions, all where none is named, and which are only bounds, by one compiled call.

        Where the clock breaks it off, actions not searched by then keep the value of the depth before, at most the best.
        """
        done = self._ask(actions, depth)
        if not actions:
            self._check(depth)
            all_found = zip(self._actions[:done].tolist(), self._values[:done].tolist(), strict=True)
            return dict(sorted(all_found)), frozenset()
        n = len(actions)
        values, is_bound = self._values[:n], self._is_bound[:n]
        if before is None or self.seconds is None or self._exact or not done or self._B.counts[FAILED] != STOPPED:
            self._check(depth)
        else:
            best = values[:done][~is_bound[:done]].max()
            values[done:] = [min(before.values[a], best) for a in actions[done:]]
            is_bound[done:] = True
        found = sorted(zip(self._actions[:n].tolist(), values.tolist(), is_bound.tolist(), strict=True))
        return {a: value for a, value, _ in found}, frozenset(a for a, _, bound in found if bound)

    def _shared_out(self, actions: list[int], depth: int) -> tuple[dict[int, float], frozenset[int]]:
        """Returns the values of root actions and which are only bounds; every thread takes the next when it is free."""
        best, first = -math.inf, -1
        upper_bounds: set[int] = set()

        def work(search: Search, a: int) -> float:
            nonlocal best, first
            search._ask([a], depth, best, first)
            search._check(depth)
            value = float(search._values[0])
            if search._is_bound[0]:
                upper_bounds.add(a)
            elif value > best or (value == best and a < first):
                best, first = value, a
            return value

        values = share_out(self._workers, actions, work, self.stop)
        return dict(sorted(zip(actions, values, strict=True))), frozenset(upper_bounds)

    def _ask(self, actions: list[int], depth: int, best: float = -math.inf, first: int = -1) -> int:
        """Searches root actions, as the compiled `root` says; returns how many it searched."""
        n = len(actions)
        self._actions[:n] = actions
        written = self._actions, n, self._values, self._is_bound
        told = depth, self._exact, self._rounding, best, first
        return int(self._search_root(self._S, self._B, *written, *told, self._T))

    def _considered(self) -> list[int]:
        """Returns the actions that the search considers at the root."""
        n = self._find_actions(self._S, ROOT, self._actions, self._rules_T)
        return self._actions[:n].tolist()

    def _check(self, depth: int) -> None:
        """Raises Stopped if the search was stopped before its end."""
        failed = self._B.counts[FAILED]
        if failed == NO_ROWS:
            where = f"{self.game.name}, depth {depth}"
            raise UserError(
                f"search: expected at most {self.game.max_stages} chance stages in a row ({where}), got more"
            )
        if failed or (self.evaluator.python_only and self._T.stop[0]):
            raise Stopped

    def _line(self, result: Result) -> tuple[str, ...]:
        """Returns the principal line of a result: each step by a search, with the decisions that are left."""
        at, action, depth = result.state, result.action, result.depth

        def answer(state: State) -> int | None:
            nonlocal at, action, depth
            assert action is not None
            self._S[ROOT] = at.row
            depth -= int(self._action_cost(self._S, ROOT, action, self._rules_T))
            if depth <= 0:
                return None
            for worker in self._workers:
                worker._B.counts[:] = 0
            at, action = state, self._root(state, depth).action
            return action

        return self._take_turn(lambda: principal_line(at, action, answer), searches=True)
