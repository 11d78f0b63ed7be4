"""Many tree searches side by side, whose leaves are valued in one batch.

A forest is a `MctsTree` whose arrays have one axis more, for the trees. Each tree searches until a descent ends at a leaf; then one
call values the leaves of all trees. A tree has one unfinished simulation at a time, as if it searched alone.
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
    CompiledMctsOptions,
    MctsTree,
    back_up,
    find_node,
    forget_nodes,
    give_back,
    is_proven,
    new_tree,
    softmax_prior,
)


class Paths(NamedTuple):
    """The unfinished simulation of each of G trees."""

    root: Ints
    """Node of the position searched, [G]."""
    left: Ints
    """Number of simulations left, [G]."""
    fresh: Ints
    """1: the root is new, and its prior is computed first, [G]."""
    node: Ints
    """Node that was added at the end of the path, NONE: none, [G]."""
    ended: Ints
    """1: the path ends with a finished game, [G]."""
    sign: Floats
    """-1: the evaluator's value is player 1's, [G]."""
    offset: Floats
    """Player 0's return so far, if the evaluator values the return still to come, [G]."""
    asked: Ints
    """The tree of each row of the batch, [G]."""
    value: Floats
    """The evaluator's value of a new root, for the player who acts, [G]."""


class Halving(NamedTuple):
    """Sequential halving among the actions of roots."""

    wanted: Ints
    """The schedule of `visits_wanted`; without columns, PUCT chooses."""
    noisy: Floats
    """Logarithms of the priors of roots plus Gumbel noise, [G, max_actions]."""


class ForestFunctions(NamedTuple):
    """Compiled functions; `trees` [n] are indices of trees, S [2, width] and A [max_actions] are scratch."""

    plant: Compiled
    """`(forest, paths, trees, rows, S, A, T)`: sets the root of each tree to a decision, rows [n, width]."""
    down: Compiled
    """`(forest, paths, trees, rows, S, A, halving, options, T)` -> how many leaves there are, written to rows [n, width]; 0: all
    simulations are done."""
    up: Compiled
    """`(forest, paths, n, values, logits)`: backs up the values of n leaves, [n]; logits of their actions, [n, max_actions], become
    priors."""


@jit(inline=True)
def tree_of(forest, g):
    """Returns one tree of a forest."""
    return MctsTree(
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
    """Compiles the functions of a forest, for a game and an evaluator that is asked as `spec` says."""
    current_player, returns = rules.current_player, rules.returns
    add_node, descend = make_add_node(rules, room), make_descend(rules, spec.stages, room)
    to_go, rule, win, draw, loss = spec.to_go, spec.rule, spec.win, spec.draw, spec.loss

    @bind(room)
    def plant(forest, paths, trees, rows, S, A, T):
        for k in range(trees.shape[0]):
            g = trees[k]
            tree = tree_of(forest, g)
            for w in range(rows.shape[1]):
                S[ROW, w] = rows[k, w]
            root = find_node(tree, S, ROW)
            half = 2 * tree.counts[M.NODES] > tree.rows.shape[0] or 2 * tree.counts[M.EDGES] > tree.action.shape[0]
            paths.fresh[g] = root == NONE or half
            if paths.fresh[g]:
                forget_nodes(tree)
                root = add_node(S, ROW, current_player(S, ROW, T), A, tree, T)
            paths.root[g], paths.left[g] = root, 0
            tree.counts[M.SIMULATIONS], tree.counts[M.LEAVES], tree.counts[M.DEEPEST] = 0, 0, 0

    @bind(room)
    def down(forest, paths, trees, rows, S, A, halving, options, T):
        n, simulations = 0, halving.wanted.shape[1]
        for k in range(trees.shape[0]):
            g = trees[k]
            tree, root = tree_of(forest, g), paths.root[g]
            needs_value = False
            if paths.fresh[g]:
                needs_value = True
                for w in range(rows.shape[1]):
                    S[ROW, w] = tree.rows[root, w]
                paths.node[g] = root
            # Simulations that need no evaluator are finished at once, one after another
            while not needs_value and paths.left[g] > 0 and not is_proven(tree, root):
                edge = np.int64(NONE)
                if simulations > 0:
                    visits = halving.wanted[tree.end[root] - tree.first[root], simulations - paths.left[g]]
                    edge = best_visited(tree, root, halving.noisy[g], visits)
                paths.left[g] -= 1
                ending, node = descend(S, A, tree, 0, root, edge, options, T)
                if ending == PROVEN:
                    back_up(tree, 0, tree.low[node], node, False)
                elif ending == STUCK:
                    give_back(tree, 0)
                else:
                    player, outcome = current_player(S, ROW, T), returns(S, ROW, T)
                    if player == TERMINAL and rule != EVALUATE:
                        back_up(tree, 0, finished_value(rule, win, draw, loss, outcome), node, ending == ENDED)
                    else:
                        needs_value = True
                        paths.node[g], paths.ended[g] = node, ending == ENDED
                        paths.sign[g] = -1.0 if player == 1 else 1.0
                        paths.offset[g] = outcome if to_go else 0.0
            if needs_value:
                paths.asked[n] = g
                for w in range(rows.shape[1]):
                    rows[n, w] = S[ROW, w]
                n += 1
        return n

    @bind(room)
    def up(forest, paths, n, values, logits):
        for k in range(n):
            g = paths.asked[k]
            tree = tree_of(forest, g)
            if paths.node[g] != NONE:
                softmax_prior(tree, paths.node[g], logits[k])
            tree.counts[M.LEAVES] += 1
            if paths.fresh[g]:
                paths.fresh[g], paths.value[g] = 0, values[k]
            else:
                back_up(tree, 0, paths.offset[g] + paths.sign[g] * values[k], paths.node[g], paths.ended[g] == 1)

    return ForestFunctions(plant, down, up)


class Forest:
    """Trees that search side by side, each like `Mcts` with the prior "policy" and one leaf at a time.

    A tree is kept if its next position is in it, whoever acts there. Once it is half full, a new one starts.
    """

    def __init__(
        self,
        game: Game,
        evaluator: Evaluator,
        streams: Words,
        options: CompiledMctsOptions,
        *,
        nodes: int,
        proofs: bool = True,
    ) -> None:
        """Makes a tree of so many nodes for each of the streams [trees, 2], from which it draws random numbers.

        Raises ValueError for an evaluator without a `batch_policy`.
        """
        if evaluator.batch_policy is None:
            raise UserError(f"forest: expected a leaf with a batch_policy, got {evaluator.name!r}")
        self.game, self.evaluator, self.options, self.T = game, evaluator, options, game.tables(evaluator)
        limits = value_bounds(game, evaluator) if proofs and game.max_outcomes == 0 else None
        one, n = new_tree(game, nodes, 1, streams[0], limits), len(streams)
        parts = {
            # NumPy takes memory of zeros only where it is used
            name: np.repeat(part[None], n, axis=0) if part.any() else np.zeros((n, *part.shape), part.dtype)
            for name, part in one._asdict().items()
        }
        self.trees = MctsTree(**(parts | {"stream": streams}))
        zeros: dict[str, Any] = {
            name: np.zeros(n, np.float64 if name in ("sign", "offset", "value") else np.int64) for name in Paths._fields
        }
        self.paths = Paths(**zeros)
        self.compiled = compiled_forest(game.rules, leaf_spec(evaluator, game.stages), game.room)
        self._rows, self._S, self._A = game.rows(n), game.rows(2), np.zeros(game.max_actions, np.int64)
        actions = game.max_actions
        self.halving = Halving(np.zeros((actions + 1, 0), np.int64), np.zeros((n, actions)))

    def renew(self, evaluator: Evaluator, streams: Words) -> None:
        """Starts new trees, with other weights of the same evaluator and other streams [trees, 2]."""
        self.forget(range(len(streams)))
        self.trees = self.trees._replace(stream=streams)
        self.evaluator, self.T = evaluator, self.game.tables(evaluator)

    def tree(self, k: int) -> MctsTree:
        """Returns one of the trees; its arrays are views."""
        return MctsTree(*(part[k] for part in self.trees))

    def forget(self, trees: Iterable[int]) -> None:
        """Forgets all nodes of some trees."""
        for k in trees:
            forget_nodes(self.tree(k))

    def search(
        self, rows: Array, simulations: int, trees: Ints | None = None, noise: Callable[[Ints], None] | None = None
    ) -> Ints:
        """Searches decisions, rows [n, width], in some trees [n] (default: the first n); returns the node of each, [n].

        `noise` is called with `trees` once the priors of all roots are set. If the evaluator raises, the trees are forgotten.
        """
        S, A, T = self._S, self._A, self.T
        trees = np.arange(len(rows)) if trees is None else trees
        try:
            self.compiled.plant(self.trees, self.paths, trees, rows, S, A, T._replace(leaf=()))
            self._grow(trees)  # the priors of new roots
            if noise is not None:
                noise(trees)
            self.paths.left[trees] = simulations
            self._grow(trees)
        except BaseException:
            self.forget(trees)
            raise
        return self.paths.root[trees].copy()

    def halve(self, rows: Array, simulations: int, considered: int, trees: Ints | None = None) -> Ints:
        """Searches as `search` does, in new trees, by sequential halving with Gumbel noise among `considered` root actions."""
        trees = np.arange(len(rows)) if trees is None else trees

        def draw(some: Ints) -> None:
            for g in some:
                draw_noise(self.tree(g), self.paths.root[g], self.halving.noisy[g])

        self.forget(trees)
        usual = self.halving
        self.halving = usual._replace(wanted=visits_wanted(self.game.max_actions, considered, simulations))
        try:
            return self.search(rows, simulations, trees, draw)
        finally:
            self.halving = usual

    def _grow(self, trees: Ints) -> None:
        """Makes the simulations that trees have left, in rounds: descend, value the leaves, back up."""
        rows, T = self._rows, self.T._replace(leaf=())
        while n := self.compiled.down(
            self.trees, self.paths, trees, rows, self._S, self._A, self.halving, self.options, T
        ):
            values, logits = advised(self.evaluator, rows[:n], self.T, self.game.max_actions)
            self.compiled.up(self.trees, self.paths, n, values, logits)
