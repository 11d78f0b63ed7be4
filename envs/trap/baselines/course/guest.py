"""Anyone's program for the course as a player: it runs in a process of its own, under the clock."""

from __future__ import annotations

import json
import queue
import subprocess
import sys
import threading
import time
import weakref
from pathlib import Path
from typing import IO, Any

from leafwise.envs.core.contract.game import Game
from leafwise.envs.core.contract.state import State
from leafwise.envs.core.play.forfeit import Forfeit
from leafwise.envs.trap import rules as r
from leafwise.envs.trap.tables import DIRECTIONS
from leafwise.envs.trap.text import cells

CODES = (0, -1, 1, 2)
"""What the course's boards show for a free cell, a trap, player 1, player 2."""
LOADING = 60.0
"""Seconds that a program may take to load."""
MOST_SECONDS = 86_400


class GuestPlayer:
    """Plays what a PlayerAI.py says; raises Forfeit where it breaks a rule, fails, or takes too long.

    The clock runs for move and throw together, and is read after each: `seconds` and an `allowance`. Every game gets a new
    PlayerAI; a process that did not answer is ended, and the next game starts another.
    """

    def __init__(self, game: Game, name: str, path: str, seconds: float = 5.0, allowance: float = 1.0) -> None:
        """Starts the process; raises ValueError for a file that is none, does not load, or a time that is not positive."""
        self.name, self.game, self.path = name, game, Path(path)
        if not self.path.is_file():
            raise ValueError(f"expected a Python file with a class PlayerAI, got {path!r}")
        if not (0 < seconds <= MOST_SECONDS and 0 <= allowance <= MOST_SECONDS):
            expected = f"seconds above 0 and an allowance of at least 0, at most {MOST_SECONDS:,} each"
            raise ValueError(f"expected {expected}, got {seconds!r}, {allowance!r}")
        self.limit = seconds + allowance
        self._T = game.tables()
        self._playing: State | None = None
        self._spent = 0.0
        self._process: subprocess.Popen[str] | None = None
        try:
            self._ask({"number": 1}, LOADING)
        except Forfeit as problem:
            raise ValueError(f"expected a program that loads, got: {problem}") from None

    def _start(self) -> None:
        """Starts the process and a thread that collects its answers."""
        command = [sys.executable, "-m", "leafwise.envs.trap.baselines.course.child", str(self.path.resolve())]
        process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
        )
        self._process = process
        self._answers: queue.Queue[str] = queue.Queue()
        threading.Thread(target=_collect, args=(process.stdout, self._answers), daemon=True).start()
        self._end = weakref.finalize(self, _end, process)

    def _ask(self, request: dict[str, Any], limit: float) -> Any:
        """Returns the answer to a request; raises Forfeit for an error or none in time."""
        if self._process is None:
            self._start()
        assert self._process is not None
        assert self._process.stdin is not None
        try:
            self._process.stdin.write(json.dumps(request) + "\n")
            self._process.stdin.flush()
            line = self._answers.get(timeout=limit)
        except (queue.Empty, OSError):
            line = None
        if not line:
            self.close()
            what = "took too long" if line is None else "ended"
            raise Forfeit(f"{self.name} {what}, after {limit:.1f} s left of {self.limit:.1f}")
        reply = json.loads(line)
        if "error" in reply:
            raise Forfeit(f"{self.name}: {reply['error']}")
        return reply

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
        if moving:
            self._spent = 0.0
            if self._process is None or int(r.turn_of(word)) < 2:
                self._ask({"number": number}, LOADING)
        at = divmod(int(r.cell_of(word, number - 1)), self._T.size)
        marks = [CODES[what] for what in cells(state.row, self._T)]
        rows = [marks[k : k + self._T.size] for k in range(0, len(marks), self._T.size)]
        request = {"call": "getMove" if moving else "getTrap", "position": at, "map": rows}
        started = time.perf_counter()
        row, column = self._ask(request, self.limit - self._spent)["cell"]
        self._spent += time.perf_counter() - started
        steps = {step: name for name, step in DIRECTIONS.items()}
        name = steps.get((row - at[0], column - at[1]), "staying") if moving else f"{row},{column}"
        if name not in state.legal_names:
            raise Forfeit(f"{self.name}: expected a legal cell from {request['call']}, got {(row, column)}")
        return self.game.action(name)


def _collect(lines: IO[str], answers: queue.Queue[str]) -> None:
    """Puts every line into the queue, and "" at the end."""
    for line in lines:
        answers.put(line)
    answers.put("")


def _end(process: subprocess.Popen[str]) -> None:
    """Kills a process and waits for it."""
    process.kill()
    process.wait()
    for pipe in (process.stdin, process.stdout):
        if pipe is not None:
            pipe.close()
