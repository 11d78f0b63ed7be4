"""How a player gives a game away."""

from __future__ import annotations

from leafwise.envs.core.errors import UserError


class Forfeit(UserError):
    """Raised by a player that has lost without an action: out of time, an illegal answer, a crash. The message says why.

    `report` has more lines for who wrote the player: the traceback, the position.
    """

    def __init__(self, message: str, report: tuple[str, ...] = ()) -> None:
        super().__init__(message)
        self.report = report
