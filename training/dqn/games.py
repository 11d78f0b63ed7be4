"""The games of Q-learning, side by side, one row each: steps in the learner's process, or jobs of many steps.

The compiled part comes first; its `rows` are [n, width].
"""

from __future__ import annotations

import functools
from collections.abc import Mapping
from typing import Any, NamedTuple
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray

from leafwise.envs.core.arrays import Array, Bools, Floats, Floats32, Ints, Words
from leafwise.envs.core.compile.jit import bind
from leafwise.envs.core.contract.evaluator import Evaluator, for_player_zero, stage_bits
from leafwise.envs.core.contract.game import Game
from leafwise.envs.core.contract.rules import TERMINAL, Compiled
from leafwise.envs.core.interrupts import stoppable
from leafwise.models.network import Learned
from leafwise.models.sparse import WITH_ACTIONS
from leafwise.search.compiled import CompiledSearch, compiled_search
from leafwise.search.expectiminimax import COUNTS
from leafwise.search.frontier import Frontier
from leafwise.training.execution.executor import Ref
from leafwise.training.games import (
    AFTER,
    FREE,
    GAMES,
    HERE,
    PLIES,
    forget,
    guide_of,
    make_best_action,
    make_choose_actions,
    make_open_game,
    make_settle,
    make_settle_to_stage,
    make_transform_rows,
    new_table,
    put_row,
    search_of,
    share_out,
)


class QKernels(NamedTuple):
    """The compiled entry points. They are compiled when they are first called."""

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
    place_values: Compiled
    """(table, rows, children, ends, values, T)"""


def kernels(game: Game, evaluator: Evaluator) -> QKernels:
    """Returns the compiled entry points for a game and a kind of leaf (its weights are in `T`).

    For a leaf that values batches they contain no searches.
    """
    compiled = None if evaluator.value is None else compiled_search(game, evaluator)
    return _compiled(game.with_defaults, compiled, stage_bits(evaluator, game.stages))


@functools.cache
def _compiled(game: Game, compiled: CompiledSearch | None, stages: int) -> QKernels:
    rules = game.rules
    current_player, apply_action, returns = rules.current_player, rules.apply_action, rules.returns
    legal_actions, action_cost, progress = rules.legal_actions, rules.action_cost, rules.progress
    considered = rules.candidates or legal_actions
    search, last_step = search_of(game, compiled) if compiled else (never, never)
    settle, settle_to_leaf, open_game = make_settle(game), make_settle_to_stage(game, stages), make_open_game(game)

    @bind(game.room)
    def start_games(table, rows, streams, plies, T):
        """Starts a game in every row, with up to `plies` random actions; each game has its own stream, `streams` [n, 2]."""
        R = table.R
        for i in range(rows.shape[0]):
            R[0], R[1] = streams[i, 0], streams[i, 1]
            open_game(table, plies, T)
            put_row(table.S, HERE, rows, i)
            streams[i, 0], streams[i, 1] = R[0], R[1]

    @bind(game.room)
    def advance(table, rows, asked, after, streams, actions, rewards, signs, plies, credit, T):
        """Plays an action in every row, and starts a new game where one is over, with up to `plies` random actions.

        `after` [n, width] are the next decisions or ends, also where a new game starts. `asked` [n, width] are the states of chance
        that a leaf values before them, or `after` without such a stage. `rewards` [n] are the actor's; a finished game is worth at
        least the share `credit` of its progress. `signs` [n] convert the value for the next player into the value for the actor:
        1, -1, or 0 after the end. `streams` [n, 2], `actions` [n].
        """
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

    @bind(game.room)
    def mask_actions(table, rows, legal, T):
        """Sets the mask of legal actions, [n, A], in rows that are decisions."""
        for i in range(rows.shape[0]):
            for k in range(legal_actions(rows, np.uint64(i), table.A, T)):
                legal[i, table.A[k]] = 1

    @bind(game.room)
    def root_values(table, rows, depth, values, T):
        """Writes a search's value of each action in each row to `values` [n, A]; all rows are decisions.

        The values are expected returns to come, for the player who acts; -inf for actions that are not considered.
        """
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

    @bind(game.room)
    def place_values(table, rows, children, ends, values, T):
        """Converts player 0's values after each action, `children` [m], to `values` [n, A] as `root_values` writes them.

        The children of row i end before `ends[i]`.
        """
        first = 0
        values[:] = -np.inf
        for i in range(rows.shape[0]):
            row = np.uint64(i)
            player, so_far = current_player(rows, row, T), returns(rows, row, T)
            for k in range(considered(rows, row, table.A, T)):
                values[i, table.A[k]] = for_player_zero(children[first + k] - so_far, player)
            first = ends[i]

    choose_actions: Any = make_choose_actions(game, make_best_action(game, compiled)) if compiled else None
    transform_rows = make_transform_rows(game)
    return QKernels(start_games, advance, mask_actions, root_values, choose_actions, transform_rows, place_values)


def never(*_: Any) -> Any:
    """Placeholder for searches that are not used."""


GROUP = 64
"""Maximum number of games in a job."""


class Decisions(NamedTuple):
    """n decisions and their results."""

    before: Array
    """[n, width]"""
    asked: Array
    """States of chance between them that a leaf values; without such a stage as `after`, [n, width]."""
    after: Array
    """The next decisions, or ends, [n, width]."""
    actions: Ints
    """[n]"""
    gains: Floats32
    """Reward, and the sign of the next value, [n, 2]."""
    explored: Bools
    """Whether the action was drawn at random, [n]."""
    values: float
    """Mean value of the actions that were not random, for their players; nan if there are none."""


class QPlayOptions(NamedTuple):
    """Playing options that change over a run."""

    exploration: Floats
    """Probability of a random action in each game, [n]."""
    credit: float = 0.0
    """Credit for a finished single-player game, as a share of its progress."""
    guided: bool = False
    """Whether the guide plays."""


class QPlayer:
    """Plays games side by side: random actions, those with the highest value of a network, or a guide's."""

    def __init__(self, network: Learned, options: Any) -> None:
        """Takes a network for its shape; `options` has the playing options of the method's `Config`.

        A network with an output per action chooses by its outputs; for any other a search to depth 1 values the actions. Raises
        ValueError for an unknown guide.
        """
        self.game, self.options, self._first = network.game, options, network
        self.by_actions = network.head in WITH_ACTIONS
        evaluator = network.evaluator("newest")
        self.batched = evaluator.value is None
        self.frontiers: WeakKeyDictionary[Any, Frontier] = WeakKeyDictionary()
        self.kernels, self.T = kernels(self.game, evaluator), self.new_tables(network)
        depth, limits = max(1, options.target_depth), {"rare": options.rare, "nodes": options.nodes}
        leaf = None if depth == 1 and not options.nodes else evaluator  # shallow searches need no cache
        self.table = new_table(self.game, depth, 0, leaf, **limits)
        self.width = len(self.game.actions)
        if guide := guide_of(self.game, options.guide):
            self.guide, self.guide_T = kernels(self.game, guide), self.game.tables(guide, options.candidates or None)
            self.guide_table = new_table(self.game, options.guide_depth, 0, guide, **limits)

    def __reduce__(self) -> Any:
        return QPlayer, (self._first, self.options)

    def new_tables(self, network: Learned) -> Any:
        """Returns `T` with a copy of the weights."""
        T = self.game.tables(
            network.with_tensors(dict(network.tensors)).evaluator("own"), self.options.candidates or None
        )
        if self.batched:
            return T
        copies = {name: getattr(T.leaf, name).copy() for name in ("embedding", "bias", "dense")}
        return T._replace(leaf=T.leaf._replace(**copies))

    def warm(self) -> None:
        """Loads the code."""
        from leafwise.training.networks import one_thread

        one_thread()
        rows, streams = self.new_games(np.zeros((1, 2), np.uint64))
        for guided in (False, *([True] if self.options.guide else [])):
            options = QPlayOptions(np.array([0.5]), 0.0, guided)
            self.step(
                self._first,
                self._first.kind.torch_module(self._first),
                rows,
                streams,
                options,
                np.random.default_rng(0),
            )

    def new_games(self, streams: Words) -> tuple[Array, Words]:
        """Returns new games, [n, width], and their random streams, [n, 2]."""
        rows = self.game.rows(len(streams))
        self.kernels.start_games(self.table, rows, streams, self.options.plies, self.T)
        return rows, streams

    def searched(self, rows: Array, depth: int, T: Any, module: Any = None) -> Floats:
        """Returns the values of all actions in rows [n, width], [n, A], by searches with a module, whose weights are in `T`.

        See `QKernels.root_values`.
        """
        values = np.zeros((len(rows), self.width))
        if self.batched:
            if module not in self.frontiers:
                self.frontiers[module] = Frontier(self.game, module.leaf, T)
            _, children, ends = self.frontiers[module].many(rows, depth, np.zeros(COUNTS, np.int64))
            self.kernels.place_values(self.table, rows, children, ends, values, T)
            return values
        forget(self.table)  # the weights of the leaf have changed
        stoppable(lambda: self.kernels.root_values(self.table, rows, depth, values, T), T.stop)
        return values

    def step(
        self, network: Learned, module: Any, rows: Array, streams: Words,
        options: QPlayOptions, rng: np.random.Generator,
    ) -> Decisions:  # fmt: skip
        """Plays one decision in every game, in place; `module` is the network as a module."""
        import torch

        n = len(rows)
        explored = rng.random(n) < options.exploration
        greedy = ~explored
        noise = rng.random((n, self.width))
        if options.guided:
            values, legal = self.guide_choices(rows[greedy]), self.legal_mask(rows)
        elif self.by_actions:
            features, legal, _ = network.describe(rows, self.T)
            with torch.inference_mode():
                outputs = module(torch.from_numpy(features[greedy])).numpy()
            values = np.where(legal[greedy], outputs, -np.inf)
        else:
            module.write_to(self.T.leaf)
            values = self.searched(rows[greedy], 1, self.T, module)
            legal = self.legal_mask(rows)
        actions = (noise * legal).argmax(axis=1)
        best = values.max(axis=1, keepdims=True)
        actions[greedy] = np.where(values == best, noise[greedy], -1.0).argmax(axis=1)
        before, rewards, signs = rows.copy(), np.zeros(n), np.zeros(n)
        asked, after = np.zeros_like(rows), np.zeros_like(rows)
        arguments = asked, after, streams, actions, rewards, signs
        self.kernels.advance(self.table, rows, *arguments, self.options.plies, options.credit, self.T)
        gains = np.stack([rewards, signs], axis=1).astype(np.float32)
        if self.by_actions:  # in returns of the player who acts, as searches give them
            best = (np.tanh(best) if self.game.players == 2 else best) * self._first.unit
        mean = float(best.mean()) if len(best) and not options.guided else float("nan")
        return Decisions(before, asked, after, actions, gains, explored, mean)

    def guide_choices(self, rows: Array) -> Floats:
        """Returns the guide's choices in rows as one-hot rows, [n, A]."""
        actions, one_hot = np.zeros(len(rows), np.int64), np.zeros((len(rows), self.width))
        choose = self.guide.choose_actions
        stoppable(
            lambda: choose(self.guide_table, rows, self.options.guide_depth, actions, self.guide_T), self.guide_T.stop
        )
        one_hot[np.arange(len(rows)), actions] = 1.0
        return one_hot

    def legal_mask(self, rows: Array) -> NDArray[np.int8]:
        """Returns the mask of legal actions of rows, [n, A]."""
        mask = np.zeros((len(rows), self.width), dtype=np.int8)
        self.kernels.mask_actions(self.table, rows, mask, self.T)
        return mask


class JobResult(NamedTuple):
    """Result of a job: its decisions, the state of its games, and the counters of the table."""

    decisions: list[Decisions]
    rows: Array
    streams: Words
    counts: Ints


def play_steps(
    player: Ref[QPlayer], networks: Ref[Mapping[str, Learned]], rows: Array, streams: Words, steps: int,
    options: QPlayOptions, key: int,
) -> JobResult:  # fmt: skip
    """Job: plays a number of decisions in each of some games."""
    worker, network = player.get(), networks.get()["newest"]
    module, rng = network.kind.torch_module(network), np.random.default_rng(key)
    rows, streams = rows.copy(), streams.copy()
    worker.table.counts[:] = 0
    decisions = [worker.step(network, module, rows, streams, options, rng) for _ in range(steps)]
    return JobResult(decisions, rows, streams, worker.table.counts.copy())
