"""Supervises other programs in processes: starts and ends them, asks them within a time limit, and keeps what they printed
last.

`Process` supervises any program, `Program` one that answers lines with lines. `Engine` plays a game by the protocol below; it
may be written in any language.

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
"""Receives a program's messages about its search."""

PROTOCOL = 1
"""The version of the protocol."""
LIMITS = {"seconds": Range(0, 86_400, above=True), "depth": Range(1, 10**6), "nodes": Range(1, 10**15)}
"""The limits on a program's thinking that `go` may send."""
LATE = 1.0
"""Seconds beyond its time that an engine may take to answer, or to quit."""
ENDING = 5.0
"""Seconds that a process without an answer may take to end by itself, so that its exit status is its own."""
OWN_GROUP: dict[str, Any] = {"process_group": 0}
if sys.platform == "win32":
    OWN_GROUP = {"creationflags": subprocess.CREATE_NEW_PROCESS_GROUP}
"""How a process is started in a group of its own."""
LONGEST_LINE, LONGEST_MESSAGE, LONGEST_TAIL = 1 << 25, 1 << 20, 1 << 13
"""Letters of an answer, and of a line of the protocol; bytes at the end of the printed output that are read back."""


class NoAnswer(Exception):
    """A program gave no usable answer. The message says why; `where` and `report` are the program's own details."""

    def __init__(self, message: str, where: str = "", report: Sequence[str] = ()) -> None:
        super().__init__(message)
        self.where, self.report = where, tuple(report)


class Refused(NoAnswer):
    """The program answered that it cannot do what was asked."""


class TimedOut(NoAnswer):
    """The program took too long, and was ended."""


class Ended(NoAnswer):
    """The process ended, or wrote something other than an answer and was ended."""


class Process:
    """A process that ends with this object: by `close`, at the end of a `with` block, by garbage collection, or when this
    process ends.

    It gets no input and its output is dropped. Its standard error is shown, or kept in a temporary file, whose end `last_lines`
    returns.
    """

    _stream = subprocess.DEVNULL
    """Its standard input and output."""

    def __init__(
        self,
        command: Sequence[str],
        folder: str | Path | None = None,
        environment: Mapping[str, str] | None = None,
        *,
        shows: bool = False,
        group: bool = False,
    ) -> None:
        """Starts the process in a folder, with environment variables (default: those of this process); `shows` its standard
        error.

        With `group` it has its own process group: Ctrl-C does not reach it, and processes that it started end with it (on
        Windows it ends alone). On Windows a command may be one line. Raises OSError if it does not start, ValueError for an
        impossible command.
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
        """Ends the process, and starts another one."""
        self.kill()
        self._forget()
        self._start()

    @property
    def pid(self) -> int:
        """The id of the process."""
        return self._process.pid

    @property
    def is_running(self) -> bool:
        """Whether the process runs, and was not ended from here."""
        return self._end.alive and self._process.poll() is None

    @property
    def status(self) -> int | None:
        """The exit status; None while the process runs."""
        return self._process.poll()

    def wait(self, seconds: float | None = None) -> bool:
        """Waits for the end of the process; returns whether it ended in time."""
        with suppress(subprocess.TimeoutExpired):
            self._process.wait(seconds)
        return self._process.poll() is not None

    def terminate(self) -> None:
        """Asks the process to end."""
        self._process.terminate()

    def kill(self) -> None:
        """Ends the process at once; its output can still be read, and `restart` starts another one."""
        self._end()

    def close(self) -> None:
        """Ends the process, and drops its output."""
        self.kill()
        self._forget()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *problem: object) -> None:
        self.close()

    def last_lines(self, count: int) -> list[str]:
        """Returns the last lines of its standard error; [] if they were shown."""
        if self._printed is None or self._printed.closed:
            return []
        file = self._printed.fileno()
        os.lseek(file, max(0, os.fstat(file).st_size - LONGEST_TAIL), os.SEEK_SET)
        text = os.read(file, LONGEST_TAIL).decode(errors="replace")
        return text.rstrip("\r\n").splitlines()[-count:]

    def forget_lines(self) -> None:
        """Drops what it has printed so far."""
        if self._printed is not None and not self._printed.closed:
            os.lseek(self._printed.fileno(), 0, os.SEEK_SET)  # the program shares this file position
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
        """Ends the process at once; its output can still be read, and `restart` starts another one."""
        super().kill()
        self._hush()

    def ask_line(self, line: str | None, seconds: float | None = None) -> str:
        """Writes a line (None: nothing), and returns the program's next line.

        Raises TimedOut after `seconds`, Ended at the program's end.
        """
        if not self._end.alive:
            raise Ended("expected a program that runs, got one that was ended")
        if line is not None:
            self._lines.put(line)
        self._wanted.put(self._longest)
        try:
            answer = self._answers.get(timeout=seconds)
        except BaseException as problem:  # also Ctrl-C: a late answer must not count for the next question
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
        """Writes a JSON object that needs no answer."""
        self._lines.put(json.dumps(message))

    def ask(self, message: Mapping[str, Any] | None, seconds: float | None = None) -> dict[str, Any]:
        """Writes a JSON object (None: nothing), and returns the program's next one.

        Raises TimedOut and Ended as `ask_line` does, Refused for an answer that is an error.
        """
        try:
            return understood(self.ask_line(None if message is None else json.dumps(message), seconds))
        except (Ended, TimedOut):
            self.kill()  # it is unknown which line would answer the next question
            raise


class Engine(Program):
    """A program that plays games by the protocol. Its methods raise NoAnswer if the program does not do its part."""

    _longest = LONGEST_MESSAGE

    def _start(self) -> None:
        super()._start()
        self.about: dict[str, Any] = {}
        """The program's description of itself: its answer to `hello`."""

    def new(self, game: str, options: Mapping[str, Any], seconds: float, **more: Any) -> None:
        """Begins a game, in a new process if the last one was lost; `more` are further entries of the message."""
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
        hear: Info = lambda info: None,
    ) -> dict[str, Any]:
        """Returns the answer to a position; the caller checks its `move`, a name.

        If `limits` has `seconds`, a program that supports it is asked to stop when they are over, and must answer within `late`
        more seconds. `told` receives the program's messages before the answer.
        """
        line = json.dumps({"ask": "position", **position})
        if len(line) > LONGEST_MESSAGE:
            raise UserError(
                f"expected a position of at most {LONGEST_MESSAGE:,} letters for a program, got {len(line):,}"
            )
        self._lines.put(line)
        seconds = limits.get("seconds")
        deadline = None if seconds is None else time.perf_counter() + seconds + late
        message: dict[str, Any] | None = {"ask": "go", **limits}
        timer = threading.Timer(seconds or 0.0, self.tell, [{"ask": "stop"}])
        timer.daemon = True
        if seconds is not None and self.about.get("stop") is True:
            timer.start()
        try:
            while "info" in (answer := self.ask(message, deadline and max(deadline - time.perf_counter(), 0.0))):
                message = None
                hear(answer["info"])
        finally:
            timer.cancel()
        if not isinstance(answer.get("move"), str):
            raise Refused(f"expected a move by its name, got {repr(answer.get('move'))[:80]}")
        return answer

    def close(self) -> None:
        """Asks the program to quit; ends its process if it does not."""
        if self.is_running:
            self.tell({"ask": "quit"})
            self.wait(LATE)
        super().close()


def understood(line: str | bytes) -> dict[str, Any]:
    """Returns the JSON object in a line; raises Refused for an error, TimedOut for a late answer, Ended for anything else."""
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
    """Writes all lines from a thread, so that a program that reads none blocks nobody."""
    assert process.stdin is not None
    with suppress(OSError):
        for line in iter(lines.get, None):
            process.stdin.write(f"{line}\n")
            process.stdin.flush()
    with suppress(OSError):  # of lines that were not written any more
        process.stdin.close()


def _read(
    process: subprocess.Popen[str], wanted: queue.SimpleQueue[int | None], answers: queue.SimpleQueue[str]
) -> None:
    """Reads a line, of limited length, for each request in `wanted`; "" is the program's end.

    Lines are read only on request: a program that floods its standard output has to wait when the pipe is full.
    """
    assert process.stdout is not None
    for longest in iter(wanted.get, None):
        answers.put(process.stdout.readline(longest))
    process.stdout.close()


def _hush(*queues: queue.SimpleQueue[Any]) -> None:
    """Ends the threads that wait at these queues."""
    for one in queues:
        one.put(None)


def _end(process: subprocess.Popen[str], group: bool) -> None:
    """Kills a process, or its whole group, and waits for it."""
    if group and sys.platform != "win32":
        with suppress(ProcessLookupError, PermissionError):  # all processes of the group have ended
            os.killpg(process.pid, signal.SIGKILL)
    process.kill()
    process.wait()


SHOW_PRINTS = "LEAFWISE_SHOW_PRINTS"
"""Environment variable that tells processes to show the output of other people's programs: 1 or unset."""


def prints_are_shown() -> bool:
    """Whether the output of programs is shown."""
    return os.environ.get(SHOW_PRINTS) == "1"


@contextmanager
def prints_shown(wanted: bool) -> Iterator[None]:
    """Shows the output of programs on standard error during the block, if `wanted`."""
    before = os.environ.get(SHOW_PRINTS)
    if wanted:
        os.environ[SHOW_PRINTS] = "1"
    try:
        yield
    finally:
        if wanted and before is None:
            del os.environ[SHOW_PRINTS]
