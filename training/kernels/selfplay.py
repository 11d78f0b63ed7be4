"""The compiled part of self-play: games whose positions get the root value of a search, matches, choices.

One set of templates, compiled per game and leaf with the search of `leafwise.search.compiled` injected. A row is played
at HERE; the search uses the rows after it.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from leafwise.envs.core.compile.jit import specialise
from leafwise.envs.core.contract.evaluator import Evaluator, for_player_zero
from leafwise.envs.core.contract.game import Game
from leafwise.envs.core.contract.rules import CHANCE, TERMINAL
from leafwise.envs.core.contract.statement import statement
from leafwise.envs.core.contract.stream import below, new_stream, uniform
from leafwise.search.alpha_beta import bounds
from leafwise.search.compiled import compiled_search
from leafwise.search.frames import Buffers
from leafwise.search.settings import ORDERINGS, Settings, make_buffers

HERE, AFTER, FREE = np.uint64(0), np.uint64(1), np.uint64(2)
"""Rows: the position played, the one after an action, the first that the search may use."""
GAMES, PLIES, WON_BY_FIRST = 0, 1, 2
"""Counters: games, decisions played after the opening, games won by player 0."""
TIE = 1e-9
"""A search of another action has its window begin so far below the best value, so that values alike are seen to be."""
TABLE_MB = 2.0
STRAYED, PASSED = 1, 2
NOBODY = 2
"""Seat of the earlier self in a game without one."""


class Table(NamedTuple):
    """What one player of games needs: rows, search scratch, a random stream."""

    S: NDArray[Any]
    B: Buffers
    other: Buffers
    """Scratch of a second leaf's searches: what is remembered of one says nothing of another."""
    A: NDArray[np.int64]
    R: NDArray[np.uint64]
    chosen: NDArray[np.int64]
    """[1]: the action that `best_action` found."""
    counts: NDArray[np.int64]


class Record(NamedTuple):
    """Positions learned from, in the order in which they were played."""

    rows: NDArray[Any]
    targets: NDArray[np.float64]
    """What the position is worth to the player who acts."""
    values: NDArray[np.float64]
    """Scratch: root value for player 0."""
    strayed: NDArray[np.int8]
    """Scratch: STRAYED where an action was played that the search did not choose, PASSED where chance was to act."""


def new_table(
    game: Game, depth: int, seed: int, evaluator: Evaluator | None = None, rare: float = 0.0, nodes: int = 0
) -> Table:
    """Returns a table for searches up to `depth`, its stream keyed by `seed`.

    In a game for two they prune, at chance nodes too by the bounds of `evaluator`; `rare` is that of `Search`, and so is
    `nodes`, but the limit is that below each action.
    """
    remember = game.players == 2 or game.decisions_per_depth > 1
    settings = Settings(depth, rare=rare, nodes=nodes, ordering=ORDERINGS, table_mb=TABLE_MB if remember else 0.0)
    options = settings.options(game, *(bounds(game, evaluator) if evaluator else (-np.inf, np.inf)))
    cutoff, toll = settings.share(0)
    options = options._replace(cutoff=cutoff, toll=toll)
    (rows, buffers), (_, other) = (
        make_buffers(game, depth + 1, settings.entries(game), False, options, evaluator is not None and evaluator.dear)
        for _ in range(2)
    )
    return Table(
        S=rows,
        B=buffers,
        other=other,
        A=np.zeros(game.max_actions, dtype=np.int64),
        R=new_stream(seed),
        chosen=np.zeros(1, dtype=np.int64),
        counts=np.zeros(3, dtype=np.int64),
    )


def forget(table: Table) -> None:
    """Clears what searches remember of leaves; to be called when a leaf has other weights."""
    for buffers in (table.B, table.other):
        buffers.table[:] = 0
        buffers.leaves[:] = 0
        buffers.killers[:] = -1


def new_record(game: Game, n: int) -> Record:
    """Returns room for n positions."""
    return Record(game.rows(n), np.zeros(n), np.zeros(n), np.zeros(n, dtype=np.int8))


def settle(S, R, T):
    """Draws every chance stage up to the next decision or end of row HERE."""
    while current_player(S, HERE, T) == CHANCE:
        sample_outcome(S, HERE, R, T)


def draw_to_leaf(S, R, T):
    """Draws chance stages up to the next row at which the leaf is asked."""
    while current_player(S, HERE, T) == CHANCE and stage(S, HERE, T) != LEAF_STAGE:
        sample_outcome(S, HERE, R, T)


def keep_row(S, D, n, strayed):
    """Records row HERE."""
    for w in range(D.rows.shape[1]):
        D.rows[n, w] = S[HERE, w]
    D.strayed[n] = strayed


def unpruned(S, B, i, top, depth, lower, upper, T):
    """Searches a row in a game for one; the window is not looked at."""
    return depth_first(S, B, i, top, depth, T)


def best_action(G, B, depth, T):
    """Searches row HERE; writes the best action, ties broken at random, and returns its value for player 0."""
    player = current_player(G.S, HERE, T)
    n = considered(G.S, HERE, G.A, T)
    best, ties = 0.0, 0
    for k in range(n):
        a = G.A[k]
        apply_action(G.S, HERE, a, AFTER, T)
        left = depth - action_cost(G.S, HERE, a, T)
        lower, upper = -np.inf, np.inf
        if ties > 0 and player == 1:
            upper = TIE - best
        elif ties > 0:
            lower = best - TIE
        value = for_player_zero(search(G.S, B, AFTER, FREE, left, lower, upper, T), player)
        if ties == 0 or value > best:
            best, ties = value, 1
            G.chosen[0] = a
        elif value == best:
            ties += 1
            if below(G.R, ties) == np.uint64(0):
                G.chosen[0] = a
    return for_player_zero(best, player)


def random_action(G, T):
    """Returns a legal action of row HERE."""
    return G.A[below(G.R, legal_actions(G.S, HERE, G.A, T))]


def open_game(G, plies, T):
    """Starts a game at row HERE, with up to `plies` random actions after which it is not over."""
    over = True
    while over:
        initial_state(G.S, HERE, T)
        settle(G.S, G.R, T)
        left = np.int64(below(G.R, plies + 1))
        over = current_player(G.S, HERE, T) == TERMINAL
        while left > 0 and not over:
            left -= 1
            apply_action(G.S, HERE, random_action(G, T), HERE, T)
            settle(G.S, G.R, T)
            over = current_player(G.S, HERE, T) == TERMINAL


def record_games(G, D, count, depth, plies, epsilon, share, decay, own, credit, T, earlier):
    """Plays whole games until `count` positions are recorded, or no room is left for another game; returns how many.

    In a `share` of the games one seat is played by `earlier`, whose positions are not recorded. A target is the lambda-return
    (lambda is `decay`) of the root values that follow, the last of which is the outcome; it ends where an action strayed.
    The outcome of a game that was not won is the share `credit` of its `progress`, if that is more.
    Where the leaf is asked at a stage of chance, that is a position too, worth what comes of it.
    With `own`, where none strayed, it is that of what the leaf says of the next positions themselves, without a search.
    """
    n = 0
    while n < count and not T.stop[0]:
        open_game(G, plies, T)
        other = np.int64(NOBODY)
        if uniform(G.R) < share:
            other = np.int64(below(G.R, 2))
        first = n
        player = current_player(G.S, HERE, T)
        while player != TERMINAL and n < D.rows.shape[0]:
            value = best_action(G, G.other, depth, earlier) if player == other else best_action(G, G.B, depth, T)
            a = G.chosen[0]
            if uniform(G.R) < epsilon:
                a = random_action(G, T)
            if player != other:
                keep_row(G.S, D, n, STRAYED if a != G.chosen[0] else 0)
                D.values[n] = value
                n += 1
            apply_action(G.S, HERE, a, HERE, T)
            draw_to_leaf(G.S, G.R, T)
            if own and player != other and not D.strayed[n - 1]:
                D.values[n - 1] = leaf_value(G.S, HERE, T)
            if player != other and n < D.rows.shape[0] and current_player(G.S, HERE, T) == CHANCE:
                keep_row(G.S, D, n, PASSED)
                n += 1
            settle(G.S, G.R, T)
            player = current_player(G.S, HERE, T)
            G.counts[PLIES] += 1
        if player != TERMINAL:
            return first  # the record is full: the game is left out
        target = returns(G.S, HERE, T)
        if credit > 0.0:
            target = max(target, credit * progress(G.S, HERE, T))
        G.counts[GAMES] += 1
        if returns(G.S, HERE, T) > 0:
            G.counts[WON_BY_FIRST] += 1
        give_targets(D, first, n, target, decay, T)
    return n


def give_targets(D, first, last, outcome, decay, T):
    """Writes the lambda-returns of one game's positions, each for the player who acts there."""
    target = outcome
    for back in range(last - first):
        t = last - 1 - back
        if D.strayed[t] == STRAYED:
            target = D.values[t]
        elif D.strayed[t] != PASSED:
            target = (1.0 - decay) * D.values[t] + decay * target
        D.targets[t] = for_player_zero(target, current_player(D.rows, np.uint64(t), T))


def play_matches(G, keys, results, depth, plies, T, other):
    """Plays an opening per key from both seats; results [keys, 2] are the returns of the player of T, first seat first."""
    for g in range(keys.shape[0]):
        for seat in range(2):
            G.R[0], G.R[1] = keys[g], np.uint64(0)
            open_game(G, plies, T)
            player = current_player(G.S, HERE, T)
            while player != TERMINAL:
                if player == seat:
                    best_action(G, G.B, depth, T)
                else:
                    best_action(G, G.other, depth, other)
                apply_action(G.S, HERE, G.chosen[0], HERE, T)
                settle(G.S, G.R, T)
                player = current_player(G.S, HERE, T)
            results[g, seat] = for_player_zero(returns(G.S, HERE, T), seat)


def choose_actions(G, rows, depth, actions, T):
    """Writes the action that a search chooses in each row, all of them decisions."""
    for i in range(rows.shape[0]):
        for w in range(rows.shape[1]):
            G.S[HERE, w] = rows[i, w]
        best_action(G, G.B, depth, T)
        actions[i] = G.chosen[0]


def transform_rows(rows, symmetries, actions, T):
    """Writes each row of the first half under its symmetry to the second half, and its action over itself."""
    n = symmetries.shape[0]
    for i in range(n):
        transform(rows, np.uint64(i), symmetries[i], np.uint64(n + i), T)
        actions[i] = transform_action(actions[i], symmetries[i], T)


def start_games(G, rows, streams, plies, T):
    """Starts a game in every row, with up to `plies` random actions."""
    for i in range(rows.shape[0]):
        G.R[0], G.R[1] = streams[i, 0], streams[i, 1]
        open_game(G, plies, T)
        for w in range(rows.shape[1]):
            rows[i, w] = G.S[HERE, w]
        streams[i, 0], streams[i, 1] = G.R[0], G.R[1]


def advance(G, rows, after, streams, actions, rewards, signs, plies, T):
    """Acts in every row, as whoever acts there, and starts a new game where one is over.

    `after` are the next decisions or ends, also where a new game starts. `rewards` are the actor's. `signs` turn what the
    next decision is worth to who acts there into what it is worth to the actor: 1, -1, or 0 where the game is over. A
    finished game starts anew in its row, with up to `plies` random actions.
    """
    for i in range(rows.shape[0]):
        for w in range(rows.shape[1]):
            G.S[HERE, w] = rows[i, w]
        G.R[0], G.R[1] = streams[i, 0], streams[i, 1]
        player = current_player(G.S, HERE, T)
        before = returns(G.S, HERE, T)
        apply_action(G.S, HERE, actions[i], HERE, T)
        settle(G.S, G.R, T)
        following = current_player(G.S, HERE, T)
        rewards[i] = for_player_zero(returns(G.S, HERE, T) - before, player)
        signs[i] = 0.0 if following == TERMINAL else 1.0 if following == player else -1.0
        for w in range(rows.shape[1]):
            after[i, w] = G.S[HERE, w]
        if following == TERMINAL:
            G.counts[GAMES] += 1
            open_game(G, plies, T)
        G.counts[PLIES] += 1
        for w in range(rows.shape[1]):
            rows[i, w] = G.S[HERE, w]
        streams[i, 0], streams[i, 1] = G.R[0], G.R[1]


def play_alone(G, keys, depth, scores, values, ends, T):
    """Plays a game per key in a game for one; writes the returns.

    `values` [n] get what the leaf says of each decision, one game after another, as long as there is room; `ends` where a game's
    values end.
    """
    n = 0
    for g in range(keys.shape[0]):
        G.R[0], G.R[1] = keys[g], np.uint64(0)
        open_game(G, 0, T)
        while current_player(G.S, HERE, T) != TERMINAL:
            if n < values.shape[0]:
                values[n] = leaf_value(G.S, HERE, T)
                n += 1
            best_action(G, G.B, depth, T)
            apply_action(G.S, HERE, G.chosen[0], HERE, T)
            settle(G.S, G.R, T)
        scores[g] = returns(G.S, HERE, T)
        ends[g] = n


def kernels(game: Game, evaluator: Evaluator) -> SimpleNamespace:
    """Returns the compiled entry points, by name, for a game and a kind of leaf (its weights are in `T`)."""
    fixed = "_".join(str(v) for v in statement(evaluator, game.stages))
    found = compiled_search(game, evaluator)
    search = found.alpha_beta if game.players == 2 else found.depth_first
    name = f"{game.name}_{evaluator.compiled.__qualname__}_{fixed}"
    stage = game.stages.index(evaluator.stage)
    return _compiled(game.variant(**game.defaults), search, found.leaf_value, stage, name)


@functools.cache
def _compiled(
    game: Game, search: Callable[..., Any], leaf_value: Callable[..., Any], stage: int, name: str
) -> SimpleNamespace:
    scope: dict[str, Any] = {**game.rules.injected(), "search": search, "leaf_value": leaf_value, "LEAF_STAGE": stage}
    scope["considered"] = scope.get("candidates", scope["legal_actions"])
    if game.players == 1:
        scope["search"] = specialise(unpruned, name, {"depth_first": search}, game.room, inline=True)
    for template in (settle, draw_to_leaf, keep_row, random_action, best_action, open_game, give_targets):
        inline = template is not best_action
        scope[template.__name__] = specialise(template, name, scope, game.room, inline=inline)
    entries = (record_games, play_matches, play_alone, choose_actions, transform_rows, start_games, advance)
    return SimpleNamespace(**{t.__name__: specialise(t, name, scope, game.room) for t in entries})
