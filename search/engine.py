"""Depth-limited search over any game: `Search` and its `Result`."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterable
from dataclasses import asdict

import numpy as np

from leafwise.envs.core.compile import clock as clocks
from leafwise.envs.core.compile.jit import Direct
from leafwise.envs.core.contract.evaluator import Evaluator
from leafwise.envs.core.contract.game import Game
from leafwise.envs.core.contract.state import State
from leafwise.envs.core.interrupts import stoppable
from leafwise.search.alpha_beta import bounds
from leafwise.search.background import Turn, share_out
from leafwise.search.compiled import compiled_search
from leafwise.search.copies import Copied, Follow
from leafwise.search.deepening import ROUNDING, Deepening, Stopped
from leafwise.search.frames import FAILED, LEAVES, NO_ROWS, NODES, STOPPED
from leafwise.search.frontier import Frontier
from leafwise.search.result import Result
from leafwise.search.settings import MAX_DEPTH, ORDERINGS, ROUNDED, Settings, check_parts, make_buffers, renewed

ROOT, TOP = np.uint64(0), np.uint64(1)


class Search(Copied, Deepening):
    """Searches a fixed number of decisions deep, or deeper and deeper until the time is up.

    One instance searches one position at a time: calls from other threads wait for their turn, and its own evaluator has to ask
    another. Exact: expectiminimax over
    max, min and chance nodes, whose values no option changes
    but `cutoff`, `nodes`, `rare`, `width` and `candidates`.
    """

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
            depth: decisions looked ahead, at least 1; with `seconds` the most (default: `game.search.depth`, with
                `seconds` no limit).
            seconds: wall time per search; the deepest complete depth counts, the first is always completed (in games some of whose
                actions cost no depth, with 64 decisions, and in the time that is left with four times as many, and so on). Of the
                first search it begins after that, once the code is compiled.
            all_values: True: every root action gets its exact value. False, faster where the search prunes: only the
                best does, the value of another may be an upper bound (`Result.bounds`); of a depth that time breaks off, the
                actions searched by then count, and where one action is left, or the best has the most that there is to get,
                nothing deeper is searched.
            pruning: alpha-beta at decisions, Star1 at chance nodes if the evaluator has bounds (exact; default: on in
                games of two players).
            table_mb: size of the transposition table in MB (32 bytes a position, 0: none; exact; default: 16 with
                pruning and in games some of whose actions cost no depth, else none).
            ordering: what a pruning search tries first, any of "table" (best action of an earlier, shallower search),
                "values" (one-ply values) and "killers" (what pruned beside it); exact.
            star2: probes one action of each outcome before chance nodes are searched (exact; needs pruning and bounds; off
                by default, since it costs more than it saves where an action has few outcomes).
            deepening: also without `seconds` searches depth after depth, for the order of actions (exact; off by default,
                since one-ply values order the actions of most games well enough).
            cutoff: decisions less probable than this are leaves (0: exact; above 0: approximate).
            nodes: most decisions searched at each depth, the root included: what is left of them is shared out evenly among the
                actions of a decision and by probability among outcomes, and where less than one is left, a decision is a leaf
                (approximate; 0: no limit; default: `game.search.nodes`, which is 0 in most games, with `seconds` no limit).
            rare: outcomes of chance less probable than this are valued at once by the leaf, the others are searched (0: exact;
                above 0: approximate).
            width: most actions searched at a decision, the best by one-ply value; the root keeps all, and so do decisions
                with one decision to go (approximate; default: no limit).
            candidates: the actions considered, one of `game.search.candidates` (approximate; default: all legal ones).
            batched: grow the tree first and value its leaves in batches (exact; without pruning, table and width; default: only for
                an evaluator that has no compiled value).
            threads: share the root actions among so many threads, each with memory of its own (exact).
            clock: what `seconds` are, "wall" time or "cpu" time of the thread that searches, for measurements on a busy machine.
            symmetric: positions that a symmetry of the board turns into each other share an entry of the table, where the search
                prunes (exact for leaves that value them alike, as networks do not; off by default, since finding the common
                form costs more than it saves).
            whole_rows: the table compares whole positions instead of trusting 93 bits of hashes; for tests.

        Raises ValueError for options out of range, or an evaluator of another game.
        """
        check_parts(game, evaluator)
        if nodes is None:
            nodes = game.search.nodes if seconds is None and not cutoff else 0
        self.settings = Settings(
            depth=depth,
            seconds=seconds,
            all_values=all_values,
            pruning=pruning,
            table_mb=table_mb,
            ordering=ordering,  # type: ignore[arg-type]
            star2=star2,
            deepening=deepening,
            cutoff=cutoff,
            nodes=nodes,
            rare=rare,
            width=width,
            batched=evaluator.value is None if batched is None else batched,
            threads=threads,
            clock=clock,
            whole_rows=whole_rows,
            symmetric=symmetric,
        ).checked()
        depth, seconds, nodes, cutoff = (
            self.settings.depth,
            self.settings.seconds,
            self.settings.nodes,
            self.settings.cutoff,
        )
        if depth is None:
            depth = game.search.depth if seconds is None else MAX_DEPTH
        self.game, self.evaluator, self.depth, self.seconds = game, evaluator, depth, seconds
        self._prunes = self.settings.prunes(game)
        self._T = game.tables(evaluator, candidates)
        self._bare = self._T._replace(leaf=())  # what rules are compiled for
        self._frontier = None
        if self.settings.batched:
            least, toll = (ROUNDED / nodes, 1.0 / nodes) if nodes else (cutoff, 0.0)
            self._frontier = Frontier(game, evaluator, self._T, cutoff=least, toll=toll)
        else:
            compiled = compiled_search(game, evaluator)
            leaves_out = self._prunes or self.settings.width is not None or self.settings.rare
            self._plain = None if leaves_out else Direct(compiled.depth_first)
            self._plain_root = Direct(compiled.plain_root)
            self._windowed, self._root_search = Direct(compiled.alpha_beta), Direct(compiled.search_root)
        self._find_actions = Direct(game.rules.candidates or game.rules.legal_actions)
        self._apply_action, self._action_cost = Direct(game.rules.apply_action), Direct(game.rules.action_cost)
        self._actions, self._values = np.zeros(game.max_actions, dtype=np.int64), np.zeros(game.max_actions)
        self._is_bound = np.zeros(game.max_actions, dtype=np.bool_)
        reads_clock = clocks.READABLE and not self.settings.batched and not evaluator.slow
        self._needs_alarm = not reads_clock
        options = self.settings.options(game, *bounds(game, evaluator))
        entries, whole_rows = self.settings.entries(game), self.settings.whole_rows
        self._S, self._B = make_buffers(game, depth, entries, whole_rows, options, evaluator.expensive)
        self._remembers = self._prunes or len(self._B.table) > 1
        self.recipe = {**asdict(self.settings), "candidates": candidates}
        alone = {**self.recipe, "threads": 1}
        self._turn, self._follow = Turn("search"), Follow(self)
        self._loaded = set()
        self._limit, self._grows = nodes, self.settings.grows(game)
        self._others = [Search(game, evaluator, **alone) for _ in range(self.settings.threads - 1)]

    @property
    def _crew(self) -> list[Search]:
        """Itself and who shares its work; not kept: a search in a cycle keeps its table until garbage is looked for."""
        return [self, *self._others]

    def stop(self) -> None:
        """Ends the running search soon; it answers with its deepest complete depth. Callable from any thread."""
        for search in self._crew:
            search._T.stop[0] = 1

    def __call__(self, state: State) -> Result:
        """Searches a position.

        Raises ValueError for a position of another game or a finished one, Stopped if `stop` came before a first depth was
        complete, and RuntimeError where its own evaluator calls it. Ctrl-C ends it at once with KeyboardInterrupt.
        """
        if state.game != self.game:
            raise ValueError(f"search: expected a position of {self.game!r}, got one of {state.game!r}")
        if state.is_terminal:
            raise ValueError(f"search: expected a position to play, got a finished game: {state}")
        return self._turn.take(lambda: self._search(state))

    def _search(self, state: State) -> Result:
        """Searches a position that can be searched, alone with the buffers."""
        start = time.perf_counter()
        self._clear()
        if self._remembers:
            for search in self._crew:
                search._forget()
        return self._heard(lambda: self._deepen(state, start))

    def _heard(self, work: Callable[[], Result]) -> Result:
        """Returns what `work` returns; Ctrl-C ends it."""
        return stoppable(work, *(search._T.stop for search in self._crew))

    def _clear(self) -> None:
        """Clears the stop bytes and the counts."""
        for search in self._crew:
            search._T.stop[0] = 0
            search._B.counts[:] = 0

    def _forget(self) -> None:
        """Makes the entries of the table old: they give way, and count only against the clock.

        So a search of given depth does not depend on those before it, and one with `seconds` goes on from them.
        """
        self._B = renewed(self._B)

    def _root(self, state: State, depth: int, start: float, before: Result | None = None) -> Result:
        """Searches one depth: every root action in turn, the best of the depth before first."""
        for search in self._crew:
            search._S[0] = state.row
        upper_bounds: frozenset[int] = frozenset()
        if self._frontier is not None:
            value, values = self._batched(self._frontier, state, depth)
        elif state.is_chance:
            self._share(0)
            value, values = self._value(ROOT, TOP, depth), {}
        elif self._plain is not None and self.settings.threads == 1:
            values = self._plainly(depth)
            value = max(values.values())
        else:
            self._B.counts[NODES] += 1
            actions = self._considered()
            if before is not None and self._prunes:
                actions.sort(key=lambda a: -before.values[a])
            self._share(len(actions))
            if self.settings.threads == 1:
                values, upper_bounds = self._in_turn(actions, depth, before)
            else:
                values, upper_bounds = self._shared_out(state, actions, depth)
            value = max(values.values())
        exact = [a for a in values if a not in upper_bounds] if upper_bounds else values
        counts = [search._B.counts.tolist() for search in self._crew]
        return Result(
            action=max(exact, key=values.__getitem__) if exact else None,
            value=value,
            values=values,
            nodes=sum(count[NODES] for count in counts),
            leaves=sum(count[LEAVES] for count in counts),
            depth=before.depth if before and counts[0][FAILED] else depth,
            seconds=time.perf_counter() - start,
            bounds=upper_bounds,
            state=state,
            _follow=self._follow,
        )

    def _share(self, actions: int) -> None:
        """Shares the limit of work out among so many root actions."""
        if self._grows or self.settings.nodes:
            cutoff, toll = self.settings.share(actions, self._limit)
            for search in self._crew:
                search._B = search._B._replace(options=search._B.options._replace(cutoff=cutoff, toll=toll))

    def _batched(self, frontier: Frontier, state: State, depth: int) -> tuple[float, dict[int, float]]:
        """Returns the values of a position and its actions, for the player who acts, by a tree with batched leaves."""
        value, children = frontier(state.row, depth, self._B.counts)
        self._check(depth)
        sign = -1.0 if state.current_player == 1 else 1.0
        if state.is_chance:  # its children are outcomes
            return value, {}
        return sign * value, {a: sign * v for a, v in zip(self._considered(), children, strict=True)}

    def _plainly(self, depth: int) -> dict[int, float]:
        """Returns the exact values of the root actions, by one compiled call."""
        if self._grows or self.settings.nodes:
            self._share(len(self._considered()))
        done = self._plain_root(self._S, self._B, self._actions, self._values, depth, self._T)
        self._check(depth)
        return dict(zip(self._actions[:done].tolist(), self._values[:done].tolist(), strict=True))

    def _in_turn(
        self, actions: list[int], depth: int, before: Result | None
    ) -> tuple[dict[int, float], frozenset[int]]:
        """Returns the values of root actions and which are only bounds, by one compiled call.

        Where the clock breaks it off, actions not searched by then keep the value of the depth before, at most the best.
        """
        n = len(actions)
        asked, values, is_bound = self._actions[:n], self._values[:n], self._is_bound[:n]
        asked[:] = actions
        rounding = ROUNDING if self.game.max_stages else 0.0
        exact = self.settings.all_values or not self._prunes
        done = self._root_search(self._S, self._B, asked, values, is_bound, depth, exact, rounding, self._T)
        if before is None or self.seconds is None or exact or not done or self._B.counts[FAILED] != STOPPED:
            self._check(depth)
        else:
            best = values[:done][~is_bound[:done]].max()
            values[done:] = [min(before.values[a], best) for a in actions[done:]]
            is_bound[done:] = True
        found = sorted(zip(actions, values.tolist(), is_bound.tolist(), strict=True))
        return {a: value for a, value, _ in found}, frozenset(a for a, _, bound in found if bound)

    def _shared_out(self, state: State, actions: list[int], depth: int) -> tuple[dict[int, float], frozenset[int]]:
        """Returns the values of root actions and which are only bounds; every thread takes the next when it is free."""
        best, first = -math.inf, -1
        upper_bounds: set[int] = set()

        def work(search: Search, a: int) -> float:
            nonlocal best, first
            known, rounding = -math.inf, 0.0
            if self._prunes and not self.settings.all_values and first >= 0:
                known = best
                if self.game.max_stages:
                    rounding = ROUNDING * max(1.0, abs(best))  # a mean's bound may pass the window by its last bits
                elif a < first:
                    known = math.nextafter(best, -math.inf)  # so that the first of equals is exact
            value = search._action_value(state, a, depth, known)
            if value <= known + rounding:
                upper_bounds.add(a)
            elif value > best or (value == best and a < first):
                best, first = value, a
            return value

        values = share_out(self._crew, actions, work, self.stop)
        return dict(sorted(zip(actions, values, strict=True))), frozenset(upper_bounds)

    def _considered(self) -> list[int]:
        """Returns the actions that the search considers at the root."""
        n = self._find_actions(self._S, ROOT, self._actions, self._bare)
        return [*self._actions[:n].tolist()]

    def _action_value(self, state: State, a: int, depth: int, known: float) -> float:
        """Returns the value of a root action for the player who acts, or an upper bound of it that is at most `known`."""
        self._apply_action(self._S, ROOT, a, TOP, self._bare)
        left = depth - int(self._action_cost(self._S, ROOT, a, self._bare))
        if state.current_player == 1:
            return -self._value(TOP, TOP + np.uint64(1), left, upper=-known)
        return self._value(TOP, TOP + np.uint64(1), left, lower=known)

    def _value(
        self, i: np.uint64, top: np.uint64, depth: int, lower: float = -math.inf, upper: float = math.inf
    ) -> float:
        """Returns player 0's value of a row, or a bound beyond the window; raises Stopped if the stop byte was set."""
        if self._plain is not None:
            value = float(self._plain(self._S, self._B, i, top, depth, self._T))
        else:
            value = float(self._windowed(self._S, self._B, i, top, depth, lower, upper, self._T))
        self._check(depth)
        return value

    def _check(self, depth: int) -> None:
        """Raises Stopped if the search was stopped before its end."""
        failed = self._B.counts[FAILED]
        if failed == NO_ROWS:
            where = f"{self.game.name}, depth {depth}"
            raise ValueError(
                f"search: expected at most {self.game.max_stages} chance stages in a row ({where}), got more"
            )
        if failed or (self.evaluator.slow and self._T.stop[0]):
            raise Stopped

    def again(self, state: State, depth: int) -> Result:
        """Searches a position on the principal line."""

        def again() -> Result:
            self._clear()
            return self._heard(lambda: self._root(state, depth, time.perf_counter()))

        return self._turn.take(again)
