"""Handles Ctrl-C while compiled code runs, in one place.

Python handles a signal between two steps of its interpreter, so a compiled call of a minute would block it. Here a thread
listens instead: the system's own handler wakes it at once (`signal.set_wakeup_fd`), and it sets the stop bytes of the running
calls (`stoppable`). They end early, and Python raises KeyboardInterrupt as usual. `Deferred` is for work that ends in order:
nothing is raised, a flag says that Ctrl-C was pressed. If SIGINT is ignored, as in background jobs of a shell, it stays so.

If something takes longer than half a second to end, such as a compilation, a line says so; a second Ctrl-C then ends the
process.
"""

from __future__ import annotations

import atexit
import builtins
import contextlib
import os
import select
import signal
import socket
import sys
import threading
import time
from collections.abc import Callable, Iterator
from functools import partial
from types import FrameType
from typing import TYPE_CHECKING, Any, NoReturn, TypeVar

from leafwise.envs.core.commandline import status_of

if TYPE_CHECKING:
    from leafwise.envs.core.arrays import Bytes

R = TypeVar("R")

INTERRUPTED = 130
"""Exit status of a process that Ctrl-C ended."""
AGAIN_SECONDS, ANNOUNCED_SECONDS = 0.05, 0.5
"""How often stop bytes are set again, since a starting call clears its own; after how long a line announces the wait."""
SECOND_PRESS_SECONDS = 0.3
"""Signals closer than this are one press: a terminal and the program that started this one may both send it."""
RENEWED_SECONDS = 1.0
"""How often the wakeup file descriptor is set again, since event loops replace it."""
ANNOUNCEMENT = "Ctrl-C: stopping; what is being compiled or saved is finished first, Ctrl-C again ends at once"

_main = threading.main_thread().ident
_running: list[_Call] = []
_deferred: list[Deferred] = []


class _Call:
    """A running call, with its stop bytes."""

    __slots__ = ("heard", "stops")

    def __init__(self, stops: tuple[Bytes, ...]) -> None:
        self.stops, self.heard = stops, 0.0
        """`heard`: when Ctrl-C was first pressed while it ran; 0: never."""

    def set(self, value: int) -> None:
        for stop in self.stops:
            stop[0] = value


def stoppable(work: Callable[[], R], *stops: Bytes) -> R:
    """Runs `work`, whose compiled calls poll stop bytes; Ctrl-C sets these, and KeyboardInterrupt is raised.

    Each of `stops` [1] is 0 at the beginning. In another thread than the main one Ctrl-C has no effect. There the thread that
    waits for this one must set the bytes.
    """
    if threading.get_ident() != _main:
        return work()
    _listener.listen()
    _listener.settle()
    call = _Call(stops)
    call.set(0)
    try:  # no context manager: Ctrl-C at its exit would leave the call in `_running`
        _running.append(call)
        if _deferred and _deferred[-1].requested:
            call.set(1)
        result = work()
    except KeyboardInterrupt:
        raise
    except BaseException:
        if call.heard and not _defers():
            _interrupt()
        raise
    finally:
        if call in _running:
            _running.remove(call)
    if call.heard and not _defers():
        _interrupt()
    return result


class Deferred:
    """A block that Ctrl-C, or SIGTERM, ends in order: calls end early, nothing is raised, and `requested` becomes True."""

    def __init__(self) -> None:
        self.requested, self.raises = False, False
        self._before: dict[int, Any] = {}

    def _request(self, number: int, frame: FrameType | None) -> None:
        self.requested = True
        if self.raises and not _uninterrupted.depth:
            raise KeyboardInterrupt

    def check(self) -> None:
        """Raises KeyboardInterrupt if Ctrl-C was pressed; call it where all data is consistent."""
        if self.requested:
            raise KeyboardInterrupt

    @contextlib.contextmanager
    def raising(self) -> Iterator[None]:
        """Makes Ctrl-C raise KeyboardInterrupt within a block that may be left anywhere."""
        self.raises = True
        try:
            self.check()
            yield
        finally:
            self.raises = False

    def __enter__(self) -> Deferred:
        if threading.get_ident() == _main:
            _listener.listen()
            for number in (signal.SIGINT, signal.SIGTERM):
                if signal.getsignal(number) not in (signal.SIG_IGN, None):
                    self._before[number] = signal.signal(number, self._request)
            _deferred.append(self)
        return self

    def __exit__(self, *error: object) -> None:
        if self in _deferred:
            _deferred.remove(self)
        for number, handler in self._before.items():
            signal.signal(number, handler)


class _UninterruptedBlocks:
    """The nested blocks that Ctrl-C does not interrupt."""

    depth = 0
    pressed = False

    def keep(self, number: int, frame: FrameType | None) -> None:
        self.pressed = True


_uninterrupted = _UninterruptedBlocks()
_keep = _uninterrupted.keep


@contextlib.contextmanager
def uninterrupted() -> Iterator[None]:
    """Delays KeyboardInterrupt to the end of a block, also inside other blocks.

    It is for compilations: an exception raised in a compiler's callback would be lost, and the code with it.
    """
    if threading.get_ident() != _main:
        yield
        return
    is_default = signal.getsignal(signal.SIGINT) is signal.default_int_handler
    if is_default:
        signal.signal(signal.SIGINT, _keep)
    _uninterrupted.depth += 1
    try:
        yield
    finally:
        _uninterrupted.depth -= 1
        if is_default:
            signal.signal(signal.SIGINT, signal.default_int_handler)
        if _uninterrupted.pressed or (_deferred and _deferred[-1].requested and _deferred[-1].raises):
            _uninterrupted.pressed = False
            raise KeyboardInterrupt


_restore_terminal: list[Callable[[], None]] = []
"""Functions that restore the terminal after `silent_keys`."""


@contextlib.contextmanager
def silent_keys() -> Iterator[None]:
    """Hides keys that are pressed while a progress bar is drawn; the shell gets them afterwards."""
    is_ours = False
    with contextlib.suppress(OSError, AttributeError):  # no terminal, or Windows
        is_ours = os.tcgetpgrp(0) == os.getpgrp()  # otherwise a change would stop this process
    if not is_ours:
        yield
        return
    import termios

    before = termios.tcgetattr(0)
    _restore_terminal.append(lambda: termios.tcsetattr(0, termios.TCSANOW, before))
    try:
        termios.tcsetattr(0, termios.TCSANOW, [*before[:3], before[3] & ~termios.ECHO, *before[4:]])
        yield
    finally:
        _restore_terminal.pop()()


def check() -> None:
    """Raises KeyboardInterrupt within a `Deferred` block if Ctrl-C was pressed; call it where all data is consistent."""
    if _deferred and threading.get_ident() == _main:
        _deferred[-1].check()


def at_command_line() -> None:
    """Announces every Ctrl-C, and ends the process at a second one.

    While the interpreter exits, which takes seconds on a busy machine, Ctrl-C would kill the process, and its status would be
    lost.
    """
    if not _listener.ends_process and signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        atexit.register(signal.signal, signal.SIGINT, signal.SIG_IGN)
    _listener.ends_process = True
    _listener.listen()


def as_command(run: Callable[[list[str]], int], arguments: list[str] | None) -> int:
    """Runs a command line and returns its status; without `arguments` the process ends with that status.

    A wrong input is one line and status 2. Without `arguments`, Ctrl-C is handled as in `at_command_line`; if `run` does not
    handle it, it becomes one line and status 130.
    """
    if arguments is not None:
        return status_of(run, arguments)
    at_command_line()
    try:
        status = status_of(run, sys.argv[1:])
    except KeyboardInterrupt:
        _say("interrupted")
        status = INTERRUPTED
    leave(status)


def leave(status: int) -> NoReturn:
    """Ends this process when its work is done or stopped; after Ctrl-C without freeing its memory, which takes seconds."""
    if not _listener.was_pressed:
        sys.exit(status)
    atexit._run_exitfuncs()
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(Exception):
            stream.flush()
    os._exit(status)


def _interrupt() -> NoReturn:
    """Raises KeyboardInterrupt: Python's own if it is pending, otherwise a new one, since destructors swallow it."""
    time.sleep(0.001)
    raise KeyboardInterrupt from None


def _defers() -> bool:
    return bool(_deferred) and not _deferred[-1].raises


def _is_interactive() -> bool:
    """Whether people type at this process, whose session a second Ctrl-C must not end."""
    return hasattr(sys, "ps1") or bool(sys.flags.interactive) or hasattr(builtins, "__IPYTHON__")


class _SignalListener:
    """The thread that receives signals, and its record of the last Ctrl-C."""

    def __init__(self) -> None:
        self.ends_process = False
        self._renewed = -RENEWED_SECONDS
        self._ends: tuple[socket.socket, socket.socket] | None = None
        self._next = -1
        """Another listener's descriptor, to which signals are passed on."""
        self._pressed, self._announced, self.was_pressed = 0.0, False, False
        self._blocks: dict[Deferred, float] = {}
        """The `Deferred` blocks in which Ctrl-C was pressed, and when it first was: later blocks go on."""
        self._pending: Callable[[], object] = list
        """Returns whether signals wait to be read."""
        self._handles = False

    def listen(self) -> None:
        """Makes sure that signals are received; for the main thread."""
        now = time.monotonic()
        if now - self._renewed < RENEWED_SECONDS:
            return
        self._renewed = now
        if self._ends is None:
            self._ends = socket.socketpair()
            for end in self._ends:
                end.setblocking(False)
            self._pending = _readable(self._ends[0], 0)
            threading.Thread(target=self._run, args=(self._ends[0],), name="leafwise-interrupts", daemon=True).start()
        descriptor = self._ends[1].fileno()
        with contextlib.suppress(ValueError):  # not the main interpreter
            before = signal.set_wakeup_fd(descriptor, warn_on_full_buffer=False)
            if before != descriptor:
                self._next = before

    def settle(self) -> None:
        """Waits until earlier presses are handled, so that they stop no call that begins later. For the main thread."""
        while self._pending() or self._handles:
            time.sleep(0.0005)

    def forget(self) -> None:
        """Starts again in a forked process, which has no such thread."""
        with contextlib.suppress(ValueError):
            if self._ends is not None:
                signal.set_wakeup_fd(-1)
        self.__init__()  # type: ignore[misc]
        _running.clear()

    def _run(self, end: socket.socket) -> None:
        wait, wait_again = _readable(end, None), _readable(end, AGAIN_SECONDS)
        while True:
            self._handles = False
            is_readable = wait_again() if self._pressed else wait()
            self._handles = True  # before the signals are read, so that `settle` misses none
            signals = end.recv(64) if is_readable else b""
            if signals and self._next >= 0:
                with contextlib.suppress(OSError, ValueError), socket.socket(fileno=os.dup(self._next)) as other:
                    other.send(signals)
            if any(self._is_press(number) for number in signals):
                self._press()
            if self._pressed:
                self._follow()

    def _is_press(self, number: int) -> bool:
        """Whether a signal should end what runs, and does not belong to another handler."""
        if number == signal.SIGTERM:
            return bool(_deferred)
        handlers = signal.default_int_handler, _keep
        return number == signal.SIGINT and (bool(_deferred) or signal.getsignal(number) in handlers)

    def _press(self) -> None:
        now = time.monotonic()
        self._pressed = self._since()
        if self._pressed and now - self._pressed > SECOND_PRESS_SECONDS and not _is_interactive():
            _say("ended at once")
            for undo in _restore_terminal[:1]:
                undo()
            os._exit(INTERRUPTED)
        if not self._pressed:
            self._pressed, self._announced, self.was_pressed = now, False, True
        self._blocks = {block: self._blocks.get(block, now) for block in tuple(_deferred)}
        for one in tuple(_running):  # at every signal, since Python raises KeyboardInterrupt each time
            one.heard = one.heard or now

    def _since(self) -> float:
        """Returns when Ctrl-C was first pressed for work that has not ended yet; 0 if all has."""
        if self.ends_process:
            return self._pressed
        running = [one.heard for one in tuple(_running) if one.heard]
        return min(running + [self._blocks[block] for block in tuple(_deferred) if block in self._blocks], default=0.0)

    def _follow(self) -> None:
        """Stops the running calls, again and again until they end."""
        is_open = any(block in self._blocks for block in tuple(_deferred))
        for one in tuple(_running):
            if one.heard or (is_open and _defers()):
                one.set(1)
        self._pressed = self._since()
        if self._pressed and time.monotonic() - self._pressed > ANNOUNCED_SECONDS and not self._announced:
            self._announced = True
            _say(ANNOUNCEMENT)


def _readable(end: socket.socket, seconds: float | None) -> Callable[[], object]:
    """Returns a function that waits at most `seconds` (None: for ever) for data, and returns whether there is any."""
    if not hasattr(select, "poll"):
        return lambda: select.select([end], [], [], seconds)[0]
    poll = select.poll()
    poll.register(end, select.POLLIN)
    return partial(poll.poll, None if seconds is None else 1000 * seconds)


def _say(line: str) -> None:
    with contextlib.suppress(Exception):
        start = "\n" if sys.stderr.isatty() else ""
        print(f"{start}{line}", file=sys.stderr, flush=True)


_listener = _SignalListener()
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_listener.forget)
