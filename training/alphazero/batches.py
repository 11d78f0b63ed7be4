"""Self-play games and matches by tree search, side by side, for networks that value positions in batches.

Every game has a stream of its own, drawn from that of its piece, and one tree, which plays both seats. A piece begins games while
fewer positions than asked for are recorded, and plays all of them to their end, so that long games are not left out.
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
from leafwise.training.alphazero.games import TREE_SEARCHES, How, Recorded, choose, make_turn, tell_root
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
"""Games played at once: a game for so many positions of a piece, but at most these."""
LEAST_TREE = 1 << 10


class Opening(NamedTuple):
    """What one game is opened with."""

    S: Array
    A: Ints
    R: Words


class Games(NamedTuple):
    """Games played side by side, [games, ...]."""

    rows: Array
    """Where they stand."""
    R: Words
    """Their streams."""
    number: Ints
    """Their numbers in the piece."""
    played: Ints
    """Decisions after the opening."""
    kept: Floats
    """Priors of the roots without noise, [games, max_actions]."""


class Kernels(NamedTuple):
    """Compiled; `some` [n] says which games are meant, S [1, width] and A [max_actions] are scratch."""

    open_games: Compiled
    """(games, some, plies, S, A, T)"""
    add_noises: Compiled
    """(forest, ways, some, noise, concentration, kept)"""
    record: Compiled
    """(forest, ways, some, games, record, policies, number_of, first, how): writes the decisions searched from `first` on."""
    play: Compiled
    """(forest, ways, some, games, sampled, noisy, S, T): plays the action that each search chose; `noisy` as of a `Halving`, [0, 0]
    where PUCT chose"""
    players: Compiled
    """(rows, some, players, returns, T)"""
    write_targets: Compiled
    """(record, ends, outcomes, td_lambda, T)"""
    turn: Compiled


def kernels(game: Game) -> Kernels:
    """Returns the compiled functions of a game."""
    return _compiled(game.with_defaults)


@functools.cache
def _compiled(game: Game) -> Kernels:
    current_player, apply_action, returns = game.rules.current_player, game.rules.apply_action, game.rules.returns
    open_game, settle, write_one = make_open_game(game), make_settle(game), make_write_targets(game)

    @bind(game.room)
    def open_games(games, some, plies, S, A, T):
        for k in range(some.shape[0]):
            open_game(Opening(S, A, games.R[some[k]]), plies, T)
            put_row(S, HERE, games.rows, some[k])
            games.played[some[k]] = 0

    @bind(game.room)
    def add_noises(forest, ways, some, noise, concentration, kept):
        for k in range(some.shape[0]):
            g = some[k]
            add_noise(tree_of(forest, g), ways.root[g], noise, concentration, kept[g])

    @bind(game.room)
    def record(forest, ways, some, games, record, policies, number_of, first, how):
        for k in range(some.shape[0]):
            g, n = some[k], first + k
            tree, root = tree_of(forest, g), ways.root[g]
            if how.gumbel == 0 and how.noise > 0.0:
                take_back(tree, root, games.kept[g])
            put_row(games.rows, g, record.rows, n)
            record.kinds[n], record.values[n] = CHOSEN, tell_root(tree, root, policies, n)
            number_of[n] = games.number[g]
            # What is learned of halving is the policy that it improved, not its visits
            if how.gumbel > 0:
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

    return Kernels(open_games, add_noises, record, play, players, write_targets, make_turn(game))


def grown(part: Array) -> Array:
    """Returns an array of twice the length that begins with another."""
    return np.concatenate([part, np.zeros_like(part)])


class ForestRecorder:
    """Records self-play games by tree search side by side, and plays matches of two networks."""

    def __init__(
        self, first: Learned, how: How, plies: int, exploration: float, positions: int, memory_mb: float
    ) -> None:
        """`first` is a network with the shape of all, `positions` the number recorded at once; `memory_mb` limits the trees."""
        self.told = first, how, plies, exploration, positions, memory_mb
        self.game, self.how, self.plies = first.game, how, plies
        self.at_once = min(MOST, -(-positions // POSITIONS_A_GAME))
        # Searches are by the network's own policy, and their exploration is a share of the span of values
        self.options = CompiledMctsOptions(exploration, by_spread=False, temperature=1.0, one_ply=False, policy=False)
        self.memory_mb = memory_mb
        self.kernels, self.T = kernels(self.game), self.game.tables()
        self.S, self.A = self.game.rows(1), np.zeros(self.game.max_actions, np.int64)
        self.forest: Forest | None = None
        """What the last piece grew: its memory serves the next one."""

    def __reduce__(self) -> Any:
        return ForestRecorder, self.told

    def warm(self) -> None:
        """Compiles or loads the code by recording a game and playing a match."""
        self.piece(self.told[0], 1, 0)
        self.match(self.told[0], self.told[0], np.zeros(1, np.uint64), 2)

    def grown(self, network: Learned, streams: Words, simulations: int, forests: int = 1) -> Forest:
        """Returns a forest that draws from streams, of as many trees."""
        room = nodes_within(self.game, self.memory_mb / forests / len(streams), proofs=False)
        nodes = min(room, max(LEAST_TREE, TREE_SEARCHES * simulations))
        return Forest(self.game, network.evaluator("newest"), streams, self.options, nodes=nodes, proofs=False)

    def new_games(self, n: int) -> Games:
        """Returns room for n games."""
        played, kept = np.zeros(n, np.int64), np.zeros((n, self.game.max_actions))
        return Games(self.game.rows(n), np.zeros((n, 2), np.uint64), np.arange(n), played, kept)

    def ended(self, games: Games, some: Ints) -> tuple[Ints, Floats]:
        """Returns who acts in some games, and what their returns are."""
        players, outcomes = np.zeros(len(some), np.int64), np.zeros(len(some))
        self.kernels.players(games.rows, some, players, outcomes, self.T)
        return players, outcomes

    def piece(self, network: Learned, count: int, key: int) -> Recorded:
        """Returns whole games with at least `count` positions, from the random stream of `key`."""
        how, do, keys = self.how, self.kernels, new_stream(key)
        games = self.new_games(self.at_once)
        if self.forest is None:
            self.forest = self.grown(network, games.R, how.simulations)
        else:
            self.forest.renew(network.evaluator("newest"), games.R)
        forest = self.forest
        room = 2 * count + self.at_once
        record, number_of = new_record(self.game, room), np.zeros(room, np.int64)
        policies = np.zeros((room, self.game.max_actions), np.float32)
        n, outcomes, some = 0, [0.0] * self.at_once, np.arange(self.at_once)
        for g in some:
            games.R[g] = next_u64(keys), 0
        do.open_games(games, some, self.plies, self.S, self.A, self.T)

        def noise(trees: Ints) -> None:
            do.add_noises(forest.trees, forest.paths, trees, how.noise, how.concentration, games.kept)

        noisy = forest.halving.noisy[: self.at_once * (how.gumbel > 0)]
        while len(some):
            if how.gumbel:
                forest.halve(games.rows[some], how.simulations, how.gumbel, some)
            else:
                forest.search(games.rows[some], how.simulations, some, noise if how.noise > 0 else None)
            if n + len(some) > len(number_of):
                record = Record(**{name: grown(part) for name, part in record._asdict().items()})
                number_of, policies = grown(number_of), grown(policies)
            do.record(forest.trees, forest.paths, some, games, record, policies, number_of, n, how)
            n += len(some)
            do.play(forest.trees, forest.paths, some, games, how.sampled, noisy, self.S, self.T)
            # Games that are over make room for others, while positions are wanted
            players, returns = self.ended(games, some)
            over = some[players == TERMINAL]
            for g, outcome in zip(over, returns[players == TERMINAL], strict=True):
                outcomes[games.number[g]] = outcome
            begun = over if n < count else over[:0]
            for g in begun:
                games.R[g] = next_u64(keys), 0
                games.number[g] = len(outcomes)
                outcomes.append(0.0)
            if len(begun):
                forest.forget(begun)
                do.open_games(games, begun, self.plies, self.S, self.A, self.T)
            some = np.setdiff1d(some, np.setdiff1d(over, begun))
        order = np.argsort(number_of[:n], kind="stable")
        record = Record(**{name: part[:n][order] for name, part in record._asdict().items()})
        won = np.array(outcomes)
        ends = np.cumsum(np.bincount(number_of[:n], minlength=len(won)))
        do.write_targets(record, ends, won, how.td_lambda, self.T)
        counts = np.zeros(3, np.int64)
        counts[[GAMES, PLIES, WON_BY_FIRST]] = len(won), n, (won > 0).sum()
        return Recorded(record.rows, policies[:n][order], record.targets, counts)

    def match(self, newest: Learned, best: Learned, keys: Words, simulations: int) -> Floats:
        """Plays a match from the openings of `keys` [n]; returns the newest network's results [n, 2], first seat first."""
        games = self.new_games(2 * len(keys))
        games.R[:, 0] = np.repeat(keys, 2)
        self.forest = None  # the trees of a match take all the memory
        seats = np.arange(len(games.R)) % 2
        forests = [self.grown(network, games.R, simulations, forests=2) for network in (newest, best)]
        some = np.arange(len(games.R))
        self.kernels.open_games(games, some, self.plies, self.S, self.A, self.T)
        results, puct = np.zeros(len(some)), np.zeros((0, 0))
        while len(some):
            players, returns = self.ended(games, some)
            over = players == TERMINAL
            results[some[over]] = np.where(seats[some[over]] == 1, -returns[over], returns[over])
            for forest, own in zip(forests, (True, False), strict=True):
                acting = some[~over & ((players == seats[some]) == own)]
                if len(acting):
                    forest.search(games.rows[acting], simulations, acting)
                    self.kernels.play(forest.trees, forest.paths, acting, games, 0, puct, self.S, self.T)
            some = some[~over]
        return results.reshape(-1, 2)
