"""`leafwise.check_game`: plays a game in builds that check every index, and says which promise it breaks."""

from __future__ import annotations

import math
import os
import tempfile
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from leafwise.envs.core.check import answers, source
from leafwise.envs.core.check.fault import ContractError, RuleFault
from leafwise.envs.core.check.process import INSIDE, Limits, run
from leafwise.envs.core.check.twin import GameTwin
from leafwise.envs.core.contract.game import Game

PLAIN_SHARE = 0.4
"""Share of the time for plain Python, which says more but sees fewer positions."""
COMPARED = 200
"""Positions at which the builds, and a twin, are compared."""


@dataclass(frozen=True)
class Checked:
    """A game that kept its contract."""

    positions: int
    """Different positions that were checked; 0 in a process that checks already."""

    def __str__(self) -> str:
        return f"ok, {self.positions:,} positions"


def check_game(
    game: Game,
    seconds: float = 10.0,
    *,
    twin: Any = None,
    positions: Iterable[str] = (),
    gigabytes: float = 4.0,
    call_seconds: float = 60.0,
) -> Checked:
    """Holds a game to its contract; prints "ok, 12,345 positions", or raises ContractError for the first promise it breaks.

    Plays enumerated and random lines for about `seconds` of processor time, in processes of its own: as plain Python on arrays
    that refuse every wrong index, compiled with every index checked, and compiled as it is played; the three are to
    answer the same. Compiling comes on top. Nothing is written outside the arrays of these processes, whatever a rule does.

    `twin` is the same game again: another `Game`, or an object of plain Python with `read(text)`, which gives a position, and of a
    position `player` ("first", "second", "chance", "nobody"), `legal` (action names), `play(position, name)`, `outcomes` (pairs of
    probability and position), `returns` and `write`, which gives the text. `positions` are texts to look at besides.

    A process may use `gigabytes` of memory (0.5 or more), and `call_seconds` for one call of a rule. The game must stand under a
    name in its module: a file, a package, a script or a notebook. Raises ValueError for numbers that cannot be.
    """
    if not isinstance(game, Game):
        raise ValueError(f"check_game: expected a Game, got {type(game).__name__}")
    given = {"seconds": (seconds, 0.1), "gigabytes": (gigabytes, 0.5), "call_seconds": (call_seconds, 0.1)}
    for name, (number, least) in given.items():
        if not (isinstance(number, (int, float)) and math.isfinite(number) and number >= least):
            raise ValueError(f"check_game: expected {name} of {least:g} or more, got {number!r}")
    if not (twin is None or isinstance(twin, Game) or hasattr(twin, "read")):
        raise ValueError(f"check_game: expected a twin, a Game or an object with read, got {type(twin).__name__}")
    if os.environ.get(INSIDE):
        return Checked(0)
    with tempfile.TemporaryDirectory(prefix="leafwise-check-") as name:
        check = _Check(game, source.origin(game, Path(name)), Path(name), Limits(gigabytes, call_seconds), twin)
        checked = check.run(seconds, list(positions))
    print(checked)
    return checked


@dataclass(frozen=True)
class _Check:
    """One game, and where its processes work."""

    game: Game
    origin: dict[str, Any]
    folder: Path
    limits: Limits
    twin: Any

    def run(self, seconds: float, texts: list[str]) -> Checked:
        """Checks the builds one after the other."""
        if self.twin is not None and not isinstance(self.twin, Game) and not hasattr(self.twin, "read"):
            raise ValueError(
                f"check_game: expected a twin, a Game or an object with read, got {type(self.twin).__name__}"
            )
        plain = self._one("plain", seconds=PLAIN_SHARE * seconds, texts=texts, wanted=COMPARED)
        if self.twin is not None:
            twin = GameTwin(self.twin) if isinstance(self.twin, Game) else self.twin
            for told in plain["twins"]:
                self._do(answers.compare_with_twin, told, twin)
        same = {"expected": plain["answers"]}
        checked = self._one("checked", seconds=(1 - PLAIN_SHARE) * seconds, texts=texts, **same)
        self._one("compiled", seconds=0.0, **same)
        return Checked(max(plain["positions"], checked["positions"]))

    def _one(self, build: str, **task: Any) -> dict[str, Any]:
        """Returns the result of one build; raises ContractError for a fault."""
        (result,) = run([{"origin": self.origin, "task": task}], build, self.folder, self.limits)
        if (
            build == "checked"
            and "fault" in result
            and result["fault"]["row"]
            and "IndexError" in result["fault"]["told"]
        ):
            again = {"origin": self.origin, "task": {"seconds": 0.0, "rows": [result["fault"]["row"]]}}
            (told,) = run([again], "plain", self.folder, self.limits)  # which array it was
            result = told if "fault" in told else result
        return settled(self.game.name, result)

    def _do(self, check: Any, *arguments: Any) -> None:
        try:
            check(*arguments)
        except RuleFault as fault:
            raise ContractError(fault.line(self.game.name)) from None


def settled(name: str, result: dict[str, Any]) -> dict[str, Any]:
    """Returns a result of a process that found no fault; raises ContractError for a fault, RuntimeError for one of ours."""
    if "error" in result:
        raise RuntimeError(f"check_game failed:\n{result['error']}")
    if "problem" in result:
        raise ContractError(f"{name}: {result['problem']}")
    if "fault" in result:
        raise ContractError(RuleFault.from_json(result["fault"]).line(name))
    return result
