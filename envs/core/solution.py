"""What an exact solver answers, the same for every room."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from leafwise.envs.core.game import Game
from leafwise.envs.core.state import State


@dataclass(frozen=True)
class Solution:
    """The exact answer to a position, for the player to move; partial if the solver was stopped."""

    value: int | None
    """1 win, 0 draw, -1 loss; None where stopped before it was known."""
    score: int | None
    """How soon, in the room's convention; None in games that define none, or where stopped before it was known."""
    best_actions: tuple[str, ...] = ()
    """Every action that keeps the value (and the score, where there is one), by id; with "none" asked, just one."""
    action_values: dict[str, int] = field(default_factory=dict)
    """Action -> what it is worth, in the unit of `value`."""
    action_scores: dict[str, int] | None = None
    """Action -> its score, where the game defines one."""
    line: tuple[str, ...] = ()
    """Best play from here to the end."""
    nodes: int = 0
    """Positions visited."""
    depth: int = 0
    """Plies of `line`."""
    seconds: float = 0.0
    bounds: tuple[int, int] = (-1, 1)
    """Lowest and highest score (or value) that is still possible."""
    complete: bool = True
    """False where stopped before everything that was asked for was known."""


ASKS = ("none", "best", "all")
"""What a solver may be asked of each action, by number."""


def checked_ask(game: Game, state: State, actions: str) -> int:
    """Returns the number of `actions` in ASKS; raises ValueError for an unknown one, or for another game's state."""
    if state.game != game:
        raise ValueError(f"solver of {game!r}: expected a position of this game, got {state!r}")
    if actions not in ASKS:
        raise ValueError(f"expected actions among {', '.join(ASKS)}, got {actions!r}")
    return ASKS.index(actions)


class Solver(Protocol):
    """An exact solver with memory of its own: one position at a time, many after one another."""

    stop: NDArray[np.uint8]
    """Set `stop[0] = 1`, from another thread, to end the search within some thousand nodes."""

    def solve(self, state: State, actions: str = "all") -> Solution:
        """Solves a position; `actions` says what is asked of each action: "all" values, the "best" only, or "none".

        Raises ValueError for a position of another game or an unknown `actions`.
        """

    def known(self) -> dict[str, Any]:
        """Returns what the search under way knows: `bounds` and `nodes`. Safe to call from another thread."""
