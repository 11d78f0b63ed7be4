"""Ctrl-C while compiled code runs: the one place that hears it.

Python acts on a signal between two steps of its interpreter, so it is deaf during a compiled call of a minute. A thread listens
here instead: the system's own handler wakes it at once (`signal.set_wakeup_fd`), and it sets the stop bytes of the calls that run
(`stoppable`). They end early, and Python raises KeyboardInterrupt as everywhere. `Deferred` is for work that ends in order: nothing
is raised, a flag says that Ctrl-C was pressed. Where SIGINT is ignored, as in background jobs of a shell, it stays so.

What takes longer than half a second to end, such as a compilation, is announced in a line; a second Ctrl-C then ends the process.
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
"""How often stop bytes are set until they help: a call that is about to begin clears its own. After how long a line says so."""
SECOND_PRESS_SECONDS = 0.3
"""Signals closer to each other are one press, as where a terminal and a program that started this one both send it."""
RENEWED_SECONDS = 1.0
"""How often it is made sure that nobody else took the place that wakes the thread, as event loops do."""
ANNOUNCEMENT = "Ctrl-C: stopping; what is being compiled or saved is finished first, Ctrl-C again ends at once"

_main = threading.main_thread().ident
_running: list[_Call] = []
_deferred: list[Deferred] = []


class _Call:
    """A call that runs, and its stop bytes."""

    __slots__ = ("heard", "stops")

    def __init__(self, stops: tuple[Bytes, ...]) -> None:
        self.stops, self.heard = stops, 0.0
        """`heard`: when Ctrl-C was first pressed while it ran; 0: it was not."""

    def set(self, value: int) -> None:
        for stop in self.stops:
            stop[0] = value


def stoppable(work: Callable[[], R], *stops: Bytes) -> R:
    """Returns what `work` returns, whose compiled calls poll stop bytes; Ctrl-C sets them, and KeyboardInterrupt is raised.

    Each of `stops` [1] is 0 at the beginning. In other threads than the main one nothing is heard: whoever waits for them stops
    them.
    """
    if threading.get_ident() != _main:
        return work()
    _listener.listen()
    _listener.settle()
    call = _Call(stops)
    call.set(0)
    try:  # no context manager: Ctrl-C as it exits would leave the call in `_running`
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
    """A block that Ctrl-C, or SIGTERM, ends in order: calls end early, nothing is raised, and `requested` is True from then on."""

    def __init__(self) -> None:
        self.requested, self.raises = False, False
        self._before: dict[int, Any] = {}

    def _request(self, number: int, frame: FrameType | None) -> None:
        self.requested = True
        if self.raises and not _whole.depth:
            raise KeyboardInterrupt

    def check(self) -> None:
        """Raises KeyboardInterrupt if Ctrl-C was pressed; for places where all is whole."""
        if self.requested:
            raise KeyboardInterrupt

    @contextlib.contextmanager
    def raising(self) -> Iterator[None]:
        """Has Ctrl-C raise KeyboardInterrupt within a block that may be left anywhere."""
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


class _Whole:
    """The blocks that Ctrl-C does not break off."""

    depth = 0
    pressed = False

    def keep(self, number: int, frame: FrameType | None) -> None:
        self.pressed = True


_whole = _Whole()
_keep = _whole.keep


@contextlib.contextmanager
def whole() -> Iterator[None]:
    """Has Ctrl-C raise KeyboardInterrupt at the end of a block, be it within another one, instead of anywhere in it.

    For one compilation: raised where a compiler calls back it would be lost, and the code with it.
    """
    if threading.get_ident() != _main:
        yield
        return
    own = signal.getsignal(signal.SIGINT) is signal.default_int_handler
    if own:
        signal.signal(signal.SIGINT, _keep)
    _whole.depth += 1
    try:
        yield
    finally:
        _whole.depth -= 1
        if own:
            signal.signal(signal.SIGINT, signal.default_int_handler)
        if _whole.pressed or (_deferred and _deferred[-1].requested and _deferred[-1].raises):
            _whole.pressed = False
            raise KeyboardInterrupt


_as_before: list[Callable[[], None]] = []
"""What makes the terminal as it was before `silent_keys`."""


@contextlib.contextmanager
def silent_keys() -> Iterator[None]:
    """Has a terminal not show the keys that are pressed during a block, where a bar is drawn; the shell gets them afterwards."""
    is_ours = False
    with contextlib.suppress(OSError, AttributeError):  # no terminal, or Windows
        is_ours = os.tcgetpgrp(0) == os.getpgrp()  # else a change would stop this process
    if not is_ours:
        yield
        return
    import termios

    before = termios.tcgetattr(0)
    _as_before.append(lambda: termios.tcsetattr(0, termios.TCSANOW, before))
    try:
        termios.tcsetattr(0, termios.TCSANOW, [*before[:3], before[3] & ~termios.ECHO, *before[4:]])
        yield
    finally:
        _as_before.pop()()


def check() -> None:
    """Raises KeyboardInterrupt within a `Deferred` block where Ctrl-C was pressed; for places where all is whole."""
    if _deferred and threading.get_ident() == _main:
        _deferred[-1].check()


def at_command_line() -> None:
    """Has Ctrl-C announced whatever the process does, and a second one end it at once.

    While the interpreter ends, which takes seconds on a busy machine, Python would let it kill the process, whose status were lost.
    """
    if not _listener.ends_process and signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        atexit.register(signal.signal, signal.SIGINT, signal.SIG_IGN)
    _listener.ends_process = True
    _listener.listen()


def as_command(run: Callable[[list[str]], int], arguments: list[str] | None) -> int:
    """Returns the status of a command line; without `arguments` it is that of this process, which ends with it.

    What a person did wrong is one line and status 2. Without `arguments` Ctrl-C is heard as `at_command_line` says; where `run`
    does not deal with it, it is one line and status 130.
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
    """Ends this process, whose work is done or stopped: after Ctrl-C without taking its memory apart, which takes seconds."""
    if not _listener.was_pressed:
        sys.exit(status)
    atexit._run_exitfuncs()
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(Exception):
            stream.flush()
    os._exit(status)


def _interrupt() -> NoReturn:
    """Raises KeyboardInterrupt: Python's own if that is still on its way, else one in its place, as a destructor swallows it."""
    time.sleep(0.001)
    raise KeyboardInterrupt from None


def _defers() -> bool:
    return bool(_deferred) and not _deferred[-1].raises


def _is_interactive() -> bool:
    """Whether people type at this process, whose session a second Ctrl-C is not to end."""
    return hasattr(sys, "ps1") or bool(sys.flags.interactive) or hasattr(builtins, "__IPYTHON__")


class _Listener:
    """The thread that hears signals, and what it knows of the last Ctrl-C."""

    def __init__(self) -> None:
        self.ends_process = False
        self._renewed = -RENEWED_SECONDS
        self._ends: tuple[socket.socket, socket.socket] | None = None
        self._next = -1
        """Who else listens: what comes is passed on."""
        self._pressed, self._announced, self.was_pressed = 0.0, False, False
        self._blocks: dict[Deferred, float] = {}
        """The `Deferred` blocks that Ctrl-C was pressed in, and when it first was: those that begin later go on."""
        self._pending: Callable[[], object] = list
        """Whether signals wait to be read."""
        self._handles = False

    def listen(self) -> None:
        """Makes sure that signals are heard; for the main thread."""
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
        own = self._ends[1].fileno()
        with contextlib.suppress(ValueError):  # not the main interpreter
            before = signal.set_wakeup_fd(own, warn_on_full_buffer=False)
            if before != own:
                self._next = before

    def settle(self) -> None:
        """Waits until what was pressed before now is dealt with: it stops no call that begins later. For the main thread."""
        while self._pending() or self._handles:
            time.sleep(0.0005)

    def forget(self) -> None:
        """Begins anew in a process that was forked, which has no such thread."""
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
        """Whether a signal is to end what runs: those of other handlers are theirs."""
        if number == signal.SIGTERM:
            return bool(_deferred)
        own = signal.default_int_handler, _keep
        return number == signal.SIGINT and (bool(_deferred) or signal.getsignal(number) in own)

    def _press(self) -> None:
        now = time.monotonic()
        self._pressed = self._since()
        if self._pressed and now - self._pressed > SECOND_PRESS_SECONDS and not _is_interactive():
            _say("ended at once")
            for undo in _as_before[:1]:
                undo()
            os._exit(INTERRUPTED)
        if not self._pressed:
            self._pressed, self._announced, self.was_pressed = now, False, True
        self._blocks = {block: self._blocks.get(block, now) for block in tuple(_deferred)}
        for one in tuple(_running):  # at every signal: Python raises KeyboardInterrupt for each
            one.heard = one.heard or now

    def _since(self) -> float:
        """Returns when Ctrl-C was first pressed for what has not ended yet; 0: all has."""
        if self.ends_process:
            return self._pressed
        running = [one.heard for one in tuple(_running) if one.heard]
        return min(running + [self._blocks[block] for block in tuple(_deferred) if block in self._blocks], default=0.0)

    def _follow(self) -> None:
        """Stops what was running, again and again until it ends."""
        is_open = any(block in self._blocks for block in tuple(_deferred))
        for one in tuple(_running):
            if one.heard or (is_open and _defers()):
                one.set(1)
        self._pressed = self._since()
        if self._pressed and time.monotonic() - self._pressed > ANNOUNCED_SECONDS and not self._announced:
            self._announced = True
            _say(ANNOUNCEMENT)


def _readable(end: socket.socket, seconds: float | None) -> Callable[[], object]:
    """Returns a function that waits at most `seconds` (None: for ever) for something to read, and says whether there is."""
    if not hasattr(select, "poll"):
        return lambda: select.select([end], [], [], seconds)[0]
    poll = select.poll()
    poll.register(end, select.POLLIN)
    return partial(poll.poll, None if seconds is None else 1000 * seconds)


def _say(line: str) -> None:
    with contextlib.suppress(Exception):
        start = "\n" if sys.stderr.isatty() else ""
        print(f"{start}{line}", file=sys.stderr, flush=True)


_listener = _Listener()
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_listener.forget)
