"""Exact solvers: their answers, the same for every game, and a player that uses one."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Annotated, Any, Protocol

import numpy as np
from numpy.typing import NDArray

from leafwise.envs.core.arrays import Array, Bytes, Ints
from leafwise.envs.core.contract.game import ExactSolver, Game
from leafwise.envs.core.contract.state import State
from leafwise.envs.core.contract.stream import below, new_stream, uniform
from leafwise.envs.core.errors import UserError, asked_of_plugin
from leafwise.envs.core.play.players import ByName
from leafwise.envs.core.ranges import Range, need_among, need_in, ranged


@dataclass(frozen=True)
class Solution:
    """The exact solution of a position, for the player to move; partial if the solver was stopped."""

    value: float | None
    """1 win, 0 draw, -1 loss, in between for games of chance; None if the solver stopped before it was known."""
    score: int | None
    """How soon the game ends, as the game counts it; None if the game does not count it, or the solver stopped before."""
    best_actions: tuple[str, ...] = ()
    """Every action that keeps the value (and the score, if there is one), by id. If `solve` was asked for no actions ("none"),
    only one of them."""
    action_values: Mapping[str, float] = field(default_factory=dict)
    """Action -> its value, in the unit of `value`."""
    action_scores: dict[str, int] | None = None
    """Action -> its score, if the game defines one."""
    line: tuple[str, ...] = ()
    """The principal variation to the end, or to the next chance stage."""
    nodes: int = 0
    """Positions visited."""
    depth: int = 0
    """Plies of `line`."""
    seconds: float = 0.0
    bounds: tuple[float, float] = (-1, 1)
    """Lowest and highest score (or value) that is still possible."""
    complete: bool = True
    """False if the solver stopped before everything asked for was known."""
    note: str = ""
    """What the values leave out, for people; "" if nothing."""

    @classmethod
    def of(cls, **fields: Any) -> Solution:
        """Returns a solution with all these fields, in a third of the constructor's time."""
        made = object.__new__(cls)
        made.__dict__.update(fields)
        return made


WORDS: dict[float, str] = {1: "win", 0: "draw", -1: "loss"}
"""The names of exact values."""
QUESTIONS = ("all", "best", "none", "move")
"""What a solver may be asked about actions; "move" asks for one best action, without the line after it."""


def check_question(game: Game, state: State, actions: str) -> None:
    """Raises ValueError for an unknown `actions`, or for a state of another game."""
    if not isinstance(state, State) or state.game != game:
        raise UserError(f"solver of {game!r}: expected a position of this game, got {state!r}")
    need_among(actions, QUESTIONS, "actions")


class Solver(Protocol):
    """An exact solver with its own memory: it solves one position at a time, many after one another."""

    game: Game
    stop: Bytes
    """Set `stop[0] = 1`, from another thread, to end the search within some thousand nodes."""

    def solve(self, state: State, actions: str = "all") -> Solution:
        """Solves a position; `actions` is the question about actions: "all" values, only the "best", or "none".

        "move" asks for the first action of the line, and saves computing the rest.

        Raises ValueError for a position of another game or an unknown `actions`.
        """

    def known(self) -> dict[str, Any]:
        """Returns what the running search knows so far: `bounds` and `nodes`. Safe to call from another thread."""


def exact_words(solution: Solution, state: State, solver: Solver) -> dict[str, str]:
    """Returns the value of each action in words: `win in 4`, counted in the winner's moves if the solver knows how soon."""
    soon, scores = getattr(solver, "moves_left", None), solution.action_scores or {}
    return {
        name: (WORDS.get(value) or f"{50 * (1 + value):.2f} %")
        + (f" in {soon(state, score)}" if soon and (score := scores.get(name)) else "")
        for name, value in solution.action_values.items()
    }


MOST_TABLE_MB = 65536
"""The largest solver table."""


def need_solver(game: Game) -> tuple[ExactSolver, float]:
    """Returns a game's solver and the least MB that it needs.

    Raises ValueError for a game without a solver, and for a variant that it does not solve.
    """
    solver = game.solver
    if solver is None:
        raise UserError(f"expected a game with an exact solver, got {game.name!r}")
    return solver, asked_of_plugin(lambda: solver.memory_mb(game.options))


def named(made: Callable[..., Any] | str) -> Callable[..., Any]:
    """Returns a function, given as it is or as MODULE:NAME."""
    if callable(made):
        return made
    module, _, name = made.partition(":")
    function: Callable[..., Any] = getattr(importlib.import_module(module), name)
    return function


@ranged()
def exact_solver(game: Game, table_mb: Annotated[float, Range(0, MOST_TABLE_MB, above=True, unit="MB")] = 64) -> Solver:
    """Returns the exact solver of a game, with its compiled code loaded and a table of at most `table_mb`.

    Raises ValueError for a game without a solver, or a table that is too small or too large for this machine.
    """
    solver, least = need_solver(game)
    need_in(table_mb, Range(least, unit="MB"), "a table", game.name)
    try:
        made: Solver = asked_of_plugin(lambda: named(solver.make)(game, table_mb))
        return made
    except MemoryError:
        raise UserError(f"expected a table that fits into memory, got one of {table_mb:,.0f} MB") from None


UNKNOWN = 2
"""The label of a row whose search reached its limit."""


class LabelSolver(Protocol):
    """Labels positions with exact outcomes, by a search with a limit of nodes and without an opening table."""

    def __call__(self, rows: Array, first: Ints, nodes: int) -> NDArray[np.int8]:
        """Returns the values of rows [n, width] for the player to move: 1, 0 or -1, or UNKNOWN.

        No row is finished. The rows belong to games one after another; `first` [n] is the number of the first row of each row's
        game. Within a game, all rows before the last one that needs more than `nodes` are unknown.
        """


def exact_labels(game: Game, table_mb: float) -> LabelSolver:
    """Returns the label solver of a game, with a table of at most `table_mb`; raises ValueError for a game without one."""
    return asked_of_plugin(lambda: labels_of(game)(game, table_mb))


def labels_of(game: Game) -> Any:
    """Returns the function that makes a game's label solver; raises ValueError for a game without one."""
    if game.solver is None or game.solver.labels is None:
        raise UserError(f"expected a game whose solver can be given a limit of nodes, got {game.name!r}")
    return named(game.solver.labels)


LEVELS = {"easy": 0.4, "medium": 0.15, "hard": 0.05, "best": 0.0}
"""Share of its moves that an easier player draws at random, the weakest level first."""


class SolverPlayer(ByName):
    """Plays the first action of the solver's line, or with a certain probability any legal one."""

    def __init__(
        self, game: Game, level: str = "best", seed: int = 0, table_mb: float = 64, name: str = "solver"
    ) -> None:
        """Makes the solver; raises ValueError for another level, or a variant that it does not solve.

        Args:
            level: how strongly it plays; every level but `best` draws a share of its moves at random.
        """
        need_among(level, LEVELS, "level", "solver")
        self.name = name
        self.solver = exact_solver(game, table_mb)
        self.blunder = LEVELS[level]
        self.stream = new_stream(seed)

    @property
    def draws(self) -> bool:
        """Whether some of its moves are random."""
        return self.blunder > 0

    def choose(self, state: State) -> int:
        """Returns the id of a legal action at a decision."""
        check_question(self.solver.game, state, "move")
        if state.is_terminal or state.is_chance:
            raise UserError(f"{self.name}: expected a decision, got {state!r}")
        if uniform(self.stream) < self.blunder:
            return state.legal_actions[int(below(self.stream, len(state.legal_actions)))]
        return self.solver.game.action(self.solver.solve(state, "move").line[0])


def solver_player(game: Game, name: str, words: list[str]) -> SolverPlayer:
    """Returns the player `solver`, or `solver:level=easy`; raises ValueError for other words, and without an exact solver."""
    options = dict(word.partition("=")[::2] for word in words)
    if set(options) - {"level"} or len(words) > 1:
        raise UserError(f"expected no option but level={'|'.join(LEVELS)}, got {','.join(words)!r}")
    return SolverPlayer(game, options.get("level", "best"), name=name)


class FunctionPlayer(ByName):
    """A player whose moves a function chooses."""

    def __init__(self, name: str, choose: Callable[[State], int]) -> None:
        self.name = name
        self.choose = choose
