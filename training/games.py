"""Compiled games for methods, matches and evaluations: steps, searches, openings, records, matches, single-player games.

A position is played at row HERE of a `GameTable`; the search uses the rows after it. `T` are the game's tables, with the leaf's
weights.
"""

from __future__ import annotations

import functools
import time
from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from leafwise.envs.core.arrays import Array, Floats, Ints, Words
from leafwise.envs.core.compile.jit import bind, jit
from leafwise.envs.core.contract.evaluator import Evaluator, for_player_zero, is_asked, value_bounds
from leafwise.envs.core.contract.game import Game
from leafwise.envs.core.contract.rules import CHANCE, TERMINAL, Compiled
from leafwise.envs.core.contract.stream import below, new_stream
from leafwise.envs.core.errors import UserError
from leafwise.envs.core.interrupts import stoppable
from leafwise.models.files import model_path
from leafwise.models.sparse import load_sparse
from leafwise.search.compiled import CompiledSearch, compiled_search
from leafwise.search.search_options import (
    ROUNDED,
    TABLE_FROM,
    CompiledSearchOptions,
    SearchBuffers,
    SearchOptions,
    make_buffers,
)
from leafwise.training.types import Logged

HERE, AFTER, FREE = np.uint64(0), np.uint64(1), np.uint64(2)
"""Rows: the position played, the one after an action, the first that a search may use."""


@jit(inline=True)
def put_row(S, i, rows, j):
    """Copies row i of `S` [n, width] to row j of `rows` [m, width]."""
    for w in range(rows.shape[1]):
        rows[j, w] = S[i, w]


def make_settle(game: Game) -> Compiled:
    """Returns `settle(S, R, T)`: draws every chance stage up to the next decision or end of row HERE from stream `R`."""
    current_player, sample_outcome = game.rules.current_player, game.rules.sample_outcome

    @bind(game.room, inline=True)
    def settle(S, R, T):
        while current_player(S, HERE, T) == CHANCE:
            sample_outcome(S, HERE, R, T)

    return settle


def make_settle_to_stage(game: Game, valued: int) -> Compiled:
    """Returns `settle_to_stage(S, R, T)`: draws chance as `settle` does, but only up to a stage among the bits `valued`."""
    rules = game.rules
    current_player, stage, sample_outcome = rules.current_player, rules.stage, rules.sample_outcome

    @bind(game.room, inline=True)
    def settle_to_stage(S, R, T):
        while current_player(S, HERE, T) == CHANCE and not is_asked(valued, stage(S, HERE, T)):
            sample_outcome(S, HERE, R, T)

    return settle_to_stage


GAMES, PLIES, WON_BY_FIRST = 0, 1, 2
"""Counters: games, decisions played after the opening, games won by player 0."""
TIE = 1e-9
"""The window for another action begins this far below the best value, so that equal values are recognized."""
TABLE_MB = 2.0
ROOM = 2000
"""Room for positions beyond the requested number, because games are recorded whole."""


def logged_games(counts: Ints, positions: int, seconds: float) -> Logged:
    """Returns the logged values of games from their counters, and the speed in positions a second."""
    games = max(int(counts[GAMES]), 1)
    shares = {"rollout/ep_len_mean": counts[PLIES] / games, "rollout/first_wins": counts[WON_BY_FIRST] / games}
    return shares | {"time/fps": positions / seconds}


class GameTable(NamedTuple):
    """Memory for games: rows, scratch of the searches, a random stream."""

    S: Array
    """Rows: HERE, AFTER, and those of its searches."""
    buffers: SearchBuffers
    other_buffers: SearchBuffers
    """Scratch for searches of a second leaf, whose cached values differ."""
    A: Ints
    """Legal actions, [max_actions]."""
    R: Words
    """Random stream, [2]."""
    chosen: Ints
    """[1]: the action that `best_action` chose."""
    counts: Ints
    """[3]: counters, at the indices GAMES, PLIES and WON_BY_FIRST."""


def new_table(game: Game, depth: int, seed: int, evaluator: Evaluator | None = None, **limits: Any) -> GameTable:
    """Returns a table for searches up to `depth`, its stream keyed by `seed`.

    In a two-player game the searches prune, at chance nodes too if `evaluator` has bounds. `limits` are options of `Search`:
    rare, nodes.
    """
    cache_values = evaluator is not None and evaluator.speed.cache_values
    remember = game.players == 2 or game.search.decisions_per_depth > 1
    if depth <= TABLE_FROM and game.search.decisions_per_depth == 1:
        cache_values = cache_values and game.max_outcomes > 0  # without chance few leaves come twice
        remember = remember and cache_values  # else the table would stay empty
    given = SearchOptions(depth=depth, table_mb=TABLE_MB if remember else 0.0, **limits)
    options = given.compiled(game, *(value_bounds(game, evaluator) if evaluator else (-np.inf, np.inf)))
    # `share_out` multiplies the node cost by the number of root actions
    cutoff, node_cost = given.share(1, given.nodes or 0)
    options = options._replace(cutoff=cutoff, node_cost=node_cost)
    entries = given.entries(game)
    (rows, buffers), (_, other_buffers) = (
        make_buffers(game, depth + 1, entries, False, options, cache_values) for _ in range(2)
    )
    return GameTable(
        S=rows,
        buffers=buffers,
        other_buffers=other_buffers,
        A=np.zeros(game.max_actions, np.int64),
        R=new_stream(seed),
        chosen=np.zeros(1, np.int64),
        counts=np.zeros(3, np.int64),
    )


def guide_of(game: Game, name: str) -> Evaluator | None:
    """Returns a guide's leaf: a hand-made score, or a sparse network by name, run folder or file.

    Raises ValueError for a name of neither.
    """
    if not name:
        return None
    if name in game.scores or not model_path(name).exists():
        return game.score(name)
    return load_sparse(model_path(name), game).evaluator("guide")


@jit(inline=True)
def share_out(B, actions):
    """Returns buffers for the searches below this number of root actions, which share the limit of nodes."""
    node_cost = B.options.node_cost * actions
    options = CompiledSearchOptions(
        node_cost * ROUNDED, node_cost, *B.options[2:]
    )  # the cutoff and the node cost come first
    return SearchBuffers(*B[:-1], options)  # type: ignore[call-arg]  # and the options last


def forget(table: GameTable) -> None:
    """Clears cached leaf values; call it after a change of the leaf's weights."""
    for buffers in (table.buffers, table.other_buffers):
        buffers.table[:] = 0
        buffers.leaves[:] = 0
        buffers.killers[:] = -1


def search_of(game: Game, compiled: CompiledSearch) -> tuple[Compiled, Compiled]:
    """Returns `search(S, buffers, i, top, depth, lower, upper, T)`, which prunes for two players, and its `last_step`.

    `last_step` has no depth. It values most rows at depth 0 at once, because a call of the search takes as long as a leaf.
    """
    if game.players == 2:
        return compiled.pruning, compiled.last_step
    return compiled.plain, bind(game.room, inline=True)(never_at_once)


def never_at_once(S, B, row, top, lower, upper, T):
    """A `last_step` that leaves every row to the search."""
    return False, 0.0


def make_best_action(game: Game, compiled: CompiledSearch) -> Compiled:
    """Returns `best_action(table, buffers, depth, T)`.

    It searches row HERE, writes the best action, ties broken at random, to `table.chosen`, and returns its value for
    player 0.
    """
    search, last_step = search_of(game, compiled)
    rules = game.rules
    current_player, apply_action, action_cost = rules.current_player, rules.apply_action, rules.action_cost
    considered = rules.candidates or rules.legal_actions

    @bind(game.room)
    def best_action(table, buffers, depth, T):
        S, A = table.S, table.A
        player = current_player(S, HERE, T)
        n = considered(S, HERE, A, T)
        shared = share_out(buffers, n)
        best, ties = 0.0, 0
        for k in range(n):
            a = A[k]
            apply_action(S, HERE, a, AFTER, T)
            left = depth - action_cost(S, HERE, a, T)
            lower, upper = -np.inf, np.inf
            if ties > 0 and player == 1:
                upper = TIE - best
            elif ties > 0:
                lower = best - TIE
            known, value = False, 0.0
            if left == 0:
                known, value = last_step(S, shared, AFTER, FREE, lower, upper, T)
            if not known:
                value = search(S, shared, AFTER, FREE, left, lower, upper, T)
            value = for_player_zero(value, player)
            if ties == 0 or value > best:
                best, ties = value, 1
                table.chosen[0] = a
            elif value == best:
                ties += 1
                if below(table.R, ties) == np.uint64(0):
                    table.chosen[0] = a
        return for_player_zero(best, player)

    return best_action


def make_random_action(game: Game) -> Compiled:
    """Returns `random_action(table, T)`: a legal action of row HERE."""
    legal_actions = game.rules.legal_actions

    @bind(game.room, inline=True)
    def random_action(table, T):
        return table.A[below(table.R, legal_actions(table.S, HERE, table.A, T))]

    return random_action


def make_open_game(game: Game) -> Compiled:
    """Returns `open_game(table, plies, T)`.

    It starts an unfinished game at row HERE after up to `plies` random actions; a stop signal ends it early.
    """
    rules = game.rules
    initial_state, apply_action, current_player = rules.initial_state, rules.apply_action, rules.current_player
    settle, random_action = make_settle(game), make_random_action(game)

    @bind(game.room, inline=True)
    def open_game(table, plies, T):
        S, R = table.S, table.R
        over = True
        while over:
            initial_state(S, HERE, T)
            settle(S, R, T)
            left = np.int64(below(R, plies + 1))
            over = current_player(S, HERE, T) == TERMINAL
            while left > 0 and not over:
                left -= 1
                apply_action(S, HERE, random_action(table, T), HERE, T)
                settle(S, R, T)
                over = current_player(S, HERE, T) == TERMINAL
            if T.stop[0]:
                return

    return open_game


CHOSEN, EXPLORED, AFTERSTATE, EXACT, CONTINUED = 0, 1, 2, 3, 4
"""Kinds of positions. CHOSEN: the search's action was played. EXPLORED: another action was played. AFTERSTATE: chance acts. EXACT:
the value is exact. CONTINUED: the search's action was played within a turn that counts as one step."""


class Record(NamedTuple):
    """Recorded positions in the order of play."""

    rows: Array
    """[n, width]"""
    targets: Floats
    """Target value for the player who acts, [n]."""
    values: Floats
    """Scratch: root value for player 0, [n]."""
    kinds: NDArray[np.int8]
    """Scratch: kind of the position, CHOSEN to CONTINUED, [n]."""
    first: Ints
    """Scratch: index of the first position of the same game, [n]."""
    outcomes: Floats
    """Scratch: outcome of the game for player 0, [n]."""


def new_record(game: Game, n: int) -> Record:
    """Returns an empty record for n positions."""
    return Record(game.rows(n), np.zeros(n), np.zeros(n), np.zeros(n, np.int8), np.zeros(n, np.int64), np.zeros(n))


def make_write_targets(game: Game) -> Compiled:
    """Returns `write_targets(record, first, end, outcome, trace_decay, T)`.

    It writes the lambda-returns of one game's positions, `first` to `end` - 1, each for the player who acts there.
    """
    current_player = game.rules.current_player

    @bind(game.room, inline=True)
    def write_targets(record, first, end, outcome, trace_decay, T):
        target = outcome
        for back in range(end - first):
            t = end - 1 - back
            if record.kinds[t] == EXPLORED or record.kinds[t] == EXACT:
                target = record.values[t]
            elif record.kinds[t] == CHOSEN:
                target = (1.0 - trace_decay) * record.values[t] + trace_decay * target
            record.targets[t] = for_player_zero(target, current_player(record.rows, np.uint64(t), T))

    return write_targets


class GameKernels(NamedTuple):
    """The compiled entry points. They are compiled when they are first called."""

    play_matches: Compiled
    """(table, keys, results, depth, plies, None, T, other)"""
    play_games: Compiled
    """(table, keys, depth, plies, by_search, values, players, returns, ends, T)"""
    choose_actions: Compiled
    """(table, rows, depth, actions, T)"""


def kernels(game: Game, evaluator: Evaluator) -> GameKernels:
    """Returns the compiled entry points for a game and a kind of leaf (its weights are in `T`)."""
    return _compiled(game.with_defaults, compiled_search(game, evaluator))


@functools.cache
def _compiled(game: Game, compiled: CompiledSearch) -> GameKernels:
    best_action, leaf_value = make_best_action(game, compiled), compiled.leaf_value
    current_player, apply_action, result = game.rules.current_player, game.rules.apply_action, game.rules.returns
    open_game, settle = make_open_game(game), make_settle(game)

    @bind(game.room, inline=True)
    def act(table, is_own, depth, options, T):
        """Returns the action of a search to a depth, for `make_play_matches`; `options` is unused."""
        best_action(table, table.buffers if is_own else table.other_buffers, depth, T)
        return table.chosen[0]

    @bind(game.room)
    def play_games(table, keys, depth, plies, by_search, values, players, returns, ends, T):
        """Plays a game per key of `keys` [games].

        `values` and `players` [n] get the value and the player of each decision, one game after another, while there is room. The
        value is the leaf's, or with `by_search` the search's for the player to move. `returns` [games] are player 0's returns,
        `ends` [games] the indices after each game's last decision.
        """
        S, R = table.S, table.R
        n = 0
        for g in range(keys.shape[0]):
            if T.stop[0]:
                return
            R[0], R[1] = keys[g], np.uint64(0)
            open_game(table, plies, T)
            player = current_player(S, HERE, T)
            while player != TERMINAL:
                worth = for_player_zero(best_action(table, table.buffers, depth, T), player)
                if n < values.shape[0]:
                    values[n] = worth if by_search else leaf_value(S, HERE, T)
                    players[n] = player
                n += 1
                apply_action(S, HERE, table.chosen[0], HERE, T)
                settle(S, R, T)
                player = current_player(S, HERE, T)
            returns[g] = result(S, HERE, T)
            ends[g] = n

    matches = make_play_matches(game, nothing_to_begin, act)
    return GameKernels(matches, play_games, make_choose_actions(game, best_action))


def make_play_matches(game: Game, begin: Compiled, act: Compiled) -> Compiled:
    """Returns `play_matches(table, keys, results, effort, plies, options, T, other)`.

    It plays an opening per key of `keys` [n] from both seats against the tables `other`. `results` [n, 2] are the returns of the
    player of `T`, first seat first. `begin(table)` begins a game. `act(table, is_own, effort, options, T)` returns an action at row
    HERE: of the player of `T` (`is_own`), or of the other player.
    """
    current_player, apply_action, returns = game.rules.current_player, game.rules.apply_action, game.rules.returns
    open_game, settle = make_open_game(game), make_settle(game)

    @bind(game.room)
    def play_matches(table, keys, results, effort, plies, options, T, other):
        S, R = table.S, table.R
        for g in range(keys.shape[0]):
            if T.stop[0]:
                return
            for seat in range(2):
                R[0], R[1] = keys[g], np.uint64(0)
                begin(table)
                open_game(table, plies, T)
                player = current_player(S, HERE, T)
                while player != TERMINAL:
                    if player == seat:
                        a = act(table, True, effort, options, T)
                    else:
                        a = act(table, False, effort, options, other)
                    apply_action(S, HERE, a, HERE, T)
                    settle(S, R, T)
                    player = current_player(S, HERE, T)
                results[g, seat] = for_player_zero(returns(S, HERE, T), seat)

    return play_matches


@jit(inline=True)
def nothing_to_begin(table):
    """Does nothing at the start of a game."""


def make_choose_actions(game: Game, best_action: Compiled) -> Compiled:
    """Returns `choose_actions(table, rows, depth, actions, T)`.

    It writes the action that a search chooses in each row, all of them decisions, to `actions` [n].
    """

    @bind(game.room)
    def choose_actions(table, rows, depth, actions, T):
        for i in range(rows.shape[0]):
            put_row(rows, i, table.S, HERE)
            best_action(table, table.buffers, depth, T)
            actions[i] = table.chosen[0]

    return choose_actions


def make_transform_rows(game: Game) -> Compiled:
    """Returns `transform_rows(rows, symmetries, actions, T)`, with `rows` [2 n, width], `symmetries` and `actions` [n].

    It writes each row of the first half under its symmetry to the second half, and its action over itself.
    """
    transform, transform_action = game.symmetries.transform, game.symmetries.transform_action

    @bind(game.room)
    def transform_rows(rows, symmetries, actions, T):
        n = symmetries.shape[0]
        for i in range(n):
            transform(rows, np.uint64(i), symmetries[i], np.uint64(n + i), T)
            actions[i] = transform_action(actions[i], symmetries[i], T)

    return transform_rows


LONGEST = 30_000
"""Room for decisions, per game, on average over the games of a batch."""
BATCH = 50
"""Number of games in a batch, which is one job."""


class PlayedGames(NamedTuple):
    """Games in the order of their seeds."""

    scores: Floats
    """[games]: returns of player 0."""
    values: Floats
    """[decisions]: value of each decision, as `play_games` writes it, one game after another."""
    players: Ints
    """[decisions]: player of each decision."""
    ends: Ints
    """[games]: index after each game's last decision."""
    seconds: float
    """Processor time."""

    def game_of(self) -> Ints:
        """Returns the number of the game of every decision, from 0 on, [decisions]."""
        return np.repeat(np.arange(len(self.ends)), np.diff(self.ends, prepend=0))

    def outcomes(self) -> Floats:
        """Returns the return of the game of every decision, [decisions]."""
        return self.scores[self.game_of()]

    @classmethod
    def joined(cls, parts: Sequence[PlayedGames]) -> PlayedGames:
        """Returns the games of parts, one after another."""
        scores, values, players, ends, seconds = zip(*parts, strict=True)
        before = np.cumsum([0, *map(len, values[:-1])])
        moved = [end + n for end, n in zip(ends, before, strict=True)]
        returns, all_values, all_players, all_ends = (np.concatenate(one) for one in (scores, values, players, moved))
        return cls(returns, all_values, all_players, all_ends, sum(seconds))


def play_batches(
    game: Game,
    evaluator: Evaluator,
    seeds: range,
    batch: int,
    *,
    depth: int,
    plies: int = 0,
    nodes: int = 0,
    by_search: bool = False,
) -> Iterator[PlayedGames]:
    """Yields games of a search with itself, one per seed, at most `batch` at once, after up to `plies` random moves.

    `nodes` limits the decisions that a search visits, as in `Search` (0: no limit). Raises ValueError for games with too many
    decisions.
    """
    table, T = new_table(game, depth, 0, evaluator, nodes=nodes), game.tables(evaluator)
    run = kernels(game, evaluator).play_games
    values, players = np.zeros(batch * LONGEST), np.zeros(batch * LONGEST, np.int64)
    forget(table)
    for first in seeds[::batch]:
        keys = np.arange(first, min(first + batch, seeds.stop), dtype=np.uint64)
        returns, ends = np.zeros(len(keys)), np.zeros(len(keys), np.int64)
        begun = time.process_time()
        stoppable(partial(run, table, keys, depth, plies, by_search, values, players, returns, ends, T), T.stop)
        spent = time.process_time() - begun
        if (n := int(ends[-1])) > len(values):
            raise UserError(f"{game.name}: expected games of at most {LONGEST:,} decisions, got {n:,} in {len(keys)}")
        yield PlayedGames(returns, values[:n].copy(), players[:n].copy(), ends, spent)


def play_solo(
    game: Game, evaluator: Evaluator, first_seed: int, games: int, *, depth: int = 1, nodes: int = 0
) -> PlayedGames:
    """Plays single-player games with seeds from `first_seed`."""
    seeds = range(first_seed, first_seed + games)
    return PlayedGames.joined(list(play_batches(game, evaluator, seeds, BATCH, depth=depth, nodes=nodes)))
