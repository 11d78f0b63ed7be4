"""Programs in processes of their own: started, asked within a time limit, ended, started again, with what they printed last.

`Process` supervises any program, `Program` one that answers a line with a line. `Engine` is one that plays a game by this protocol,
in whatever language it is written.

The protocol, version 1: each line on the program's standard input and output is one JSON object in UTF-8, of at most 1 MB.
`docs/howto/programs.md` is its page.

| asked | answered |
|---|---|
| `{"ask": "hello", "protocol": 1, "seconds": 120}` | `{"ready": 1, "name": "mine", "limits": ["seconds"], "stop": true}` |
| `{"ask": "new", "game": "trap", "options": {"size": 7}, "seed": 0, "seconds": 120}` | `{"ready": 1}` |
| `{"ask": "position", "state": "...1.../......./...", "player": 0, "moves": ["SE", "SW"]}` | nothing |
| `{"ask": "go", "seconds": 2.5}` | lines like `{"info": {"depth": 3}}`, then `{"move": "SW"}` |
| `{"ask": "stop"}` | nothing: the answer to `go` comes soon |
| `{"ask": "quit"}` | nothing: the program ends |
"""

from __future__ import annotations

import json
import os
import queue
import signal
import subprocess
import sys
import tempfile
import threading
import time
import weakref
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Any, Self

from leafwise.envs.core.errors import UserError
from leafwise.envs.core.ranges import Range

Info = Callable[[Any], object]
"""Hears what a program tells of its search."""

PROTOCOL = 1
"""The version of the protocol."""
LIMITS = {"seconds": Range(0, 86_400, above=True), "depth": Range(1, 10**6), "nodes": Range(1, 10**15)}
"""What `go` may tell of how long a program thinks."""
LATE = 1.0
"""Seconds after its time that an engine has to say where it is, or to quit."""
ENDING = 5.0
"""Seconds that a process which answers no more has to end by itself, so that its status is its own."""
OWN_GROUP: dict[str, Any] = {"process_group": 0}
if sys.platform == "win32":
    OWN_GROUP = {"creationflags": subprocess.CREATE_NEW_PROCESS_GROUP}
"""How a process is started in a group of its own."""
LONGEST_LINE, LONGEST_MESSAGE, LONGEST_TAIL = 1 << 25, 1 << 20, 1 << 13
"""Letters of an answer, and of a line of the protocol; bytes at the end of what was printed that are read back."""


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
        group: bool = False,
    ) -> None:
        """Starts it in a folder, with environment variables (default: those of this process); `shows` what it prints.

        With `group` it is in a process group of its own: no Ctrl-C reaches it, and what it has started ends with it (on Windows
        it ends alone). A command may be one line on Windows. Raises OSError where it does not start, ValueError for a command that
        cannot be one.
        """
        self._command, self._folder, self._environment = command, folder, environment
        self._shows, self._group = shows, group
        self._start()

    def _start(self) -> None:
        with ExitStack() as opened:
            self._printed = None if self._shows else opened.enter_context(tempfile.TemporaryFile())
            self._process = subprocess.Popen(
                self._command, cwd=self._folder, env=self._environment, stderr=self._printed,
                stdin=self._stream, stdout=self._stream, text=True, encoding="utf-8", errors="replace",
                **(OWN_GROUP if self._group else {}),
            )  # fmt: skip
            self._forget = weakref.finalize(self, opened.pop_all().close)
        self._end = weakref.finalize(self, _end, self._process, self._group)

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
    _longest = LONGEST_LINE

    def _start(self) -> None:
        super()._start()
        self._lines: queue.SimpleQueue[str | None] = queue.SimpleQueue()
        self._wanted: queue.SimpleQueue[int | None] = queue.SimpleQueue()
        self._answers: queue.SimpleQueue[str] = queue.SimpleQueue()
        for work, given in ((_write, (self._lines,)), (_read, (self._wanted, self._answers))):
            threading.Thread(target=work, args=(self._process, *given), daemon=True).start()
        self._hush = weakref.finalize(self, _hush, self._lines, self._wanted)

    def kill(self) -> None:
        """Ends the process at once; what it printed can still be read, and `restart` starts another."""
        super().kill()
        self._hush()

    def ask_line(self, line: str | None, seconds: float | None = None) -> str:
        """Writes a line (None: nothing more), and returns the next line of the program.

        Raises TimedOut after `seconds`, Ended at the program's end.
        """
        if not self._end.alive:
            raise Ended("expected a program that runs, got one that was ended")
        if line is not None:
            self._lines.put(line)
        self._wanted.put(self._longest)
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
        self._lines.put(json.dumps(message))

    def ask(self, message: Mapping[str, Any] | None, seconds: float | None = None) -> dict[str, Any]:
        """Writes a JSON object (None: nothing more), and returns the next one of the program.

        Raises TimedOut and Ended as `ask_line` does, Refused for an answer that is an error.
        """
        try:
            return understood(self.ask_line(None if message is None else json.dumps(message), seconds))
        except (Ended, TimedOut):
            self.kill()  # nobody knows which line would answer the next question
            raise


class Engine(Program):
    """A program that plays games by the protocol. Each question raises NoAnswer where the program does not do its part."""

    _longest = LONGEST_MESSAGE

    def _start(self) -> None:
        super()._start()
        self.about: dict[str, Any] = {}
        """What the program says of itself: its answer to `hello`."""

    def new(self, game: str, options: Mapping[str, Any], seconds: float, **more: Any) -> None:
        """Begins a game, in a new process where the last one was lost; `more` is told besides."""
        if not self.is_running:
            self.restart()
        if not self.about:
            self.about = self._ready({"ask": "hello", "protocol": PROTOCOL, "seconds": seconds})
        self._ready({"ask": "new", "game": game, "options": options, "seconds": seconds, **more})

    def _ready(self, message: Mapping[str, Any]) -> dict[str, Any]:
        answer = self.ask(message, message["seconds"] + LATE)
        if answer.get("ready") != PROTOCOL:
            raise Refused(f"expected version {PROTOCOL} of the protocol, got {repr(answer.get('ready'))[:80]}")
        return answer

    def go(
        self,
        position: Mapping[str, Any],
        limits: Mapping[str, float],
        late: float = LATE,
        told: Info = lambda info: None,
    ) -> dict[str, Any]:
        """Returns the answer to a position: `move` is the name of one, which the caller checks.

        Where the `limits` have `seconds`, a program that can stop is asked to when they are over, and its time is up `late` seconds
        after them. `told` hears what the program says before it answers.
        """
        line = json.dumps({"ask": "position", **position})
        if len(line) > LONGEST_MESSAGE:
            raise UserError(
                f"expected a position of at most {LONGEST_MESSAGE:,} letters for a program, got {len(line):,}"
            )
        self._lines.put(line)
        seconds = limits.get("seconds")
        until = None if seconds is None else time.perf_counter() + seconds + late
        message: dict[str, Any] | None = {"ask": "go", **limits}
        timer = threading.Timer(seconds or 0.0, self.tell, [{"ask": "stop"}])
        timer.daemon = True
        if seconds is not None and self.about.get("stop") is True:
            timer.start()
        try:
            while "info" in (answer := self.ask(message, until and max(until - time.perf_counter(), 0.0))):
                message = None
                told(answer["info"])
        finally:
            timer.cancel()
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


def _write(process: subprocess.Popen[str], lines: queue.SimpleQueue[str | None]) -> None:
    """Writes every line, so that a program which reads none stops no one else."""
    assert process.stdin is not None
    with suppress(OSError):
        for line in iter(lines.get, None):
            process.stdin.write(f"{line}\n")
            process.stdin.flush()
    with suppress(OSError):  # for what was not written any more
        process.stdin.close()


def _read(
    process: subprocess.Popen[str], wanted: queue.SimpleQueue[int | None], answers: queue.SimpleQueue[str]
) -> None:
    """Reads each line that is wanted, of at most so many letters; "" is the program's end.

    Only what was asked for is read: a program that floods its standard output waits, as the pipe is full.
    """
    assert process.stdout is not None
    for longest in iter(wanted.get, None):
        answers.put(process.stdout.readline(longest))
    process.stdout.close()


def _hush(*queues: queue.SimpleQueue[Any]) -> None:
    """Ends the threads that wait for something in these queues."""
    for one in queues:
        one.put(None)


def _end(process: subprocess.Popen[str], group: bool) -> None:
    """Kills a process, or its whole group, and waits for it."""
    if group and sys.platform != "win32":
        with suppress(ProcessLookupError, PermissionError):  # all of them have ended
            os.killpg(process.pid, signal.SIGKILL)
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
