"""What a search answers."""

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
    """What a search found. Values are for the player to move: `value` and `values` as the evaluator has them, `value_in_unit` and
    `action_values_in_unit` in what people count."""

    action: int | None
    """Id of the best action, the first of equals; None at a chance stage."""
    value: float
    values: dict[int, float]
    """Value of every legal root action, by id."""
    nodes: int
    """Decisions searched, the root included."""
    leaves: int
    depth: int
    seconds: float
    bounds: frozenset[int]
    """Ids of the root actions whose value is only an upper bound, or stood unasked when time was up (`all_values=False`)."""
    state: State = field(repr=False)
    _line_of: Callable[[Result], tuple[str, ...]] | None = field(repr=False, compare=False)
    """Finds the line; None where it is known, in what was pickled or copied."""
    _units_of: Callable[[Game], Meaning | None] | None = field(default=None, repr=False, compare=False)

    @cached_property
    def units(self) -> Meaning | None:
        """What the evaluator's values mean to people; None where that is not known, as for hand-made scores."""
        return None if self._units_of is None else self._units_of(self.state.game)

    @property
    def unit(self) -> str | None:
        """What `value_in_unit` counts: "expected final score", "chance to win"; None where nothing is known."""
        return None if self.units is None else self.units.name

    @property
    def value_in_unit(self) -> float | None:
        """What `value` means: the score to expect, a chance from 0 to 1; None where nothing is known."""
        return None if self.units is None else self.units(self.value)

    @property
    def action_values_in_unit(self) -> dict[str, float] | None:
        """What `action_values` mean, by name; None where nothing is known."""
        units = self.units
        return None if units is None else {name: units(value) for name, value in self.action_values.items()}

    @property
    def name(self) -> str | None:
        """Name of the best action."""
        return None if self.action is None else self.state.game.actions[self.action]

    @property
    def action_values(self) -> dict[str, float]:
        """Value of every legal root action, by name, as the evaluator has it."""
        return {self.state.game.actions[a]: v for a, v in self.values.items()}

    @cached_property
    def line(self) -> tuple[str, ...]:
        """The principal line: best actions, and what chance does most probably in between.

        Found when first asked for, or for a pickle or copy: after the first step by searches, each one shallower.
        """
        assert self._line_of is not None
        return self._line_of(self)

    def __getstate__(self) -> dict[str, Any]:
        return {**vars(self), "line": self.line, "_line_of": None}


def principal_line(state: State, action: int | None, answer: Callable[[State], int | None]) -> tuple[str, ...]:
    """Returns the names along a line of play: an action, what chance does most probably then, and so on by `answer`.

    `answer` says of a decision what is played there; the line ends with a game, or where an action is None.
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
    """What a Monte Carlo tree search found. The value of an action is the mean of its simulations, for the player to move,
    within what is proven of it.

    `depth` is the most actions on the way of one simulation. `line` are the actions taken most often; it is looked up when first
    asked for, or when the tree is about to change.
    """

    visits: dict[int, int] = field(default_factory=dict)
    """Simulations by action id, those of earlier searches included where the tree goes on."""
    simulations: int = 0
    """Simulations of this search."""
    proven: bool = False
    """Whether the value is exact, in a game without chance: no simulation could change it."""

    @property
    def chosen(self) -> int:
        """Id of the action; a tree search is asked for decisions alone."""
        assert self.action is not None
        return self.action

    @property
    def action_visits(self) -> dict[str, int]:
        """Simulations by action, by name."""
        return {self.state.game.actions[a]: n for a, n in self.visits.items()}
