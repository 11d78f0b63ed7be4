"""Exact solvers: what they answer, the same for every game, and the player made of one."""

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
    """The exact answer to a position, for the player to move; partial if the solver was stopped."""

    value: float | None
    """1 win, 0 draw, -1 loss, between them in games of chance; None where stopped before it was known."""
    score: int | None
    """How soon, in the room's convention; None in games that define none, or where stopped before it was known."""
    best_actions: tuple[str, ...] = ()
    """Every action that keeps the value (and the score, where there is one), by id; with "none" asked, just one."""
    action_values: Mapping[str, float] = field(default_factory=dict)
    """Action -> what it is worth, in the unit of `value`."""
    action_scores: dict[str, int] | None = None
    """Action -> its score, where the game defines one."""
    line: tuple[str, ...] = ()
    """Best play from here to the end, or to where chance acts."""
    nodes: int = 0
    """Positions visited."""
    depth: int = 0
    """Plies of `line`."""
    seconds: float = 0.0
    bounds: tuple[float, float] = (-1, 1)
    """Lowest and highest score (or value) that is still possible."""
    complete: bool = True
    """False where stopped before everything that was asked for was known."""
    note: str = ""
    """What the values leave out, for people; "" if nothing."""

    @classmethod
    def of(cls, **fields: Any) -> Solution:
        """Returns a solution with all these fields, in a third of the time that the constructor takes."""
        made = object.__new__(cls)
        made.__dict__.update(fields)
        return made


WORDS: dict[float, str] = {1: "win", 0: "draw", -1: "loss"}
"""What exact values are called."""
QUESTIONS = ("all", "best", "none", "move")
"""What a solver may be asked of each action; "move" asks for one best action, without the line that follows it."""


def check_question(game: Game, state: State, actions: str) -> None:
    """Raises ValueError for an unknown `actions`, or a state of another game."""
    if state.game != game:
        raise UserError(f"solver of {game!r}: expected a position of this game, got {state!r}")
    need_among(actions, QUESTIONS, "actions")


class Solver(Protocol):
    """An exact solver with memory of its own: one position at a time, many after one another."""

    game: Game
    stop: Bytes
    """Set `stop[0] = 1`, from another thread, to end the search within some thousand nodes."""

    def solve(self, state: State, actions: str = "all") -> Solution:
        """Solves a position; `actions` says what is asked of each action: "all" values, the "best" only, or "none".

        "move" asks for the first action of the line, and spares the rest of it.

        Raises ValueError for a position of another game or an unknown `actions`.
        """

    def known(self) -> dict[str, Any]:
        """Returns what the search under way knows: `bounds` and `nodes`. Safe to call from another thread."""


def exact_words(solution: Solution, state: State, solver: Solver) -> dict[str, str]:
    """Returns what each action is worth in words: `win in 4` of the winner's moves, where the solver knows how soon."""
    soon, scores = getattr(solver, "moves_left", None), solution.action_scores or {}
    return {
        name: (WORDS.get(value) or f"{50 * (1 + value):.2f} %")
        + (f" in {soon(state, score)}" if soon and (score := scores.get(name)) else "")
        for name, value in solution.action_values.items()
    }


MOST_TABLE_MB = 65536
"""Most memory for a solver's table."""


def need_solver(game: Game) -> tuple[ExactSolver, float]:
    """Returns a game's solver and the least MB that it takes.

    Raises ValueError for a game that has none, and for a variant that it does not solve.
    """
    solver = game.solver
    if solver is None:
        raise UserError(f"expected a game with an exact solver, got {game.name!r}")
    return solver, asked_of_plugin(lambda: solver.memory_mb(game.options))


def named(made: Callable[..., Any] | str) -> Callable[..., Any]:
    """Returns a function that is given as it is or by where it is, MODULE:NAME."""
    if callable(made):
        return made
    module, _, name = made.partition(":")
    found: Callable[..., Any] = getattr(importlib.import_module(module), name)
    return found


@ranged()
def exact_solver(game: Game, table_mb: Annotated[float, Range(0, MOST_TABLE_MB, above=True, unit="MB")] = 64) -> Solver:
    """Returns the exact solver of a game, with its compiled code loaded and a table of at most `table_mb`.

    Raises ValueError for a game that has none, or a table that is too small or too large for this machine.
    """
    solver, least = need_solver(game)
    need_in(table_mb, Range(least, unit="MB"), "a table", game.name)
    try:
        made: Solver = asked_of_plugin(lambda: named(solver.make)(game, table_mb))
        return made
    except MemoryError:
        raise UserError(f"expected a table that fits into memory, got one of {table_mb:,.0f} MB") from None


UNKNOWN = 2
"""What `Labels` say of a row whose search was given up."""


class Labels(Protocol):
    """Exact outcomes of positions that a search of so many nodes solves, without an opening table."""

    def __call__(self, rows: Array, first: Ints, nodes: int) -> NDArray[np.int8]:
        """Returns what rows [n, width] are worth to the player to move: 1, 0 or -1, or UNKNOWN.

        None is finished. They are of games one after another, `first` [n] the number of each one's first row; of a game those
        before the last that takes more than `nodes` are unknown.
        """


def exact_labels(game: Game, table_mb: float) -> Labels:
    """Returns the labels of a game whose room has some, with a table of at most `table_mb`; raises ValueError for others."""
    return asked_of_plugin(lambda: labels_of(game)(game, table_mb))


def labels_of(game: Game) -> Any:
    """Returns what makes the labels of a game; raises ValueError for a game that has none."""
    if game.solver is None or game.solver.labels is None:
        raise UserError(f"expected a game whose solver can be given a limit of nodes, got {game.name!r}")
    return named(game.solver.labels)


LEVELS = {"easy": 0.4, "medium": 0.15, "hard": 0.05, "best": 0.0}
"""Share of its moves that an easier player draws at random, the weakest first."""


class SolverPlayer(ByName):
    """Plays a best action, the first of them on the solver's line, or with a certain share any legal one."""

    def __init__(
        self, game: Game, level: str = "best", seed: int = 0, table_mb: float = 64, name: str = "solver"
    ) -> None:
        """Makes the solver; raises ValueError for another level, or a variant that it does not solve.

        Args:
            level: how strongly it plays; all but the best draw a share of their moves at random.
        """
        need_among(level, LEVELS, "level", "solver")
        self.name = name
        self.solver = exact_solver(game, table_mb)
        self.blunder = LEVELS[level]
        self.stream = new_stream(seed)

    @property
    def draws(self) -> bool:
        """Whether some of its moves are drawn."""
        return self.blunder > 0

    def choose(self, state: State) -> int:
        """Returns the id of a legal action at a decision."""
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
    """Plays what a function chooses."""

    def __init__(self, name: str, choose: Callable[[State], int]) -> None:
        self.name = name
        self.choose = choose
