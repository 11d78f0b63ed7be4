"""Plays games side by side for leaves that value batches: one call values all leaves of a round of decisions.

Each game has its own random stream and is played to its end; then the next game takes its place. The result of a list of games
depends on nothing else, so it may be played anywhere.
"""

from __future__ import annotations

import functools
import time
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from leafwise.envs.core.arrays import Array, Floats, Ints, Words
from leafwise.envs.core.compile.jit import bind
from leafwise.envs.core.contract.evaluator import Evaluator, for_player_zero
from leafwise.envs.core.contract.game import Game
from leafwise.envs.core.contract.rules import TERMINAL, Compiled
from leafwise.envs.core.contract.stream import below, uniform
from leafwise.envs.core.gym.observation import Observer
from leafwise.search.expectiminimax import COUNTS
from leafwise.search.frontier import Frontier
from leafwise.search.search_options import ROUNDED
from leafwise.training.games import (
    CHOSEN,
    EXPLORED,
    GAMES,
    HERE,
    PLIES,
    WON_BY_FIRST,
    PlayedGames,
    Record,
    make_open_game,
    make_random_action,
    make_settle,
    new_record,
    new_table,
    put_row,
)

SIDE = 256
"""Games that are played side by side."""
NOBODY = 2
"""Seat of the other player in a game without one."""
OPENINGS = 100
"""Most openings that are drawn for a game."""
NONE = np.int64(-1)


class GameSlots(NamedTuple):
    """The games under way, [places] each."""

    S: Array
    """Their positions, [places, width]."""
    R: Words
    """Their streams, [places, 2]."""
    number: Ints
    """Which game is played here; -1: none."""
    player: Ints
    """Who is to act."""
    other: Ints
    """The seat of the other player, or NOBODY."""
    tries: Ints
    """Openings drawn so far; 0 from the first decision on."""
    waiting: Ints
    """Entry of the record that waits for what the leaf says of this position; -1: none."""


class PlayOptions(NamedTuple):
    """How games are played."""

    plies: Ints
    """Most random actions at the beginning of each game, [games]."""
    exploration: float = 0.0
    """Share of actions drawn at random."""
    even: float = 1.0
    """Openings whose value is further from 0 are drawn anew, at most `OPENINGS` times."""
    credit: float = 0.0
    """Share of its `progress` that counts as the outcome of a game that was not won."""
    next_values: bool = False
    """Whether values recorded are what the leaf says of the next position, where the search's action was played."""


class BatchKernels(NamedTuple):
    """The compiled entry points, one for all weights."""

    begin: Compiled
    """(places, free, first, keys, other, how, table, T)"""
    advance: Compiled
    """(places, live, values, children, ends, record, n, outcomes, how, table, T) -> where the record ends"""


@functools.cache
def _compiled(game: Game) -> BatchKernels:
    rules = game.rules
    current_player, apply_action, returns, progress = (
        rules.current_player, rules.apply_action, rules.returns, rules.progress,
    )  # fmt: skip
    considered = rules.candidates or rules.legal_actions
    open_game, settle, random_action = make_open_game(game), make_settle(game), make_random_action(game)

    @bind(game.room, inline=True)
    def put_back(places, i, table, T):
        """Writes position and stream of a table to place i."""
        put_row(table.S, HERE, places.S, i)
        places.R[i, 0], places.R[i, 1] = table.R[0], table.R[1]
        places.player[i] = current_player(table.S, HERE, T)

    @bind(game.room)
    def begin(places, free, first, keys, other, how, table, T):
        """Begins the games from number `first` on, one at each free place [n], with their keys and seats of the other player."""
        for k in range(free.shape[0]):
            i, g = free[k], first + k
            table.R[0], table.R[1] = keys[g], np.uint64(0)
            open_game(table, how.plies[g], T)
            places.number[i], places.other[i], places.tries[i], places.waiting[i] = g, other[g], 1, NONE
            put_back(places, i, table, T)

    @bind(game.room)
    def advance(places, live, values, children, ends, record, n, outcomes, how, table, T):
        """Plays a decision of the games at the places `live` [m], by player 0's values [m] and those of their children up to
        `ends` [m].

        Decisions that the other player does not make are recorded from entry n on, with the number of the game as `first`.
        """
        S, R, A = table.S, table.R, table.A
        end = np.int64(0)
        for k in range(live.shape[0]):
            i, start, end = live[k], end, ends[k]
            put_row(places.S, i, S, HERE)
            R[0], R[1] = places.R[i, 0], places.R[i, 1]
            player, g = places.player[i], places.number[i]
            # An opening that is not even is drawn anew
            if 0 < places.tries[i] < OPENINGS and abs(values[k]) > how.even:
                places.tries[i] += 1
                open_game(table, how.plies[g], T)
                put_back(places, i, table, T)
                continue
            places.tries[i] = 0
            # The best action, ties broken at random, as `make_best_action` has it
            considered(S, HERE, A, T)
            best, ties, chosen = 0.0, 0, A[0]
            for j in range(end - start):
                value = for_player_zero(children[start + j], player)
                if ties == 0 or value > best:
                    best, ties, chosen = value, 1, A[j]
                elif value == best:
                    ties += 1
                    if below(R, ties) == np.uint64(0):
                        chosen = A[j]
            a = chosen
            if how.exploration > 0.0 and uniform(R) < how.exploration:
                a = random_action(table, T)
            places.waiting[i] = NONE
            if places.other[i] != player:
                put_row(S, HERE, record.rows, n)
                record.kinds[n] = CHOSEN if a == chosen else EXPLORED
                record.values[n], record.first[n] = values[k], g
                if a == chosen and how.next_values:
                    places.waiting[i] = n
                n += 1
            apply_action(S, HERE, a, HERE, T)
            settle(S, R, T)
            table.counts[PLIES] += 1
            put_back(places, i, table, T)
            # A game that is over leaves its place
            if places.player[i] == TERMINAL:
                outcome = np.float64(returns(S, HERE, T))
                if places.waiting[i] >= 0:
                    record.values[places.waiting[i]] = outcome
                table.counts[GAMES] += 1
                if outcome > 0:
                    table.counts[WON_BY_FIRST] += 1
                if how.credit > 0.0:
                    outcome = max(outcome, how.credit * progress(S, HERE, T))
                outcomes[g] = outcome
                places.number[i] = NONE
        return n

    return BatchKernels(begin, advance)


class BatchGames(NamedTuple):
    """Games, in the order of their keys."""

    record: Record
    """Decisions in the order in which they were made, one game after another; `targets` are not written yet."""
    outcomes: Floats
    """[games]: player 0's returns."""
    counts: Ints
    """As in `leafwise.training.games.GameTable`."""


def batches_side_by_side(
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
    """`play_batches` for leaves that value batches."""
    games, look = SideBySide(game, (evaluator,), depth, nodes=nodes), Observer(game, masked=False)
    for first in seeds[::batch]:
        begun, keys = time.process_time(), np.arange(first, min(first + batch, seeds.stop), dtype=np.uint64)
        n = len(keys)
        record, outcomes, _ = games.play(keys, np.full(n, NOBODY), PlayOptions(np.full(n, plies)))
        values, players = record.values, look(record.rows).player.astype(np.int64)
        if not by_search:
            values = games.values(record.rows, 0)
        ends = np.searchsorted(record.first, np.unique(record.first), side="right")
        yield PlayedGames(outcomes, np.where(players == 1, -values, values), players, ends, time.process_time() - begun)


class SideBySide:
    """Plays games by searches of one evaluator, or of two against each other, with leaves that value batches."""

    def __init__(
        self, game: Game, evaluators: Sequence[Evaluator], depth: int, *, nodes: int = 0, candidates: str | None = None
    ) -> None:
        """The first evaluator plays all seats except those of the other player, which the last one plays.

        `depth`, `nodes` and `candidates` are those of `Search`.
        """
        least, cost = (ROUNDED / nodes, 1.0 / nodes) if nodes else (0.0, 0.0)
        self.game, self.depth = game, depth
        self.searches = [
            Frontier(game, one, game.tables(one, candidates), cutoff=least, node_cost=cost) for one in evaluators
        ]
        self._T = game.tables(None, candidates)
        self._table = new_table(game, 1, 0)
        self._kernels = _compiled(game.with_defaults)
        self._counts = np.zeros(COUNTS, np.int64)

    @property
    def asked(self) -> int:
        """Number of valued leaves; equal leaves of a round count once."""
        return sum(search.asked for search in self.searches)

    def values(self, rows: Array, depth: int) -> Floats:
        """Returns player 0's values of rows [n, width] by searches of the first evaluator; at depth 0 its own values."""
        return self.searches[0].many(rows, depth, self._counts)[0]

    def play(self, keys: Words, other: Ints, how: PlayOptions) -> BatchGames:
        """Plays a game of each key [games], in which the other player has the seat `other` [games]."""
        game, table, total = self.game, self._table, len(keys)
        table.counts[:] = 0
        size = min(SIDE, total)
        ints = (np.full(size, NONE) for _ in range(5))
        places = GameSlots(game.rows(size), np.zeros((size, 2), np.uint64), *ints)
        record, outcomes, begun, n = new_record(game, 64 * size), np.zeros(total), 0, 0
        while True:
            free = np.flatnonzero(places.number < 0)[: total - begun]
            self._kernels.begin(places, free, begun, keys, other, how, table, self._T)
            begun += len(free)
            live = np.flatnonzero(places.number >= 0)
            if not len(live):
                break
            if len(waiting := live[places.waiting[live] >= 0]):
                record.values[places.waiting[waiting]] = self.values(places.S[waiting], 0)
            if n + len(live) > len(record.rows):
                record = Record._make(np.concatenate([part, np.zeros_like(part)]) for part in record)
            theirs = places.player[live] == places.other[live]
            for search, some in ((self.searches[0], live[~theirs]), (self.searches[-1], live[theirs])):
                if len(some):
                    found = search.many(places.S[some], self.depth, self._counts)
                    n = int(self._kernels.advance(places, some, *found, record, n, outcomes, how, table, self._T))
        order = np.argsort(record.first[:n], kind="stable")
        record = Record._make(part[order] for part in record)
        numbers = record.first
        record.outcomes[:] = outcomes[numbers]
        record.first[:] = np.searchsorted(numbers, numbers)
        return BatchGames(record, outcomes, table.counts.copy())
