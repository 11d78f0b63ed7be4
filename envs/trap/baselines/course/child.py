"""Runs a program of the course in a separate process, by the protocol of `leafwise.envs.core.programs`.

`python child.py PATH/PlayerAI.py` imports nothing of Leafwise, so that it starts at once and the program has the process to
itself. `new` loads the program anew, `go` calls its getMove or getTrap. Besides the move's name the answer has the `cell` that
the program returned. When time is up, a timer answers with what the program was doing, and ends the process. Everything that
the program prints goes to standard error.
"""

from __future__ import annotations

import importlib
import importlib.util
import json
import os
import signal
import sys
import threading
import traceback
from operator import index
from pathlib import Path
from types import FrameType, TracebackType
from typing import Any

STARTER = Path(__file__).with_name("starter")
"""The folder of BaseAI, Grid and Utils for programs that bring none."""
CODES = {".": 0, "#": -1, "1": 1, "2": 2}
"""The codes of the course's boards for the marks of a position: a free cell, a trap, player 1, player 2."""
STEPS = ({-1: "N", 0: "", 1: "S"}, {-1: "W", 0: "", 1: "E"})
"""The parts of a step's name for its rows and its columns."""


def is_of_harness(file: str) -> bool:
    """Whether a frame is not the program's, but this file's or the import system's."""
    return file == __file__ or file.startswith("<frozen ")


def without_harness(trace: TracebackType | None) -> TracebackType | None:
    """Returns a traceback from the program's first frame on."""
    while trace is not None and is_of_harness(trace.tb_frame.f_code.co_filename):
        trace = trace.tb_next
    return trace


def place(frames: list[traceback.FrameSummary], folder: str) -> str:
    """Returns the last line on a stack that belongs to the program's folder; "" if there is none."""
    for frame in reversed(frames):
        if os.path.dirname(os.path.abspath(frame.filename)) == folder:
            return f"line {frame.lineno} of {os.path.basename(frame.filename)}"
    return ""


def players_in(module: Any) -> list[str]:
    """Returns the classes of a program that play: PlayerAI, otherwise its own classes that move and throw, such as HardAI."""
    if hasattr(module, "PlayerAI"):
        return ["PlayerAI"]
    classes = [one for one in vars(module).values() if isinstance(one, type) and one.__module__ == module.__name__]
    players = {one for one in classes if hasattr(one, "getMove") and hasattr(one, "getTrap")}
    return sorted(one.__name__ for one in players if not any(one in other.__mro__[1:] for other in players))


def failure(problem: BaseException, folder: str) -> dict[str, Any]:
    """Returns the answer for an exception of the program."""
    trace = without_harness(problem.__traceback__)
    text = traceback.format_exception_only(problem)
    where = place(list(traceback.extract_tb(trace)), folder)
    if isinstance(problem, SyntaxError) and problem.filename:
        where = f"line {problem.lineno} of {os.path.basename(problem.filename)}"
    lines = "".join(traceback.format_exception(type(problem), problem, trace)).splitlines()
    return {"error": " ".join(text[-1].split()), "where": where, "report": lines}


def named(cell: tuple[int, int], at: tuple[int, int] | None) -> str:
    """Returns the name of a throw at a cell, or of the step from `at` to it."""
    row, column = cell
    if at is not None:
        down, right = STEPS[0].get(row - at[0]), STEPS[1].get(column - at[1])
        if down is not None and right is not None and down + right:
            return down + right
    return f"{row},{column}"


class JobServer:
    """Answers requests; a timer answers for a program that takes too long, and ends the process."""

    def __init__(self, path: Path) -> None:
        self.path, self.folder = path, str(path.parent)
        self.ai: Any = None
        self.grid: Any = None
        self.array: Any = None
        self.position = ""
        self._requests, self._replies = os.fdopen(os.dup(0)), os.fdopen(os.dup(1), "w")
        nothing = os.open(os.devnull, os.O_RDONLY)
        os.dup2(nothing, 0)  # a program that reads input gets none
        os.dup2(2, 1)
        self._lock, self._open = threading.Lock(), False
        self._thread = threading.get_ident()

    def work(self) -> None:
        """Answers until it is asked to quit, or there are no more requests."""
        for line in self._requests:
            request = json.loads(line)
            if request["ask"] == "quit":
                os._exit(0)  # also ends threads of the program
            if request["ask"] == "position":
                self.position = request["state"]
            if request["ask"] not in ("hello", "new", "go"):
                continue
            clock = threading.Timer(request["seconds"], self._expire)
            clock.daemon = True
            self._open = True
            clock.start()
            try:
                reply = self.answer(request)
            except BaseException as problem:  # also SystemExit: a program that ends itself has lost
                reply = failure(problem, self.folder)
            clock.cancel()
            self._send(reply)

    def answer(self, request: dict[str, Any]) -> dict[str, Any]:
        """Returns the answer to a request that needs one."""
        if request["ask"] == "hello":
            return {"ready": 1, "limits": ["seconds"]}
        return self.load(request["player"] + 1) if request["ask"] == "new" else self.move(*self.position.split())

    def _send(self, reply: dict[str, Any]) -> None:
        with self._lock:
            if self._open:
                self._open = False
                self._replies.write(json.dumps(reply) + "\n")
                self._replies.flush()

    def _expire(self) -> None:
        frame: FrameType | None = sys._current_frames().get(self._thread)
        frames = list(traceback.extract_stack(frame))
        while frames and is_of_harness(frames[0].filename):
            del frames[0]
        lines = "".join(traceback.StackSummary.from_list(frames).format()).splitlines()
        if self._open:
            self._send({"late": True, "where": place(frames, self.folder), "report": lines})
            os._exit(1)

    def load(self, number: int) -> dict[str, Any]:
        """Loads the program anew, makes its player, and imports what its board needs, so that no move waits for it."""
        self.array = importlib.import_module("numpy").array
        self.grid = importlib.import_module("Grid").Grid  # the program's own if it brings one
        spec = importlib.util.spec_from_file_location("PlayerAI", self.path)
        assert spec is not None
        assert spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        sys.modules["PlayerAI"] = module
        spec.loader.exec_module(module)
        players = players_in(module)
        if len(players) != 1:
            got = " and ".join(players) or "none"
            return {"error": f"expected a class PlayerAI in {self.path.name}, got {got}"}
        self.ai = getattr(module, players[0])()
        self.ai.setPlayerNum(number)
        return {"ready": 1}

    def move(self, board: str, turn: str, throw: str = "") -> dict[str, Any]:
        """Returns the move, or with `throw` the throw, that the program chooses at a position."""
        player, marks = "12"[int(turn.removeprefix("turn=")) % 2], board.split("/")
        at = next((row, line.index(player)) for row, line in enumerate(marks) if player in line)
        grid = self.grid(len(marks))
        grid.map = self.array([[CODES[mark] for mark in line] for line in marks], dtype="float64")
        self.ai.setPosition(at)
        call = "getTrap" if throw else "getMove"
        cell = getattr(self.ai, call)(grid)
        try:
            row, column = map(index, cell)
        except (TypeError, ValueError):
            return {"error": f"expected a cell (row, column) from {call}, got {cell!r:.200}"}
        return {"move": named((row, column), None if throw else at), "cell": [row, column]}


def main(path: str) -> None:
    """Answers until standard input ends."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent process handles Ctrl-C
    folder = Path(path).parent
    sys.path[:1] = [str(folder), str(STARTER)]
    JobServer(Path(path)).work()


if __name__ == "__main__":
    main(sys.argv[1])
