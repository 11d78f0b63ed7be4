"""Programs in processes of their own: started, asked within a time limit, ended, started again, with what they printed last.

`Process` supervises any program, `Program` one that answers a line with a line. `Engine` is one that plays a game by this protocol,
in whatever language it is written.

The protocol, version 1. Each line on the program's standard input and output is one JSON object in UTF-8, of at most 32 million
letters. The program may print anything to standard error.

| asked | answered |
|---|---|
| `{"ask": "hello", "protocol": 1, "game": "trap", "options": {"size": 7}, "player": 0, "seconds": 60}` | `{"ready": 1}` |
| `{"ask": "position", "state": "...1.../......./..."}` | nothing |
| `{"ask": "go", "seconds": 2.5}` | `{"move": "SW"}` |
| `{"ask": "quit"}` | nothing: the program ends |

- `hello` begins a game. `protocol` is the version that is spoken, `options` are those of the game, `player` is the program's seat
  (0 or 1). The answer `ready` repeats the version. A process may be asked to play many games, one after another.
- `position` is the whole position as a line of text: what `str(state)` writes and `game.parse` reads.
- `go` asks for a move in that position, by its name: one of `state.legal_names`. A turn of several decisions is several questions.
- `seconds` is the time for the answer. A program without one by then may say within a second where it is, `{"late": true}`, or
  nothing. Its process is ended in either case, as it is where the program does not quit within a second.
- `{"error": "one line"}` is the answer of a program that cannot do what is asked. Beside `error` or `late`, `where` may name a
  place in the program, and `report` may hold more lines for its author.
- Both sides ignore keys that they do not know, so a later version may add some.
- The program ends when its standard input ends.
"""

from __future__ import annotations

import json
import os
import queue
import subprocess
import tempfile
import threading
import weakref
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Any, Self

PROTOCOL = 1
"""The version of the protocol."""
LATE = 1.0
"""Seconds after its time that an engine has to say where it is, or to quit."""
ENDING = 5.0
"""Seconds that a process which answers no more has to end by itself, so that its status is its own."""
LONGEST_LINE, LONGEST_TAIL = 1 << 25, 1 << 13
"""Letters of an answer, and bytes at the end of what was printed that are read back."""

Questions = queue.SimpleQueue["tuple[str, bool] | None"]
"""Lines to write, and whether each is answered; None is the end."""


class NoAnswer(Exception):
    """No usable answer came. The message says why; `where` and `report` are what the program says besides."""

    def __init__(self, message: str, where: str = "", report: Sequence[str] = ()) -> None:
        super().__init__(message)
        self.where, self.report = where, tuple(report)


class Refused(NoAnswer):
    """The program answered that it cannot do what was asked."""


class TimedOut(NoAnswer):
    """The program took too long, and was ended."""


class Ended(NoAnswer):
    """The process ended, or wrote something else than an answer and was ended."""


class Process:
    """A process that ends with this object: by `close`, at the end of a `with` block, when nobody holds it, when this process ends.

    It gets no input and its output is dropped. What it prints to standard error is shown, or kept in a temporary file, whose end
    `last_lines` returns.
    """

    _stream = subprocess.DEVNULL
    """What it has as standard input and output."""

    def __init__(
        self,
        command: Sequence[str],
        folder: str | Path | None = None,
        environment: Mapping[str, str] | None = None,
        *,
        shows: bool = False,
    ) -> None:
        """Starts it in a folder, with environment variables (default: those of this process); `shows` what it prints.

        Raises OSError where it does not start, ValueError for a command that cannot be one.
        """
        self._command, self._folder, self._environment = list(command), folder, environment
        self._shows = shows
        self._start()

    def _start(self) -> None:
        with ExitStack() as opened:
            self._printed = None if self._shows else opened.enter_context(tempfile.TemporaryFile())
            self._process = subprocess.Popen(
                self._command, cwd=self._folder, env=self._environment, stderr=self._printed,
                stdin=self._stream, stdout=self._stream, text=True, encoding="utf-8", errors="replace",
            )  # fmt: skip
            self._forget = weakref.finalize(self, opened.pop_all().close)
        self._end = weakref.finalize(self, _end, self._process)

    def restart(self) -> None:
        """Ends the process, and starts another."""
        self.kill()
        self._forget()
        self._start()

    @property
    def pid(self) -> int:
        """The number of the process."""
        return self._process.pid

    @property
    def is_running(self) -> bool:
        """Whether the process is there, and was not ended from here."""
        return self._end.alive and self._process.poll() is None

    @property
    def status(self) -> int | None:
        """The exit status, None while the process runs."""
        return self._process.poll()

    def wait(self, seconds: float | None = None) -> bool:
        """Waits for the end of the process; returns whether it came in time."""
        with suppress(subprocess.TimeoutExpired):
            self._process.wait(seconds)
        return self._process.poll() is not None

    def terminate(self) -> None:
        """Asks the process to end."""
        self._process.terminate()

    def kill(self) -> None:
        """Ends the process at once; what it printed can still be read, and `restart` starts another."""
        self._end()

    def close(self) -> None:
        """Ends the process, and forgets what it printed."""
        self.kill()
        self._forget()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *problem: object) -> None:
        self.close()

    def last_lines(self, count: int) -> list[str]:
        """Returns the last lines that it printed to standard error, [] where they were shown."""
        if self._printed is None or self._printed.closed:
            return []
        file = self._printed.fileno()
        os.lseek(file, max(0, os.fstat(file).st_size - LONGEST_TAIL), os.SEEK_SET)
        text = os.read(file, LONGEST_TAIL).decode(errors="replace")
        return text.rstrip("\r\n").splitlines()[-count:]

    def forget_lines(self) -> None:
        """Forgets what it has printed so far."""
        if self._printed is not None and not self._printed.closed:
            os.lseek(self._printed.fileno(), 0, os.SEEK_SET)  # the program's place in the file is the same
            self._printed.truncate(0)


class Program(Process):
    """A program that answers lines on its standard input with lines on its standard output."""

    _stream = subprocess.PIPE

    def _start(self) -> None:
        super()._start()
        self._questions: Questions = queue.SimpleQueue()
        self._answers: queue.SimpleQueue[str] = queue.SimpleQueue()
        threading.Thread(target=_talk, args=(self._process, self._questions, self._answers), daemon=True).start()
        self._hush = weakref.finalize(self, self._questions.put, None)

    def kill(self) -> None:
        """Ends the process at once; what it printed can still be read, and `restart` starts another."""
        super().kill()
        self._hush()

    def ask_line(self, line: str, seconds: float | None = None) -> str:
        """Writes a line, and returns the line that answers it; raises TimedOut after `seconds`, Ended at the program's end."""
        if not self._end.alive:
            raise Ended("expected a program that runs, got one that was ended")
        self._questions.put((line, True))
        try:
            answer = self._answers.get(timeout=seconds)
        except BaseException as problem:  # Ctrl-C too: its answer must not be taken for that to the next question
            self.kill()
            if not isinstance(problem, queue.Empty):
                raise
            raise TimedOut(f"expected an answer within {seconds:g} s, got none") from None
        if not answer:
            self.wait(ENDING)
            self.kill()
            raise Ended(f"expected an answer, got the end of the process with status {self.status}")
        return answer.removesuffix("\n")

    def tell(self, message: Mapping[str, Any]) -> None:
        """Writes a JSON object that is not answered."""
        self._questions.put((json.dumps(message), False))

    def ask(self, message: Mapping[str, Any], seconds: float | None = None) -> dict[str, Any]:
        """Writes a JSON object, and returns the one that answers it.

        Raises TimedOut and Ended as `ask_line` does, Refused for an answer that is an error.
        """
        try:
            return understood(self.ask_line(json.dumps(message), seconds))
        except (Ended, TimedOut):
            self.kill()  # nobody knows which line would answer the next question
            raise


class Engine(Program):
    """A program that plays a game by the protocol. Each question raises NoAnswer where the program does not do its part."""

    def hello(self, game: str, options: Mapping[str, Any], player: int, seconds: float) -> None:
        """Begins a game in which the program has a seat, in a new process where the last one was lost."""
        if not self.is_running:
            self.restart()
        about = {"protocol": PROTOCOL, "game": game, "options": options, "player": player, "seconds": seconds}
        ready = self.ask({"ask": "hello", **about}, seconds + LATE).get("ready")
        if ready != PROTOCOL:
            raise Refused(f"expected version {PROTOCOL} of the protocol, got {repr(ready)[:80]}")

    def go(self, position: str, seconds: float) -> dict[str, Any]:
        """Returns the answer to a position: `move` is the name of one, which the caller checks."""
        self.tell({"ask": "position", "state": position})
        answer = self.ask({"ask": "go", "seconds": seconds}, seconds + LATE)
        if not isinstance(answer.get("move"), str):
            raise Refused(f"expected a move by its name, got {repr(answer.get('move'))[:80]}")
        return answer

    def close(self) -> None:
        """Has the program quit; ends its process where it does not."""
        if self.is_running:
            self.tell({"ask": "quit"})
            self.wait(LATE)
        super().close()


def understood(line: str | bytes) -> dict[str, Any]:
    """Returns the JSON object of a line; raises Refused for an error, TimedOut for one that is late, Ended for no object."""
    try:
        answer = json.loads(line)
    except (ValueError, RecursionError):
        answer = None
    if not isinstance(answer, dict):
        raise Ended(f"expected a line with a JSON object, got {line[:80]!r}")
    where, report = str(answer.get("where", "")), answer.get("report")
    report = [str(line) for line in report] if isinstance(report, list) else []
    if answer.get("late"):
        raise TimedOut("expected an answer in time, got none", where, report)
    if "error" in answer:
        raise Refused(str(answer["error"]), where, report)
    return answer


def _talk(process: subprocess.Popen[str], questions: Questions, answers: queue.SimpleQueue[str]) -> None:
    """Writes every question and reads its answer, so that a program which does neither stops no one else; "" is its end.

    Only what was asked for is read: a program that floods its standard output waits, as the pipe is full.
    """
    assert process.stdin is not None
    assert process.stdout is not None
    for line, is_answered in iter(questions.get, None):
        answer = ""
        with suppress(OSError):
            process.stdin.write(f"{line}\n")
            process.stdin.flush()
            if is_answered:
                answer = process.stdout.readline(LONGEST_LINE)
        if is_answered:
            answers.put(answer)
    with suppress(OSError):  # for what was not written any more
        process.stdin.close()
    process.stdout.close()


def _end(process: subprocess.Popen[str]) -> None:
    """Kills a process and waits for it."""
    process.kill()
    process.wait()


SHOW_PRINTS = "LEAFWISE_SHOW_PRINTS"
"""The environment variable by which processes hear that people see what other people's programs print: 1 or nothing."""


def prints_are_shown() -> bool:
    """Whether what programs print is shown."""
    return os.environ.get(SHOW_PRINTS) == "1"


@contextmanager
def prints_shown(wanted: bool) -> Iterator[None]:
    """Has what programs print shown, on standard error, while the block lasts, if that is wanted."""
    before = os.environ.get(SHOW_PRINTS)
    if wanted:
        os.environ[SHOW_PRINTS] = "1"
    try:
        yield
    finally:
        if wanted and before is None:
            del os.environ[SHOW_PRINTS]
