"""The compiled part of self-play: games whose positions get the root value of a search.

A position is played at row HERE of a `Table`; the search uses the rows after it. `T` are the game's tables, with the leaf's
weights.
"""

from __future__ import annotations

import functools
from typing import NamedTuple

import numpy as np

from leafwise.envs.core.compile.jit import bind
from leafwise.envs.core.contract.evaluator import Evaluator, for_player_zero
from leafwise.envs.core.contract.game import Game
from leafwise.envs.core.contract.rules import CHANCE, TERMINAL, Compiled
from leafwise.envs.core.contract.stream import below, uniform
from leafwise.envs.core.play.solver import UNKNOWN
from leafwise.training.games.kernels import make_transform_rows
from leafwise.training.games.playing import (
    GAMES,
    PLIES,
    WON_BY_FIRST,
    Choosing,
    choosing,
    make_open_game,
    make_random_action,
)
from leafwise.training.games.recording import AFTERSTATE, CHOSEN, EXACT, EXPLORED, make_write_targets
from leafwise.training.games.steps import HERE, make_settle, make_settle_to_stage, put_row

NOBODY = 2
"""Seat of the earlier self in a game without one."""
OPENINGS = 100
"""Most openings that are drawn for a game."""


class Kernels(NamedTuple):
    """The compiled entry points; what is not called is not compiled."""

    record_games: Compiled
    """(table, record, count, depth, plies, even, epsilon, earlier_share, trace_decay, leaf_targets, credit, T, earlier)
    -> positions"""
    write_all_targets: Compiled
    """(record, n, exact, trace_decay, T)"""
    transform_rows: Compiled
    """(rows, symmetries, actions, T)"""


def kernels(game: Game, evaluator: Evaluator) -> Kernels:
    """Returns the compiled entry points for a game and a kind of leaf (its weights are in `T`)."""
    return _compiled(game.with_defaults, choosing(game, evaluator))


@functools.cache
def _compiled(game: Game, by: Choosing) -> Kernels:
    record_game = make_record_game(game, by.best_action, by.leaf_value, by.leaf_stage)
    return Kernels(
        record_games=make_record_games(game, record_game, make_open_even(game, by.best_action)),
        write_all_targets=make_write_all_targets(game),
        transform_rows=make_transform_rows(game),
    )


def make_write_all_targets(game: Game) -> Compiled:
    """Returns `write_all_targets(record, n, exact, trace_decay, T)`.

    It writes the targets of n positions of whole games anew, of which some are known: `exact` [n] are true values for the player
    who acts there, or UNKNOWN.
    """
    current_player, write_targets = game.rules.current_player, make_write_targets(game)

    @bind(game.room)
    def write_all_targets(record, n, exact, trace_decay, T):
        for t in range(n):
            if exact[t] != UNKNOWN:
                record.kinds[t] = EXACT
                player = current_player(record.rows, np.uint64(t), T)
                record.values[t] = for_player_zero(np.float64(exact[t]), player)
        end = n
        while end > 0:
            first = record.first[end - 1]
            write_targets(record, first, end, record.outcomes[end - 1], trace_decay, T)
            end = first

    return write_all_targets


def make_record_game(game: Game, best_action: Compiled, leaf_value: Compiled, leaf_stage: int) -> Compiled:
    """Returns `record_game(table, record, first, depth, epsilon, other, leaf_targets, T, earlier)`.

    It plays a game from row HERE on, records its positions from `first` on, as long as there is room, and returns where they
    end. Seat `other` is played with the tables `earlier`, and not recorded. With `leaf_targets` the values are what the leaf says
    of the next positions, where the search's action was played.
    """
    current_player, apply_action = game.rules.current_player, game.rules.apply_action
    settle, settle_to_leaf = make_settle(game), make_settle_to_stage(game, leaf_stage)
    random_action = make_random_action(game)

    @bind(game.room, inline=True)
    def record_game(table, record, first, depth, epsilon, other, leaf_targets, T, earlier):
        S, R, n = table.S, table.R, first
        room = record.rows.shape[0]
        player = current_player(S, HERE, T)
        while player != TERMINAL and n < room:
            recorded = player != other
            if recorded:
                value = best_action(table, table.buffers, depth, T)
            else:
                value = best_action(table, table.other_buffers, depth, earlier)
            a = table.chosen[0]
            if uniform(R) < epsilon:
                a = random_action(table, T)
            if recorded:
                put_row(S, HERE, record.rows, n)
                record.kinds[n] = CHOSEN if a == table.chosen[0] else EXPLORED
                record.values[n] = value
                n += 1
            apply_action(S, HERE, a, HERE, T)
            settle_to_leaf(S, R, T)
            if leaf_targets and recorded and record.kinds[n - 1] == CHOSEN:
                record.values[n - 1] = leaf_value(S, HERE, T)
            if recorded and n < room and current_player(S, HERE, T) == CHANCE:
                put_row(S, HERE, record.rows, n)
                record.kinds[n] = AFTERSTATE
                n += 1
            settle(S, R, T)
            player = current_player(S, HERE, T)
            table.counts[PLIES] += 1
        return n

    return record_game


def make_open_even(game: Game, best_action: Compiled) -> Compiled:
    """Returns `open_even(table, depth, plies, even, T)`.

    It starts a game at row HERE as `open_game` does, again and again until the root value is at most `even` either way, or
    `OPENINGS` times. With an `even` of 1 the first will do.
    """
    open_game = make_open_game(game)

    @bind(game.room, inline=True)
    def open_even(table, depth, plies, even, T):
        open_game(table, plies, T)
        if even < 1.0:
            tries = 1
            while tries < OPENINGS and abs(best_action(table, table.buffers, depth, T)) > even:
                open_game(table, plies, T)
                tries += 1

    return open_even


def make_record_games(game: Game, record_game: Compiled, open_even: Compiled) -> Compiled:
    """Returns `record_games`, with the arguments that `Kernels` states.

    It plays whole games until `count` positions are recorded, or no room is left for another game; returns how many. They
    begin with up to `plies` random actions (`even`: see `make_open_even`), and a share `epsilon` of the others is random too.

    In a share `earlier_share` of the games one seat is played by `earlier`, whose positions are not recorded. A target is the
    lambda-return (lambda is `trace_decay`) of the root values that follow, the last of which is the outcome; it ends where
    another action was played than the search's. The outcome of a game that was not won is the share `credit` of its `progress`,
    if that is more. Where the leaf is asked at a stage of chance, that is a position too, worth what comes of it. With
    `leaf_targets`, where the search's action was played, it is that of what the leaf says of the next positions themselves.
    """
    rules = game.rules
    current_player, returns, progress = rules.current_player, rules.returns, rules.progress
    write_targets = make_write_targets(game)

    @bind(game.room)
    def record_games(
        table, record, count, depth, plies, even, epsilon, earlier_share, trace_decay, leaf_targets, credit, T, earlier
    ):
        S, R, counts = table.S, table.R, table.counts
        n = 0
        while n < count and not T.stop[0]:
            open_even(table, depth, plies, even, T)
            other = np.int64(NOBODY)
            if uniform(R) < earlier_share:
                other = np.int64(below(R, 2))
            end = record_game(table, record, n, depth, epsilon, other, leaf_targets, T, earlier)
            if current_player(S, HERE, T) != TERMINAL:
                return n  # the record is full: the game is left out
            outcome = returns(S, HERE, T)
            counts[GAMES] += 1
            if outcome > 0:
                counts[WON_BY_FIRST] += 1
            if credit > 0.0:
                outcome = max(outcome, credit * progress(S, HERE, T))
            write_targets(record, n, end, outcome, trace_decay, T)
            record.first[n:end], record.outcomes[n:end] = n, outcome
            n = end
        return n

    return record_games
