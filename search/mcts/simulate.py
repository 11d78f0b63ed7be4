"""The compiled parts of a Monte Carlo tree search: the descent, new nodes, and whole simulations."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import NamedTuple

import numpy as np

from leafwise.envs.core.compile.intrinsics import read_clock
from leafwise.envs.core.compile.jit import bind
from leafwise.envs.core.contract.evaluator import DECISION, Evaluator, LeafSpec, is_asked, leaf_spec
from leafwise.envs.core.contract.game import Game
from leafwise.envs.core.contract.rules import CHANCE, TERMINAL, Compiled, Rules
from leafwise.search.compiled import CompiledSearch, compiled_search
from leafwise.search.mcts import tree as M
from leafwise.search.mcts.tree import (
    ABOVE,
    NONE,
    ROOT_ROW,
    ROW,
    back_up,
    forget_nodes,
    is_proven,
    open_bounds,
    proves,
    select,
    share_prior,
    slot_of,
    softmax_prior,
    tighten,
    widen,
)

ASK, PROVEN, STUCK, ENDED = 0, 1, 2, 3
"""How a descent ends: the evaluator values row ROW of S; at a node of proven value; a one-ply search values row ROW; with a
finished game, which the evaluator values."""
PAUSE, LONGEST_PAUSE = 20_000, 64
"""Nanoseconds between two reads of the clock, or a little more, and the maximum number of simulations in between."""
SAFE_TEMPERATURE = 0.01
"""From this temperature on, exponentials of numbers from 0 to 1 over the temperature are finite. Below it, 1 is subtracted
first."""


def no_policy(S, i, P, T):
    """Stands in for the policy of evaluators without; never called."""
    return 0.0


@cache
def make_add_node(rules: Rules, room: Path) -> Compiled:
    """Compiles `add_node` for a game, over the actions that a search considers."""
    legal_actions = rules.candidates or rules.legal_actions

    @bind(room, inline=True)
    def add_node(S, i, player, A, tree, T):
        """Adds the decision of row i of S with equal priors; returns its node, NONE if memory is full. A is scratch."""
        n = legal_actions(S, i, A, T)
        node, first = tree.counts[M.NODES], tree.counts[M.EDGES]
        if node >= tree.rows.shape[0] or first + n > tree.action.shape[0]:
            tree.counts[M.FULL] += 1
            return NONE
        tree.at[node] = slot_of(tree, S, i)
        tree.slots[tree.at[node]] = node + 1
        for w in range(S.shape[1]):
            tree.rows[node, w] = S[i, w]
        tree.player[node], tree.first[node], tree.end[node] = player, first, first + n
        tree.visits[node], tree.total[node] = 0, 0.0
        for k in range(n):
            e = first + k
            tree.action[e], tree.prior[e], tree.known[e] = A[k], 1.0 / n, np.nan
            tree.n[e], tree.w[e], tree.waiting[e] = 0, 0.0, 0
        if proves(tree):
            open_bounds(tree, node)
        tree.counts[M.NODES] += 1
        tree.counts[M.EDGES] += n
        return node

    return add_node


@cache
def make_descend(rules: Rules, stages: int, room: Path) -> Compiled:
    """Compiles `descend` for a game and the stages, as bits, at which the evaluator is asked."""
    current_player, stage = rules.current_player, rules.stage
    at_decisions, at_chance = is_asked(stages, 0), stages != DECISION
    apply_action, sample_outcome = rules.apply_action, rules.sample_outcome
    add_node = make_add_node(rules, room)

    @bind(room, inline=True)
    def descend(S, A, tree, b, root, root_edge, options, T):
        """Descends from node `root`, first by `root_edge` unless it is NONE, and writes the path of simulation b.

        Returns how the descent ends, and the node that was added or is proven there, NONE if there is none. With one-ply values
        the caller values the node that was added.
        """
        node, length = root, 0
        while True:
            if length > 0 and is_proven(tree, node):
                return PROVEN, node
            e = root_edge if root_edge != NONE and length == 0 else select(tree, node, options)
            tree.path_nodes[b, length], tree.path_edges[b, length] = node, e
            length += 1
            tree.lengths[b] = length
            fresh = tree.n[e] + tree.waiting[e] == 0
            tree.waiting[e] += 1
            for w in range(S.shape[1]):
                S[ROOT_ROW, w] = tree.rows[node, w]
            apply_action(S, ROOT_ROW, tree.action[e], ROW, T)
            # Chance is drawn, up to a stage at which the evaluator is asked
            may_stop_at_chance = fresh and not options.one_ply and at_chance
            player = current_player(S, ROW, T)
            while player == CHANCE and not (may_stop_at_chance and is_asked(stages, stage(S, ROW, T))):
                sample_outcome(S, ROW, tree.stream, T)
                player = current_player(S, ROW, T)
            if player < 0:
                return (ENDED if player == TERMINAL else ASK), NONE
            node = tree.slots[slot_of(tree, S, ROW)] - 1
            if node == NONE:
                node = add_node(S, ROW, player, A, tree, T)
                if node == NONE:
                    return (ASK if at_decisions else STUCK), NONE
                if at_decisions or options.one_ply:
                    return ASK, node
            if length == tree.path_nodes.shape[1]:
                return (ASK if at_decisions else STUCK), NONE

    return descend


class MctsFunctions(NamedTuple):
    """Compiled functions of a game and an evaluator; S [rows, width] is scratch, B are `search_options.SearchBuffers`."""

    one_ply: Compiled
    """`(S, B, node, tree, temperature, T)` -> the best one-ply value of a node's actions; all values become its prior."""
    by_policy: Compiled
    """`(S, node, tree, T)` -> the value of a node whose decision is row ROW of S; the policy becomes its prior."""
    plant: Compiled
    """`(S, B, tree, options, T)` -> the root of a new tree, the decision of row ROW of S; NONE: memory is too small."""
    simulate: Compiled
    """`(S, B, tree, root, root_edge, most, options, T)` -> how many simulations were made."""


def compiled_mcts(game: Game, evaluator: Evaluator) -> MctsFunctions:
    """Returns the compiled functions of a tree search, for an evaluator with a compiled value."""
    spec, room = leaf_spec(evaluator, game.stages), evaluator.room or game.room
    return _compiled(game.rules, compiled_search(game, evaluator), evaluator.policy, spec, room)


@cache
def _compiled(
    rules: Rules, depth_search: CompiledSearch, leaf_policy: Compiled | None, spec: LeafSpec, room: Path
) -> MctsFunctions:
    search, leaf_value = depth_search.plain, depth_search.leaf_value
    apply_action, current_player, returns = rules.apply_action, rules.current_player, rules.returns
    add_node, descend = make_add_node(rules, room), make_descend(rules, spec.stages, room)
    has_policy, to_go = leaf_policy is not None, spec.to_go
    policy = leaf_policy or bind(room, inline=True)(no_policy)

    @bind(room)
    def one_ply(S, B, node, tree, temperature, T):
        """Values the actions of a node one ply deep, chance averaged; returns the best value, which is player 0's."""
        # Each action is valued by a search of depth 0; finished games are proven if the tree has bounds
        player, least, most = tree.player[node], np.inf, -np.inf
        proven, ended = proves(tree), False
        for e in range(tree.first[node], tree.end[node]):
            for w in range(S.shape[1]):
                S[ROOT_ROW, w] = tree.rows[node, w]
            apply_action(S, ROOT_ROW, tree.action[e], ROW, T)
            over = proven and current_player(S, ROW, T) == TERMINAL
            value = search(S, B, ROW, ABOVE, 0, -np.inf, np.inf, T)
            tree.known[e] = value
            if over:
                tree.edge_low[e], tree.edge_high[e], ended = value, value, True
            widen(tree, value)
            least, most = min(least, value), max(most, value)
        # The prior is a softmax of these values, scaled to 0 to 1
        total, span = 0.0, most - least if most > least else 1.0
        top = 1.0 if player != 1 and temperature < SAFE_TEMPERATURE else 0.0
        for e in range(tree.first[node], tree.end[node]):
            x = (tree.known[e] - least) / span
            tree.prior[e] = np.exp((-x if player == 1 else x - top) / temperature)
            total += tree.prior[e]
        share_prior(tree, node, total)
        tree.counts[M.LEAVES] += tree.end[node] - tree.first[node]
        if ended:
            tighten(tree, node)
        return least if player == 1 else most

    @bind(room)
    def by_policy(S, node, tree, T):
        """Sets the prior of a node by the evaluator's policy; returns player 0's value. Its decision is row ROW of S."""
        worth = policy(S, ROW, tree.weights, T)
        softmax_prior(tree, node, tree.weights)
        if tree.player[node] == 1:
            worth = -worth
        return worth + returns(S, ROW, T) if to_go else worth

    @bind(room)
    def plant(S, B, tree, options, T):
        """Starts a new tree with the decision of row ROW of S and its prior; returns its node, NONE if memory is too small."""
        forget_nodes(tree)
        root = add_node(S, ROW, current_player(S, ROW, T), B.A[0], tree, T)
        if root != NONE:
            if options.one_ply:
                one_ply(S, B, root, tree, options.temperature, T)
            elif has_policy and options.policy:
                by_policy(S, root, tree, T)
        return root

    @bind(room)
    def simulate(S, B, tree, root, root_edge, most, options, T):
        """Makes at most `most` simulations, until the search is stopped or late or the root is proven; returns how many."""
        clock, end, before, look, pause = B.deadline[0], B.deadline[1], np.int64(0), 0, 1
        for k in range(most):
            # The clock is read after twice as many simulations as before, or half as many if these took too long
            if end > 0 and k == look:
                now = np.int64(read_clock(clock))
                if now - before > PAUSE:
                    pause = max(pause // 2, 1)
                else:
                    pause = min(2 * pause, LONGEST_PAUSE)
                before, look = now, k + pause
                if now >= end:
                    tree.counts[M.FAILED] = 1
                    return k
            # The search is stopped, or its root is proven
            if T.stop[0]:
                tree.counts[M.FAILED] = 1
                return k
            if root_edge == NONE and is_proven(tree, root):
                return k
            # Descend to a leaf, value it, and back the value up
            ending, node = descend(S, B.A[0], tree, 0, root, root_edge, options, T)
            if ending == PROVEN:
                value = tree.low[node]
            elif node != NONE and options.one_ply:
                value = one_ply(S, B, node, tree, options.temperature, T)
            elif ending == STUCK or options.one_ply:
                value = search(S, B, ROW, ABOVE, 1, -np.inf, np.inf, T)
            else:
                tree.counts[M.LEAVES] += 1
                if has_policy and options.policy and node != NONE:
                    value = by_policy(S, node, tree, T)
                else:
                    value = leaf_value(S, ROW, T)
            back_up(tree, 0, value, node, ending == ENDED)
        return most

    return MctsFunctions(one_ply, by_policy, plant, simulate)
