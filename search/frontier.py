"""Search with batched leaves: it expands the tree into arrays, values all leaves in a few calls, and backs the values up.

The tree is that of `expectiminimax`, node for node. The expansion is compiled once a game, whatever the evaluator: the
evaluator's stage and its rule for finished games are passed at run time. Equal leaf rows are valued once.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from leafwise.envs.core.arrays import Array, Bytes, Floats, Ints
from leafwise.envs.core.compile.jit import bind, jit
from leafwise.envs.core.contract.evaluator import (
    DECISION,
    EVALUATE,
    Evaluator,
    LeafSpec,
    answered,
    finished_value,
    is_asked,
    leaf_spec,
)
from leafwise.envs.core.contract.game import Game
from leafwise.envs.core.contract.rules import CHANCE, TERMINAL, Compiled, Rules, copy_row, row_hash
from leafwise.envs.core.errors import UserError
from leafwise.search import expectiminimax as F
from leafwise.search.search_options import ints

ROWS, BYTES = 1 << 18, 1 << 26
"""Maximum number of nodes of a tree (some 50 bytes and a row each), and of bytes of their rows. A larger tree is split at the root:
its subtrees are searched one after another. (A tree always has room for the children of one node.)"""
BATCH = 1 << 13
"""Maximum number of rows in one call of an evaluator; a search can be stopped between two calls."""

MAX, MIN, AVERAGE, LEAF, NEGATED, KNOWN = 0, 1, 2, 3, 4, 5
"""Kinds of nodes: decisions of player 0 and 1, chance nodes, leaves as they are and with the opposite sign, finished games."""

ASKED = 2
"""Index in `FrontierTree.counts` of the number of leaves for the evaluator."""
ADDED_COUNTS = (1, 1, 0, 1, 0)
"""The counts of a tree that are added to those of the search."""

POLL = np.uint64(1023)
ZERO, ONE = np.uint64(0), np.uint64(1)
hash_of = jit(inline=True)(row_hash)


class FrontierOptions(NamedTuple):
    """What the expansion is told at run time: how the evaluator is asked, and the limits of the search."""

    spec: LeafSpec
    cutoff: float
    """Decisions reached with a smaller probability than this are leaves (0: exact)."""
    node_cost: float
    """As in `SearchOptions`."""


class FrontierTree(NamedTuple):
    """Nodes in breadth-first order, so that the children of a node are adjacent and come after it; [rows] each.

    Several trees may grow at once: all their roots come first.
    """

    P: Floats
    """Probability among the children of a chance node."""
    reach: Floats
    """Product of the probabilities of chance from the root to the node."""
    first: NDArray[np.uint32]
    """First child; of a leaf, its row in the batch."""
    end: NDArray[np.uint32]
    """One past the last child."""
    kind: Bytes
    left: Bytes
    """Depth left below the node."""
    value: Floats
    """Player 0's value; before the back-up of a leaf, what is added to the evaluator's number."""
    counts: Ints
    """As in `search_options.SearchBuffers`, for this tree."""


@jit
def gather(S, tree, n, slots):
    """Moves the rows of the leaves among n nodes to the front of S, equal rows once; returns how many there are.

    `slots` (uint32, all 0, a power of two above the number of leaves) is a hash table of row + 1. Rows are compared whole.
    """
    mask = np.uint64(slots.shape[0] - 1)
    m = ZERO
    for i in range(n):
        if tree.kind[i] == LEAF or tree.kind[i] == NEGATED:
            at = hash_of(S, i, tree) & mask
            while slots[at] != 0:
                j, w = np.uint64(slots[at] - 1), 0
                while w < S.shape[1] and S[i, w] == S[j, w]:
                    w += 1
                if w == S.shape[1]:
                    break
                at = (at + ONE) & mask
            if slots[at] == 0:
                copy_row(S, i, m)
                m += ONE
                slots[at] = m
            tree.first[i] = slots[at] - 1
    return m


@jit
def back_up(tree, n, values):
    """Computes the values of all n nodes from `values`, the evaluator's numbers of the leaves."""
    for k in range(ONE, n + ONE):
        i = n - np.uint64(k)
        kind = tree.kind[i]
        first = np.uint64(tree.first[i])
        if kind == LEAF:
            tree.value[i] += values[first]
        elif kind == NEGATED:
            tree.value[i] -= values[first]
        elif kind == AVERAGE:
            total = 0.0
            for o in range(first, np.uint64(tree.end[i])):
                total += tree.P[o] * tree.value[o]
            tree.value[i] = total
        elif kind != KNOWN:
            best = tree.value[first]
            for o in range(first + ONE, np.uint64(tree.end[i])):
                better = tree.value[o] < best if kind == MIN else tree.value[o] > best
                if better:
                    best = tree.value[o]
            tree.value[i] = best


@cache
def make_expand(rules: Rules, room: Path) -> Compiled:
    """Compiles a game's `expand` over the actions that a search considers."""
    legal_actions = rules.candidates or rules.legal_actions
    current_player, stage, returns = rules.current_player, rules.stage, rules.returns
    apply_action, action_cost, chance_outcomes = rules.apply_action, rules.action_cost, rules.chance_outcomes
    max_outcomes = np.uint64(rules.chance.max_outcomes)

    @bind(room)
    def expand(S, tree, A, roots, expanded, options, T):
        """Grows the trees of the first `roots` rows of S [rows, width] by the children of their first `expanded` nodes.

        Returns the number of nodes. A [actions] is scratch.
        """
        spec, cost = options.spec, options.node_cost
        rows, top, i = np.uint64(S.shape[0]), roots, ZERO
        while i < top and i < expanded:
            # The search may be stopped
            if i & POLL == ZERO and T.stop[0]:
                tree.counts[F.FAILED] = F.STOPPED
                return top
            # A leaf has no children: the game is over, no depth is left, or it is too improbable
            player = current_player(S, i, T)
            tree.value[i] = 0.0
            leaf = player == TERMINAL or (player != CHANCE and tree.reach[i] < options.cutoff)
            if not leaf and tree.left[i] <= 0:
                leaf = is_asked(spec.stages | DECISION, stage(S, i, T))
            # Its value is known, or is added to the evaluator's number
            if leaf:
                tree.counts[F.LEAVES] += 1
                outcome = np.float64(returns(S, i, T))
                if player == TERMINAL and spec.rule != EVALUATE:
                    tree.kind[i] = KNOWN
                    tree.value[i] = finished_value(spec.rule, spec.win, spec.draw, spec.loss, outcome)
                else:
                    tree.counts[ASKED] += 1
                    tree.kind[i] = NEGATED if player == 1 else LEAF
                    if spec.to_go:
                        tree.value[i] = outcome
                i += ONE
                continue
            # A node needs rows for all its children
            n = max_outcomes
            if player != CHANCE:
                tree.counts[F.NODES] += 1
                n = np.uint64(legal_actions(S, i, A, T))
            if top + n > rows:
                tree.counts[F.FAILED] = F.NO_ROWS
                return top
            # The children are the rows from `top` on
            tree.kind[i] = AVERAGE if player == CHANCE else player
            tree.first[i] = top
            if player == CHANCE:
                n = np.uint64(chance_outcomes(S, i, tree.P, top, T))
                for o in range(top, top + n):
                    tree.left[o] = tree.left[i]
                    tree.reach[o] = tree.reach[i] * tree.P[o]
            else:
                for k in range(n):
                    after = top + k
                    apply_action(S, i, A[k], after, T)
                    tree.left[after] = np.int64(tree.left[i]) - np.int64(action_cost(S, i, A[k], T))
                    tree.reach[after] = (tree.reach[i] - cost) / np.float64(n) if cost > 0.0 else tree.reach[i]
            top += n
            tree.end[i] = top
            i += ONE
        return top

    return expand


Values = Callable[[Array, Floats, Any], None]
"""(rows [n, width], numbers [n] to fill, T): values a batch of rows."""


def values_of(evaluator: Evaluator, room: Path) -> Values:
    """Returns the function that values a batch: the evaluator's own `batch`, or a compiled loop over its `value`."""
    if evaluator.batch is None:
        return make_values(evaluator.value, evaluator.room or room)
    batch, expected = evaluator.batch, f"evaluator {evaluator.name!r}: expected "

    def fill(rows: Array, values: Floats, T: Any) -> None:
        values[:] = answered(batch(rows, T), values.shape, expected + f"{values.shape} values of a batch")

    return fill


@cache
def make_values(value: Compiled, room: Path) -> Values:
    """Compiles the loop over an evaluator's `value`."""

    @bind(room)
    def value_rows(S, values, T):
        """Writes the values of the rows of S [n, width] to values [n], until it is stopped."""
        for i in range(np.uint64(S.shape[0])):
            if T.stop[0]:
                return
            values[i] = value(S, np.uint64(i), T)

    loop: Values = value_rows
    return loop


def bound_values(game: Game, evaluator: Evaluator) -> Callable[[Array], Floats]:
    """Returns a function that values rows [n, width] by an evaluator; it has tables of its own and serves one thread.

    Raises ValueError for an evaluator whose number is the return still to come.
    """
    if evaluator.to_go:
        raise UserError(
            f"evaluator {evaluator.name!r}: expected a value of the whole game (to_go=False), got one of the return to come"
        )
    fill, T = values_of(evaluator, game.room), game.tables(evaluator)

    def values(rows: Array) -> Floats:
        numbers = np.zeros(len(rows))
        fill(np.ascontiguousarray(rows), numbers, T)
        return numbers

    return values


class Frontier:
    """Values positions by trees with batched leaves. One instance serves one thread."""

    def __init__(
        self,
        game: Game,
        evaluator: Evaluator,
        T: Any,
        *,
        cutoff: float = 0.0,
        node_cost: float = 0.0,
    ) -> None:
        """Compiles the expansion, or finds it in the cache.

        Args:
            T: the search's tables, with the evaluator's weights and the stop byte that ends a search.
        """
        rows = max(1 + max(game.max_actions, game.max_outcomes), min(ROWS, BYTES // game.rows(1).nbytes))
        self._options = FrontierOptions(
            leaf_spec(evaluator, game.stages), cutoff=float(cutoff), node_cost=float(node_cost)
        )
        self._values = values_of(evaluator, game.room)
        self._expand = make_expand(game.rules, game.room)
        self._T, self._rules_T = T, T._replace(leaf=())  # one compiled expansion serves all weights
        self._S = game.rows(rows)
        self._tree = FrontierTree(
            P=np.zeros(rows),
            reach=np.zeros(rows),
            first=np.zeros(rows, dtype=np.uint32),
            end=np.zeros(rows, dtype=np.uint32),
            kind=np.zeros(rows, dtype=np.uint8),
            left=np.zeros(rows, dtype=np.uint8),
            value=np.zeros(rows),
            counts=ints(F.COUNTS),
        )
        self._A = ints(game.max_actions)
        self._slots = np.zeros(1 << (2 * rows).bit_length(), dtype=np.uint32)
        self._V = np.zeros(rows)
        self.asked = 0
        """Rows passed to the evaluator so far, equal rows of one tree once."""

    def __call__(self, row: Array, depth: int, counts: Ints, reach: float = 1.0) -> tuple[float, list[float]]:
        """Searches a row `depth` decisions deep; returns player 0's value of it and of its children (actions or outcomes, in
        order).

        Adds nodes and leaves to `counts`, whose columns are those of `SearchBuffers.counts`, and writes there why the search
        failed.
        """
        n = self._grow(row[None], depth, reach, self._tree.P.size)
        if self._tree.counts[F.FAILED] == F.NO_ROWS:
            return self._by_subtrees(row, depth, reach, counts)
        counts += self._tree.counts * ADDED_COUNTS  # leaves out ASKED, which is HITS in `counts`
        if counts[F.FAILED]:
            return 0.0, []
        back_up(self._tree, n, self._value_leaves(n))
        if self._T.stop[0]:
            counts[F.FAILED] = F.STOPPED
        tree = self._tree
        inner = tree.kind[0] in (MAX, MIN, AVERAGE)
        return float(tree.value[0]), tree.value[tree.first[0] : tree.end[0]].tolist() if inner else []

    def many(self, rows: Array, depth: int, counts: Ints) -> tuple[Floats, Floats, Ints]:
        """Values rows [n, width] as `__call__` does, with the leaves of as many trees in a batch as fit into memory.

        Returns player 0's values [n], the values of all children [m], those of one row after those of another, and the end of each
        row's children [n].
        """
        tree, first, size = self._tree, 0, min(len(rows), self._tree.P.size)
        values, parts, ends = np.zeros(len(rows)), [np.zeros(0)], np.zeros(len(rows), np.int64)
        while first < len(rows) and not counts[F.FAILED]:
            some = slice(first, min(first + size, len(rows)))
            k = some.stop - first
            n = self._grow(rows[some], depth, 1.0, tree.P.size)
            if tree.counts[F.FAILED] == F.NO_ROWS and k > 1:
                size = k // 2
                continue
            if tree.counts[F.FAILED] == F.NO_ROWS:
                values[first], children = self._by_subtrees(rows[first], depth, 1.0, counts)
                parts.append(np.array(children))
                ends[first] = len(children)
            else:
                counts += tree.counts * ADDED_COUNTS
                back_up(tree, n, self._value_leaves(n))
                values[some] = tree.value[:k]
                ends[some] = np.where(tree.kind[:k] <= AVERAGE, tree.end[:k] - tree.first[:k], 0)
                parts.append(tree.value[k : k + ends[some].sum()].copy())
            first = some.stop
        if self._T.stop[0]:
            counts[F.FAILED] = F.STOPPED
        return values, np.concatenate(parts), ends.cumsum()

    def _grow(self, rows: Array, depth: int, reach: float, expanded: int) -> np.uint64:
        """Grows the trees of rows by the children of their first `expanded` nodes; returns the number of nodes."""
        roots = len(rows)
        self._S[:roots] = rows
        self._tree.left[:roots], self._tree.reach[:roots] = depth, reach
        self._tree.counts[:] = 0
        arguments = np.uint64(roots), np.uint64(expanded), self._options, self._rules_T
        return np.uint64(self._expand(self._S, self._tree, self._A, *arguments))

    def _by_subtrees(self, row: Array, depth: int, reach: float, counts: Ints) -> tuple[float, list[float]]:
        """Values a tree that is too large for the memory: the subtrees of its root one after another."""
        tree = self._tree
        n = self._grow(row[None], depth, reach, 1)
        counts += tree.counts * ADDED_COUNTS
        if counts[F.FAILED]:
            return 0.0, []
        kind, P = tree.kind[0], tree.P[1:n].copy()
        children = list(zip(self._S[1:n].copy(), tree.left[1:n].tolist(), tree.reach[1:n].tolist(), strict=True))
        values: list[float] = []
        for child in children:
            if counts[F.FAILED]:
                return 0.0, []
            values.append(self(child[0], child[1], counts, child[2])[0])
        if kind == AVERAGE:
            return float(sum(p * v for p, v in zip(P.tolist(), values, strict=True))), values
        return min(values) if kind == MIN else max(values), values

    def _value_leaves(self, n: np.uint64) -> Floats:
        """Returns the evaluator's numbers of the tree's leaves, one a row of the batch; not all of them once it is stopped."""
        size = 1 << int(2 * self._tree.counts[ASKED] + 1).bit_length()
        slots = self._slots[:size]
        slots[:] = 0
        m = int(gather(self._S, self._tree, n, slots))
        self.asked += m
        for start in range(0, m, BATCH):
            if self._T.stop[0]:
                break
            rows = self._S[start : min(start + BATCH, m)]
            self._values(rows, self._V[start : start + len(rows)], self._T)
        return self._V
