"""The results of searches."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from leafwise.envs.core.contract.evaluator import Meaning
from leafwise.envs.core.contract.game import Game
from leafwise.envs.core.contract.state import State


@dataclass(frozen=True)
class Result:
    """What a search found. All values are for the player to move.

    `value` and `values` are in the evaluator's own scale. `value_in_unit` and `action_values_in_unit` are in a unit that people
    use.
    """

    action: int | None
    """Id of the best action, the lowest of equals; None at a chance node."""
    value: float
    values: dict[int, float]
    """Value of every legal root action, by id."""
    nodes: int
    """Decisions searched, the root included."""
    leaves: int
    depth: int
    seconds: float
    bounds: frozenset[int]
    """Ids of the root actions whose value is only an upper bound, or comes from a smaller depth because the time was up (only
    with `all_values=False`)."""
    state: State = field(repr=False)
    _line_of: Callable[[Result], tuple[str, ...]] | None = field(repr=False, compare=False)
    """Finds the principal variation; None in a pickle or copy, which holds it."""
    _units_of: Callable[[Game], Meaning | None] | None = field(default=None, repr=False, compare=False)

    @cached_property
    def units(self) -> Meaning | None:
        """What the evaluator's values mean to people; None if unknown, as for hand-made scores."""
        return None if self._units_of is None else self._units_of(self.state.game)

    @property
    def unit(self) -> str | None:
        """The unit of `value_in_unit`: "expected final score", "chance to win"; None if unknown."""
        return None if self.units is None else self.units.name

    @property
    def value_in_unit(self) -> float | None:
        """`value` in that unit: an expected score, or a chance from 0 to 1; None if unknown."""
        return None if self.units is None else self.units(self.value)

    @property
    def action_values_in_unit(self) -> dict[str, float] | None:
        """`action_values` in that unit, by name; None if unknown."""
        units = self.units
        return None if units is None else {name: units(value) for name, value in self.action_values.items()}

    @property
    def name(self) -> str | None:
        """Name of the best action."""
        return None if self.action is None else self.state.game.actions[self.action]

    @property
    def action_values(self) -> dict[str, float]:
        """Value of every legal root action, by name, in the evaluator's unit."""
        return {self.state.game.actions[a]: v for a, v in self.values.items()}

    @cached_property
    def line(self) -> tuple[str, ...]:
        """The principal variation: best actions, and the most probable outcomes of chance in between.

        It is computed when you first read it, or when you pickle or copy the result. Each step after the first needs another,
        shallower search.
        """
        assert self._line_of is not None
        return self._line_of(self)

    def __getstate__(self) -> dict[str, Any]:
        return {**vars(self), "line": self.line, "_line_of": None}


def principal_variation(state: State, action: int | None, answer: Callable[[State], int | None]) -> tuple[str, ...]:
    """Returns the names along a line of play: an action, the most probable outcomes of chance, the next action, and so on.

    `answer` returns the action of a decision; the line ends with the game, or where it returns None.
    """
    names: list[str] = []
    while action is not None:
        names.append(state.game.actions[action])
        state = state.play(action)
        while state.is_chance:
            before, (_, state) = state, max(state.outcomes(), key=lambda outcome: outcome[0])
            names.append(before.outcome_name(state))
        action = None if state.is_terminal else answer(state)
    return tuple(names)


@dataclass(frozen=True)
class MctsResult(Result):
    """What a Monte Carlo tree search found. An action's value is the mean of its simulations, within its proven bounds.

    Values are for the player to move. `depth` is the largest number of actions in one simulation. `line` has the most visited
    actions. It is computed when you first read it, or just before the tree changes.
    """

    visits: dict[int, int] = field(default_factory=dict)
    """Visits by action id, with those of earlier searches if the tree was kept."""
    simulations: int = 0
    """Simulations of this search."""
    proven: bool = False
    """Whether the value is exact, in a game without chance: no simulation could change it."""

    @property
    def chosen(self) -> int:
        """Id of the action, which a tree search always has."""
        assert self.action is not None
        return self.action

    @property
    def action_visits(self) -> dict[str, int]:
        """Visits by action name."""
        return {self.state.game.actions[a]: n for a, n in self.visits.items()}
