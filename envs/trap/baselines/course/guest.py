"""Anyone's program for the course as a player: it runs in a process of its own, under the clock."""

from __future__ import annotations

import sys
import time
from pathlib import Path

from leafwise.envs.core.contract.game import Game
from leafwise.envs.core.contract.state import State
from leafwise.envs.core.errors import Forfeit, UserError
from leafwise.envs.core.fields import values_of
from leafwise.envs.core.play.players import ByName
from leafwise.envs.core.programs import Ended, Engine, NoAnswer, Refused, TimedOut, prints_are_shown
from leafwise.envs.core.ranges import Range, need_in
from leafwise.envs.trap import rules as r
from leafwise.envs.trap.tables import DIRECTIONS

LOADING = 60.0
"""Seconds that a program may take to load."""
MOST_SECONDS = 86_400
CHILD = Path(__file__).with_name("child.py")
LAST_PRINTED = 10
"""Lines that a program printed last, which a report has."""


class GuestPlayer(ByName):
    """Plays what a PlayerAI.py says; raises Forfeit where it breaks a rule, fails, or takes too long.

    The clock runs for move and throw together, and is read after each: `seconds` and an `allowance`. Every game gets a new
    PlayerAI; a process that did not answer is ended, and the next game starts another. It works in the program's folder.
    What it prints is shown where `leafwise.envs.core.programs` says so; otherwise the report of a fault has the end of it.
    """

    is_loaded = True
    """A program is loaded when this is made; the first answer takes no longer than others."""

    def __init__(self, game: Game, name: str, path: str, seconds: float = 5.0, allowance: float = 1.0) -> None:
        """Starts the process; raises ValueError for a file that is none, does not load, or a time that is not positive."""
        self.name, self.game, self.path = name, game, Path(path).resolve()
        if not self.path.is_file():
            raise UserError(f"expected a Python file with a class PlayerAI, got {path!r}")
        seconds = need_in(seconds, Range(0, MOST_SECONDS, above=True), "seconds")
        self.limit = seconds + need_in(allowance, Range(0, MOST_SECONDS), "allowance")
        self._T = game.tables()
        self._spent = 0.0
        command = [sys.executable, "-u", str(CHILD), str(self.path)]
        self._program = Engine(command, self.path.parent, shows=prints_are_shown())
        self._begin(0)

    def _begin(self, player: int) -> None:
        """Starts a game; raises ValueError for a program that does not load."""
        self._program.forget_lines()
        try:
            self._program.hello("trap", values_of(self.game.options), player, LOADING)
        except NoAnswer as problem:
            self._program.kill()
            what = f"it took more than {LOADING:g} s" if isinstance(problem, TimedOut) else said(problem)
            where = f" ({problem.where})" if problem.where else ""
            raise UserError(f"expected a program that loads, got: {what}{where}") from None

    def close(self) -> None:
        """Ends the process."""
        self._program.close()

    def choose(self, state: State) -> int:
        """Returns the id of a legal action; raises Forfeit if the program has none."""
        word = state.row[1]
        player, moving = state.current_player, r.phase_of(word) == r.MOVE
        call = "getMove" if moving else "getTrap"
        if moving:
            self._spent = 0.0
            if not self._program.is_running or int(r.turn_of(word)) < 2:
                try:
                    self._begin(player)
                except UserError as problem:
                    raise Forfeit(f"{self.name}: {problem}") from None
        started = time.perf_counter()
        try:
            answer = self._program.go(str(state), max(self.limit - self._spent, 0.001))
        except NoAnswer as problem:
            raise self._forfeit(state, call, problem) from None
        self._spent += time.perf_counter() - started
        name = answer["move"]
        if name not in state.legal_names:
            legal = "legal: any cell of the board without a player"
            if moving:
                at = divmod(int(r.cell_of(word, player)), self._T.size)
                ways = [step for way, step in DIRECTIONS.items() if way in state.legal_names]
                legal = f"legal: {', '.join(str((at[0] + down, at[1] + right)) for down, right in ways)}"
            got = f"expected a legal cell from {call}, got {tuple(answer['cell'])}"
            raise self._forfeit(state, call, Refused(got, report=[legal]))
        return self.game.action(name)

    def _forfeit(self, state: State, call: str, problem: NoAnswer) -> Forfeit:
        """Returns how the program has lost, with what its author wants to know."""
        turn = int(r.turn_of(state.row[1]))
        where = [words for words in (problem.where, f"{call}, turn {turn // 2 + 1}") if words]
        printed = self._program.last_lines(LAST_PRINTED)
        report = [
            *problem.report,
            f"as player {turn % 2 + 1} at {state}",
            *state.board().splitlines(),
            *(["it printed last:"] if printed else []),
            *(f"  {line}" for line in printed),
        ]
        what = f"took more than {self.limit:g} s for its turn" if isinstance(problem, TimedOut) else said(problem)
        return Forfeit(f"{self.name}: {what} ({', '.join(where)})", tuple(report))


def said(problem: NoAnswer) -> str:
    """Returns what is said of a program that did not answer."""
    return "its process ended" if isinstance(problem, Ended) else str(problem)
