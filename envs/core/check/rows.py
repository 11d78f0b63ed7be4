"""Rows that come from outside, where a game does not say which are valid: the rules read each once as plain Python first.

They get arrays that refuse every index outside and every negative one, and are held to all that `check_game` asks of a position.
Only what passes is shown to compiled code.
"""

from __future__ import annotations

import sys
from dataclasses import replace
from random import Random
from types import FrameType
from typing import TYPE_CHECKING, Any

from leafwise.envs.core.check.acting import image
from leafwise.envs.core.check.door import Door, Row
from leafwise.envs.core.check.fault import RuleFault
from leafwise.envs.core.check.guards import Misuse
from leafwise.envs.core.check.position import Checker
from leafwise.envs.core.check.subject import subject_of
from leafwise.envs.core.compile.plain import PlainForms

if TYPE_CHECKING:
    from leafwise.envs.core.contract.game import Game

MOST_LINES = 3_000_000
"""Lines of the rules' code that may run for one row: rules that would never end stop here, after some seconds."""
SYMMETRIES = 9
"""Symmetries below which a row is also transformed, without a look at what comes of it."""


class RowReader:
    """The rules of a game as plain Python."""

    def __init__(self, game: Game) -> None:
        subject, self._forms = subject_of(game), PlainForms()
        rules = {name: self._forms.of(rule) for name, rule in subject.rules.items()}
        self._symmetries = range(1, min(subject.symmetries, SYMMETRIES))
        self._subject = replace(subject, rules=rules, symmetries=1)

    def fault(self, row: Row) -> RuleFault | None:
        """Returns which promise the rules break at a row, None if they can read it and go on from it."""
        door = Door(self._subject, None, guarded=True)
        before = sys.gettrace()
        sys.settrace(_Budget(self._forms.codes))
        try:
            Checker(door, Random(0)).check(row)
            for k in self._symmetries:
                image(door, row, k)
        except RuleFault as fault:
            return fault
        finally:
            sys.settrace(before)
        return None


class _Budget:
    """A trace function that counts the lines of some functions, and raises Misuse after too many."""

    def __init__(self, codes: set[Any]) -> None:
        self.codes, self.left = codes, MOST_LINES

    def __call__(self, frame: FrameType, event: str, argument: Any) -> Any:
        return self._line if frame.f_code in self.codes else None

    def _line(self, frame: FrameType, event: str, argument: Any) -> Any:
        self.left -= 1
        if self.left < 0:
            raise Misuse(f"expected an answer within {MOST_LINES:,} lines, got none")
        return self._line
