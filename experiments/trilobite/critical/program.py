"""Anyone's Connect Four program as a player: it reads the moves of a game on a line and answers with a column."""

from __future__ import annotations

import shlex
import subprocess
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from types import TracebackType


class Program:
    """A program that runs beside; a context manager, which ends it.

    It is started once. For each position it gets a line on standard input with the columns played so far, 1 to 7 from the
    left (an empty line is the empty board), and writes its column on a line of standard output. `seconds` counts the time
    that it takes, by the clock.
    """

    def __init__(self, command: str, patience: float = 60.0) -> None:
        """Starts it; raises ValueError if it cannot be started. An answer may take `patience` seconds."""
        self.command, self.patience, self.seconds = command, patience, 0.0
        self.answers = ThreadPoolExecutor(1)
        try:
            self.process = subprocess.Popen(
                shlex.split(command), stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, encoding="utf-8"
            )
        except (OSError, ValueError, IndexError) as problem:
            raise ValueError(f"expected a command that starts, got {command!r} ({problem})") from None

    def ask(self, moves: str, playable: str) -> int:
        """Returns its column less 1; raises ValueError where it is none of `playable`, or none comes."""
        assert self.process.stdin
        assert self.process.stdout
        begun = time.perf_counter()
        try:
            self.process.stdin.write(f"{moves}\n")
            self.process.stdin.flush()
            answer = self.answers.submit(self.process.stdout.readline).result(self.patience)
        except TimeoutError:
            raise ValueError(f"{self.command}: expected a column within {self.patience:g} s, got none") from None
        except (OSError, ValueError):
            answer = ""
        self.seconds += time.perf_counter() - begun
        if not answer:
            raise ValueError(f"{self.command}: expected a column for {moves!r}, got the end of its output")
        column = answer.strip()
        if len(column) != 1 or column not in playable:
            raise ValueError(
                f"{self.command}: expected one of the columns {playable} for {moves!r}, got {column[:80]!r}"
            )
        return int(column) - 1

    def __enter__(self) -> Program:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, where: TracebackType | None
    ) -> None:
        self.process.kill()
        self.process.wait()
        self.answers.shutdown()
        for stream in (self.process.stdin, self.process.stdout):
            if stream:
                with suppress(OSError):  # for what was not read any more
                    stream.close()
