"""Anyone's program as a player: it reads a position on a line and answers with an action on a line."""

from __future__ import annotations

import shlex
import subprocess
import time
from collections.abc import Collection
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from types import TracebackType

from leafwise.envs.core.errors import UserError


class Program:
    """A program that runs beside; a context manager, which ends it.

    It is started once, gets a line on standard input for each question, and writes its answer on a line of standard output.
    `seconds` counts the time that it takes, by the clock.
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
            raise UserError(f"expected a command that starts, got {command!r} ({problem})") from None

    def ask(self, line: str, names: Collection[str], what: str = "an action") -> str:
        """Returns its answer to a line; raises ValueError where it is none of `names`, or none comes."""
        assert self.process.stdin
        assert self.process.stdout
        wanted, begun = f"expected {what} from {self.command!r} at {line or 'an empty line'}", time.perf_counter()
        try:
            self.process.stdin.write(f"{line}\n")
            self.process.stdin.flush()
            answer = self.answers.submit(self.process.stdout.readline).result(self.patience)
        except TimeoutError:
            raise UserError(f"{wanted} within {self.patience:g} s, got none") from None
        except (OSError, ValueError):
            answer = ""
        self.seconds += time.perf_counter() - begun
        if not answer:
            raise UserError(f"{wanted}, got its end")
        if (name := answer.strip()) not in names:
            raise UserError(f"{wanted}, got {name[:80]!r}")
        return name

    def close(self) -> None:
        """Ends it."""
        self.process.kill()
        self.process.wait()
        self.answers.shutdown()
        for stream in (self.process.stdin, self.process.stdout):
            if stream:
                with suppress(OSError):  # for what was not read any more
                    stream.close()

    def __enter__(self) -> Program:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, where: TracebackType | None
    ) -> None:
        self.close()
