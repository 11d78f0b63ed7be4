"""Anyone's program as a player: it reads a position on a line and answers with an action on a line."""

from __future__ import annotations

import shlex
import time
from collections.abc import Collection

from leafwise.envs.core import programs
from leafwise.envs.core.errors import UserError


class Program(programs.Program):
    """A program that gets a line of text for each question, and answers with the name of an action on a line.

    `seconds` counts the time that it takes, by the clock. What it prints to standard error is shown.
    """

    def __init__(self, command: str, patience: float = 60.0) -> None:
        """Starts it; raises ValueError if it cannot be started. An answer may take `patience` seconds."""
        self.text, self.patience, self.seconds = command, patience, 0.0
        try:
            super().__init__(shlex.split(command), shows=True)
        except (OSError, ValueError, IndexError) as problem:
            raise UserError(f"expected a command that starts, got {command!r} ({problem})") from None

    def choose(self, line: str, names: Collection[str], what: str = "an action") -> str:
        """Returns its answer to a line; raises ValueError where it is none of `names`, or none comes."""
        wanted, begun = f"expected {what} from {self.text!r} at {line or 'an empty line'}", time.perf_counter()
        try:
            name = self.ask_line(line, self.patience).strip()
        except programs.TimedOut:
            raise UserError(f"{wanted} within {self.patience:g} s, got none") from None
        except programs.Ended:
            raise UserError(f"{wanted}, got its end") from None
        self.seconds += time.perf_counter() - begun
        if name not in names:
            raise UserError(f"{wanted}, got {name[:80]!r}")
        return name
