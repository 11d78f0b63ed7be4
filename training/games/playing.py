"""What one player of compiled games needs: its memory, random openings, and the action that a search chooses."""

from __future__ import annotations

import functools
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from leafwise.envs.core.compile.jit import bind, jit
from leafwise.envs.core.contract.evaluator import Evaluator, for_player_zero, value_bounds
from leafwise.envs.core.contract.game import Game
from leafwise.envs.core.contract.rules import TERMINAL, Compiled
from leafwise.envs.core.contract.stream import below, new_stream
from leafwise.search.compiled import CompiledSearch, compiled_search
from leafwise.search.options import ROUNDED, TABLE_FROM, Buffers, Options, SearchOptions, make_buffers
from leafwise.training.games.steps import AFTER, FREE, HERE, make_settle

GAMES, PLIES, WON_BY_FIRST = 0, 1, 2
"""Counters: games, decisions played after the opening, games won by player 0."""
TIE = 1e-9
"""A search of another action has its window begin so far below the best value, so that values alike are seen to be."""
TABLE_MB = 2.0


class Table(NamedTuple):
    """What one player of games needs: rows, search scratch, a random stream."""

    S: NDArray[Any]
    """Rows: HERE, AFTER, and those of its searches."""
    buffers: Buffers
    other_buffers: Buffers
    """Scratch of a second leaf's searches: what is remembered of one says nothing of another."""
    A: NDArray[np.int64]
    """Legal actions, [max_actions]."""
    R: NDArray[np.uint64]
    """Random stream, [2]."""
    chosen: NDArray[np.int64]
    """[1]: the action that `best_action` found."""
    counts: NDArray[np.int64]
    """[3], as GAMES and the names beside it say."""


def new_table(game: Game, depth: int, seed: int, evaluator: Evaluator | None = None, **limits: Any) -> Table:
    """Returns a table for searches up to `depth`, its stream keyed by `seed`.

    In a game for two they prune, at chance nodes too by the bounds of `evaluator`; `limits` are options of `Search`: rare, nodes.
    """
    expensive = evaluator is not None and evaluator.speed.cache_values
    remember = game.players == 2 or game.search.decisions_per_depth > 1
    if depth <= TABLE_FROM and game.search.decisions_per_depth == 1:
        expensive = expensive and game.max_outcomes > 0  # without chance few leaves are met twice,
        remember = remember and expensive  # and the table would stay empty
    given = SearchOptions(depth=depth, table_mb=TABLE_MB if remember else 0.0, **limits)
    options = given.compiled(game, *(value_bounds(game, evaluator) if evaluator else (-np.inf, np.inf)))
    # `share_out` multiplies it by the actions of the decision that is searched
    cutoff, node_cost = given.share(1, given.nodes or 0)
    options = options._replace(cutoff=cutoff, node_cost=node_cost)
    entries = given.entries(game)
    (rows, buffers), (_, other_buffers) = (
        make_buffers(game, depth + 1, entries, False, options, expensive) for _ in range(2)
    )
    return Table(
        S=rows,
        buffers=buffers,
        other_buffers=other_buffers,
        A=np.zeros(game.max_actions, dtype=np.int64),
        R=new_stream(seed),
        chosen=np.zeros(1, dtype=np.int64),
        counts=np.zeros(3, dtype=np.int64),
    )


@jit(inline=True)
def share_out(B, actions):
    """Returns the buffers of searches below so many root actions, which share the limit of work."""
    node_cost = B.options.node_cost * actions
    options = Options(node_cost * ROUNDED, node_cost, *B.options[2:])  # the cutoff and the node cost come first
    return Buffers(*B[:-1], options)  # type: ignore[call-arg]  # and the options last


def forget(table: Table) -> None:
    """Clears what searches remember of leaves; to be called when a leaf has other weights."""
    for buffers in (table.buffers, table.other_buffers):
        buffers.table[:] = 0
        buffers.leaves[:] = 0
        buffers.killers[:] = -1


class Choosing(NamedTuple):
    """What compiled games call of a game's search and leaf."""

    best_action: Compiled
    """As `make_best_action` returns it."""
    search: Compiled
    last_step: Compiled
    """Both as `make_best_action` takes them: those with pruning in a game for two."""
    leaf_value: Compiled
    leaf_stage: int
    """Place of the leaf's stage among the game's."""


def choosing(game: Game, evaluator: Evaluator) -> Choosing:
    """Returns the functions for a game and a kind of leaf (its weights are in `T`)."""
    return _choosing(game.with_defaults, compiled_search(game, evaluator), game.stages.index(evaluator.stage))


@functools.cache
def _choosing(game: Game, found: CompiledSearch, leaf_stage: int) -> Choosing:
    search, last_step = found.plain, bind(game.room, inline=True)(never_at_once)
    if game.players == 2:
        search, last_step = found.pruning, found.last_step
    return Choosing(make_best_action(game, search, last_step), search, last_step, found.leaf_value, leaf_stage)


def never_at_once(S, B, row, top, lower, upper, T):
    """Says that a row with no decision to go is to be searched."""
    return False, 0.0


def make_best_action(game: Game, search: Compiled, last_step: Compiled) -> Compiled:
    """Returns `best_action(table, buffers, depth, T)`.

    It searches row HERE, writes the best action, ties broken at random, to `table.chosen`, and returns its value for
    player 0. `search` is called as `(S, buffers, i, top, depth, lower, upper, T)`; `last_step`, without the depth, says at once
    what most rows with no decision to go are worth: calling a search takes as long as valuing a leaf.
    """
    current_player, apply_action, action_cost = (
        game.rules.current_player,
        game.rules.apply_action,
        game.rules.action_cost,
    )
    considered = game.rules.candidates or game.rules.legal_actions

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

    It starts a game at row HERE, with up to `plies` random actions after which it is not over, unless it is stopped.
    """
    initial_state, apply_action, current_player = (
        game.rules.initial_state,
        game.rules.apply_action,
        game.rules.current_player,
    )
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
