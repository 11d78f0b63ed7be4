"""Games of a search with itself in compiled code: what the search said of each decision, and what came of it."""

from __future__ import annotations

import functools
from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.typing import NDArray

from leafwise.envs.core.compile.jit import bind
from leafwise.envs.core.contract.evaluator import Evaluator, for_player_zero
from leafwise.envs.core.contract.game import Game
from leafwise.envs.core.contract.rules import TERMINAL, Compiled
from leafwise.envs.core.errors import UserError
from leafwise.envs.core.interrupts import stoppable
from leafwise.search.compiled import CompiledSearch, compiled_search
from leafwise.training.games import HERE, forget, make_best_action, make_open_game, make_settle, new_table

BATCH = 20
"""Games played before what they said is put away."""
ROOM = 30_000
"""Decisions of a game for which there is room."""


@dataclass(frozen=True)
class ValuedGames:
    """Decisions of games in the order of their seeds, one game after another."""

    values: NDArray[np.float64]
    """[decisions]: value of the search, for the player to move."""
    outcomes: NDArray[np.float64]
    """[decisions]: return of the game, for that player."""
    games: NDArray[np.int64]
    """[decisions]: number of the game, from 0 on."""

    def share(self, odd: bool) -> ValuedGames:
        """Returns every other game."""
        kept = self.games % 2 == odd
        return ValuedGames(self.values[kept], self.outcomes[kept], self.games[kept])


def play_valued(
    game: Game,
    evaluator: Evaluator,
    first_seed: int,
    games: range,
    *,
    depth: int = 1,
    plies: int = 0,
    nodes: int = 0,
    every: int = 1,
) -> ValuedGames:
    """Plays games of these numbers, each from the seed so far from `first_seed` on, every player by a search of this depth.

    A game begins with up to `plies` random moves; `nodes` bounds the decisions that a search looks at, as in `Search` (0: no
    limit). Of the decisions one in `every` is kept. Raises ValueError for a game with more decisions than there is room for.
    """
    table, T = new_table(game, depth, 0, evaluator, nodes=nodes), game.tables(evaluator)
    run = compiled_games(game, evaluator)
    values, players, returns = np.zeros(BATCH * ROOM), np.zeros(BATCH * ROOM, dtype=np.int64), np.zeros(BATCH)
    ends, found = np.zeros(BATCH, dtype=np.int64), []
    forget(table)
    for begin in games[::BATCH]:
        keys = np.arange(first_seed + begin, first_seed + min(begin + BATCH, games.stop), dtype=np.uint64)
        stoppable(partial(run, table, keys, depth, plies, values, players, returns, ends, T), T.stop)
        n = int(ends[len(keys) - 1])
        if n > len(values):
            raise UserError(f"{game.name}: expected games of at most {ROOM:,} decisions, got {n:,} in {len(keys)}")
        number = np.repeat(np.arange(len(keys)), np.diff(ends[: len(keys)], prepend=0))
        kept = (np.arange(n) + begin) % every == 0
        signs = np.where(players[:n] == 1, -1.0, 1.0)
        found.append((values[:n][kept], (signs * returns[number])[kept], (begin + number)[kept]))
    return ValuedGames(*(np.concatenate(parts) for parts in zip(*found, strict=True)))


def compiled_games(game: Game, evaluator: Evaluator) -> Compiled:
    """Returns the compiled `play_valued` of a game and a kind of leaf (its weights are in `T`)."""
    return _compiled(game.with_defaults, compiled_search(game, evaluator))


@functools.cache
def _compiled(game: Game, found: CompiledSearch) -> Compiled:
    return make_play_valued(game, make_best_action(game, found))


def make_play_valued(game: Game, best_action: Compiled) -> Compiled:
    """Returns `play_valued(table, keys, depth, plies, values, players, returns, ends, T)`.

    It plays a game per key of `keys` [games]; `values` and `players` [n] get the value of each decision, for the player to move,
    and who that is, as long as there is room, `returns` [games] player 0's return, `ends` [games] where a game's decisions end.
    """
    current_player, apply_action, result = game.rules.current_player, game.rules.apply_action, game.rules.returns
    open_game, settle = make_open_game(game), make_settle(game)

    @bind(game.room)
    def play_valued(table, keys, depth, plies, values, players, returns, ends, T):
        S, R = table.S, table.R
        n = 0
        for g in range(keys.shape[0]):
            if T.stop[0]:
                return
            R[0], R[1] = keys[g], np.uint64(0)
            open_game(table, plies, T)
            player = current_player(S, HERE, T)
            while player != TERMINAL:
                worth = best_action(table, table.buffers, depth, T)
                if n < values.shape[0]:
                    values[n] = for_player_zero(worth, player)
                    players[n] = player
                n += 1
                apply_action(S, HERE, table.chosen[0], HERE, T)
                settle(S, R, T)
                player = current_player(S, HERE, T)
            returns[g] = result(S, HERE, T)
            ends[g] = n

    return play_valued
