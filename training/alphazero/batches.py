"""Self-play games and matches by tree search, side by side, for networks that value positions in batches.

Every game has its own stream, drawn from the stream of its job, and one tree, which plays both seats. A job starts games until it
has recorded enough positions, and plays all of them to their end, so that long games count too.
"""

from __future__ import annotations

import functools
from typing import Any, NamedTuple

import numpy as np

from leafwise.envs.core.arrays import Array, Floats, Ints, Words
from leafwise.envs.core.compile.jit import bind
from leafwise.envs.core.contract.game import Game
from leafwise.envs.core.contract.rules import TERMINAL, Compiled
from leafwise.envs.core.contract.stream import new_stream, next_u64
from leafwise.models.network import Learned
from leafwise.search.mcts.forest import Forest, tree_of
from leafwise.search.mcts.root import add_noise, improved_policy, most_visited, take_back
from leafwise.search.mcts.tree import CompiledMctsOptions, nodes_within
from leafwise.training.alphazero.games import (
    TREE_SEARCHES,
    MctsPlayOptions,
    RecordedPolicies,
    choose,
    make_turn,
    tell_root,
)
from leafwise.training.games import (
    CHOSEN,
    GAMES,
    HERE,
    PLIES,
    WON_BY_FIRST,
    Record,
    make_open_game,
    make_settle,
    make_write_targets,
    new_record,
    put_row,
)

MOST, POSITIONS_A_GAME = 256, 20
"""Maximum number of games played at once, and number of a job's positions for each of these games."""
LEAST_TREE = 1 << 10


class OpeningTable(NamedTuple):
    """Memory for the opening of one game, as `open_game` takes it."""

    S: Array
    A: Ints
    R: Words


class ForestGames(NamedTuple):
    """Games played side by side, [games, ...]."""

    rows: Array
    """Positions."""
    R: Words
    """Random streams."""
    number: Ints
    """Numbers of the games in the job."""
    played: Ints
    """Number of decisions after the opening."""
    kept: Floats
    """Priors of the roots without noise, [games, max_actions]."""


class ForestKernels(NamedTuple):
    """The compiled entry points; `some` [n] are indices of games, S [1, width] and A [max_actions] are scratch."""

    open_games: Compiled
    """(games, some, plies, S, A, T)"""
    add_noises: Compiled
    """(forest, ways, some, noise, concentration, kept)"""
    record: Compiled
    """(forest, ways, some, games, record, policies, number_of, first, options): writes the decisions searched from `first` on."""
    play: Compiled
    """(forest, ways, some, games, sampled, noisy, S, T): plays the action that each search chose; `noisy` as of a `Halving`, [0, 0]
    where PUCT chose"""
    players: Compiled
    """(rows, some, players, returns, T)"""
    write_targets: Compiled
    """(record, ends, outcomes, td_lambda, T)"""
    turn: Compiled


def kernels(game: Game) -> ForestKernels:
    """Returns the compiled functions of a game."""
    return _compiled(game.with_defaults)


@functools.cache
def _compiled(game: Game) -> ForestKernels:
    current_player, apply_action, returns = game.rules.current_player, game.rules.apply_action, game.rules.returns
    open_game, settle, write_one = make_open_game(game), make_settle(game), make_write_targets(game)

    @bind(game.room)
    def open_games(games, some, plies, S, A, T):
        for k in range(some.shape[0]):
            open_game(OpeningTable(S, A, games.R[some[k]]), plies, T)
            put_row(S, HERE, games.rows, some[k])
            games.played[some[k]] = 0

    @bind(game.room)
    def add_noises(forest, ways, some, noise, concentration, kept):
        for k in range(some.shape[0]):
            g = some[k]
            add_noise(tree_of(forest, g), ways.root[g], noise, concentration, kept[g])

    @bind(game.room)
    def record(forest, ways, some, games, record, policies, number_of, first, options):
        for k in range(some.shape[0]):
            g, n = some[k], first + k
            tree, root = tree_of(forest, g), ways.root[g]
            if options.gumbel == 0 and options.noise > 0.0:
                take_back(tree, root, games.kept[g])
            put_row(games.rows, g, record.rows, n)
            record.kinds[n], record.values[n] = CHOSEN, tell_root(tree, root, policies, n)
            number_of[n] = games.number[g]
            # The policy target of sequential halving is its improved policy, not its visits
            if options.gumbel > 0:
                improved_policy(tree, root, ways.value[g], tree.weights)
                for e in range(tree.first[root], tree.end[root]):
                    policies[n, tree.action[e]] = tree.weights[e - tree.first[root]]

    @bind(game.room)
    def play(forest, ways, some, games, sampled, noisy, S, T):
        for k in range(some.shape[0]):
            g = some[k]
            R, tree, root = games.R[g], tree_of(forest, g), ways.root[g]
            if noisy.shape[0] > 0:
                a = tree.action[most_visited(tree, root, noisy[g])]
            else:
                a = choose(tree, root, games.played[g] < sampled, R)
            put_row(games.rows, g, S, HERE)
            apply_action(S, HERE, a, HERE, T)
            settle(S, R, T)
            put_row(S, HERE, games.rows, g)
            games.played[g] += 1

    @bind(game.room)
    def players(rows, some, players, outcomes, T):
        for k in range(some.shape[0]):
            i = np.uint64(some[k])
            players[k], outcomes[k] = current_player(rows, i, T), returns(rows, i, T)

    @bind(game.room)
    def write_targets(record, ends, outcomes, td_lambda, T):
        first = 0
        for k in range(ends.shape[0]):
            write_one(record, first, ends[k], outcomes[k], td_lambda, T)
            first = ends[k]

    return ForestKernels(open_games, add_noises, record, play, players, write_targets, make_turn(game))


def grown(part: Array) -> Array:
    """Returns an array of twice the length that begins with `part`."""
    return np.concatenate([part, np.zeros_like(part)])


class ForestRecorder:
    """Records self-play games by tree search side by side, and plays matches of two networks."""

    def __init__(
        self,
        first: Learned,
        play_options: MctsPlayOptions,
        plies: int,
        exploration: float,
        positions: int,
        memory_mb: float,
    ) -> None:
        """`first` is a network with the shape of all others, `positions` the number of positions of a job.

        `memory_mb` limits the memory of the trees.
        """
        self.arguments = first, play_options, plies, exploration, positions, memory_mb
        self.game, self.play_options, self.plies = first.game, play_options, plies
        self.at_once = min(MOST, -(-positions // POSITIONS_A_GAME))
        # Searches use the network's policy; their exploration is a share of the range of values
        self.search_options = CompiledMctsOptions(
            exploration, by_spread=False, temperature=1.0, one_ply=False, policy=False
        )
        self.memory_mb = memory_mb
        self.kernels, self.T = kernels(self.game), self.game.tables()
        self.S, self.A = self.game.rows(1), np.zeros(self.game.max_actions, np.int64)
        self.forest: Forest | None = None
        """Forest of the last job; the next job reuses its memory."""

    def __reduce__(self) -> Any:
        return ForestRecorder, self.arguments

    def warm(self) -> None:
        """Compiles or loads the code by recording a game and playing a match."""
        self.piece(self.arguments[0], 1, 0)
        self.match(self.arguments[0], self.arguments[0], np.zeros(1, np.uint64), 2)

    def grown(self, network: Learned, streams: Words, simulations: int, forests: int = 1) -> Forest:
        """Returns a forest with one tree for each of the streams."""
        room = nodes_within(self.game, self.memory_mb / forests / len(streams), proofs=False)
        nodes = min(room, max(LEAST_TREE, TREE_SEARCHES * simulations))
        return Forest(self.game, network.evaluator("newest"), streams, self.search_options, nodes=nodes, proofs=False)

    def new_games(self, n: int) -> ForestGames:
        """Returns room for n games."""
        played, kept = np.zeros(n, np.int64), np.zeros((n, self.game.max_actions))
        return ForestGames(self.game.rows(n), np.zeros((n, 2), np.uint64), np.arange(n), played, kept)

    def ended(self, games: ForestGames, some: Ints) -> tuple[Ints, Floats]:
        """Returns the player to act (or TERMINAL) and the returns of some games."""
        players, outcomes = np.zeros(len(some), np.int64), np.zeros(len(some))
        self.kernels.players(games.rows, some, players, outcomes, self.T)
        return players, outcomes

    def piece(self, network: Learned, count: int, key: int) -> RecordedPolicies:
        """Returns whole games with at least `count` positions, from the random stream of `key`."""
        play_options, kernels, keys = self.play_options, self.kernels, new_stream(key)
        games = self.new_games(self.at_once)
        if self.forest is None:
            self.forest = self.grown(network, games.R, play_options.simulations)
        else:
            self.forest.renew(network.evaluator("newest"), games.R)
        forest = self.forest
        room = 2 * count + self.at_once
        record, number_of = new_record(self.game, room), np.zeros(room, np.int64)
        policies = np.zeros((room, self.game.max_actions), np.float32)
        n, outcomes, active = 0, [0.0] * self.at_once, np.arange(self.at_once)
        for g in active:
            games.R[g] = next_u64(keys), 0
        kernels.open_games(games, active, self.plies, self.S, self.A, self.T)

        def noise(trees: Ints) -> None:
            kernels.add_noises(
                forest.trees, forest.paths, trees, play_options.noise, play_options.concentration, games.kept
            )

        noisy = forest.halving.noisy[: self.at_once * (play_options.gumbel > 0)]
        while len(active):
            if play_options.gumbel:
                forest.halve(games.rows[active], play_options.simulations, play_options.gumbel, active)
            else:
                forest.search(
                    games.rows[active], play_options.simulations, active, noise if play_options.noise > 0 else None
                )
            if n + len(active) > len(number_of):
                record = Record(**{name: grown(part) for name, part in record._asdict().items()})
                number_of, policies = grown(number_of), grown(policies)
            kernels.record(forest.trees, forest.paths, active, games, record, policies, number_of, n, play_options)
            n += len(active)
            kernels.play(forest.trees, forest.paths, active, games, play_options.sampled, noisy, self.S, self.T)
            # Replace finished games by new ones while more positions are needed
            players, returns = self.ended(games, active)
            over = active[players == TERMINAL]
            for g, outcome in zip(over, returns[players == TERMINAL], strict=True):
                outcomes[games.number[g]] = outcome
            begun = over if n < count else over[:0]
            for g in begun:
                games.R[g] = next_u64(keys), 0
                games.number[g] = len(outcomes)
                outcomes.append(0.0)
            if len(begun):
                forest.forget(begun)
                kernels.open_games(games, begun, self.plies, self.S, self.A, self.T)
            active = np.setdiff1d(active, np.setdiff1d(over, begun))
        order = np.argsort(number_of[:n], kind="stable")
        record = Record(**{name: part[:n][order] for name, part in record._asdict().items()})
        won = np.array(outcomes)
        ends = np.cumsum(np.bincount(number_of[:n], minlength=len(won)))
        kernels.write_targets(record, ends, won, play_options.td_lambda, self.T)
        counts = np.zeros(3, np.int64)
        counts[[GAMES, PLIES, WON_BY_FIRST]] = len(won), n, (won > 0).sum()
        return RecordedPolicies(record.rows, policies[:n][order], record.targets, counts)

    def match(self, newest: Learned, best: Learned, keys: Words, simulations: int) -> Floats:
        """Plays a match from the openings of `keys` [n]; returns the newest network's results [n, 2], first seat first."""
        games = self.new_games(2 * len(keys))
        games.R[:, 0] = np.repeat(keys, 2)
        self.forest = None  # frees its memory for the trees of the match
        seats = np.arange(len(games.R)) % 2
        forests = [self.grown(network, games.R, simulations, forests=2) for network in (newest, best)]
        active = np.arange(len(games.R))
        self.kernels.open_games(games, active, self.plies, self.S, self.A, self.T)
        results, puct = np.zeros(len(active)), np.zeros((0, 0))
        while len(active):
            players, returns = self.ended(games, active)
            over = players == TERMINAL
            results[active[over]] = np.where(seats[active[over]] == 1, -returns[over], returns[over])
            for forest, is_newest in zip(forests, (True, False), strict=True):
                acting = active[~over & ((players == seats[active]) == is_newest)]
                if len(acting):
                    forest.search(games.rows[acting], simulations, acting)
                    self.kernels.play(forest.trees, forest.paths, acting, games, 0, puct, self.S, self.T)
            active = active[~over]
        return results.reshape(-1, 2)
