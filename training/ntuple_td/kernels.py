"""Compiled TD learning with n-tuple networks: training games with backward updates, and games for evaluation.

The functions of these factories are compiled per game, shape of the network and way of learning. Arrays: rows `S` [rows, width] of
the game; `trainer` is a `Trainer`; `T` are the game's tables, with the network in `T.leaf`.

Trajectories begin at the start of a game, in the middle of a long trajectory, or in turn at highest cells (carousel shaping:
Jaskowski, "Mastering 2048 with delayed temporal coherence learning", TCIAIG 2018). The positions that can follow a decision are
valued together, table by table instead of position by position. So the entries of a table are prefetched for all of them at once,
and the memory latency of one position overlaps with the sums of the others. The values equal those of `ntuple_value` bit by bit.
"""

from __future__ import annotations

import functools
import time
from collections.abc import Callable, Sequence
from functools import partial
from typing import NamedTuple

import numpy as np

from leafwise.envs.core import interrupts
from leafwise.envs.core.arrays import Array, Bools, Floats, Floats32, Ints, Words
from leafwise.envs.core.compile.intrinsics import prefetch
from leafwise.envs.core.compile.jit import bind, jit
from leafwise.envs.core.contract.evaluator import Evaluator, Speed
from leafwise.envs.core.contract.features import CellFeatures
from leafwise.envs.core.contract.game import Game
from leafwise.envs.core.contract.rules import CHANCE, TERMINAL, Compiled, copy_row
from leafwise.envs.core.contract.stream import below, new_stream, uniform
from leafwise.envs.core.interrupts import stoppable
from leafwise.envs.core.ranges import Range, need_in
from leafwise.models.ntuple import NTupleNetwork
from leafwise.models.ntuple_functions import FAR, Layout, NTupleFunctions, features, no_index, small_bits
from leafwise.models.ntuple_functions import compiled as ntuple_functions
from leafwise.search.compiled import compiled_search
from leafwise.search.search_options import SearchBuffers, SearchOptions, make_buffers
from leafwise.training.evaluation.statistics import bounds, mean_interval
from leafwise.training.execution import executor_for, in_pieces
from leafwise.training.execution.executor import Ref
from leafwise.training.games import AFTER, FREE, HERE, make_settle, make_settle_to_stage, put_row
from leafwise.training.types import Json

MOVES, GAMES, FRESH_GAMES, RESTARTED = 0, 1, 2, 3
"""Counters: actions, trajectories, games from the start, and where this trajectory began: 0 at the start of a game, else in
mid-game (with a carousel: the number of the mark, from 1)."""
RETURNS, SQUARED_ERRORS = 0, 1
"""Indices of the sums."""
CAROUSEL = 1000
"""Number of latest positions that are stored for each mark of a carousel."""


TABLES_AHEAD = 5
"""A table's entries are prefetched this many tables before they are read, one position at a time. The processor has room for few
outstanding loads; more prefetches in a row would stall it."""


class Siblings(NamedTuple):
    """Scratch for the at most n positions that can follow a decision; their rows begin at FREE."""

    P: Floats
    """Probabilities, as `chance_outcomes` writes them, [FREE + n]."""
    ends: Ints
    """Index after the last position of each action, from FREE on, [actions]."""
    seen: Array
    """Code of each board under each symmetry, [n, symmetries]."""
    starts: Words
    """Start of the tables of each board's stage, [n]."""
    totals: Floats32
    """Running sums of the table entries, [n]."""
    values: Floats
    """[n]"""


def most_siblings(game: Game) -> int:
    """Returns the maximum number of positions that can follow a decision: the outcomes of all actions."""
    return game.max_actions * max(1, game.max_outcomes)


def new_siblings(game: Game) -> Siblings:
    """Returns the scratch for a game with cell features."""
    cells, n = features(game), most_siblings(game)
    views = len(cells.views)
    return Siblings(
        P=np.zeros(int(FREE) + n),
        ends=np.zeros(game.max_actions, np.int64),
        seen=np.zeros((n, views), dtype=np.int64 if cells.boards is None else np.uint64),
        starts=np.zeros(n, np.uint64),
        totals=np.zeros(n, np.float32),
        values=np.zeros(n),
    )


def make_best_sibling(game: Game, network: NTupleFunctions, layout: Layout, valued: int) -> Compiled:
    """Returns `best_action(trainer, T)`: the action of row HERE with the best expected value, and that value.

    The network values positions right after an action, or after the one stage of chance before the stage `valued`.
    """
    rules, cells, board, stage_start = game.rules, features(game), network.board, network.stage_start
    current_player, stage, chance_outcomes = rules.current_player, rules.stage, rules.chance_outcomes
    legal_actions, apply_action = rules.legal_actions, rules.apply_action
    boards, tuple_index, potential, packed = board.seen, board.tuple_index, board.potential, layout.packed
    views, small, tables = len(cells.views), small_bits(cells, layout.small), len(cells.tables)
    index_of = cells.index or bind(game.room, inline=True)(no_index)

    @bind(game.room, inline=True)
    def open_rows(trainer, T):
        """Writes the positions that can follow row HERE to the rows from FREE; returns the number of actions."""
        S, A, P, ends = trainer.S, trainer.A, trainer.siblings.P, trainer.siblings.ends
        n, last = legal_actions(S, HERE, A, T), FREE
        for k in range(n):
            apply_action(S, HERE, A[k], AFTER, T)
            if current_player(S, AFTER, T) != CHANCE or stage(S, AFTER, T) == valued:
                copy_row(S, AFTER, last)
                P[last] = 1.0
                last += np.uint64(1)
            else:
                last += np.uint64(chance_outcomes(S, AFTER, P, last, T))
            ends[k] = np.int64(last - FREE)
        return n

    @bind(game.room, inline=True)
    def look_at(trainer, n, T):
        """Reads every board under every symmetry."""
        S, M = trainer.S, trainer.siblings
        for r in range(n):
            i = FREE + np.uint64(r)
            M.starts[r] = stage_start(S, i, T)
            M.totals[r] = np.float32(T.leaf.constants[0])
            for view, b in enumerate(boards(S, i, T)):
                M.seen[r, view] = b

    @bind(game.room, inline=True)
    def far(t, T):
        """Whether the entries of tuple t are prefetched."""
        W = T.leaf
        return t < W.tuples and W.offsets[t + 1] - W.offsets[t] > FAR

    @bind(game.room, inline=True)
    def ask(trainer, r, t, T):
        """Prefetches the entries of tuple t for one position."""
        S, W, M = trainer.S, T.leaf, trainer.siblings
        for view in range(views):
            prefetch(W.table, M.starts[r] + tuple_index(S, FREE + np.uint64(r), M.seen[r, view], t, T))

    @bind(game.room, inline=True)
    def add(trainer, r, t, T):
        """Adds the entries of tuple t for one position."""
        S, W, M = trainer.S, T.leaf, trainer.siblings
        i, start = FREE + np.uint64(r), M.starts[r]
        if packed:
            units = np.int64(0)
            for view in range(views):
                units += W.table[start + tuple_index(S, i, M.seen[r, view], t, T)]
            M.totals[r] += np.float32(units) * W.scales[t]
        else:
            total = M.totals[r]
            for view in range(views):
                total += W.table[start + tuple_index(S, i, M.seen[r, view], t, T)]
            M.totals[r] = total

    @bind(game.room, inline=True)
    def add_small(trainer, r, T):
        """Adds the entries of the small tables."""
        S, W, M = trainer.S, T.leaf, trainer.siblings
        place, total = W.tuples, M.totals[r]
        for k in range(tables):
            if small >> k & 1:
                index = M.starts[r] + W.offsets[place] + index_of(S, FREE + np.uint64(r), k, T)
                total += np.float32(W.table[index]) * W.scales[place]
                place += 1
        return np.float64(total)

    @bind(game.room, inline=True)
    def value_rows(trainer, n, T):
        """Writes the values of n rows from FREE on to `trainer.siblings.values`."""
        S, M, tuples = trainer.S, trainer.siblings, T.leaf.tuples
        look_at(trainer, n, T)
        # Prefetch the first large tables
        for t in range(TABLES_AHEAD):
            if far(t, T):
                for r in range(n):
                    ask(trainer, r, t, T)
        # Add each tuple for all positions, and prefetch TABLES_AHEAD tuples ahead
        for t in range(tuples):
            if far(t + TABLES_AHEAD, T):
                for r in range(n):
                    ask(trainer, r, t + TABLES_AHEAD, T)
                    add(trainer, r, t, T)
            else:
                for r in range(n):
                    add(trainer, r, t, T)
        # Add the potential, and the small tables of unfinished games
        for r in range(n):
            i = FREE + np.uint64(r)
            M.values[r] = potential(S, i, T)
            if current_player(S, i, T) != TERMINAL:
                M.values[r] += add_small(trainer, r, T)

    @bind(game.room, inline=True)
    def best_action(trainer, T):
        A, P, ends, values = trainer.A, trainer.siblings.P, trainer.siblings.ends, trainer.siblings.values
        n = open_rows(trainer, T)
        value_rows(trainer, ends[n - 1], T)
        best, chosen, r = 0.0, A[0], 0
        for k in range(n):
            total = 0.0
            while r < ends[k]:
                total += P[FREE + np.uint64(r)] * values[r]
                r += 1
            if k == 0 or total > best:
                best, chosen = total, A[k]
        return chosen, best

    return best_action


LONGEST = 30_000
"""Maximum length of a trajectory; a longer game is split into several."""
AHEAD = 2
"""A row's entries are prefetched this many rows before the update."""
DEEPEST = 3
"""Maximum depth of the search that plays trajectories."""
FIXED = np.float32(-1.0)
"""Marks a weight that is not trained, in place of its sum of absolute errors."""


class Trainer(NamedTuple):
    """State and scratch of one actor."""

    S: Words
    """Rows: HERE, AFTER, and scratch of the search or of the positions that can follow a decision."""
    A: Ints
    """Legal actions of row HERE, [max_actions]."""
    buffers: SearchBuffers
    siblings: Siblings
    R: Words
    """Random stream, [2]."""
    trajectory: Words
    """Rows of the trajectory, [LONGEST + 1, width], each at the valued stage; the end of a game is added if it comes earlier."""
    search_values: Floats
    """Value of the search at the decision after each of these rows, [LONGEST + 1]."""
    counts: Ints
    """[4]: counters, at the indices MOVES to RESTARTED."""
    sums: Floats
    """Sums of returns and of squared errors since the caller last cleared them, [2]."""
    errors: Floats32
    """Sum of the errors of every weight, for coherent rates, [weights], else [1]; all actors share it."""
    sizes: Floats32
    """Sum of the absolute errors, in the same shape; FIXED for weights that are not trained."""
    marks: Words
    """Highest values of a cell at which trajectories begin in turn, ascending, [marks]."""
    firsts: Words
    """Rows in which a trajectory first reached them, [marks, CAROUSEL, width]."""
    met: Ints
    """Number of these rows so far, [marks]."""
    exploration: Floats
    """[1]: share of random actions in Q-learning."""
    explored: Bools
    """Whether an action of the trajectory was random, [LONGEST + 1]."""
    greedy: Floats
    """[2]: number of decisions that were not random, and sum of their values, since the caller last cleared it."""


class NTupleKernels(NamedTuple):
    """The compiled entry points. They are compiled when they are first called."""

    td_games: Compiled
    """(trainer, moves, learning_rate, trace_decay, restart, T)"""
    greedy_games: Compiled
    """(trainer, keys, scores, ranks, T)"""


def new_trainer(
    game: Game,
    seed: int,
    depth: int = 1,
    coherence: tuple[Floats32, Floats32] | None = None,
    cutoff: float = 0.0,
    marks: Sequence[int] = (),
) -> Trainer:
    """Returns an actor before its first game, with searches to `depth` and the search's `cutoff`.

    With `marks` its trajectories begin in turn at the start of a game and at each mark.
    """
    S, buffers = make_buffers(
        game, depth, 1, False, SearchOptions(depth=depth, cutoff=cutoff).compiled(game, -np.inf, np.inf)
    )
    errors, sizes = coherence or (np.zeros(1, np.float32), np.zeros(1, np.float32))
    return Trainer(
        S=S if len(S) >= int(FREE) + most_siblings(game) else game.rows(int(FREE) + most_siblings(game)),
        A=np.zeros(game.max_actions, np.int64),
        buffers=buffers,
        siblings=new_siblings(game),
        R=new_stream(seed),
        trajectory=game.rows(LONGEST + 1),
        search_values=np.zeros(LONGEST + 1),
        counts=np.zeros(4, np.int64),
        sums=np.zeros(2),
        errors=errors,
        sizes=sizes,
        marks=np.array(marks, dtype=np.uint64),
        firsts=np.stack([game.rows(CAROUSEL)] * len(marks)) if marks else game.rows(CAROUSEL)[None, :0],
        met=np.zeros(len(marks), np.int64),
        exploration=np.zeros(1),
        explored=np.zeros(LONGEST + 1, np.bool_),
        greedy=np.zeros(2),
    )


def kernels(
    network: NTupleNetwork, depth: int = 1, *, searched: bool = False, coherent: bool = False, exploring: bool = False
) -> NTupleKernels:
    """Returns td_games and greedy_games, compiled for networks of this shape.

    Actions are chosen by a search of `depth` decisions. `searched`: its values are the targets, not the next state's.
    `coherent`: every weight has a rate of its own. `exploring`: a share of the actions is random, and the best one's value is
    learned (Q-learning).
    """
    cells = features(network.game)
    return compiled(network.game, cells, network.layout, network.shape.stage, depth, searched, coherent, exploring)


@functools.cache
def compiled(
    game: Game,
    cells: CellFeatures,
    layout: Layout,
    stage: str,
    depth: int,
    searched: bool,
    coherent: bool,
    exploring: bool,
) -> NTupleKernels:
    """Returns the functions of `kernels` for networks of a layout that value positions at a stage."""
    network, valued = ntuple_functions(game, layout), game.stages.index(stage)
    learn = make_learn(game, layout, network, coherent_step if coherent else plain_step, searched, exploring)
    return make_games(game, network, chooser(game, layout, stage, depth), learn, valued, exploring)


def chooser(game: Game, layout: Layout, stage: str, depth: int) -> Compiled:
    """Returns `best_action(trainer, T)`, the action of row HERE with the best expected value and that value, by a search of
    `depth` decisions."""
    network, valued = ntuple_functions(game, layout), game.stages.index(stage)
    # After an action at most one stage of chance comes before the stage that is valued
    near = game.max_stages <= 1 or (game.max_stages == 2 and valued > 0)
    if depth == 1 and near:
        return make_best_sibling(game, network, layout, valued)
    leaf = Evaluator(
        "leaf", network.ntuple_value, (), stage, terminal="evaluate", speed=Speed(prefetch=network.prefetch)
    )
    search = compiled_search(game, leaf).plain
    legal_actions, apply_action = game.rules.legal_actions, game.rules.apply_action

    @bind(game.room, inline=True)
    def best_action(trainer, T):
        S, A = trainer.S, trainer.A
        n = legal_actions(S, HERE, A, T)
        best, chosen = 0.0, A[0]
        for k in range(n):
            apply_action(S, HERE, A[k], AFTER, T)
            value = search(S, trainer.buffers, AFTER, FREE, np.int64(depth - 1), -np.inf, np.inf, T)
            if k == 0 or value > best:
                best, chosen = value, A[k]
        return chosen, best

    return best_action


@jit(inline=True)
def plain_step(trainer, index, learning_rate, error, W):
    """Updates one weight of `W`, the `NTupleWeights`."""
    W.table[index] += np.float32(learning_rate * error)


@jit(inline=True)
def coherent_step(trainer, index, learning_rate, error, W):
    """Updates one weight of `W` with its own rate: the share of its errors that did not cancel out; FIXED ones stay."""
    errors, sizes = trainer.errors, trainer.sizes
    if sizes[index] == FIXED:
        return
    share = abs(errors[index]) / sizes[index] if sizes[index] > 0 else np.float32(1.0)
    W.table[index] += np.float32(learning_rate * error) * share
    errors[index] += np.float32(error)
    sizes[index] += np.float32(abs(error))


def make_learn(
    game: Game, layout: Layout, network: NTupleFunctions, step_weight: Compiled, searched: bool, exploring: bool
) -> Compiled:
    """Returns `learn(trainer, length, learning_rate, trace_decay, T)`, or `learn_best` of Q-learning.

    It updates the weights backward along the first `length` rows of the trajectory; the rate is per active weight.
    """
    cells, board, stage_start = features(game), network.board, network.stage_start
    boards, tuple_index, potential = board.seen, board.tuple_index, board.potential
    small, tables = small_bits(cells, layout.small), len(cells.tables)
    index_of = cells.index or bind(game.room, inline=True)(no_index)
    current_player, to_come, fetch = game.rules.current_player, network.to_come, network.prefetch

    @bind(game.room, inline=True)
    def move_weights(trainer, i, learning_rate, error, T):
        """Updates every weight that row i of the trajectory uses."""
        S, W = trainer.trajectory, T.leaf
        tuples = W.tuples
        start = stage_start(S, i, T)
        seen = boards(S, i, T)
        for t in range(tuples):
            for b in seen:
                step_weight(trainer, start + tuple_index(S, i, b, t, T), learning_rate, error, W)
        place = tuples
        for k in range(tables):
            if small >> k & 1:
                index = start + W.offsets[place] + index_of(S, i, k, T)
                step_weight(trainer, index, learning_rate, error, W)
                place += 1

    @bind(game.room)
    def learn(trainer, length, learning_rate, trace_decay, T):
        S = trainer.trajectory
        last = np.uint64(length - 1)
        each_move = T.leaf.constants[1]
        later = 0.0 if current_player(S, last, T) == TERMINAL else to_come(S, last, T)
        target, later_potential = later, potential(S, last, T)
        for back in range(1, length):
            t = np.uint64(length - 1 - back)
            if back + AHEAD < length:
                fetch(S, t - np.uint64(AHEAD), T)
            own_potential = potential(S, t, T)
            if searched:
                later = trainer.search_values[t] - later_potential
            target = each_move + later_potential - own_potential + (1.0 - trace_decay) * later + trace_decay * target
            later = to_come(S, t, T)
            error = target - later
            trainer.sums[SQUARED_ERRORS] += error * error
            move_weights(trainer, t, learning_rate, error, T)
            later_potential = own_potential

    @bind(game.room)
    def learn_best(trainer, length, learning_rate, trace_decay, T):
        """Trains each row on the best action's value at the decision after it.

        Where the action there was not random, its own target replaces a share `trace_decay` of that value (Watkins's Q(lambda)). If
        the last row is the end of the game, nothing comes after it.
        """
        S, explored = trainer.trajectory, trainer.explored
        each_move = T.leaf.constants[1]
        target, later_potential = 0.0, 0.0
        first = length - 1
        if current_player(S, np.uint64(first), T) == TERMINAL:
            later_potential = potential(S, np.uint64(first), T)
            first -= 1
        for t in range(first, -1, -1):
            i = np.uint64(t)
            if t > 1:
                fetch(S, np.uint64(t - 2), T)
            own_potential = potential(S, i, T)
            best = trainer.search_values[t] - own_potential
            decay = 0.0
            if t < first and not explored[t + 1]:
                decay = trace_decay
            target = each_move + (1.0 - decay) * best + decay * (later_potential - own_potential + target)
            error = target - to_come(S, i, T)
            trainer.sums[SQUARED_ERRORS] += error * error
            move_weights(trainer, i, learning_rate, error, T)
            later_potential = own_potential

    return learn_best if exploring else learn


def make_games(
    game: Game, network: NTupleFunctions, best_action: Compiled, learn: Compiled, valued: int, exploring: bool
) -> NTupleKernels:
    """Returns the training games and the games without training."""
    rules, highest, potential = game.rules, network.board.highest, network.board.potential
    current_player, legal_actions, returns = rules.current_player, rules.legal_actions, rules.returns
    initial_state, apply_action, settle = rules.initial_state, rules.apply_action, make_settle(game)
    settle_to_stage = make_settle_to_stage(game, 1 << valued)

    @bind(game.room, inline=True)
    def act(S, R, a, T):
        """Plays action a at row HERE and draws chance up to the valued stage."""
        apply_action(S, HERE, a, AFTER, T)
        copy_row(S, AFTER, HERE)
        settle_to_stage(S, R, T)

    @bind(game.room, inline=True)
    def open_trajectory(trainer, T):
        """Writes the start of the next trajectory to row HERE."""
        if trainer.counts[RESTARTED] == 0:
            initial_state(trainer.S, HERE, T)
        settle(trainer.S, trainer.R, T)

    @bind(game.room)
    def play_trajectory(trainer, T):
        """Plays from row HERE to the end, at most LONGEST actions; returns their number and the number of the trajectory's rows.

        `exploring`: with the trainer's share of random actions, and a value after the last row too.
        """
        S, R, A, share = trainer.S, trainer.R, trainer.A, trainer.exploration[0]
        length = 0
        while current_player(S, HERE, T) != TERMINAL and length < LONGEST:
            chosen, value = best_action(trainer, T)
            if length > 0:
                trainer.search_values[length - 1] = value
            if exploring:
                trainer.explored[length] = share > 0 and uniform(R) < share
                if trainer.explored[length]:
                    chosen = A[below(R, legal_actions(S, HERE, A, T))]
                else:
                    trainer.greedy[0] += 1
                    trainer.greedy[1] += value - potential(S, HERE, T)
            act(S, R, chosen, T)
            put_row(S, HERE, trainer.trajectory, length)
            length += 1
            settle(S, R, T)
        rows = length
        over = current_player(S, HERE, T) == TERMINAL
        if over and length > 0 and current_player(trainer.trajectory, np.uint64(length - 1), T) != TERMINAL:
            rows += 1
            trainer.search_values[length - 1] = potential(S, HERE, T)
            put_row(S, HERE, trainer.trajectory, length)
        elif exploring and length > 0 and not over:
            trainer.search_values[length - 1] = best_action(trainer, T)[1]
        return length, rows

    @bind(game.room)
    def keep_firsts(trainer, length, T):
        """Keeps the rows in which the trajectory first reached the trainer's marks."""
        before = highest(trainer.trajectory, np.uint64(0), T)
        for i in range(1, length):
            now = highest(trainer.trajectory, np.uint64(i), T)
            for k in range(trainer.marks.shape[0]):
                if before < trainer.marks[k] <= now:
                    put_row(trainer.trajectory, i, trainer.firsts[k], trainer.met[k] % CAROUSEL)
                    trainer.met[k] += 1
            before = max(before, now)

    @bind(game.room, inline=True)
    def close_trajectory(trainer, length, restart, T):
        """Counts a trajectory of `length` actions and sets the start of the next one.

        The next start is in turn at each mark that was reached, or in the middle of a trajectory of more than `restart` actions.
        """
        counts, marks = trainer.counts, trainer.marks.shape[0]
        counts[MOVES] += length
        counts[GAMES] += 1
        if counts[RESTARTED] == 0:
            counts[FRESH_GAMES] += 1
            trainer.sums[RETURNS] += returns(trainer.S, HERE, T)
        if marks > 0:
            keep_firsts(trainer, length, T)
            k = counts[RESTARTED]
            counts[RESTARTED] = k + 1 if k < marks and trainer.met[k] > 0 else 0
            if counts[RESTARTED] > 0:
                put_row(trainer.firsts[k], below(trainer.R, min(trainer.met[k], CAROUSEL)), trainer.S, HERE)
            return
        counts[RESTARTED] = 0
        if restart > 0 and length > restart:
            counts[RESTARTED] = 1
            put_row(trainer.trajectory, length // 2, trainer.S, HERE)

    @bind(game.room)
    def td_games(trainer, moves, learning_rate, trace_decay, restart, T):
        """Plays and trains for `moves` more actions, up to the end of a trajectory.

        `learning_rate` is the step per active weight, `trace_decay` the lambda of TD(lambda). A trajectory longer than `restart`
        actions is followed by one from its middle (0: never), unless the trainer has marks.
        """
        goal = trainer.counts[MOVES] + moves
        while trainer.counts[MOVES] < goal and not T.stop[0]:
            open_trajectory(trainer, T)
            length, rows = play_trajectory(trainer, T)
            close_trajectory(trainer, length, restart, T)
            learn(trainer, rows, learning_rate, trace_decay, T)

    @bind(game.room)
    def greedy_games(trainer, keys, scores, ranks, T):
        """Plays one game for each key of `keys` [games] without training, and counts the moves.

        It writes the returns to `scores` [games] and the highest values of a cell to `ranks` [games].
        """
        S, R = trainer.S, trainer.R
        for g in range(keys.shape[0]):
            R[0], R[1] = keys[g], np.uint64(0)
            initial_state(S, HERE, T)
            settle(S, R, T)
            while current_player(S, HERE, T) != TERMINAL and not T.stop[0]:
                chosen, _ = best_action(trainer, T)
                act(S, R, chosen, T)
                trainer.counts[MOVES] += 1
                settle(S, R, T)
            scores[g] = returns(S, HERE, T)
            ranks[g] = np.int64(highest(S, HERE, T))

    return NTupleKernels(td_games, greedy_games)


PIECE = 5
"""Number of games in a job."""
RESTART = 100
"""Trajectories longer than this are followed by one from their middle, as in training, so that late positions come often."""


class GreedyGames(NamedTuple):
    """Games of a network's searches to one depth, in the order of their seeds."""

    scores: Floats
    ranks: Ints
    """Highest value of a cell on each final board."""
    moves: int
    seconds: float
    """Processor time, added over the processes."""

    def interval(self) -> tuple[float, float]:
        """Returns the 95 % t interval of the mean score."""
        return mean_interval(self.scores)

    def figures(self) -> Json:
        """Returns what a table needs, by name."""
        return {
            "games": len(self.scores),
            "mean": float(self.scores.mean()),
            **bounds(self.interval()),
            "median": float(np.median(self.scores)),
            "seconds_per_move": self.seconds / max(self.moves, 1),
        }


def play_games(
    network: NTupleNetwork,
    depth: int,
    first_seed: int,
    games: int,
    *,
    cutoff: float = 0.0,
    processes: int = 1,
    cluster: str = "",
    progress: Callable[[int], None] = lambda done: None,
) -> GreedyGames:
    """Plays games with seeds from `first_seed` on; `progress` is called with the number of finished games.

    Decisions less probable than `cutoff` are leaves of the search (0: exact). `processes` and `cluster` say where they are
    played, as `leafwise.training.execution.executor_for` has it; each process has the network's tables once. Raises ValueError
    for no games.
    """
    need_in(games, Range(1), "games")
    parts: list[GreedyGames] = []
    pieces = in_pieces(range(first_seed, first_seed + games), PIECE)
    with executor_for(partial(_played, depth, cutoff), processes, cluster, len(pieces)) as executor:
        sent = executor.share(network)
        for part in executor.in_order((k, (sent, piece)) for k, piece in enumerate(pieces)):
            parts.append(part)
            progress(min(len(parts) * PIECE, games))
    scores, ranks, moves, seconds = zip(*parts, strict=True)
    return GreedyGames(np.concatenate(scores), np.concatenate(ranks), sum(moves), sum(seconds))


def _played(depth: int, cutoff: float, piece: tuple[Ref[NTupleNetwork], range]) -> GreedyGames:
    """Job: plays some games."""
    network, seeds = piece[0].get(), piece[1]
    run, T = kernels(network, depth).greedy_games, network.game.tables(network.evaluator("games"))
    actor, keys = new_trainer(network.game, 0, depth, cutoff=cutoff), np.array(seeds, dtype=np.uint64)
    scores, ranks = np.zeros(len(keys)), np.zeros(len(keys), np.int64)
    run(actor, keys[:0], scores, ranks, T)  # compiles
    start = time.thread_time()
    stoppable(lambda: run(actor, keys, scores, ranks, T), T.stop)
    interrupts.check()
    return GreedyGames(scores, ranks, int(actor.counts[MOVES]), time.thread_time() - start)


def looked_up(network: NTupleNetwork, moves: int, seed: int = 0) -> Bools:
    """Returns the entries that `moves` moves of the network's own games look up, [weights], without training."""
    errors, sizes = (np.zeros(len(network.weights.table), np.float32) for _ in range(2))
    actor = new_trainer(network.game, seed, coherence=(errors, sizes))
    T = network.game.tables(network.evaluator("games"))
    stoppable(lambda: kernels(network, coherent=True).td_games(actor, moves, 0.0, 0.0, RESTART, T), T.stop)
    return sizes > 0
