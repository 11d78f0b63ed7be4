"""Self-play games whose positions are labelled with root values of searches, in the learner's process or as jobs.

In the learner's process all games come from one random stream; a job has its own stream. The compiled part comes first. A position
is played at row HERE of a `GameTable`; the search uses the rows after it. `T` are the game's tables with the leaf's weights.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from leafwise.envs.core.arrays import Array, Floats, Ints
from leafwise.envs.core.compile.jit import bind
from leafwise.envs.core.contract.evaluator import Evaluator, for_player_zero, is_asked, stage_bits
from leafwise.envs.core.contract.game import Game
from leafwise.envs.core.contract.rules import CHANCE, TERMINAL, Compiled
from leafwise.envs.core.contract.stream import below, uniform
from leafwise.envs.core.gym.observation import Observer
from leafwise.envs.core.interrupts import stoppable
from leafwise.envs.core.play.solver import UNKNOWN, exact_labels
from leafwise.envs.core.ranges import need_among
from leafwise.models.network import Learned
from leafwise.search.compiled import CompiledSearch, compiled_search
from leafwise.training.batches import NOBODY, OPENINGS, PlayOptions, SideBySide
from leafwise.training.execution.executor import Ref
from leafwise.training.games import (
    AFTERSTATE,
    CHOSEN,
    CONTINUED,
    EXACT,
    EXPLORED,
    GAMES,
    HERE,
    PLIES,
    ROOM,
    WON_BY_FIRST,
    forget,
    guide_of,
    make_best_action,
    make_open_game,
    make_random_action,
    make_settle,
    make_settle_to_stage,
    make_transform_rows,
    make_write_targets,
    new_record,
    new_table,
    put_row,
)
from leafwise.training.runs.recipes import has_outcomes


class SelfPlayKernels(NamedTuple):
    """The compiled entry points. They are compiled when they are first called."""

    record_games: Compiled
    """(table, record, count, depth, plies, max_opening_value, epsilon, earlier_share, trace_decay, leaf_targets, credit, by_turns,
    kept, T, earlier) -> positions"""


class RowKernels(NamedTuple):
    """The compiled entry points that need no leaf."""

    write_all_targets: Compiled
    """(record, n, exact, trace_decay, T)"""
    transform_rows: Compiled
    """(rows, symmetries, actions, T)"""


@functools.cache
def row_kernels(game: Game) -> RowKernels:
    """Returns the compiled entry points for a game (`game.with_defaults`) that are the same for all leaves."""
    current_player, write_targets = game.rules.current_player, make_write_targets(game)

    @bind(game.room)
    def write_all_targets(record, n, exact, trace_decay, T):
        """Recomputes the targets of n positions of whole games, some of which have exact values.

        `exact` [n] are true values for the player who acts there, or UNKNOWN.
        """
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

    return RowKernels(write_all_targets, make_transform_rows(game))


def kernels(game: Game, evaluator: Evaluator) -> SelfPlayKernels:
    """Returns the compiled entry points for a game and a kind of leaf (its weights are in `T`)."""
    return _compiled(game.with_defaults, compiled_search(game, evaluator), stage_bits(evaluator, game.stages))


@functools.cache
def _compiled(game: Game, compiled: CompiledSearch, stages: int) -> SelfPlayKernels:
    rules, best_action, leaf_value = game.rules, make_best_action(game, compiled), compiled.leaf_value
    current_player, stage, apply_action = rules.current_player, rules.stage, rules.apply_action
    returns, progress = rules.returns, rules.progress
    settle, settle_to_leaf, open_game = make_settle(game), make_settle_to_stage(game, stages), make_open_game(game)
    random_action, write_targets = make_random_action(game), make_write_targets(game)

    @bind(game.room, inline=True)
    def record_game(table, record, first, depth, epsilon, other, leaf_targets, by_turns, T, earlier):
        """Plays a game from row HERE and records its positions from `first` while there is room; returns where they end.

        Seat `other` plays with the tables `earlier` and is not recorded. With `leaf_targets` the values are the leaf's values of
        the next positions, where the search's action was played. `by_turns`: the decisions of a player without chance in between
        are one turn.
        """
        S, R, n = table.S, table.R, first
        room, begins = record.rows.shape[0], True
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
                if by_turns and not begins and record.kinds[n] == CHOSEN:
                    record.kinds[n] = CONTINUED
                n += 1
            # Play the action, up to the stage that the leaf values, then up to the next decision
            apply_action(S, HERE, a, HERE, T)
            begins = current_player(S, HERE, T) != player
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

    @bind(game.room, inline=True)
    def keep(record, first, end, kept, T):
        """Keeps the positions from `first` whose stage is set in the bits `kept`; returns the index after the last."""
        n = first
        for t in range(first, end):
            if is_asked(kept, stage(record.rows, np.uint64(t), T)):
                put_row(record.rows, t, record.rows, n)
                record.targets[n], record.values[n], record.kinds[n] = (
                    record.targets[t],
                    record.values[t],
                    record.kinds[t],
                )
                n += 1
        return n

    @bind(game.room, inline=True)
    def open_balanced(table, depth, plies, max_opening_value, T):
        """Starts a game at row HERE like `open_game`, again until the absolute root value is at most `max_opening_value`.

        It tries at most `OPENINGS` openings.
        """
        open_game(table, plies, T)
        if max_opening_value < np.inf:
            tries = 1
            while tries < OPENINGS and abs(best_action(table, table.buffers, depth, T)) > max_opening_value:
                open_game(table, plies, T)
                tries += 1

    @bind(game.room)
    def record_games(
        table, record, count, depth, plies, max_opening_value, epsilon, earlier_share, trace_decay, leaf_targets, credit, by_turns,
        kept, T, earlier,
    ):  # fmt: skip
        """Plays whole games until `count` positions are recorded or the record is full; returns the number of positions.

        Games begin with up to `plies` random actions (see `open_balanced`), and a share `epsilon` of the later actions is random.
        In a share `earlier_share` of the games `earlier` plays one seat, whose positions are not recorded. A target is the
        lambda-return of the following root values and the outcome, with `trace_decay` as lambda. It ends at an action that was not
        the search's. A game that was not won counts at least the share `credit` of its `progress`. A stage of chance that the leaf
        values is a position too; its target is that of what follows. With `leaf_targets` the leaf's values of the next positions
        replace the root values where the search's action was played. `by_turns`: lambda counts turns, not actions. `kept`: the
        stages that are recorded, as bits.
        """
        S, R, counts = table.S, table.R, table.counts
        n = 0
        while n < count and not T.stop[0]:
            open_balanced(table, depth, plies, max_opening_value, T)
            other = np.int64(NOBODY)
            if uniform(R) < earlier_share:
                other = np.int64(below(R, 2))
            end = record_game(table, record, n, depth, epsilon, other, leaf_targets, by_turns, T, earlier)
            if current_player(S, HERE, T) != TERMINAL:
                return n  # the record is full; the game is dropped
            outcome = returns(S, HERE, T)
            counts[GAMES] += 1
            if outcome > 0:
                counts[WON_BY_FIRST] += 1
            if credit > 0.0:
                outcome = max(outcome, credit * progress(S, HERE, T))
            write_targets(record, n, end, outcome, trace_decay, T)
            end = keep(record, n, end, kept, T)
            record.first[n:end], record.outcomes[n:end] = n, outcome
            n = end
        return n

    return SelfPlayKernels(record_games)


def got_so_far(game: Game, rows: Array) -> Floats:
    """Returns the returns so far of rows [n, width], [n], in a game with a score, else 0.

    Targets do not contain them: in a game with a score the network learns the return to come.
    """
    return np.zeros(len(rows)) if has_outcomes(game) else Observer(game, masked=False)(rows).returns


LABELS_MB = 16.0
"""Size of the solver's table for exact targets, in MB; a larger one does not fit the processor's cache."""


class RecordedValues(NamedTuple):
    """Recorded positions of some games."""

    rows: Array
    """[n, width]"""
    targets: Floats
    """[n]"""
    counts: Ints
    """Counters of the games, as in `leafwise.training.games.GameTable`."""


class SearchRecorder:
    """Records games of a network's searches, or of a guide's, in the variants of a run."""

    def __init__(
        self, variants: Sequence[Game], newest: Learned, options: Any, *, leaf_targets: bool = False, positions: int = 0
    ) -> None:
        """`options` has the playing options of the method's `Config`; `leaf_targets` is that of the learner."""
        self.variants, self.options, self.leaf_targets = variants, options, leaf_targets
        self.positions, self._first = positions, newest
        game = variants[0]
        self.solo, self.guide = game.players == 1, guide_of(game, options.guide)
        leaf, deepest = newest.evaluator("newest"), max(options.depth, options.guide_depth)
        known = dict.fromkeys(("decision", *leaf.stages))
        for stage in options.replay_stages:
            need_among(stage, known, "--replay-stages", game.name)
        self.kept = sum(1 << game.stages.index(stage) for stage in options.replay_stages or known)
        limits = {"rare": options.rare, "nodes": options.nodes}
        self.table = new_table(game, deepest, options.seed, leaf, **limits)
        self.guide_table = new_table(game, deepest, options.seed, self.guide, **limits)._replace(R=self.table.R)
        self.room = new_record(game, positions + ROOM)
        self.kernels = kernels(game, leaf)
        self.guide_kernels = kernels(game, self.guide) if self.guide else None
        self.labels = exact_labels(game, LABELS_MB) if options.exact_nodes else None

    def __reduce__(self) -> Any:
        return _rebuilt, (self.variants, self._first, self.options, self.leaf_targets, self.positions)

    def warm(self) -> None:
        """Compiles or loads the code by recording one position of each kind of game."""
        for guided in (False, *([True] if self.guide else [])):
            self.piece(self.variants[0], 1, self._first, self._first, 0, guided=guided)

    def tables(self, network: Learned, game: Game) -> Any:
        """Returns `T` of a variant with a network's weights."""
        return game.tables(network.evaluator("selfplay"), self.options.candidates or None)

    def record(self, game: Game, count: int, newest: Learned, earlier: Learned, *, guided: bool, credit: float) -> int:
        """Records at least `count` positions in `room`; returns their number. `earlier` plays some seats."""
        options, table = self.options, self.guide_table if guided else self.table
        forget(table)
        if guided:
            assert self.guide_kernels is not None
            T = other = game.tables(self.guide, options.guide_candidates or options.candidates or None)
            alone = (0.0, 0.0, 1.0) if self.solo else (options.exploration, 0.0, options.td_lambda)
            run, depth = self.guide_kernels.record_games, options.guide_depth or options.depth
        else:
            T, other = self.tables(newest, game), self.tables(earlier, game)
            alone = (options.exploration, 0.0 if self.solo else options.pool_share, options.td_lambda)
            run, depth = self.kernels.record_games, options.depth
        leaf_targets = self.leaf_targets and not guided
        max_opening_value = np.inf if options.max_opening_value == 1 else options.max_opening_value * game.stake
        arguments = options.plies, max_opening_value, *alone, leaf_targets, credit, options.lambda_turns, self.kept
        n = int(stoppable(lambda: run(table, self.room, count, depth, *arguments, T, other), T.stop, other.stop))
        if self.labels is not None:
            self.label(n, T)
        return n

    def label(self, n: int, T: Any) -> None:
        """Solves positions within `exact_nodes` nodes and recomputes the targets from the exact values."""
        assert self.labels is not None
        exact = self.labels(self.room.rows[:n], self.room.first[:n], self.options.exact_nodes)
        row_kernels(self.variants[0].with_defaults).write_all_targets(self.room, n, exact, self.options.td_lambda, T)

    def piece(
        self, game: Game, count: int, newest: Learned, earlier: Learned, key: int | None = None, *,
        guided: bool = False, credit: float = 0.0,
    ) -> RecordedValues:  # fmt: skip
        """Returns games from the random stream of `key`, or from the stream of the last games (None)."""
        table = self.guide_table if guided else self.table
        if key is not None:
            table.R[0], table.R[1] = np.uint64(key), np.uint64(0)
        table.counts[:] = 0
        n = self.record(game, count, newest, earlier, guided=guided, credit=credit)
        rows, targets = self.room.rows[:n].copy(), self.room.targets[:n].copy()
        return RecordedValues(rows, targets - got_so_far(game, rows), table.counts.copy())


class BatchRecorder:
    """Records games like `SearchRecorder`, for networks that value batches: a job plays whole games side by side."""

    def __init__(self, variants: Sequence[Game], options: Any, *, leaf_targets: bool = False) -> None:
        self.variants, self.options, self.leaf_targets = variants, options, leaf_targets
        self.solo, self.guide = variants[0].players == 1, guide_of(variants[0], options.guide)
        self.labels = exact_labels(variants[0], LABELS_MB) if options.exact_nodes else None

    def __reduce__(self) -> Any:
        return _batches_rebuilt, (self.variants, self.options, self.leaf_targets)

    def warm(self) -> None:
        """Loads the code."""
        blank = Evaluator("blank", None, batch=lambda rows, T: np.zeros(len(rows)))
        self.played(self.variants[0], 1, (blank,), 0, 1, self.leaf_targets, 0.0, 0.0)

    def tables(self, network: Learned | None, game: Game) -> Any:
        """Returns `T` of a variant."""
        return game.tables(None, self.options.candidates or None)

    def piece(
        self, game: Game, count: int, newest: Learned, earlier: Learned, key: int, *, guided: bool, credit: float
    ) -> RecordedValues:
        """Returns `count` games from random streams of `key`."""
        options = self.options
        if guided:
            assert self.guide is not None
            depth = options.guide_depth or options.depth
            decay, exploration = (1.0, 0.0) if self.solo else (options.td_lambda, options.exploration)
            return self.played(game, count, (self.guide,), key, depth, False, credit, 0.0, exploration, decay)
        share = 0.0 if self.solo else options.pool_share
        leaves = [network.evaluator("selfplay") for network in (newest, earlier)[: 1 + (share > 0)]]
        arguments = options.depth, self.leaf_targets, credit, share, options.exploration, options.td_lambda
        return self.played(game, count, leaves, key, *arguments)

    def played(
        self, game: Game, count: int, leaves: Sequence[Evaluator], key: int, depth: int, leaf_targets: bool, credit: float,
        earlier: float, exploration: float = 0.0, trace_decay: float = 1.0,
    ) -> RecordedValues:  # fmt: skip
        """Returns `count` games of searches with the first leaf; in a share `earlier` of them the last leaf plays one seat."""
        options, rng = self.options, np.random.default_rng(key)
        games = SideBySide(game, leaves, depth, nodes=options.nodes, candidates=options.candidates or None)
        keys = rng.integers(0, 1 << 64, count, dtype=np.uint64)
        other = np.where(rng.random(count) < earlier, rng.integers(0, 2, count), NOBODY)
        max_opening_value = np.inf if options.max_opening_value == 1 else options.max_opening_value * game.stake
        play_options = PlayOptions(np.full(count, options.plies), exploration, max_opening_value, credit, leaf_targets)
        record, _, counts = games.play(keys, other, play_options)
        n = len(record.rows)
        exact = np.full(n, UNKNOWN)
        if self.labels is not None:
            exact = self.labels(record.rows, record.first, options.exact_nodes)
        row_kernels(game.with_defaults).write_all_targets(record, n, exact, trace_decay, self.tables(None, game))
        return RecordedValues(record.rows, record.targets - got_so_far(game, record.rows), counts)


def _batches_rebuilt(variants: Sequence[Game], options: Any, leaf_targets: bool) -> BatchRecorder:
    return BatchRecorder(variants, options, leaf_targets=leaf_targets)


def _rebuilt(
    variants: Sequence[Game], newest: Learned, options: Any, leaf_targets: bool, positions: int
) -> SearchRecorder:
    return SearchRecorder(variants, newest, options, leaf_targets=leaf_targets, positions=positions)


def record_piece(
    recorder: Ref[SearchRecorder | BatchRecorder],
    networks: Ref[Mapping[str, Learned]],
    variant: int,
    count: int,
    key: int,
    guided: bool,
    credit: float,
) -> RecordedValues:
    """Job: returns at least `count` positions (or `count` games side by side) of a variant, given by its index."""
    worker, by_name = recorder.get(), networks.get()
    return worker.piece(
        worker.variants[variant], count, by_name["newest"], by_name["earlier"], key, guided=guided, credit=credit
    )
