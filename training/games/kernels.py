"""The compiled part of self-play: games whose positions get the root value of a search, matches, choices.

One set of factories, whose functions are compiled per game and leaf with the search of `leafwise.search.compiled`. A position
is played at row HERE of a `Table`; the search uses the rows after it. `T` are the game's tables, with the leaf's weights.
"""

from __future__ import annotations

import functools
from typing import NamedTuple

import numpy as np

from leafwise.envs.core.compile.jit import bind
from leafwise.envs.core.contract.evaluator import Evaluator, for_player_zero
from leafwise.envs.core.contract.game import Game
from leafwise.envs.core.contract.rules import TERMINAL, Compiled
from leafwise.search.compiled import CompiledSearch, compiled_search
from leafwise.training.dqn.kernels import (
    make_advance,
    make_choose_actions,
    make_mask_actions,
    make_root_values,
    make_start_games,
    make_transform_rows,
)
from leafwise.training.games.playing import (
    GAMES,
    PLIES,
    WON_BY_FIRST,
    Table,
    forget,
    make_best_action,
    make_open_game,
    new_table,
    searches,
)
from leafwise.training.games.recording import (
    Record,
    make_open_even,
    make_record_game,
    make_record_games,
    make_write_all_targets,
    new_record,
)
from leafwise.training.games.steps import HERE, make_settle

__all__ = [
    "GAMES",
    "PLIES",
    "WON_BY_FIRST",
    "Kernels",
    "Record",
    "Table",
    "forget",
    "kernels",
    "new_record",
    "new_table",
]


class Kernels(NamedTuple):
    """The compiled entry points; what is not called is not compiled."""

    record_games: Compiled
    """(table, record, count, depth, plies, even, epsilon, earlier_share, trace_decay, leaf_targets, credit, T, earlier)
    -> positions"""
    write_all_targets: Compiled
    """(record, n, exact, trace_decay, T)"""
    play_matches: Compiled
    """(table, keys, results, depth, plies, T, other)"""
    play_alone: Compiled
    """(table, keys, depth, scores, values, ends, T)"""
    choose_actions: Compiled
    """(table, rows, depth, actions, T)"""
    mask_actions: Compiled
    """(table, rows, legal, T)"""
    root_values: Compiled
    """(table, rows, depth, values, T)"""
    transform_rows: Compiled
    """(rows, symmetries, actions, T)"""
    start_games: Compiled
    """(table, rows, streams, plies, T)"""
    advance: Compiled
    """(table, rows, asked, after, streams, actions, rewards, signs, plies, credit, T)"""


def kernels(game: Game, evaluator: Evaluator) -> Kernels:
    """Returns the compiled entry points for a game and a kind of leaf (its weights are in `T`)."""
    found = compiled_search(game, evaluator)
    return _compiled(game.with_defaults, found, game.stages.index(evaluator.stage))


@functools.cache
def _compiled(game: Game, found: CompiledSearch, leaf_stage: int) -> Kernels:
    leaf_value, both = found.leaf_value, searches(game, found)
    best_action = make_best_action(game, *both)
    record_game = make_record_game(game, best_action, leaf_value, leaf_stage)
    return Kernels(
        record_games=make_record_games(game, record_game, make_open_even(game, best_action)),
        write_all_targets=make_write_all_targets(game),
        play_matches=make_play_matches(game, best_action),
        play_alone=make_play_alone(game, best_action, leaf_value),
        choose_actions=make_choose_actions(game, best_action),
        mask_actions=make_mask_actions(game),
        root_values=make_root_values(game, *both),
        transform_rows=make_transform_rows(game),
        start_games=make_start_games(game),
        advance=make_advance(game, leaf_stage),
    )


def make_play_matches(game: Game, best_action: Compiled) -> Compiled:
    """Returns `play_matches(table, keys, results, depth, plies, T, other)`.

    It plays an opening per key of `keys` [n] from both seats against the tables `other`; `results` [n, 2] are the returns of the
    player of `T`, first seat first.
    """
    current_player, apply_action, returns = game.rules.current_player, game.rules.apply_action, game.rules.returns
    open_game, settle = make_open_game(game), make_settle(game)

    @bind(game.room)
    def play_matches(table, keys, results, depth, plies, T, other):
        S, R = table.S, table.R
        for g in range(keys.shape[0]):
            if T.stop[0]:
                return
            for seat in range(2):
                R[0], R[1] = keys[g], np.uint64(0)
                open_game(table, plies, T)
                player = current_player(S, HERE, T)
                while player != TERMINAL:
                    if player == seat:
                        best_action(table, table.buffers, depth, T)
                    else:
                        best_action(table, table.other_buffers, depth, other)
                    apply_action(S, HERE, table.chosen[0], HERE, T)
                    settle(S, R, T)
                    player = current_player(S, HERE, T)
                results[g, seat] = for_player_zero(returns(S, HERE, T), seat)

    return play_matches


def make_play_alone(game: Game, best_action: Compiled, leaf_value: Compiled) -> Compiled:
    """Returns `play_alone(table, keys, depth, scores, values, ends, T)`.

    It plays a game per key of `keys` [games] in a game for one; `scores` [games] get the returns, `values` [n] what the leaf says
    of each decision, one game after another, as long as there is room, `ends` [games] where a game's values end.
    """
    current_player, apply_action, returns = game.rules.current_player, game.rules.apply_action, game.rules.returns
    open_game, settle = make_open_game(game), make_settle(game)

    @bind(game.room)
    def play_alone(table, keys, depth, scores, values, ends, T):
        S, R = table.S, table.R
        n = 0
        for g in range(keys.shape[0]):
            if T.stop[0]:
                return
            R[0], R[1] = keys[g], np.uint64(0)
            open_game(table, 0, T)
            while current_player(S, HERE, T) != TERMINAL:
                if n < values.shape[0]:
                    values[n] = leaf_value(S, HERE, T)
                    n += 1
                best_action(table, table.buffers, depth, T)
                apply_action(S, HERE, table.chosen[0], HERE, T)
                settle(S, R, T)
            scores[g] = returns(S, HERE, T)
            ends[g] = n

    return play_alone
