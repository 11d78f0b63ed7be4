"""Tells people what they wait for: what is compiled, loaded or unpacked for more than a second.

Put `with waiting("unpacking the network of Threes"):` around such work. A line says so before the second is over, on a terminal the
seconds are counted below it from the third on; work that is done sooner says nothing.

The line is an INFO record of the logger `leafwise`. Where nobody has set up logging it goes to standard error as it is, in a
notebook as in a script; `logging.getLogger("leafwise").setLevel("WARNING")` silences it, and so does the environment variable
`LEAFWISE_QUIET`. Workers would all say the same: none does but one that calls `speak`.
"""

from __future__ import annotations

import contextlib
import os
import sys
import threading
import time
from collections.abc import Callable, Iterator

SAID_SECONDS, COUNTED_SECONDS = 0.9, 3.0
"""How long something lasts before it is said, and before its seconds are counted."""
GAP_SECONDS = 0.3
"""Pauses up to this long end no wait: what is compiled piece by piece is one."""
TICK_SECONDS = 0.1
CLEAR = "\r\x1b[K"
ONCE = ", once; kept in "
_shown: set[str] = set()
"""Lines of what happens once that stand on the terminal or in the log: pieces of it may lie apart."""


@contextlib.contextmanager
def waiting(what: str, kept: object = None) -> Iterator[None]:
    """Tells what a block does where it lasts; `kept` is where its result is kept, so that it happens once.

    Of blocks within one another the outermost is told. Costs microseconds.
    """
    block = (f"{what}{ONCE}{kept}" if kept else what,)
    _watch.begin(block)
    try:
        yield
    finally:
        _watch.end(block)


def loading() -> contextlib.AbstractContextManager[None]:
    """Tells of modules or compiled code that a block loads."""
    return waiting("loading leafwise")


def speak() -> None:
    """Makes this worker the one that says what all wait for."""
    _watch.speaks = True


def tell_by(show: Callable[[str, int], object]) -> None:
    """Has this process tell by `show(line, seconds)`.

    It is called with 0 seconds when a line is first said, then for each that is counted, and with "" where the wait is over.
    """
    _watch.show = show


def _show(line: str, seconds: int) -> None:
    """Hands a line to the logger, or to standard error where nobody has set up logging; counts where it can be written over."""
    import logging  # not where help is asked for

    if line and not seconds and ONCE in line:
        if line in _shown:
            return
        _shown.add(line)
    logger = logging.getLogger("leafwise")
    if logger.level == logging.NOTSET:
        logger.setLevel(logging.INFO)
    if logger.hasHandlers():
        if line and not seconds:
            logger.info(line)
    elif sys.stderr and logger.isEnabledFor(logging.INFO) and not os.environ.get("LEAFWISE_QUIET"):
        with contextlib.suppress(OSError, ValueError):  # closed
            if not seconds:
                print(line, end="\n" if line else "", file=sys.stderr, flush=True)
            elif sys.stderr.isatty() and sys.stderr is sys.__stderr__:  # else others draw on it
                print(f"{CLEAR}  {seconds} s" if line else CLEAR, end="", file=sys.stderr, flush=True)


class _Watch:
    """The thread that looks at what is waited for; it lives no longer than that."""

    def __init__(self) -> None:
        self._lock = threading.RLock()
        self._open: list[tuple[str]] = []
        self._thread: threading.Thread | None = None
        self._now, self._said = "", ""
        """The line of the wait under way, and the one said last."""
        self._lines: set[str] = set()
        """Those that were said of this wait."""
        self._since = 0.0
        self._ended = float("-inf")
        self.show: Callable[[str, int], object] = _show
        self.speaks = False
        """Whether this process speaks though it is a worker."""
        self._counted, self._is_told = 0, False
        """The seconds that were told of it last, and whether they still stand somewhere."""

    def begin(self, block: tuple[str]) -> None:
        """Begins a wait, or goes on with the last one."""
        with self._lock:
            self._open.append(block)
            if self._thread is None or not self._thread.is_alive():
                self._now, self._said, self._since, self._lines = block[0], "", time.monotonic(), set()
                self._thread = threading.Thread(target=self._run, name="leafwise-waiting", daemon=True)
                with contextlib.suppress(RuntimeError):  # this process is about to end
                    self._thread.start()

    def end(self, block: tuple[str]) -> None:
        """Ends a block."""
        with self._lock:
            if any(one is block for one in self._open):  # else this process was forked since
                self._open = [one for one in self._open if one is not block]
            self._ended = time.monotonic()
            if self._is_told and not self._open:
                self._tell("")

    def _run(self) -> None:
        while True:
            time.sleep(TICK_SECONDS)
            with self._lock:
                if self._open:
                    self._look(time.monotonic())
                elif time.monotonic() - self._ended > GAP_SECONDS:
                    self._thread = None
                    return

    def _look(self, now: float) -> None:
        """Says what has lasted long enough, and counts."""
        line = self._open[0][0]
        if line != self._now:
            if self._now == self._said:  # short ones that follow one another are one wait, until one is said
                self._since = now
            self._now = line
        seconds = now - self._since
        if line != self._said and seconds > SAID_SECONDS:
            self._said, self._counted = line, 0
            if line not in self._lines:
                self._lines.add(line)
                self._tell(line)
        elif line == self._said and seconds > max(COUNTED_SECONDS, self._counted + 1):
            self._counted = int(seconds)
            self._tell(line)

    def _tell(self, line: str) -> None:
        self._is_told = bool(line)
        processes = sys.modules.get("multiprocessing.process")
        if self.speaks or processes is None or processes.parent_process() is None:
            self.show(line, self._counted)


_watch = _Watch()
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_watch.__init__)  # type: ignore[misc]
