"""Games of one player or two in compiled code: matches, games alone, choices in rows; and rows under their symmetries.

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
from leafwise.envs.core.contract.rules import TERMINAL, Compiled
from leafwise.training.games.playing import Choosing, choosing, make_open_game
from leafwise.training.games.steps import HERE, make_settle, put_row


class Kernels(NamedTuple):
    """The compiled entry points; what is not called is not compiled."""

    play_matches: Compiled
    """(table, keys, results, depth, plies, T, other)"""
    play_alone: Compiled
    """(table, keys, depth, scores, values, ends, T)"""
    choose_actions: Compiled
    """(table, rows, depth, actions, T)"""


def kernels(game: Game, evaluator: Evaluator) -> Kernels:
    """Returns the compiled entry points for a game and a kind of leaf (its weights are in `T`)."""
    return _compiled(game.with_defaults, choosing(game, evaluator))


@functools.cache
def _compiled(game: Game, by: Choosing) -> Kernels:
    return Kernels(
        play_matches=make_play_matches(game, by.best_action),
        play_alone=make_play_alone(game, by.best_action, by.leaf_value),
        choose_actions=make_choose_actions(game, by.best_action),
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
