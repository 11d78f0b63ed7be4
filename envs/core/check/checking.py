"""`leafwise.check_game`: plays a game in a process that checks every index, and says which promise it breaks."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

from leafwise.envs.core.check import answers, source
from leafwise.envs.core.check.door import RuleFault
from leafwise.envs.core.check.inspection import CHECKED, PLAIN, PLAYED
from leafwise.envs.core.check.process import INSIDE, Limits, run
from leafwise.envs.core.check.source import ContractError
from leafwise.envs.core.contract.game import Game
from leafwise.envs.core.errors import UserError
from leafwise.envs.core.ranges import Range, ranged

PLAIN_SHARE = 0.4
"""Share of the time for plain Python, which says more but sees fewer positions."""


@dataclass(frozen=True)
class Checked:
    """A game that kept its contract."""

    positions: int
    """Different positions that were checked; 0 in a process that checks already."""

    def __str__(self) -> str:
        return f"ok, {self.positions:,} positions"


Seconds = Annotated[float, Range(0.1, 1_000_000)]


@ranged("check_game")
def check_game(
    game: Game,
    seconds: Seconds = 10.0,
    *,
    twin: Any = None,
    positions: Iterable[str] = (),
    gigabytes: Annotated[float, Range(0.5, 1_000_000)] = 4.0,
    call_seconds: Seconds = 60.0,
) -> Checked:
    """Holds a game to its contract; prints "ok, 12,345 positions", or raises ContractError for the first promise it breaks.

    Plays enumerated and random lines for about `seconds` of processor time, in a process of its own: as plain Python on arrays
    that refuse every wrong index, compiled with every index checked, and compiled as it is played; the three are to
    answer the same. Compiling comes on top. Nothing is written outside the arrays of that process, whatever a rule does.

    `twin` is the same game again: another `Game`, or an object of plain Python with `read(text)`, which gives a position, and of a
    position `player` ("first", "second", "chance", "nobody"), `legal` (action names), `play(position, name)`, `outcomes` (pairs of
    probability and position), `returns` and `write`, which gives the text. `positions` are texts to look at besides.

    It may use `gigabytes` of memory (0.5 or more), and `call_seconds` for one call of a rule. The game must stand under a
    name in its module: a file, a package, a script or a notebook. Raises ValueError for numbers that cannot be.
    """
    if not isinstance(game, Game):
        raise UserError(f"check_game: expected a Game, got {type(game).__name__}")
    if not (twin is None or isinstance(twin, Game) or hasattr(twin, "read")):
        raise UserError(f"check_game: expected a twin, a Game or an object with read, got {type(twin).__name__}")
    if os.environ.get(INSIDE):
        return Checked(0)
    times = {PLAIN: PLAIN_SHARE * seconds, CHECKED: (1 - PLAIN_SHARE) * seconds, PLAYED: 0.0}
    task = {"seconds": times, "texts": list(positions), "twins": twin is not None}
    with tempfile.TemporaryDirectory(prefix="leafwise-check-") as name:
        folder = Path(name)
        job = {"origin": source.origin(game, folder), "task": task}
        (result,) = run([job], folder, Limits(gigabytes, call_seconds))
    found = settled(game.name, result)
    if twin is not None:
        other = answers.game_twin(twin) if isinstance(twin, Game) else twin
        for said in found["twins"]:
            try:
                answers.compare_with_twin(said, other)
            except RuleFault as fault:
                raise ContractError(fault.line(game.name)) from None
    checked = Checked(found["positions"])
    print(checked)
    return checked


def settled(name: str, result: dict[str, Any]) -> dict[str, Any]:
    """Returns a result of a process that found no fault; raises ContractError for a fault, RuntimeError for one of ours."""
    if "error" in result:
        raise RuntimeError(f"check_game failed:\n{result['error']}")
    if "problem" in result:
        raise ContractError(f"{name}: {result['problem']}")
    if "fault" in result:
        raise ContractError(RuleFault(*result["fault"]).line(name))
    return result
