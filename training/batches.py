"""Plays games side by side for leaves that value batches: one call values all leaves of a round of decisions.

Each game has its own random stream and is played to its end; then the next game takes its slot. The result of a list of games
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
"""Maximum number of games played side by side."""
NOBODY = 2
"""Seat of the other player in a game without one."""
OPENINGS = 100
"""Maximum number of openings drawn for a game."""
NONE = np.int64(-1)


class GameSlots(NamedTuple):
    """The running games, one per slot: arrays [slots]."""

    S: Array
    """Positions, [slots, width]."""
    R: Words
    """Random streams, [slots, 2]."""
    number: Ints
    """Number of the game in the slot; -1: none."""
    player: Ints
    """Player to act."""
    other: Ints
    """Seat of the other player, or NOBODY."""
    tries: Ints
    """Number of openings drawn so far; 0 from the first decision on."""
    waiting: Ints
    """Entry of the record that gets the leaf's value of this position; -1: none."""


class PlayOptions(NamedTuple):
    """Options of games played side by side."""

    plies: Ints
    """Maximum number of random actions at the start of each game, [games]."""
    exploration: float = 0.0
    """Share of random actions."""
    max_opening_value: float = 1.0
    """Maximum absolute value of an opening. Other openings are drawn again, at most `OPENINGS` times."""
    credit: float = 0.0
    """Credit for a game that was not won, as a share of its `progress`."""
    next_values: bool = False
    """Whether recorded values are the leaf's values of the next positions, where the search's action was played."""


class BatchKernels(NamedTuple):
    """The compiled entry points, the same for all weights."""

    begin: Compiled
    """(slots, free, first, keys, other, options, table, T)"""
    advance: Compiled
    """(slots, live, values, children, ends, record, n, outcomes, options, table, T) -> where the record ends"""


@functools.cache
def _compiled(game: Game) -> BatchKernels:
    rules = game.rules
    current_player, apply_action, returns, progress = (
        rules.current_player, rules.apply_action, rules.returns, rules.progress,
    )  # fmt: skip
    considered = rules.candidates or rules.legal_actions
    open_game, settle, random_action = make_open_game(game), make_settle(game), make_random_action(game)

    @bind(game.room, inline=True)
    def put_back(slots, i, table, T):
        """Writes position and stream of a table to slot i."""
        put_row(table.S, HERE, slots.S, i)
        slots.R[i, 0], slots.R[i, 1] = table.R[0], table.R[1]
        slots.player[i] = current_player(table.S, HERE, T)

    @bind(game.room)
    def begin(slots, free, first, keys, other, options, table, T):
        """Starts the games from number `first` on, one in each free slot [n], with their keys and seats of the other player."""
        for k in range(free.shape[0]):
            i, g = free[k], first + k
            table.R[0], table.R[1] = keys[g], np.uint64(0)
            open_game(table, options.plies[g], T)
            slots.number[i], slots.other[i], slots.tries[i], slots.waiting[i] = g, other[g], 1, NONE
            put_back(slots, i, table, T)

    @bind(game.room)
    def advance(slots, live, values, children, ends, record, n, outcomes, options, table, T):
        """Plays a decision in the slots `live` [m], given player 0's values [m] and the values of their children up to `ends` [m].

        Decisions of all players but the other one are recorded from entry n on, with the number of the game as `first`.
        """
        S, R, A = table.S, table.R, table.A
        end = np.int64(0)
        for k in range(live.shape[0]):
            i, start, end = live[k], end, ends[k]
            put_row(slots.S, i, S, HERE)
            R[0], R[1] = slots.R[i, 0], slots.R[i, 1]
            player, g = slots.player[i], slots.number[i]
            # Draw another opening if this one favours a player
            if 0 < slots.tries[i] < OPENINGS and abs(values[k]) > options.max_opening_value:
                slots.tries[i] += 1
                open_game(table, options.plies[g], T)
                put_back(slots, i, table, T)
                continue
            slots.tries[i] = 0
            # Choose the best action, ties broken at random, as `make_best_action` does
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
            if options.exploration > 0.0 and uniform(R) < options.exploration:
                a = random_action(table, T)
            slots.waiting[i] = NONE
            if slots.other[i] != player:
                put_row(S, HERE, record.rows, n)
                record.kinds[n] = CHOSEN if a == chosen else EXPLORED
                record.values[n], record.first[n] = values[k], g
                if a == chosen and options.next_values:
                    slots.waiting[i] = n
                n += 1
            apply_action(S, HERE, a, HERE, T)
            settle(S, R, T)
            table.counts[PLIES] += 1
            put_back(slots, i, table, T)
            # A finished game frees its slot
            if slots.player[i] == TERMINAL:
                outcome = np.float64(returns(S, HERE, T))
                if slots.waiting[i] >= 0:
                    record.values[slots.waiting[i]] = outcome
                table.counts[GAMES] += 1
                if outcome > 0:
                    table.counts[WON_BY_FIRST] += 1
                if options.credit > 0.0:
                    outcome = max(outcome, options.credit * progress(S, HERE, T))
                outcomes[g] = outcome
                slots.number[i] = NONE
        return n

    return BatchKernels(begin, advance)


class BatchGames(NamedTuple):
    """Games played side by side, in the order of their keys."""

    record: Record
    """Decisions, one game after another; `targets` are not written yet."""
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
    games, observer = SideBySide(game, (evaluator,), depth, nodes=nodes), Observer(game, masked=False)
    for first in seeds[::batch]:
        begun, keys = time.process_time(), np.arange(first, min(first + batch, seeds.stop), dtype=np.uint64)
        n = len(keys)
        record, outcomes, _ = games.play(keys, np.full(n, NOBODY), PlayOptions(np.full(n, plies)))
        values, players = record.values, observer(record.rows).player.astype(np.int64)
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
        cutoff, node_cost = (ROUNDED / nodes, 1.0 / nodes) if nodes else (0.0, 0.0)
        self.game, self.depth = game, depth
        self.searches = [
            Frontier(game, one, game.tables(one, candidates), cutoff=cutoff, node_cost=node_cost) for one in evaluators
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

    def play(self, keys: Words, other: Ints, options: PlayOptions) -> BatchGames:
        """Plays a game of each key [games], in which the other player has the seat `other` [games]."""
        game, table, total = self.game, self._table, len(keys)
        table.counts[:] = 0
        size = min(SIDE, total)
        ints = (np.full(size, NONE) for _ in range(5))
        slots = GameSlots(game.rows(size), np.zeros((size, 2), np.uint64), *ints)
        record, outcomes, begun, n = new_record(game, 64 * size), np.zeros(total), 0, 0
        while True:
            free = np.flatnonzero(slots.number < 0)[: total - begun]
            self._kernels.begin(slots, free, begun, keys, other, options, table, self._T)
            begun += len(free)
            live = np.flatnonzero(slots.number >= 0)
            if not len(live):
                break
            if len(waiting := live[slots.waiting[live] >= 0]):
                record.values[slots.waiting[waiting]] = self.values(slots.S[waiting], 0)
            if n + len(live) > len(record.rows):
                record = Record._make(np.concatenate([part, np.zeros_like(part)]) for part in record)
            by_other = slots.player[live] == slots.other[live]
            for search, acting in ((self.searches[0], live[~by_other]), (self.searches[-1], live[by_other])):
                if len(acting):
                    values = search.many(slots.S[acting], self.depth, self._counts)
                    n = int(self._kernels.advance(slots, acting, *values, record, n, outcomes, options, table, self._T))
        order = np.argsort(record.first[:n], kind="stable")
        record = Record._make(part[order] for part in record)
        numbers = record.first
        record.outcomes[:] = outcomes[numbers]
        record.first[:] = np.searchsorted(numbers, numbers)
        return BatchGames(record, outcomes, table.counts.copy())
