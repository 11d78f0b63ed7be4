"""`Mcts`: Monte Carlo tree search over any game."""

from __future__ import annotations

import sys
import time
import weakref
from collections.abc import Callable
from contextlib import nullcontext
from typing import Any

import numpy as np

from leafwise.envs.core.arrays import Ints, Words
from leafwise.envs.core.compile.intrinsics import HAS_CLOCKS
from leafwise.envs.core.contract.evaluator import (
    EVALUATE,
    Evaluator,
    advised,
    answered,
    finished_value,
    leaf_spec,
    value_bounds,
)
from leafwise.envs.core.contract.game import Game
from leafwise.envs.core.contract.rules import TERMINAL
from leafwise.envs.core.contract.state import State, check_is_state
from leafwise.envs.core.contract.stream import new_stream
from leafwise.envs.core.errors import UserError
from leafwise.search.base import BaseSearch, LineFinder, check_pickles
from leafwise.search.frontier import values_of
from leafwise.search.mcts import tree as M
from leafwise.search.mcts.root import halve, judge
from leafwise.search.mcts.simulate import ENDED, PROVEN, STUCK, compiled_mcts, make_add_node, make_descend
from leafwise.search.mcts.tree import (
    NONE,
    ROW,
    CompiledMctsOptions,
    back_up,
    bounds_of_edges,
    edges_of,
    find_node,
    forget_nodes,
    give_back,
    knows_all,
    new_tree,
    nodes_within,
    softmax_prior,
)
from leafwise.search.result import MctsResult, principal_variation
from leafwise.search.search_options import MAX_SIMULATIONS, MctsOptions, Policy, SearchOptions, make_buffers

CALL_SIMULATIONS, CALL_SECONDS = 1 << 12, 1e-3
"""Maximum number of simulations in one compiled call; with evaluators in Python as many as take about so many seconds."""


class Mcts(BaseSearch):
    """Searches by simulations, until their number or the time limit is reached.

    One instance searches one position at a time: calls from other threads wait. Its tree is kept from search to search. The
    memory of the tree is fixed. Once it is full, simulations stop at positions without a node.
    """

    kind = "mcts"
    options: MctsOptions

    def __init__(
        self,
        game: Game,
        evaluator: Evaluator,
        *,
        simulations: int | None = None,
        seconds: float | None = None,
        exploration: float = 2.5,
        scale: str = "spread",
        prior: str | Policy | None = None,
        temperature: float = 0.4,
        gumbel: int = 0,
        proofs: bool = True,
        reuse: bool = True,
        memory_mb: float = 64.0,
        at_once: int = 64,
        candidates: str | None = None,
        clock: str = "wall",
        seed: int = 0,
    ) -> None:
        """Compiles the search, or finds it in the cache.

        Args:
            simulations: Number of simulations in a search.
            seconds: Time limit of a search; compiling does not count.
            exploration: The exploration constant of PUCT, in units of `scale`.
            scale: Unit of exploration: "spread" (of the values of simulations around their action's mean) or "span" (of
                all values seen).
            prior: Decides which actions are tried first: "policy", "values", "uniform" or a function of rows.
            temperature: Temperature of the prior "values": it is a softmax over the one-ply values of a node, scaled to
                0 to 1.
            gumbel: Sequential halving with Gumbel noise chooses among this number of root actions. 0: PUCT chooses, as
                below the root.
            proofs: In games without chance, results of finished games prove values. The search ends when the root is
                proven.
            reuse: Keeps the tree of the previous search if the position is in it.
            memory_mb: Size of the tree in MB.
            at_once: Maximum number of positions valued in one batch, if the leaf is not compiled or the prior is a
                function.
            candidates: Name of the set of actions considered, among `game.search.candidates`; default: all legal
                actions.
            clock: How `seconds` are measured: "wall" time, or "cpu" time of the searching thread.
            seed: Seed of the random numbers; the same seed and number of simulations give the same tree.

        Raises ValueError for options out of range, or an evaluator of another game.
        """
        super().__init__(game, evaluator, MctsOptions.of_call(locals()))
        # The options that compiled code reads
        options, limits = self.options, value_bounds(game, evaluator)
        self._advises = options.prior == "policy" and evaluator.policy is None
        batched = evaluator.value is None or callable(options.prior) or self._advises
        self.simulations = options.simulations
        self._read = CompiledMctsOptions(
            options.exploration,
            by_spread=options.scale == "spread",
            temperature=options.temperature,
            one_ply=options.prior == "values",
            policy=options.prior == "policy" and not self._advises,
        )
        # The tree, of as many nodes as fit into its memory
        proofs, at_once = options.proofs and game.max_outcomes == 0, options.at_once
        nodes = nodes_within(game, options.memory_mb, proofs)
        self.tree = new_tree(
            game, nodes, at_once if batched else 1, new_stream(options.seed), limits if proofs else None
        )
        # Compiled code: whole simulations, or only the descent if leaves are valued in batches
        self._spec = leaf_spec(evaluator, game.stages)
        read = SearchOptions(depth=1).compiled(game, *limits)
        self._S, self._B = make_buffers(game, 2, 1, False, read, evaluator.speed.cache_values)
        self._add_node = make_add_node(game.rules, game.room)
        self._compiled = None if evaluator.value is None else compiled_mcts(game, evaluator)
        self._descend = make_descend(game.rules, self._spec.stages, game.room) if batched else None
        self._batch_rows = game.rows(at_once)
        self._values = values_of(evaluator, game.room) if batched else None
        self._line_of = LineFinder(self)
        self._last: Callable[[], MctsResult | None] = lambda: None
        self._reads_clock = HAS_CLOCKS and not batched and not evaluator.python_only

    def __copy__(self) -> Mcts:
        copied: Mcts = super().__copy__()
        copied.__setstate__(self.tree.stream)
        return copied

    def __reduce__(self) -> tuple[Any, ...]:
        prior = self.options.prior
        check_pickles(prior, f"expected a prior that is a module's function, to pickle a search, got {prior!r}")
        return (*super().__reduce__(), self.tree.stream.copy())

    def __setstate__(self, stream: Words) -> None:
        """Continues the random numbers of another search."""
        self.tree.stream[:] = stream

    def __del__(self) -> None:
        last = getattr(self, "_last", lambda: None)()
        if last is not None and not sys.is_finalizing():  # the line has to be known without the tree
            vars(last).setdefault("line", self._line(last))

    def draw_from(self, stream: Words) -> None:
        """Draws random numbers from another stream [2] from now on, and forgets the tree."""
        self.forget()
        self.tree = self.tree._replace(stream=stream)

    def forget(self) -> None:
        """Forgets the tree, so that the next search begins a new one."""

        def forget() -> None:
            self._keep_line()
            forget_nodes(self.tree)

        self._take_turn(forget)

    def __call__(self, state: State) -> MctsResult:
        """Searches a decision.

        Raises ValueError for a position of another game, a finished one or a stage of chance. Raises RuntimeError if its own
        evaluator or policy calls it. Ctrl-C ends it at once with KeyboardInterrupt; the tree stays.
        """
        check_is_state(state, self.game, "mcts")
        if state.is_terminal or state.is_chance:
            what = "a finished game" if state.is_terminal else f"chance acting ({state.stage})"
            raise UserError(f"mcts: expected a decision, got {what}: {state}")
        return self._take_turn(lambda: self._search(state), searches=True)

    def _search(self, state: State) -> MctsResult:
        """Searches a decision while no other call uses the tree."""
        self._keep_line()
        tree = self.tree
        tree.counts[[M.SIMULATIONS, M.LEAVES, M.FAILED, M.DEEPEST]] = 0
        root = self._find_or_plant(state)
        if self._compiled is not None and self._descend is None and not self._loaded:
            self._compiled.simulate(self._S, self._B, tree, root, NONE, 0, self._read, self._T)
        self._exclude_loading("decisions")
        chosen_edge: int | None = None
        with nullcontext() if self.seconds is None else self._until_late(self.seconds):
            if self.options.gumbel and self.simulations is not None:
                chosen_edge = halve(tree, root, self.options.gumbel, self.simulations, self._simulate)
            else:
                self._simulate(root, NONE, MAX_SIMULATIONS if self.simulations is None else self.simulations)
        return self._result(state, root, chosen_edge)

    def _find_or_plant(self, state: State) -> int:
        """Returns the node of a position; starts a new tree if the position is not in it or memory is half full."""
        tree = self.tree
        self._S[ROW] = state.row
        root = int(find_node(tree, self._S, ROW))
        crowded = 2 * tree.counts[M.NODES] > len(tree.rows) or 2 * tree.counts[M.EDGES] > len(tree.action)
        if root != NONE and self.options.reuse and not crowded:
            return root
        if self._compiled is not None and self._descend is None:
            root = int(self._compiled.plant(self._S, self._B, tree, self._read, self._T))
        else:
            forget_nodes(tree)
            root = int(self._add_node(self._S, ROW, state.current_player, self._B.A[0], tree, self._rules_T))
        if root == NONE:
            raise UserError(
                f"mcts: expected memory for {len(state.legal_actions)} actions, got {len(tree.action)} edges"
            )
        if callable(self.options.prior):
            self._ask_policy(np.array([root]))
        elif self._advises:
            _, logits = advised(self.evaluator, tree.rows[root : root + 1], self._T, self.game.max_actions)
            softmax_prior(tree, root, logits[0])
        return root

    def _simulate(self, root: int, root_edge: int, simulations: int) -> None:
        """Makes simulations until their number is reached, the search is stopped or late, or the root is proven."""
        tree, done, python_only = self.tree, 0, self.evaluator.python_only
        per_call = 1 if python_only else CALL_SIMULATIONS
        while done < simulations and not tree.counts[M.FAILED]:
            if root_edge == NONE and knows_all(tree, root):
                break
            n, start = min(simulations - done, per_call), time.perf_counter()
            if self._compiled is not None and self._descend is None:
                done += self._compiled.simulate(self._S, self._B, tree, root, root_edge, n, self._read, self._T)
            else:
                done += self._simulate_batch(root, root_edge, min(n, len(self._batch_rows)))
            if self._T.stop[0]:
                tree.counts[M.FAILED] = 1
            if python_only:
                per_call = (
                    min(2 * per_call, CALL_SIMULATIONS)
                    if time.perf_counter() - start < CALL_SECONDS
                    else max(per_call // 2, 1)
                )

    def _simulate_batch(self, root: int, root_edge: int, most: int) -> int:
        """Makes at most `most` simulations, whose leaves are valued in one batch; returns how many it made."""
        assert self._descend is not None
        tree, S, A, rules, spec = self.tree, self._S, self._B.A[0], self.game.rules, self._spec
        signs, offsets = np.zeros(most), np.zeros(most)
        endings = [(0, NONE)] * most
        pending: list[int] = []
        added: list[int] = []
        done = 0
        try:
            for b in range(most):
                ending, node = self._descend(S, A, tree, b, root, root_edge, self._read, self._rules_T)
                endings[b] = ending, node
                done += 1
                if ending == PROVEN:
                    offsets[b] = tree.low[node]
                    continue
                if node != NONE:
                    added.append(node)
                if ending == STUCK:  # the evaluator cannot be asked here: this simulation has no value
                    give_back(tree, b)
                    tree.lengths[b] = 0
                    continue
                player = int(rules.current_player(S, ROW, self._rules_T))
                outcome = float(rules.returns(S, ROW, self._rules_T))
                if player == TERMINAL and spec.rule != EVALUATE:
                    offsets[b] = finished_value(spec.rule, spec.win, spec.draw, spec.loss, outcome)
                    continue
                signs[b] = -1.0 if player == 1 else 1.0
                offsets[b] = outcome if spec.to_go else 0.0
                self._batch_rows[len(pending)] = S[ROW]
                pending.append(b)
            values = np.zeros(len(pending))
            if pending and self._advises:
                rows = self._batch_rows[: len(pending)]
                values, logits = advised(self.evaluator, rows, self._T, self.game.max_actions)
                for b, weights in zip(pending, logits, strict=True):
                    if endings[b][1] != NONE:
                        softmax_prior(tree, endings[b][1], weights)
            elif pending and self._values is not None:
                self._values(self._batch_rows[: len(pending)], values, self._T)
            tree.counts[M.LEAVES] += len(pending)
        except BaseException:
            for b in range(done):
                give_back(tree, b)
            raise
        if callable(self.options.prior) and added:
            self._ask_policy(np.array(added))
        offsets[pending] += signs[pending] * values
        for b in range(done):
            if tree.lengths[b]:
                ending, node = endings[b]
                back_up(tree, b, offsets[b], node, ending == ENDED)
        return done

    def _ask_policy(self, nodes: Ints) -> None:
        """Sets the priors of nodes by the policy function; raises ValueError for weights that are not finite and at least 0."""
        assert callable(self.options.prior)
        tree = self.tree
        shape = len(nodes), self.game.max_actions
        expected = f"mcts: expected {shape} numbers of at least 0 with a finite sum from the policy"
        all_weights = answered(self.options.prior(tree.rows[nodes], self._T), shape, expected)
        with np.errstate(over="ignore"):
            sums = all_weights.sum(axis=1)
        wrong = np.append(all_weights[all_weights < 0], sums[~np.isfinite(sums)])
        if len(wrong):
            raise UserError(f"{expected}, got {float(wrong[0])!r} among them")
        for node, weights in zip(nodes, all_weights, strict=True):
            edges = edges_of(tree, node)
            legal = weights[tree.action[edges]]
            total = legal.sum()
            tree.prior[edges] = legal / total if total > 0 else 1.0 / len(legal)

    def _result(self, state: State, root: int, chosen_edge: int | None) -> MctsResult:
        tree = self.tree
        edges = edges_of(tree, root)
        actions, n = tree.action[edges].tolist(), tree.n[edges]
        values, (least, most) = np.zeros(len(n)), bounds_of_edges(tree, root)
        best = judge(tree, root, values)
        if chosen_edge is not None and most[chosen_edge - edges.start] > least.max():
            best = chosen_edge - edges.start
        visits = dict(zip(actions, n.tolist(), strict=True))
        result = MctsResult(
            action=actions[best],
            value=float(values[best]),
            values=dict(zip(actions, values.tolist(), strict=True)),
            nodes=int(tree.counts[M.NODES]),
            leaves=int(tree.counts[M.LEAVES]),
            depth=int(tree.counts[M.DEEPEST]),
            seconds=time.perf_counter() - self._start,
            bounds=frozenset(np.array(actions)[(n == 0) & (least < most)].tolist()),
            state=state,
            _line_of=self._line_of,
            _units_of=self.evaluator.units,
            visits=visits,
            simulations=int(tree.counts[M.SIMULATIONS]),
            proven=knows_all(tree, root),
        )
        self._last = weakref.ref(result)
        return result

    def _keep_line(self) -> None:
        """Makes the last result, if it still exists, find its line before the tree changes. The caller holds the lock."""
        last = self._last()
        if last is not None and "line" not in last.__dict__:
            last.__dict__["line"] = self._line_now(last)

    def _line(self, result: MctsResult) -> tuple[str, ...]:
        """Returns the names along the most visited actions, from the chosen one on."""
        stored = result.__dict__  # another thread may find the line meanwhile
        return self._take_turn(lambda: stored["line"] if "line" in stored else self._line_now(result))

    def _line_now(self, result: MctsResult) -> tuple[str, ...]:
        """Does what `_line` does, for a caller that holds the lock."""
        tree, left = self.tree, M.LONGEST

        def answer(state: State) -> int | None:
            """Returns the action to play at a decision; None if it was not visited and is not proven."""
            nonlocal left
            left -= 1
            self._S[ROW] = state.row
            node = int(find_node(tree, self._S, ROW))
            if not left or node == NONE or not (tree.visits[node] or knows_all(tree, node)):
                return None
            return int(tree.action[int(tree.first[node]) + judge(tree, node, self._B.scores[0])])

        return principal_variation(result.state, result.chosen, answer)
