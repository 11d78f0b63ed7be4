"""Self-play games by Monte Carlo tree search, each job with its own random stream, and matches of two networks.

The compiled part comes first. A game is played at row HERE of a `TreeTable`. Each player has its own tree, whose leaf has a
value and a policy. `T` are the game's tables, with the leaf's weights.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from leafwise.envs.core.arrays import Array, Floats, Floats32, Ints, Words
from leafwise.envs.core.compile.jit import bind, jit
from leafwise.envs.core.contract.evaluator import Evaluator, value_bounds
from leafwise.envs.core.contract.game import Game
from leafwise.envs.core.contract.rules import TERMINAL, Compiled
from leafwise.envs.core.contract.stream import new_stream, uniform
from leafwise.envs.core.errors import UserError
from leafwise.envs.core.interrupts import stoppable
from leafwise.models.network import Learned
from leafwise.search.mcts import tree as M
from leafwise.search.mcts.root import add_noise, take_back
from leafwise.search.mcts.simulate import MctsFunctions, compiled_mcts, make_add_node
from leafwise.search.mcts.tree import NONE, ROW, CompiledMctsOptions, MctsTree, find_node, forget_nodes, new_tree
from leafwise.search.search_options import SearchBuffers, SearchOptions, make_buffers
from leafwise.training.execution.executor import Ref
from leafwise.training.games import (
    CHOSEN,
    GAMES,
    HERE,
    PLIES,
    ROOM,
    WON_BY_FIRST,
    make_open_game,
    make_play_matches,
    make_settle,
    make_write_targets,
    new_record,
    put_row,
)
from leafwise.training.runs import SELECTION_SEED, SELECTION_SEEDS

LEAST_NODES = 1 << 10
TREE_SEARCHES = 32
"""Room of a tree, in searches. A tree that is half full is cleared before the next search."""


class Seat(NamedTuple):
    """MctsTree and scratch of one player's searches."""

    tree: MctsTree
    S: Array
    """Scratch rows of the search."""
    B: SearchBuffers


class TreeTable(NamedTuple):
    """Memory of games: rows, a random stream, and the trees of two players."""

    S: Array
    """Rows; HERE is the position played."""
    A: Ints
    """Scratch: legal actions, [max_actions]."""
    R: Words
    """Random stream, [2], of the games and of the searches."""
    kept: Floats
    """Scratch: a root's prior without noise, [max_actions]."""
    counts: Ints
    """[3]: counters, at the indices GAMES, PLIES and WON_BY_FIRST."""
    own: Seat
    other: Seat


class MctsPlayOptions(NamedTuple):
    """CompiledMctsOptions of self-play games."""

    simulations: int
    """Number of new simulations for each decision."""
    sampled: int
    """Number of decisions after the opening whose actions are sampled by their simulations."""
    noise: float
    """Share of Dirichlet noise in the prior of a root; 0 in matches."""
    concentration: float
    """Sum of the noise's parameters."""
    td_lambda: float
    """Lambda of the targets: 0 for the root value, 1 for the outcome."""
    gumbel: int = 0
    """Number of root actions of sequential halving (torch modules only); 0: PUCT with Dirichlet noise."""


class TreeKernels(NamedTuple):
    """The compiled entry points."""

    record_games: Compiled
    """(table, record, policies, count, plies, options, search_options, T) -> positions"""
    play_matches: Compiled
    """(table, keys, results, simulations, plies, search_options, T, other)"""
    turn: Compiled
    """(rows, policies, symmetries, T)"""


def new_table(game: Game, evaluator: Evaluator, simulations: int) -> TreeTable:
    """Returns a table for games with searches of `simulations` simulations."""
    R = new_stream(0)
    options = SearchOptions(depth=1).compiled(game, *value_bounds(game, evaluator))

    def seat() -> Seat:
        rows, buffers = make_buffers(game, 2, 1, False, options, evaluator.speed.cache_values)
        return Seat(new_tree(game, max(LEAST_NODES, TREE_SEARCHES * simulations), 1, R), rows, buffers)

    actions = np.zeros(game.max_actions, np.int64)
    return TreeTable(game.rows(1), actions, R, np.zeros(game.max_actions), np.zeros(3, np.int64), seat(), seat())


def kernels(game: Game, evaluator: Evaluator) -> TreeKernels:
    """Returns the compiled entry points for a game and a kind of leaf (its weights are in `T`).

    Raises ValueError for a leaf without a policy.
    """
    if evaluator.policy is None:
        raise UserError(f"games by tree search: expected a leaf with a policy, got {evaluator.name!r}")
    return _compiled(game.with_defaults, compiled_mcts(game, evaluator))


@functools.cache
def _compiled(game: Game, functions: MctsFunctions) -> TreeKernels:
    rules, by_policy, simulate = game.rules, functions.by_policy, functions.simulate
    current_player, apply_action, returns = rules.current_player, rules.apply_action, rules.returns
    add_node, open_game, settle = make_add_node(rules, game.room), make_open_game(game), make_settle(game)
    write_targets = make_write_targets(game)

    @bind(game.room)
    def think(table, seat, simulations, noise, concentration, search_options, T):
        """Searches row HERE; returns the root."""
        tree, S = seat.tree, seat.S
        put_row(table.S, HERE, S, ROW)
        root = find_node(tree, S, ROW)
        half = 2 * tree.counts[M.NODES] > tree.rows.shape[0] or 2 * tree.counts[M.EDGES] > tree.action.shape[0]
        if root == NONE or half:
            forget_nodes(tree)
            root = add_node(S, ROW, current_player(S, ROW, T), seat.B.A[0], tree, T)
            by_policy(S, root, tree, T)
        if noise > 0.0:
            add_noise(tree, root, noise, concentration, table.kept)
        simulate(S, seat.B, tree, root, NONE, simulations, search_options, T)
        if noise > 0.0:
            take_back(tree, root, table.kept)
        return root

    @bind(game.room)
    def record_game(table, record, policies, first, options, search_options, T):
        """Plays a game from row HERE and records its positions from `first`; returns where they end."""
        S, R, tree, n = table.S, table.R, table.own.tree, first
        forget_nodes(tree)
        while current_player(S, HERE, T) != TERMINAL and n < record.rows.shape[0]:
            root = think(table, table.own, options.simulations, options.noise, options.concentration, search_options, T)
            put_row(S, HERE, record.rows, n)
            record.kinds[n], record.values[n] = CHOSEN, tell_root(tree, root, policies, n)
            apply_action(S, HERE, choose(tree, root, n - first < options.sampled, R), HERE, T)
            settle(S, R, T)
            n += 1
            table.counts[PLIES] += 1
        return n

    @bind(game.room)
    def record_games(table, record, policies, count, plies, options, search_options, T):
        """Plays whole games until `count` positions are recorded or the record is full; returns the number of positions.

        A position's policy target is the shares of its root's simulations. Its value target is the lambda-return of the following
        root values and the outcome. Games begin with up to `plies` random actions.
        """
        S, n = table.S, 0
        while n < count and not T.stop[0]:
            open_game(table, plies, T)
            end = record_game(table, record, policies, n, options, search_options, T)
            if current_player(S, HERE, T) != TERMINAL:
                return n  # the record is full; the game is dropped
            outcome = returns(S, HERE, T)
            table.counts[GAMES] += 1
            if outcome > 0:
                table.counts[WON_BY_FIRST] += 1
            write_targets(record, n, end, outcome, options.td_lambda, T)
            n = end
        return n

    @bind(game.room)
    def act(table, is_own, simulations, search_options, T):
        """Returns an action with the most simulations, for `make_play_matches`."""
        seat = table.own if is_own else table.other
        return choose(seat.tree, think(table, seat, simulations, 0.0, 0.0, search_options, T), False, table.R)

    return TreeKernels(record_games, make_play_matches(game, forget_both, act), make_turn(game))


def make_turn(game: Game) -> Compiled:
    """Returns `turn(rows, policies, symmetries, T)`."""
    transform, transform_action = game.symmetries.transform, game.symmetries.transform_action

    @bind(game.room)
    def turn(rows, policies, symmetries, T):
        """Writes the rows and policies of the first half to the second half, transformed by their symmetries.

        `rows` [2 n, width], `policies` [2 n, max_actions], `symmetries` [n].
        """
        n = symmetries.shape[0]
        for i in range(n):
            transform(rows, np.uint64(i), symmetries[i], np.uint64(n + i), T)
            for a in range(policies.shape[1]):
                policies[n + i, a] = 0.0
            for a in range(policies.shape[1]):
                if policies[i, a] > 0.0:
                    policies[n + i, transform_action(a, symmetries[i], T)] = policies[i, a]

    return turn


@jit(inline=True)
def choose(tree, root, sampled, R):
    """Returns the action with the most simulations, or with `sampled` one drawn in proportion to them."""
    first, end = tree.first[root], tree.end[root]
    best, total = first, 0
    for e in range(first, end):
        total += tree.n[e]
        if tree.n[e] > tree.n[best]:
            best = e
    if sampled:
        left = uniform(R) * total
        for e in range(first, end):
            left -= tree.n[e]
            if left < 0.0:
                return tree.action[e]
    return tree.action[best]


@jit(inline=True)
def tell_root(tree, root, policies, n):
    """Writes the shares of a root's simulations to policies [n]; returns the root value for player 0."""
    for a in range(policies.shape[1]):
        policies[n, a] = 0.0
    for e in range(tree.first[root], tree.end[root]):
        policies[n, tree.action[e]] = tree.n[e] / tree.visits[root]
    return tree.total[root] / tree.visits[root]


@jit(inline=True)
def forget_both(table):
    """Empties the trees of both players."""
    forget_nodes(table.own.tree)
    forget_nodes(table.other.tree)


class RecordedPolicies(NamedTuple):
    """Recorded positions of some games."""

    rows: Array
    """[n, width]"""
    policies: Floats32
    """Shares of the simulations that took each action, [n, max_actions]."""
    targets: Floats
    """Target values for the player who acts, [n]."""
    counts: Ints
    """Counters of the games, as in `leafwise.training.alphazero.games.TreeTable`."""


class TreeRecorder:
    """Records self-play games by tree search, and plays matches of two networks."""

    def __init__(
        self, first: Learned, play_options: MctsPlayOptions, plies: int, exploration: float, positions: int
    ) -> None:
        """`first` is a network with the shape of all others, `positions` the number of positions of a job."""
        self.first, self.play_options, self.plies, self.exploration, self.positions = (
            first,
            play_options,
            plies,
            exploration,
            positions,
        )
        self.game: Game = first.game
        leaf = first.evaluator("newest")
        self.table = new_table(self.game, leaf, play_options.simulations)
        self.record = new_record(self.game, positions + ROOM)
        self.policies = np.zeros((positions + ROOM, self.game.max_actions), np.float32)
        # Searches use the leaf's policy; their exploration is a share of the range of values
        self.search_options = CompiledMctsOptions(
            exploration, by_spread=False, temperature=1.0, one_ply=False, policy=True
        )
        self.kernels = kernels(self.game, leaf)

    def __reduce__(self) -> Any:
        return TreeRecorder, (self.first, self.play_options, self.plies, self.exploration, self.positions)

    def warm(self) -> None:
        """Compiles or loads the code by recording a game and playing a match."""
        self.piece(self.first, 1, 0)
        self.match(self.first, self.first, np.zeros(1, np.uint64), 1)

    def tables(self, network: Learned) -> Any:
        """Returns `T` with a network's weights."""
        return self.game.tables(network.evaluator("newest"))

    def piece(self, network: Learned, count: int, key: int) -> RecordedPolicies:
        """Returns whole games with at least `count` positions, from the random stream of `key`."""
        table, T = self.table, self.tables(network)
        table.R[0], table.R[1], table.counts[:] = np.uint64(key), np.uint64(0), 0
        arguments = self.record, self.policies, count, self.plies, self.play_options, self.search_options
        n = stoppable(lambda: self.kernels.record_games(table, *arguments, T), T.stop)
        arrays = self.record.rows[:n].copy(), self.policies[:n].copy(), self.record.targets[:n].copy()
        return RecordedPolicies(*arrays, table.counts.copy())

    def match(self, newest: Learned, best: Learned, keys: Words, simulations: int) -> Floats:
        """Plays a match from the openings of `keys` [n]; returns the newest network's results [n, 2], first seat first."""
        results = np.zeros((len(keys), 2))
        new, old = self.tables(newest), self.tables(best)
        arguments = simulations, self.plies, self.search_options
        play = self.kernels.play_matches
        stoppable(lambda: play(self.table, keys, results, *arguments, new, old), new.stop, old.stop)
        return results


def record_piece(recorder: Ref[Any], networks: Ref[Mapping[str, Learned]], count: int, key: int) -> RecordedPolicies:
    """Job: returns games of the newest network with at least `count` positions."""
    return recorder.get().piece(networks.get()["newest"], count, key)


def play_pairs(recorder: Ref[Any], networks: Ref[tuple[Learned, Learned]], openings: range, simulations: int) -> Floats:
    """Returns the results of the first network, [openings, 2], first seat first; `openings` are indices of selection seeds."""
    keys = (SELECTION_SEED + np.array(openings) % SELECTION_SEEDS).astype(np.uint64)
    return recorder.get().match(*networks.get(), keys, simulations)
