"""Compares play with a game's exact solver: the share of decisions in which a choice keeps the game's value.

For evaluation only: no network trains on these labels.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import count, islice
from typing import Any

import numpy as np

from leafwise.envs.core.arrays import Array, Bools, Ints
from leafwise.envs.core.contract.evaluator import Evaluator
from leafwise.envs.core.contract.game import Game
from leafwise.envs.core.contract.state import State
from leafwise.envs.core.contract.stream import below, new_stream
from leafwise.envs.core.errors import UserError
from leafwise.envs.core.play.solver import Solver, exact_solver, need_solver
from leafwise.models.sparse import BLOCK, SparseNetwork
from leafwise.search.engine import Search
from leafwise.training.execution.executor import Executor, SerialExecutor
from leafwise.training.games import kernels, new_table
from leafwise.training.runs import SELECTION_SEED

TABLE_MB = 256.0
"""Maximum memory of a solver's table, in MB."""
PIECE = 5
"""Number of positions that one job solves."""


@dataclass(frozen=True)
class SolvedPositions:
    """Decisions with the actions that keep their value, by the exact solver."""

    game: Game
    rows: Array
    keeps: Bools
    """[n, A]: whether an action keeps the value of the position."""

    def kept(self, actions: Ints) -> Bools:
        """Returns whether each choice keeps the value."""
        return self.keeps[np.arange(len(actions)), actions]

    def choices(self, evaluator: Evaluator, depth: int, seed: int = 0) -> Ints:
        """Returns the choices of a search to `depth` in the positions, [n]; ties are broken from `seed`."""
        actions = np.zeros(len(self.rows), np.int64)
        if evaluator.value is None:  # the evaluator takes batches
            search = Search(self.game, evaluator, depth)
            return np.array([search(State.unchecked(self.game, row)).action for row in self.rows])
        table = new_table(self.game, depth, seed, evaluator)
        kernels(self.game, evaluator).choose_actions(table, self.rows, depth, actions, self.game.tables(evaluator))
        return actions

    def share(self, evaluator: Evaluator, depth: int = 1) -> float:
        """Returns the share of positions in which a search keeps the value."""
        return float(self.kept(self.choices(evaluator, depth)).mean())


DecisionPath = tuple[State, tuple[int, ...]]
"""A decision and the actions that led to it."""


def _lines(game: Game, stream: Any, plies: tuple[int, int], choose: Callable[[State], int]) -> Iterator[DecisionPath]:
    """Yields decisions without end, one from each game, after a random number of actions within `plies`."""
    low, high = plies
    while True:
        state, actions = game.start().settle(stream), []
        for _ in range(low + int(below(stream, high - low + 1))):
            if not state.is_terminal:
                actions.append(choose(state))
                state = state.play(actions[-1]).settle(stream)
        if not state.is_terminal:
            yield state, tuple(actions)


def random_lines(game: Game, seed: int, plies: tuple[int, int]) -> Iterator[DecisionPath]:
    """Yields decisions without end, one from each game, after a random number of random actions within `plies`."""
    stream = new_stream(seed)
    return _lines(game, stream, plies, lambda state: state.legal_actions[int(below(stream, len(state.legal_actions)))])


def played_lines(game: Game, seed: int, plies: tuple[int, int], depth: int) -> Iterator[DecisionPath]:
    """Yields decisions without end, one from each game, between two searches to `depth` without an evaluation.

    They search with a leaf that is always 0 and break ties at random: they win or block what they see, and else move at
    random. `game` has sparse features.
    """
    blank = SparseNetwork.create(game, (BLOCK,)).evaluator("blank")
    run, T, table = kernels(game, blank), game.tables(blank), new_table(game, depth, seed)
    action = np.zeros(1, np.int64)

    def choose(state: State) -> int:
        run.choose_actions(table, state.row[None], depth, action, T)
        return int(action[0])

    return _lines(game, new_stream(seed), plies, choose)


def random_positions(game: Game, seed: int, plies: tuple[int, int]) -> Iterator[State]:
    """Yields the decisions of `random_lines`."""
    return (state for state, _ in random_lines(game, seed, plies))


def value_keeping(solver: Solver, state: State) -> Bools:
    """Returns which actions [A] keep the value of a decision."""
    solution = solver.solve(state)
    return np.array([solution.action_values.get(name) == solution.value for name in solver.game.actions])


def has_solver(game: Game) -> bool:
    """Whether the game has an exact solver that fits this variant into `TABLE_MB`."""
    try:
        return need_solver(game)[1] <= TABLE_MB
    except UserError:
        return False


def solved_positions(game: Game, n: int, plies: tuple[int, int], depth: int = 0) -> SolvedPositions | None:
    """Returns n critical positions for a run's evaluations; None for n = 0 or a variant without an exact solver."""
    return critical_positions(game, n, SELECTION_SEED, plies, depth) if n and has_solver(game) else None


@dataclass(frozen=True)
class SolverJob:
    """Computes which actions keep the value of decisions; each process creates its own solver."""

    game: Game

    @cached_property
    def solver(self) -> Solver:
        """The solver."""
        return exact_solver(self.game, TABLE_MB)

    def __call__(self, states: Sequence[State]) -> list[Bools]:
        """Returns which actions [A] keep the value of each decision."""
        return [value_keeping(self.solver, state) for state in states]


def critical_positions(
    game: Game, n: int, seed: int, plies: tuple[int, int], depth: int = 0, executor: Executor[Any, Any] | None = None
) -> SolvedPositions:
    """Returns n different decisions in which some legal actions, but not all, lose value.

    They come after random actions, or with a `depth` from games of `played_lines`. `executor` works with a `SolverJob` of the game
    (default: this process); it does not change the result.
    """
    critical: dict[bytes, tuple[Array, Bools]] = {}
    lines = played_lines(game, seed, plies, depth) if depth else random_lines(game, seed, plies)
    states = (state for state, _ in lines)
    executor = executor or SerialExecutor(SolverJob(game))
    pending: deque[list[State]] = deque()

    def pieces() -> Iterator[tuple[int, list[State]]]:
        for number in count():
            pending.append(list(islice((s for s in states if s.row.tobytes() not in critical), PIECE)))
            yield number, pending[-1]

    for keeps in executor.in_order(pieces()):
        for state, keep in zip(pending.popleft(), keeps, strict=True):
            if keep.sum() < len(state.legal_actions) and len(critical) < n:
                critical.setdefault(state.row.tobytes(), (state.row, keep))
        if len(critical) == n:
            break
    executor.cancel()
    rows, masks = zip(*critical.values(), strict=True)
    return SolvedPositions(game, np.array(rows), np.array(masks))
