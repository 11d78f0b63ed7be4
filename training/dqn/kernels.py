"""Q-learning's games, many at once, a row each, compiled: started, valued, played on; `rows` are [n, width]."""

from __future__ import annotations

import functools
from typing import NamedTuple

import numpy as np

from leafwise.envs.core.compile.jit import bind
from leafwise.envs.core.contract.evaluator import Evaluator, for_player_zero
from leafwise.envs.core.contract.game import Game
from leafwise.envs.core.contract.rules import TERMINAL, Compiled
from leafwise.training.games.kernels import make_choose_actions, make_transform_rows
from leafwise.training.games.playing import GAMES, PLIES, Choosing, choosing, make_open_game, share_out
from leafwise.training.games.steps import AFTER, FREE, HERE, make_settle, make_settle_to_stage, put_row


class Kernels(NamedTuple):
    """The compiled entry points; what is not called is not compiled."""

    start_games: Compiled
    """(table, rows, streams, plies, T)"""
    advance: Compiled
    """(table, rows, asked, after, streams, actions, rewards, signs, plies, credit, T)"""
    mask_actions: Compiled
    """(table, rows, legal, T)"""
    root_values: Compiled
    """(table, rows, depth, values, T)"""
    choose_actions: Compiled
    """(table, rows, depth, actions, T)"""
    transform_rows: Compiled
    """(rows, symmetries, actions, T)"""


def kernels(game: Game, evaluator: Evaluator) -> Kernels:
    """Returns the compiled entry points for a game and a kind of leaf (its weights are in `T`)."""
    return _compiled(game.with_defaults, choosing(game, evaluator))


@functools.cache
def _compiled(game: Game, by: Choosing) -> Kernels:
    return Kernels(
        start_games=make_start_games(game),
        advance=make_advance(game, by.leaf_stage),
        mask_actions=make_mask_actions(game),
        root_values=make_root_values(game, by.search, by.last_step),
        choose_actions=make_choose_actions(game, by.best_action),
        transform_rows=make_transform_rows(game),
    )


def make_start_games(game: Game) -> Compiled:
    """Returns `start_games(table, rows, streams, plies, T)`.

    It starts a game in every row, with up to `plies` random actions, each drawn from a stream of its own, `streams` [n, 2].
    """
    open_game = make_open_game(game)

    @bind(game.room)
    def start_games(table, rows, streams, plies, T):
        R = table.R
        for i in range(rows.shape[0]):
            R[0], R[1] = streams[i, 0], streams[i, 1]
            open_game(table, plies, T)
            put_row(table.S, HERE, rows, i)
            streams[i, 0], streams[i, 1] = R[0], R[1]

    return start_games


def make_advance(game: Game, leaf_stage: int) -> Compiled:
    """Returns `advance(table, rows, asked, after, streams, actions, rewards, signs, plies, credit, T)`.

    It acts in every row, as whoever acts there, and starts a new game where one is over, with up to `plies` random actions.

    `after` [n, width] are the next decisions or ends, also where a new game starts; `asked` [n, width] what a leaf is asked on the
    way there, where its stage is one of chance: the state at that stage, or `after` where none was passed. `rewards` [n] are the
    actor's; a game that is over is worth at least the share `credit` of its progress. `signs` [n] turn what the next decision is
    worth to who acts there into what it is worth to the actor: 1, -1, or 0 where the game is over. `streams` [n, 2], `actions` [n].
    """
    rules = game.rules
    current_player, apply_action, returns, progress = (
        rules.current_player,
        rules.apply_action,
        rules.returns,
        rules.progress,
    )
    settle, settle_to_leaf, open_game = make_settle(game), make_settle_to_stage(game, leaf_stage), make_open_game(game)

    @bind(game.room)
    def advance(table, rows, asked, after, streams, actions, rewards, signs, plies, credit, T):
        S, R = table.S, table.R
        for i in range(rows.shape[0]):
            put_row(rows, i, S, HERE)
            R[0], R[1] = streams[i, 0], streams[i, 1]
            player = current_player(S, HERE, T)
            before = returns(S, HERE, T)
            apply_action(S, HERE, actions[i], HERE, T)
            settle_to_leaf(S, R, T)
            put_row(S, HERE, asked, i)
            settle(S, R, T)
            following, worth = current_player(S, HERE, T), returns(S, HERE, T)
            if credit > 0.0 and following == TERMINAL:
                worth = max(worth, credit * progress(S, HERE, T))
            rewards[i] = for_player_zero(worth - before, player)
            signs[i] = 0.0 if following == TERMINAL else 1.0 if following == player else -1.0
            put_row(S, HERE, after, i)
            if following == TERMINAL:
                table.counts[GAMES] += 1
                open_game(table, plies, T)
            table.counts[PLIES] += 1
            put_row(S, HERE, rows, i)
            streams[i, 0], streams[i, 1] = R[0], R[1]

    return advance


def make_mask_actions(game: Game) -> Compiled:
    """Returns `mask_actions(table, rows, legal, T)`: sets those of `legal` [n, A] that are, in rows that are decisions."""
    legal_actions = game.rules.legal_actions

    @bind(game.room)
    def mask_actions(table, rows, legal, T):
        for i in range(rows.shape[0]):
            for k in range(legal_actions(rows, np.uint64(i), table.A, T)):
                legal[i, table.A[k]] = 1

    return mask_actions


def make_root_values(game: Game, search: Compiled, last_step: Compiled) -> Compiled:
    """Returns `root_values(table, rows, depth, values, T)`; `search` and `last_step` are those of `make_best_action`.

    It writes what a search says of each action in each row, all of them decisions, to `values` [n, A]: what comes from now on, for
    who acts, with all outcomes of chance by their probabilities; -inf where an action is not considered.
    """
    rules = game.rules
    current_player, apply_action, returns, action_cost = (
        rules.current_player,
        rules.apply_action,
        rules.returns,
        rules.action_cost,
    )
    considered = rules.candidates or rules.legal_actions

    @bind(game.room)
    def root_values(table, rows, depth, values, T):
        S, A = table.S, table.A
        for i in range(rows.shape[0]):
            put_row(rows, i, S, HERE)
            values[i, :] = -np.inf
            player, so_far = current_player(S, HERE, T), returns(S, HERE, T)
            n = considered(S, HERE, A, T)
            shared = share_out(table.buffers, n)
            for k in range(n):
                a = A[k]
                apply_action(S, HERE, a, AFTER, T)
                left = depth - action_cost(S, HERE, a, T)
                known, value = False, 0.0
                if left == 0:
                    known, value = last_step(S, shared, AFTER, FREE, -np.inf, np.inf, T)
                if not known:
                    value = search(S, shared, AFTER, FREE, left, -np.inf, np.inf, T)
                values[i, a] = for_player_zero(value - so_far, player)

    return root_values
