"""What a search answers."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from leafwise.envs.core.contract.state import State
from leafwise.search.copies import Again

ROOT = np.uint64(0)


@dataclass(frozen=True)
class Result:
    """What a search found. Values are for the player to move, in the evaluator's unit."""

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
    _follow: Callable[[], Again] | None = field(repr=False, compare=False)
    """Finds what the line is searched by; None once the line is known, in what was pickled or copied."""

    @property
    def name(self) -> str | None:
        """Name of the best action."""
        return None if self.action is None else self.state.game.actions[self.action]

    @property
    def action_values(self) -> dict[str, float]:
        """Value of every legal root action, by name."""
        return {self.state.game.actions[a]: v for a, v in self.values.items()}

    @cached_property
    def line(self) -> tuple[str, ...]:
        """The principal line: best actions, and what chance does most probably in between.

        Searched when first asked for, or for a pickle or copy: every step after the first costs a search one shallower.
        """
        names: list[str] = []
        assert self._follow is not None
        search = self._follow()
        state, step, depth = self.state, self, self.depth
        while depth > 0 and step.action is not None:
            names.append(state.game.actions[step.action])
            cost = int(state.game.rules.action_cost(state._rows(), ROOT, step.action, state.game._thread_tables))
            state, depth = state.play(step.action), depth - cost
            while state.is_chance:
                before, (_, state) = state, max(state.outcomes(), key=lambda outcome: outcome[0])
                names.append(state.game.text.outcome_name(before.row, state.row, state.game._thread_tables))
            if state.is_terminal or depth <= 0:
                break
            step = search.again(state, depth)
        return tuple(names)

    def __getstate__(self) -> dict[str, Any]:
        return {**vars(self), "line": self.line, "_follow": None}
