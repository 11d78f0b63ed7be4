"""Hints for people who play: the value of every move, exact where the game has a solver, else by search."""

from __future__ import annotations

import threading

from leafwise.cli import value_lines
from leafwise.commands.solve import WORDS
from leafwise.envs.core.contract.game import Game
from leafwise.envs.core.contract.state import State
from leafwise.envs.core.errors import UserError
from leafwise.envs.core.play.solver import Solution, Solver, exact_solver
from leafwise.models.units import Units
from leafwise.search import Search

PATIENCE = 10.0
"""Seconds that the exact solver gets for a hint; after them the search answers."""


def solver_of(game: Game) -> Solver | None:
    """Returns the exact solver of a game; None if it has none, or none for this variant."""
    try:
        return exact_solver(game)
    except UserError:
        return None


class Hints:
    """The values of all moves of a position, as lines for people."""

    def __init__(
        self,
        game: Game,
        search: Search,
        *,
        exact: bool,
        solver: Solver | None = None,
        units: Units | None = None,
        no_units: str = "",
    ) -> None:
        """`exact`: whether to ask the game's solver first; `solver` is one that is at hand already; `units` are the search's, and
        `no_units` a line that says why there are none."""
        self.game, self.search, self.exact, self.solver, self.units = game, search, exact, solver, units
        self.no_units = no_units

    def __call__(self, state: State) -> list[str]:
        """Returns one line per move, best first, and who says so."""
        by_search = f"  by search, depth {{}}, leaf {self.search.evaluator.name}"
        if self.exact and self.solver is None:
            self.solver = solver_of(self.game)
            self.exact = self.solver is not None
        if self.exact and self.solver is not None:
            solution = solve_in_time(self.solver, state, PATIENCE)
            if solution.complete:
                note = f", {solution.note}" if solution.note else ""
                return [*solution_lines(solution), f"  exact, by the solver{note}"]
            by_search += f"; the exact solver needs more than {PATIENCE:.0f} s here"
        result = self.search(state)
        why = [f"  {self.no_units}"] if self.no_units else []
        return [*value_lines(result, self.units), *why, by_search.format(result.depth)]


def solve_in_time(solver: Solver, state: State, seconds: float) -> Solution:
    """Returns the values of all moves, or what was known of them when the time was up."""

    def stop() -> None:
        solver.stop[0] = 1

    timer = threading.Timer(seconds, stop)
    timer.daemon = True
    timer.start()
    try:
        return solver.solve(state)
    finally:
        timer.cancel()


def solution_lines(solution: Solution) -> list[str]:
    """Returns one line per move, best first: what it is worth, and how soon where the game defines that."""
    order = solution.action_scores or solution.action_values
    width = max(map(len, order), default=0)
    lines = []
    for name in sorted(order, key=lambda name: -order[name]):
        value = solution.action_values[name]
        soon = f"  {solution.action_scores[name]:+3d}" if solution.action_scores and value else ""
        best = "  best" if name in solution.best_actions else ""
        lines.append(f"  {name:<{width}}  {WORDS.get(value) or f'{value:+.4f}':<4}{soon}{best}")
    return lines
