"""Many tree searches side by side, whose leaves are valued together.

A forest is a `Tree` whose arrays have one axis more, a tree for each position. Every tree goes on until its way down asks for a
value; then all that is asked is valued in one call. Each has one simulation under way at a time, as if it were alone.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from leafwise.envs.core.arrays import Array, Floats, Ints, Words
from leafwise.envs.core.compile.jit import bind, jit
from leafwise.envs.core.contract.evaluator import (
    EVALUATE,
    Evaluator,
    LeafSpec,
    advised,
    finished_value,
    leaf_spec,
    value_bounds,
)
from leafwise.envs.core.contract.game import Game
from leafwise.envs.core.contract.rules import TERMINAL, Compiled, Rules
from leafwise.envs.core.errors import UserError
from leafwise.search.mcts import tree as M
from leafwise.search.mcts.root import best_visited, draw_noise, visits_wanted
from leafwise.search.mcts.simulate import ENDED, PROVEN, STUCK, make_add_node, make_descend
from leafwise.search.mcts.tree import (
    NONE,
    ROW,
    Options,
    Tree,
    back_up,
    find_node,
    forget_nodes,
    give_back,
    is_proven,
    new_tree,
    softmax_prior,
)


class Ways(NamedTuple):
    """The simulation that each of G trees has under way."""

    root: Ints
    """Node of the position searched, [G]."""
    left: Ints
    """Simulations still to be made, [G]."""
    fresh: Ints
    """1: the root is new, and its prior is asked for first, [G]."""
    node: Ints
    """Node that was added at the end of the way, NONE: none, [G]."""
    ended: Ints
    """1: the way ends with a finished game, [G]."""
    sign: Floats
    """-1: the leaf speaks for player 1, [G]."""
    offset: Floats
    """Player 0's return so far, where the leaf says what is to come, [G]."""
    asked: Ints
    """Which tree asks for each row, [G]."""
    value: Floats
    """The leaf's value of a root that was new, for who acts, [G]."""


class Halving(NamedTuple):
    """How simulations are shared out among the actions of roots by sequential halving."""

    wanted: Ints
    """As of `visits_wanted`; without columns, PUCT chooses."""
    noisy: Floats
    """Logarithms of the priors of roots with Gumbel noise, [G, max_actions]."""


class ForestFunctions(NamedTuple):
    """Compiled functions; `trees` [n] says which of the forest's are meant, S [2, width] and A [max_actions] are scratch."""

    plant: Compiled
    """`(forest, ways, trees, rows, S, A, T)`: each tree is to search the decision of a row of rows [n, width]."""
    down: Compiled
    """`(forest, ways, trees, rows, S, A, halving, options, T)` -> how many rows are asked, written to rows [n, width]; 0: all is
    done."""
    up: Compiled
    """`(forest, ways, n, values, logits)`: what the n rows asked are worth, [n], and logits of their actions, [n, max_actions]."""


@jit(inline=True)
def tree_of(forest, g):
    """Returns one tree of a forest."""
    return Tree(
        forest.rows[g],
        forest.slots[g],
        forest.at[g],
        forest.player[g],
        forest.first[g],
        forest.end[g],
        forest.visits[g],
        forest.total[g],
        forest.action[g],
        forest.prior[g],
        forest.known[g],
        forest.n[g],
        forest.w[g],
        forest.waiting[g],
        forest.weights[g],
        forest.path_nodes[g],
        forest.path_edges[g],
        forest.path_values[g],
        forest.lengths[g],
        forest.low[g],
        forest.high[g],
        forest.edge_low[g],
        forest.edge_high[g],
        forest.limits[g],
        forest.span[g],
        forest.spread[g],
        forest.counts[g],
        forest.stream[g],
    )


@cache
def compiled_forest(rules: Rules, spec: LeafSpec, room: Path) -> ForestFunctions:
    """Compiles what a forest of a game calls, whose leaf is asked as `spec` says."""
    current_player, returns = rules.current_player, rules.returns
    add_node, descend = make_add_node(rules, room), make_descend(rules, spec.stages, room)
    to_go, rule, win, draw, loss = spec.to_go, spec.rule, spec.win, spec.draw, spec.loss

    @bind(room)
    def plant(forest, ways, trees, rows, S, A, T):
        for k in range(trees.shape[0]):
            g = trees[k]
            tree = tree_of(forest, g)
            for w in range(rows.shape[1]):
                S[ROW, w] = rows[k, w]
            root = find_node(tree, S, ROW)
            half = 2 * tree.counts[M.NODES] > tree.rows.shape[0] or 2 * tree.counts[M.EDGES] > tree.action.shape[0]
            ways.fresh[g] = root == NONE or half
            if ways.fresh[g]:
                forget_nodes(tree)
                root = add_node(S, ROW, current_player(S, ROW, T), A, tree, T)
            ways.root[g], ways.left[g] = root, 0
            tree.counts[M.SIMULATIONS], tree.counts[M.LEAVES], tree.counts[M.DEEPEST] = 0, 0, 0

    @bind(room)
    def down(forest, ways, trees, rows, S, A, halving, options, T):
        n, simulations = 0, halving.wanted.shape[1]
        for k in range(trees.shape[0]):
            g = trees[k]
            tree, root = tree_of(forest, g), ways.root[g]
            asks = False
            if ways.fresh[g]:
                asks = True
                for w in range(rows.shape[1]):
                    S[ROW, w] = tree.rows[root, w]
                ways.node[g] = root
            # Ways whose end is known are gone at once, one after another
            while not asks and ways.left[g] > 0 and not is_proven(tree, root):
                edge = np.int64(NONE)
                if simulations > 0:
                    visits = halving.wanted[tree.end[root] - tree.first[root], simulations - ways.left[g]]
                    edge = best_visited(tree, root, halving.noisy[g], visits)
                ways.left[g] -= 1
                how, node = descend(S, A, tree, 0, root, edge, options, T)
                if how == PROVEN:
                    back_up(tree, 0, tree.low[node], node, False)
                elif how == STUCK:
                    give_back(tree, 0)
                else:
                    player, outcome = current_player(S, ROW, T), returns(S, ROW, T)
                    if player == TERMINAL and rule != EVALUATE:
                        back_up(tree, 0, finished_value(rule, win, draw, loss, outcome), node, how == ENDED)
                    else:
                        asks = True
                        ways.node[g], ways.ended[g] = node, how == ENDED
                        ways.sign[g] = -1.0 if player == 1 else 1.0
                        ways.offset[g] = outcome if to_go else 0.0
            if asks:
                ways.asked[n] = g
                for w in range(rows.shape[1]):
                    rows[n, w] = S[ROW, w]
                n += 1
        return n

    @bind(room)
    def up(forest, ways, n, values, logits):
        for k in range(n):
            g = ways.asked[k]
            tree = tree_of(forest, g)
            if ways.node[g] != NONE:
                softmax_prior(tree, ways.node[g], logits[k])
            tree.counts[M.LEAVES] += 1
            if ways.fresh[g]:
                ways.fresh[g], ways.value[g] = 0, values[k]
            else:
                back_up(tree, 0, ways.offset[g] + ways.sign[g] * values[k], ways.node[g], ways.ended[g] == 1)

    return ForestFunctions(plant, down, up)


class Forest:
    """Trees that search side by side, each as `Mcts` with the prior "policy" and one leaf at once would.

    A tree goes on where its next position is in it, whoever acts there, and is begun anew where it is half full.
    """

    def __init__(
        self, game: Game, evaluator: Evaluator, streams: Words, options: Options, *, nodes: int, proofs: bool = True
    ) -> None:
        """Makes as many trees as there are streams [trees, 2], which they draw from; each has room for so many nodes.

        Raises ValueError for a leaf without a `batch_policy`.
        """
        if evaluator.batch_policy is None:
            raise UserError(f"forest: expected a leaf with a batch_policy, got {evaluator.name!r}")
        self.game, self.evaluator, self.options, self.T = game, evaluator, options, game.tables(evaluator)
        limits = value_bounds(game, evaluator) if proofs and game.max_outcomes == 0 else None
        one, n = new_tree(game, nodes, 1, streams[0], limits), len(streams)
        parts = {
            # Memory of zeros is taken where it is used
            name: np.repeat(part[None], n, axis=0) if part.any() else np.zeros((n, *part.shape), part.dtype)
            for name, part in one._asdict().items()
        }
        self.trees = Tree(**(parts | {"stream": streams}))
        zeros: dict[str, Any] = {
            name: np.zeros(n, np.float64 if name in ("sign", "offset", "value") else np.int64) for name in Ways._fields
        }
        self.ways = Ways(**zeros)
        self.compiled = compiled_forest(game.rules, leaf_spec(evaluator, game.stages), game.room)
        self._rows, self._S, self._A = game.rows(n), game.rows(2), np.zeros(game.max_actions, np.int64)
        actions = game.max_actions
        self.halving = Halving(np.zeros((actions + 1, 0), np.int64), np.zeros((n, actions)))

    def renew(self, evaluator: Evaluator, streams: Words) -> None:
        """Begins all trees anew, for other weights of the same leaf and other streams [trees, 2]."""
        self.forget(range(len(streams)))
        self.trees = self.trees._replace(stream=streams)
        self.evaluator, self.T = evaluator, self.game.tables(evaluator)

    def tree(self, k: int) -> Tree:
        """Returns one of the trees; its arrays are views."""
        return Tree(*(part[k] for part in self.trees))

    def forget(self, trees: Iterable[int]) -> None:
        """Forgets all nodes of some trees."""
        for k in trees:
            forget_nodes(self.tree(k))

    def search(
        self, rows: Array, simulations: int, trees: Ints | None = None, noise: Callable[[Ints], None] | None = None
    ) -> Ints:
        """Searches decisions, rows [n, width], in some trees [n] (default: the first n); returns the node of each, [n].

        `noise` is called with `trees` when the priors of all the roots are known. Where the leaf raises, all is forgotten.
        """
        S, A, T = self._S, self._A, self.T
        trees = np.arange(len(rows)) if trees is None else trees
        try:
            self.compiled.plant(self.trees, self.ways, trees, rows, S, A, T._replace(leaf=()))
            self._grow(trees)  # the priors of new roots
            if noise is not None:
                noise(trees)
            self.ways.left[trees] = simulations
            self._grow(trees)
        except BaseException:
            self.forget(trees)
            raise
        return self.ways.root[trees].copy()

    def halve(self, rows: Array, simulations: int, considered: int, trees: Ints | None = None) -> Ints:
        """Searches as `search` does, in new trees, by sequential halving with Gumbel noise among so many actions of each root."""
        trees = np.arange(len(rows)) if trees is None else trees

        def draw(some: Ints) -> None:
            for g in some:
                draw_noise(self.tree(g), self.ways.root[g], self.halving.noisy[g])

        self.forget(trees)
        usual = self.halving
        self.halving = usual._replace(wanted=visits_wanted(self.game.max_actions, considered, simulations))
        try:
            return self.search(rows, simulations, trees, draw)
        finally:
            self.halving = usual

    def _grow(self, trees: Ints) -> None:
        """Has trees make the simulations that they have left, in rounds: down, the leaf's answers, up."""
        rows, T = self._rows, self.T._replace(leaf=())
        while n := self.compiled.down(
            self.trees, self.ways, trees, rows, self._S, self._A, self.halving, self.options, T
        ):
            values, logits = advised(self.evaluator, rows[:n], self.T, self.game.max_actions)
            self.compiled.up(self.trees, self.ways, n, values, logits)
