"""Anyone's program for the course as a player: it runs in a process of its own, under the clock."""

from __future__ import annotations

import json
import os
import queue
import subprocess
import sys
import tempfile
import threading
import time
import weakref
from pathlib import Path
from typing import IO, Any

from leafwise.envs.core.contract.game import Game
from leafwise.envs.core.contract.state import State
from leafwise.envs.core.errors import UserError
from leafwise.envs.core.play import prints
from leafwise.envs.core.play.forfeit import Forfeit
from leafwise.envs.core.play.named import ByName
from leafwise.envs.core.ranges import Range, need_in
from leafwise.envs.trap import rules as r
from leafwise.envs.trap.tables import DIRECTIONS
from leafwise.envs.trap.text import cells

CODES = (0, -1, 1, 2)
"""What the course's boards show for a free cell, a trap, player 1, player 2."""
LOADING = 60.0
"""Seconds that a program may take to load."""
MOST_SECONDS = 86_400
LATE = 1.0
"""Seconds after which a process that should have said that its time is up is ended."""
CHILD = Path(__file__).with_name("child.py")
ENDED = "its process ended"
LAST_PRINTED = 10
"""Lines that a program printed last, which a report has."""


class GuestPlayer(ByName):
    """Plays what a PlayerAI.py says; raises Forfeit where it breaks a rule, fails, or takes too long.

    The clock runs for move and throw together, and is read after each: `seconds` and an `allowance`. Every game gets a new
    PlayerAI; a process that did not answer is ended, and the next game starts another. It works in the program's folder.
    What it prints is shown where `leafwise.envs.core.play.prints` says so; otherwise the report of a fault has the end of it.
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
        self._process: subprocess.Popen[str] | None = None
        self._begin(1)

    def _start(self) -> None:
        """Starts the process and a thread that collects its answers."""
        self._printed = None if prints.are_shown() else tempfile.TemporaryFile()  # noqa: SIM115, it is closed with the process
        process = subprocess.Popen(
            [sys.executable, "-u", str(CHILD), str(self.path)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._printed,
            text=True,
            cwd=self.path.parent,
        )
        self._process = process
        self._answers: queue.Queue[str] = queue.Queue()
        threading.Thread(target=_collect, args=(process.stdout, self._answers), daemon=True).start()
        self._end = weakref.finalize(self, _end, process, self._printed)

    def _ask(self, request: dict[str, Any], limit: float) -> dict[str, Any]:
        """Returns the answer to a request; one with an `error` where none comes, "" if that is for want of time."""
        if self._process is None:
            self._start()
        assert self._process is not None
        assert self._process.stdin is not None
        try:
            self._process.stdin.write(json.dumps({**request, "limit": max(limit, 0.001)}) + "\n")
            self._process.stdin.flush()
            line = self._answers.get(timeout=limit + LATE)
        except queue.Empty:
            return {"error": ""}
        except OSError:
            line = ""
        reply: dict[str, Any] = json.loads(line) if line else {"error": ENDED}
        return reply

    def _begin(self, number: int) -> None:
        """Starts a game; raises ValueError for a program that does not load."""
        if self._process is not None and self._printed is not None:
            os.lseek(self._printed.fileno(), 0, os.SEEK_SET)  # the child's place in the file is the same
            self._printed.truncate(0)
        reply = self._ask({"number": number}, LOADING)
        if "ready" not in reply:
            self.close()
            what = reply["error"] or f"it took more than {LOADING:g} s"
            where = f" ({reply['where']})" if reply.get("where") else ""
            raise UserError(f"expected a program that loads, got: {what}{where}")

    def _printed_last(self) -> list[str]:
        """Returns the end of what the program has printed in this game."""
        if self._process is None or self._printed is None:
            return []
        file = self._printed.fileno()
        os.lseek(file, max(0, os.fstat(file).st_size - 200 * LAST_PRINTED), os.SEEK_SET)
        text = os.read(file, 200 * LAST_PRINTED).decode(errors="replace")
        return text.splitlines()[-LAST_PRINTED:]

    def close(self) -> None:
        """Ends the process."""
        if self._process is not None:
            self._end()
            self._process = None

    def choose(self, state: State) -> int:
        """Returns the id of a legal action; raises Forfeit if the program has none."""
        word = state.row[1]
        number = int(r.turn_of(word)) % 2 + 1
        moving = r.phase_of(word) == r.MOVE
        call = "getMove" if moving else "getTrap"
        if moving:
            self._spent = 0.0
            if self._process is None or int(r.turn_of(word)) < 2:
                try:
                    self._begin(number)
                except UserError as problem:
                    raise Forfeit(f"{self.name}: {problem}") from None
        at = divmod(int(r.cell_of(word, number - 1)), self._T.size)
        marks = [CODES[what] for what in cells(state.row, self._T)]
        rows = [marks[k : k + self._T.size] for k in range(0, len(marks), self._T.size)]
        started = time.perf_counter()
        reply = self._ask({"call": call, "position": at, "map": rows}, self.limit - self._spent)
        self._spent += time.perf_counter() - started
        if "cell" not in reply:
            late = f"took more than {self.limit:g} s for its turn"
            raise self._forfeit(
                state, call, {**reply, "error": reply["error"] or late}, ends=reply["error"] in ("", ENDED)
            )
        row, column = reply["cell"]
        steps = {step: name for name, step in DIRECTIONS.items()}
        name = steps.get((row - at[0], column - at[1]), "staying") if moving else f"{row},{column}"
        if name not in state.legal_names:
            around = [(at[0] + down, at[1] + right) for (down, right), way in steps.items() if way in state.legal_names]
            legal = (
                f"legal: {', '.join(map(str, around))}" if moving else "legal: any cell of the board without a player"
            )
            told = {"error": f"expected a legal cell from {call}, got {(row, column)}", "traceback": [legal]}
            raise self._forfeit(state, call, told)
        return self.game.action(name)

    def _forfeit(self, state: State, call: str, reply: dict[str, Any], ends: bool = False) -> Forfeit:
        """Returns how the program has lost, with what its author wants to know; `ends` its process."""
        turn = int(r.turn_of(state.row[1]))
        where = [words for words in (reply.get("where"), f"{call}, turn {turn // 2 + 1}") if words]
        printed = self._printed_last()
        if ends:
            self.close()
        report = [
            *reply.get("traceback", []),
            f"as player {turn % 2 + 1} at {state}",
            *state.board().splitlines(),
            *(["it printed last:"] if printed else []),
            *(f"  {line}" for line in printed),
        ]
        return Forfeit(f"{self.name}: {reply['error']} ({', '.join(where)})", tuple(report))


def _collect(lines: IO[str], answers: queue.Queue[str]) -> None:
    """Puts every line into the queue, and "" at the end."""
    for line in lines:
        answers.put(line)
    answers.put("")


def _end(process: subprocess.Popen[str], printed: IO[bytes] | None) -> None:
    """Kills a process and waits for it."""
    process.kill()
    process.wait()
    for file in (process.stdin, process.stdout, printed):
        if file is not None:
            file.close()
