"""Depth-limited search over any game: `Search`, to a fixed depth or by iterative deepening."""

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
from leafwise.envs.core.contract.state import State, check_is_state
from leafwise.envs.core.errors import UserError
from leafwise.search.base import BaseSearch, LineFinder, share_out
from leafwise.search.compiled import compiled_search
from leafwise.search.expectiminimax import CUTS, FAILED, LEAVES, NO_ROWS, NODES, STOPPED
from leafwise.search.frontier import Frontier
from leafwise.search.result import Result, principal_variation
from leafwise.search.search_options import ORDERINGS, ROUNDED, SearchOptions, make_buffers
from leafwise.search.table import begin_search

ROOT, TOP = np.uint64(0), np.uint64(1)
FIRST_NODES, NODES_FACTOR = 64, 4
"""Limit of decisions of a first depth that the game does not bound, and the factor of the next limit while time is left."""
ROUNDING = 1e-12
"""Difference that the order of a sum may make in a value, relative to the larger of 1 and its size."""


class Stopped(Exception):
    """Raised when a search is stopped before its first depth is complete."""


class Search(BaseSearch):
    """Searches a fixed number of decisions deep, or deeper and deeper until the time is up.

    It is expectiminimax over max, min and chance nodes. Only `cutoff`, `nodes`, `rare`, `width` and `candidates` change values;
    all other options are exact. One instance searches one position at a time: calls from other threads wait. If the evaluator
    itself searches, it must use another instance.
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
            depth: Number of decisions to look ahead. With `seconds` it is the maximum.
            seconds: Time limit of a search. The result comes from the greatest depth that was completed.
            all_values: True: every root action gets its exact value. False: only the best action does, which is faster
                with pruning.
            pruning: Alpha-beta pruning at decisions. If the leaf has bounds on its values, also Star1 at chance nodes.
            table_mb: Size of the transposition table in MB (32 bytes a position); 0: no table.
            ordering: How a pruning search orders actions: by the "table", by one-ply "values", by "killers" (actions
                that pruned in siblings).
            star2: At a chance node, first tries one action after each outcome (Star2). Needs pruning and a leaf with
                bounds.
            deepening: Also without `seconds`, searches depth 1, then 2, and so on. Each depth orders the actions of the
                next.
            cutoff: Decisions that chance reaches with a smaller probability than this get the leaf's value; 0: no
                cutoff.
            nodes: Maximum number of decisions that a search to one depth visits, the root included; 0: no limit.
            rare: Outcomes whose probability at their chance node is smaller than this get the leaf's value; 0: none.
            width: Maximum number of actions searched at a decision: those with the best one-ply values. Default: no
                limit.
            candidates: Name of the set of actions considered, among `game.search.candidates`; default: all legal
                actions.
            batched: Grows the tree first, then values its last positions in batches. Excludes pruning, table, width,
                threads and rare.
            threads: Number of threads that share the root actions, each with its own memory.
            clock: How `seconds` are measured: "wall" time, or "cpu" time of the searching thread.
            whole_rows: For tests: the table compares whole positions, not 93 bits of hashes.
            symmetric: Positions that are equal up to a symmetry of the board share an entry of the table.

        Raises ValueError for options out of range, or an evaluator of another game.
        """
        # The depth and the limit of decisions; the game has the defaults
        super().__init__(game, evaluator, SearchOptions.of_call(locals()))
        options = self.options
        nodes = options.nodes or 0
        depth = options.depth or (MAX_DEPTH if options.seconds else game.search.depth)
        self.depth, self._limit = depth, nodes
        self._grows_limit = bool(game.search.nodes and options.seconds) and not (
            nodes or options.cutoff or options.batched
        )
        """Whether the first depth is searched with rising limits of decisions: against the clock, in games that have a limit."""
        self._prunes = options.prunes(game)
        # The compiled search: one for leaves in batches, else with pruning, with a table, or with neither
        self._frontier = None
        if options.batched:
            min_reach, node_cost = (ROUNDED / nodes, 1.0 / nodes) if nodes else (options.cutoff, 0.0)
            self._frontier = Frontier(game, evaluator, self._T, cutoff=min_reach, node_cost=node_cost)
        else:
            compiled = compiled_search(game, evaluator)
            self._uses_pruning_code = bool(self._prunes or options.width is not None or options.rare)
            if self._uses_pruning_code:
                search, root = compiled.pruning, compiled.pruning_root
            elif options.entries(game) > 1:
                search, root = compiled.with_table, compiled.with_table_root
            else:
                search, root = compiled.plain, compiled.plain_root
            self._search_row, self._search_root = ResolvedEntry(search), ResolvedEntry(root)
        self._find_actions = ResolvedEntry(game.rules.candidates or game.rules.legal_actions)
        self._action_cost = ResolvedEntry(game.rules.action_cost)
        # Memory that every search writes to
        self._actions, self._values = np.zeros(game.max_actions, dtype=np.int64), np.zeros(game.max_actions)
        self._exact = options.all_values or not self._prunes
        self._rounding = ROUNDING if game.max_stages else 0.0
        """0 in games without chance, whose values are not sums."""
        self._is_bound = np.zeros(game.max_actions, dtype=np.bool_)
        self._reads_clock = HAS_CLOCKS and not options.batched and not evaluator.python_only
        read = options.compiled(game, *value_bounds(game, evaluator))
        self._S, self._B = make_buffers(
            game, depth, options.entries(game), options.whole_rows, read, evaluator.speed.cache_values
        )
        self._remembers = self._prunes or len(self._B.table) > 1
        self._line_of = LineFinder(self)
        # The searches of the other threads, which share the root actions
        one_thread = {**vars(options), "threads": 1}
        self._helpers = [Search(game, evaluator, **one_thread) for _ in range(options.threads - 1)]

    def __call__(self, state: State) -> Result:
        """Searches a position.

        Raises ValueError for a position of another game or a finished one, and Stopped if `stop` is called before the first depth
        is complete. Raises RuntimeError if its own evaluator calls it. Ctrl-C ends it at once with KeyboardInterrupt.
        """
        check_is_state(state, self.game, "search")
        if state.current_player == TERMINAL:
            raise UserError(f"search: expected a position to play, got a finished game: {state}")
        return self._take_turn(lambda: self._search(state), searches=True)

    def _search(self, state: State) -> Result:
        """Searches one depth, or one after another until the depth or the time limit is reached."""
        for worker in self._workers:
            worker._B.counts[:] = 0
            # Old entries are overwritten first. Only searches with a time limit read them: `CompiledSearchOptions.recall`
            if self._remembers:
                begin_search(worker._B)
        if self.seconds is None:
            best = None
            for depth in range(1 if self.options.deepening else self.depth, self.depth + 1):
                best = self._search_depth(state, depth, best)
            assert best is not None
            return best
        best = self._search_first_depth(state, FIRST_NODES) if self._grows_limit else self._search_depth(state, 1)
        self._exclude_loading(state.current_player == CHANCE)
        with self._until_late(self.seconds):
            try:
                for result in self._deeper(state, best):
                    best = result
            except Stopped:
                pass
        return best

    def _deeper(self, state: State, best: Result) -> Iterator[Result]:
        """Yields better and better results: of the first depth with rising limits until nothing is cut, then of deeper ones."""
        nodes = FIRST_NODES
        while (
            self._grows_limit and not self._is_decided(best) and any(worker._B.counts[CUTS] for worker in self._workers)
        ):
            nodes *= NODES_FACTOR
            best = self._search_first_depth(state, nodes)
            yield best
        for depth in range(2, self.depth + 1):
            if self._is_decided(best) or self._B.counts[FAILED]:
                break
            best = self._search_depth(state, depth, best)
            yield best

    def _search_first_depth(self, state: State, nodes: int) -> Result:
        """Searches the first depth with at most `nodes` decisions."""
        for worker in self._workers:
            worker._B.counts[CUTS] = 0
        self._limit = nodes
        try:
            return self._search_depth(state, 1)
        finally:
            self._limit = 0

    def _is_decided(self, best: Result) -> bool:
        """Whether no deeper search can choose a better action; always False if all values are wanted."""
        if self.options.all_values or not best.values:
            return False
        return len(best.values) == 1 or best.value >= self._B.options.most - ROUNDING

    def _search_depth(self, state: State, depth: int, before: Result | None = None) -> Result:
        """Searches one depth: every root action in turn, the best of the previous depth first."""
        for worker in self._workers:
            worker._S[0] = state.row
        upper_bounds: frozenset[int] = frozenset()
        if self._frontier is not None:
            value, children = self._frontier(state.row, depth, self._B.counts)
            self._raise_if_stopped(depth)
            values = {}
            if state.current_player != CHANCE:  # there the children are outcomes
                sign = -1.0 if state.current_player == 1 else 1.0
                value *= sign
                values = {a: sign * v for a, v in zip(self._candidates(), children, strict=True)}
        elif state.current_player == CHANCE:
            self._share(0)
            value = float(self._search_row(self._S, self._B, ROOT, TOP, depth, -math.inf, math.inf, self._T))
            self._raise_if_stopped(depth)
            values = {}
        else:
            self._B.counts[NODES] += 1
            alone, limited = self.options.threads == 1, self._grows_limit or self.options.nodes
            actions = self._candidates() if self._uses_pruning_code or limited or not alone else []
            if before is not None and self._prunes:
                actions.sort(key=lambda a: -before.values[a])
            self._share(len(actions))
            if alone:
                values, upper_bounds = self._values_in_turn(actions, depth, before)
            else:
                values, upper_bounds = self._values_in_threads(actions, depth)
            value = max(values.values())
        exact = [a for a in values if a not in upper_bounds] if upper_bounds else values
        counts = self._B.counts.tolist()
        return Result(
            action=max(exact, key=values.__getitem__) if exact else None,
            value=value,
            values=values,
            nodes=sum([int(worker._B.counts[NODES]) for worker in self._helpers], counts[NODES]),
            leaves=sum([int(worker._B.counts[LEAVES]) for worker in self._helpers], counts[LEAVES]),
            depth=before.depth if before and counts[FAILED] else depth,
            seconds=time.perf_counter() - self._start,
            bounds=upper_bounds,
            state=state,
            _line_of=self._line_of,
            _units_of=self.evaluator.units,
        )

    def _share(self, actions: int) -> None:
        """Divides the limit of decisions among the root actions, of which there are `actions`."""
        if self._grows_limit or self.options.nodes:
            cutoff, node_cost = self.options.share(actions, self._limit)
            for worker in self._workers:
                worker._B = worker._B._replace(options=worker._B.options._replace(cutoff=cutoff, node_cost=node_cost))

    def _values_in_turn(
        self, actions: list[int], depth: int, before: Result | None
    ) -> tuple[dict[int, float], frozenset[int]]:
        """Searches root actions in one compiled call; returns their values, and the actions with only an upper bound.

        Without `actions` it searches all. If time runs out, actions not searched yet keep their value of the previous depth, at
        most the best one of this depth.
        """
        n_done = self._search_actions(actions, depth)
        if not actions:
            self._raise_if_stopped(depth)
            all_found = zip(self._actions[:n_done].tolist(), self._values[:n_done].tolist(), strict=True)
            return dict(sorted(all_found)), frozenset()
        n = len(actions)
        values, is_bound = self._values[:n], self._is_bound[:n]
        if before is None or self.seconds is None or self._exact or not n_done or self._B.counts[FAILED] != STOPPED:
            self._raise_if_stopped(depth)
        else:
            best = values[:n_done][~is_bound[:n_done]].max()
            values[n_done:] = [min(before.values[a], best) for a in actions[n_done:]]
            is_bound[n_done:] = True
        entries = sorted(zip(self._actions[:n].tolist(), values.tolist(), is_bound.tolist(), strict=True))
        return {a: value for a, value, _ in entries}, frozenset(a for a, _, bound in entries if bound)

    def _values_in_threads(self, actions: list[int], depth: int) -> tuple[dict[int, float], frozenset[int]]:
        """Does what `_values_in_turn` does with threads, each of which takes the next action when it is free."""
        best, first = -math.inf, -1
        upper_bounds: set[int] = set()

        def work(search: Search, a: int) -> float:
            nonlocal best, first
            search._search_actions([a], depth, best, first)
            search._raise_if_stopped(depth)
            value = float(search._values[0])
            if search._is_bound[0]:
                upper_bounds.add(a)
            elif value > best or (value == best and a < first):
                best, first = value, a
            return value

        values = share_out(self._workers, actions, work, self.stop)
        return dict(sorted(zip(actions, values, strict=True))), frozenset(upper_bounds)

    def _search_actions(self, actions: list[int], depth: int, best: float = -math.inf, first: int = -1) -> int:
        """Searches root actions by the compiled `root`; returns how many were searched before a stop."""
        n = len(actions)
        self._actions[:n] = actions
        buffers = self._actions, n, self._values, self._is_bound
        limits = depth, self._exact, self._rounding, best, first
        return int(self._search_root(self._S, self._B, *buffers, *limits, self._T))

    def _candidates(self) -> list[int]:
        """Returns the root actions that the search considers."""
        n = self._find_actions(self._S, ROOT, self._actions, self._rules_T)
        return self._actions[:n].tolist()

    def _raise_if_stopped(self, depth: int) -> None:
        """Raises Stopped if the search was stopped, and ValueError if the game has more chance stages than it states."""
        failed = self._B.counts[FAILED]
        if failed == NO_ROWS:
            where = f"{self.game.name}, depth {depth}"
            raise UserError(
                f"search: expected at most {self.game.max_stages} chance stages in a row ({where}), got more"
            )
        if failed or (self.evaluator.python_only and self._T.stop[0]):
            raise Stopped

    def _line(self, result: Result) -> tuple[str, ...]:
        """Returns the principal variation: each step by a search of the depth that is left."""
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
            at, action = state, self._search_depth(state, depth).action
            return action

        return self._take_turn(lambda: principal_variation(at, action, answer), searches=True)
