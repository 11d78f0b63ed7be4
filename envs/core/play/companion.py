"""How people follow a game that is played elsewhere: on a phone, or at a table."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from leafwise.envs.core.contract.game import Game
from leafwise.envs.core.contract.state import State

Ask = Callable[[str, Callable[[str], object]], str | None]
"""(prompt, check) -> the first line typed that `check` takes without a ValueError; None to quit."""


@dataclass(frozen=True)
class Companion:
    """A room's part in `leafwise play GAME --assist`: the person types what happened there, and gets the next action."""

    help: str
    """Lines that say what the person types after each action."""
    begin: Callable[[Game, Ask, Callable[[str], None]], State | None]
    """(game, ask, say) -> the position that the person types field by field; None to quit."""
    check: Callable[[State], State]
    """Returns a position that can be followed; raises ValueError for any other that is no decision."""
    advice: Callable[[State, str], str]
    """(state, best action) -> the line that tells a person what to do, and what to expect."""
    follow: Callable[[State, str, str], State]
    """(state, best action, what the person typed) -> the next position; raises ValueError that says what could have been."""
    ending: Callable[[State], str]
    """What is said of a finished game."""
