"""A process that works for the server: `python -m leafwise.web.worker`.

It reads one JSON object a line, `{"job": NAME, "ask": {...}}` or `{"stop": true}`, and answers a job with lines `{"stage": ...}`
(`loading`: code is loaded or compiled; `working`), `{"answer": ...}`, and as the last one `{"end": true}`, `{"error": LINE}` for
what was asked wrongly or `{"fault": LINE}` for a defect, whose traceback goes to standard error.
"""

from __future__ import annotations

import importlib
import os
import queue
import signal
import sys
import threading
import traceback
from collections.abc import Iterator
from typing import Any, BinaryIO

import msgspec

from leafwise.envs.core.errors import UserError
from leafwise.web.control import Control, Job


def later(module: str, name: str) -> Job:
    """Returns a job of a module that is imported when it is first asked for."""
    whole = f"leafwise.web.{module}"

    def job(ask: Any, control: Control) -> Iterator[Any]:
        if whole not in sys.modules:
            with control.loading():
                importlib.import_module(whole)
        yield from getattr(sys.modules[whole], name)(ask, control)

    return job


def jobs() -> dict[str, tuple[type, Job]]:
    """Returns what this process can do: name -> type of what is asked, function."""
    from leafwise.web import asks, games_as_text, positions, thinking

    return {
        "game": (asks.GameAsk, positions.tell_game),
        "state": (asks.StateAsk, positions.tell_state),
        "record": (asks.RecordAsk, games_as_text.write_record),
        "read": (asks.FileAsk, games_as_text.read_file),
        "prepare": (asks.PrepareAsk, thinking.prepare),
        "move": (asks.MoveAsk, thinking.move),
        "analyse": (asks.AnalyseAsk, thinking.analyse),
        "solve": (asks.SolveAsk, thinking.solve),
        "review": (asks.ReviewAsk, thinking.review),
        "follow": (asks.FollowAsk, later("follow", "follow")),
        "follow-advice": (asks.AdviceAsk, later("follow", "advise")),
        "runs": (asks.RunsAsk, later("runs", "tell_runs")),
        "run": (asks.RunAsk, later("runs", "tell_run")),
        "run-game": (asks.RunGameAsk, later("runs", "play_run")),
        "ship": (asks.ShipAsk, later("ships", "build")),
        "ship-advice": (asks.ShipAsk, later("ships", "advise")),
        "ship-stages": (asks.StagesAsk, later("ships", "tell_stages")),
    }


def one_line(problem: BaseException) -> str:
    """Returns what went wrong in one line."""
    return " ".join(str(problem).split()) or type(problem).__name__


class JobServer:
    """Takes jobs from one stream and answers on another; a thread listens while a job is done."""

    def __init__(self, source: BinaryIO, sink: BinaryIO) -> None:
        self.source, self.sink = source, sink
        self.waiting: queue.SimpleQueue[dict[str, Any]] = queue.SimpleQueue()
        self.control: Control | None = None

    def send(self, message: dict[str, Any]) -> None:
        """Writes a line."""
        self.sink.write(msgspec.json.encode(message) + b"\n")
        self.sink.flush()

    def listen(self) -> None:
        """Reads lines until there are no more, and then ends the process: nobody is left to work for."""
        for line in self.source:
            message = msgspec.json.decode(line)
            if "stop" not in message:
                self.waiting.put(message)
            elif self.control is not None:
                self.control.stop()
        os._exit(0)

    def work(self) -> None:
        """Does one job after another."""
        known = jobs()
        threading.Thread(target=self.listen, daemon=True).start()
        while True:
            message = self.waiting.get()
            kind, job = known[message["job"]]
            self.control = control = Control(self.send)
            try:
                for answer in job(msgspec.convert(message["ask"], kind), control):
                    self.send({"answer": answer})
                self.send({"end": True})
            except UserError as problem:
                self.send({"error": one_line(problem)})
            except Exception as problem:
                traceback.print_exc()
                self.send({"fault": f"{message['job']}: {type(problem).__name__}: {one_line(problem)}"})


def main() -> None:
    """Runs the process; what others print goes to standard error, since standard output is for answers."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the server, which then closes standard input
    answers = os.fdopen(os.dup(sys.stdout.fileno()), "wb")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    JobServer(sys.stdin.buffer, answers).work()


if __name__ == "__main__":
    main()
