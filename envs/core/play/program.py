"""A program of anybody's as a player, by the protocol of `leafwise.envs.core.programs`: `program:COMMAND,seconds=1`."""

from __future__ import annotations

import re
import shlex
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from leafwise.envs.core.contract.game import Game
from leafwise.envs.core.contract.state import State
from leafwise.envs.core.errors import Forfeit, UserError
from leafwise.envs.core.play.players import ByName
from leafwise.envs.core.programs import LATE, LIMITS, Ended, Engine, NoAnswer, Refused, TimedOut, prints_are_shown
from leafwise.envs.core.ranges import Range, need_in

PROGRAM = "program"
"""The front of a text that names a program."""
LOADING = 120.0
"""Seconds that a program may take to start, and to begin a game."""
LAST_PRINTED = 10
"""Last printed lines that a report contains."""
KNOWN = {**LIMITS, "allowance": Range(0, 86_400)}
"""Options of a player: the limits that `go` sends, and the seconds beyond its time that a program may still take."""
OPTIONS = re.compile(rf"(?:,(?:{'|'.join(KNOWN)})=[^,\"']*)*$")


class ProgramPlayer(ByName):
    """Plays the moves of a program; raises Forfeit if it breaks the protocol or a rule, fails, or takes too long.

    The clock runs from the line `go` to the answer. A process that did not answer is ended, and the next game starts another.
    What it prints is shown if `leafwise.envs.core.programs` says so; otherwise the report of a fault contains the end of it.
    """

    is_loaded = True
    """A program is loaded when this object is made; the first answer takes no longer than others."""
    draws = True
    """True, since it is unknown whether the program draws."""

    def __init__(
        self, game: Game, name: str, command: Sequence[str], seed: int = 0, allowance: float = LATE, **limits: float
    ) -> None:
        """Starts the process, and a game; raises ValueError for a program that does not start.

        Args:
            seconds: time limit for an answer; None: no limit.
            depth: limit on depth for the program, which may ignore it.
            nodes: limit on nodes for the program, which may ignore it.
            allowance: seconds after the time limit in which an answer still counts.
        """
        self.name, self.game, self.seed, self.allowance, self.limits = name, game, seed, allowance, limits
        self.info: Any = None
        """The last message of the program about its search."""
        self._start(command)
        self._begin()

    def _start(self, command: Sequence[str], folder: Path | None = None, *, group: bool = True) -> None:
        """Starts the process; raises ValueError if that fails."""
        try:
            self._program = Engine(command, folder, shows=prints_are_shown(), group=group)
        except (OSError, ValueError, IndexError) as problem:
            raise UserError(f"expected a command that starts, got {command!r} ({problem})") from None

    def _begin(self, **more: Any) -> None:
        """Starts a game; raises ValueError for a program that cannot start one, or does not load."""
        self._program.forget_lines()
        try:
            self._program.new(self.game.name, self.game.given_options, LOADING, seed=self.seed, **more)
        except NoAnswer as problem:
            self._program.kill()
            what = f"it took more than {LOADING:g} s" if isinstance(problem, TimedOut) else failure_text(problem)
            last = self._program.last_lines(1) if isinstance(problem, Ended) else []
            where = f" ({'; '.join(filter(None, [problem.where, *last]))})" if problem.where or last else ""
            raise UserError(f"expected a program that loads, got: {what}{where}") from None

    def begin(self) -> None:
        """Tells the program that another game begins."""
        if self._program.is_running:
            self._begin()

    def close(self) -> None:
        """Ends the process."""
        self._program.close()

    def choose(self, state: State) -> int:
        """Returns the id of a legal action; raises Forfeit if the program has none."""
        self.info = None
        names = list(state.legal_names)
        try:
            if not self._program.is_running:
                self._begin()
            position = {"state": str(state), "player": state.current_player, "moves": names}
            name = self._program.go(position, self.limits, self.allowance, self._hear)["move"]
            if name not in names:
                few = ", ".join(names[:10]) + ", ..." * (len(names) > 10)
                raise Refused(f"expected a legal move, got {name[:80]!r}", report=[f"legal: {few}"])
        except NoAnswer as problem:
            took = f"took more than {self.limits.get('seconds', 0):g} s"
            raise self.forfeit(state, problem, took, f"at {state}") from None
        except UserError as problem:
            raise Forfeit(f"{self.name}: {problem}") from None
        return self.game.action(name)

    def _hear(self, info: Any) -> None:
        self.info = {**self.info, **info} if isinstance(self.info, dict) and isinstance(info, dict) else info

    def forfeit(self, state: State, problem: NoAnswer, took: str, where: str) -> Forfeit:
        """Returns the Forfeit of the program, with a report for its author; `took` says what took too long."""
        printed = self._program.last_lines(LAST_PRINTED)
        report = [
            *problem.report,
            f"as player {state.current_player + 1} at {state}",
            *state.board().splitlines(),
            *(["it printed last:"] if printed else []),
            *(f"  {line}" for line in printed),
        ]
        what = took if isinstance(problem, TimedOut) else failure_text(problem)
        return Forfeit(f"{self.name}: {what} ({', '.join(filter(None, (problem.where, where)))})", tuple(report))


def failure_text(problem: NoAnswer) -> str:
    """Returns the text for a program that did not answer."""
    return "its process ended" if isinstance(problem, Ended) and "status" in str(problem) else str(problem)


def program_player(game: Game, text: str, seed: int) -> ProgramPlayer:
    """Returns the player `program:COMMAND,seconds=1`; raises ValueError for a wrong text.

    The options are the words at the end outside quotes. The rest is split as a shell splits it (on Windows as command lines are
    split there), and runs without a shell.
    """
    line = text.removeprefix(f"{PROGRAM}:")
    options_match = OPTIONS.search(line)
    assert options_match is not None
    options: dict[str, float] = {}
    for word in filter(None, options_match[0].split(",")):
        name, _, value = word.partition("=")
        kind = int if name in ("depth", "nodes") else float
        try:
            number = kind(value)
        except ValueError:
            raise UserError(f"player {text!r}: expected a number for {name}, got {value!r}") from None
        options[name] = need_in(number, KNOWN[name], name, kind=kind)
    line = line[: options_match.start()].strip()
    try:
        command = line if sys.platform == "win32" else shlex.split(line)
    except ValueError as problem:
        raise UserError(f"player {text!r}: expected a command line, got {line!r} ({problem})") from None
    if not command:
        raise UserError(f"expected program:COMMAND, got {text!r}")
    return ProgramPlayer(game, text, command, seed, **options)
