"""Tells people what they wait for when something is compiled, loaded or unpacked for more than a second.

Put `with waiting("unpacking the network of Threes"):` around such work. A line appears within the first second; on a terminal a
counter of seconds follows from the third on. Work that ends sooner prints nothing.

The line is an INFO record of the logger `leafwise`. Without logging handlers it goes to standard error, also in a notebook;
`logging.getLogger("leafwise").setLevel("WARNING")` or the environment variable `LEAFWISE_QUIET` silences it. Workers would all
print the same: only a worker that calls `speak` does.
"""

from __future__ import annotations

import contextlib
import os
import sys
import threading
import time
from collections.abc import Callable, Iterator

SAID_SECONDS, COUNTED_SECONDS = 0.9, 3.0
"""How long something lasts before the line appears, and before its seconds are counted."""
GAP_SECONDS = 0.3
"""Pauses up to this long do not end a wait, so that code compiled piece by piece is one wait."""
TICK_SECONDS = 0.1
CLEAR = "\r\x1b[K"
ONCE = ", once; kept in "
_shown: set[str] = set()
"""Lines about work done once that were printed or logged already."""


@contextlib.contextmanager
def waiting(what: str, kept: object = None) -> Iterator[None]:
    """Tells people what a block does if it lasts; `kept` is where its result is kept, so that it happens only once.

    Of nested blocks the outermost is shown. Costs microseconds.
    """
    block = (f"{what}{ONCE}{kept}" if kept else what,)
    _reporter.begin(block)
    try:
        yield
    finally:
        _reporter.end(block)


def loading() -> contextlib.AbstractContextManager[None]:
    """Tells people that a block loads modules or compiled code."""
    return waiting("loading leafwise")


def speak() -> None:
    """Makes this worker the one that tells people what all workers wait for."""
    _reporter.speaks = True


def tell_by(show: Callable[[str, int], object]) -> None:
    """Makes this process report waits by `show(line, seconds)`.

    It is called with 0 seconds when a line first appears, then at each counted second, and with "" when the wait is over.
    """
    _reporter.show = show


def _show(line: str, seconds: int) -> None:
    """Passes a line to the logger, or prints it to standard error if there is no handler; counts on a terminal."""
    import logging  # too slow to import for --help

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
            elif sys.stderr.isatty() and sys.stderr is sys.__stderr__:  # otherwise others draw on it
                print(f"{CLEAR}  {seconds} s" if line else CLEAR, end="", file=sys.stderr, flush=True)


class _WaitReporter:
    """The thread that observes waits; it lives only as long as one lasts."""

    def __init__(self) -> None:
        self._lock = threading.RLock()
        self._open: list[tuple[str]] = []
        self._thread: threading.Thread | None = None
        self._now, self._shown_last = "", ""
        """The line of the current wait, and the line shown last."""
        self._lines: set[str] = set()
        """The lines shown during this wait."""
        self._since = 0.0
        self._ended = float("-inf")
        self.show: Callable[[str, int], object] = _show
        self.speaks = False
        """Whether this process reports although it is a worker."""
        self._counted, self._is_displayed = 0, False
        """The seconds shown last, and whether something is still displayed."""

    def begin(self, block: tuple[str]) -> None:
        """Begins a wait, or continues the last one."""
        with self._lock:
            self._open.append(block)
            if self._thread is None or not self._thread.is_alive():
                self._now, self._shown_last, self._since, self._lines = block[0], "", time.monotonic(), set()
                self._thread = threading.Thread(target=self._run, name="leafwise-waiting", daemon=True)
                with contextlib.suppress(RuntimeError):  # this process is ending
                    self._thread.start()

    def end(self, block: tuple[str]) -> None:
        """Ends a block."""
        with self._lock:
            if any(one is block for one in self._open):  # otherwise this process was forked since
                self._open = [one for one in self._open if one is not block]
            self._ended = time.monotonic()
            if self._is_displayed and not self._open:
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
        """Shows what has lasted long enough, and counts."""
        line = self._open[0][0]
        if line != self._now:
            if self._now == self._shown_last:  # short blocks after one another are one wait, until one is shown
                self._since = now
            self._now = line
        seconds = now - self._since
        if line != self._shown_last and seconds > SAID_SECONDS:
            self._shown_last, self._counted = line, 0
            if line not in self._lines:
                self._lines.add(line)
                self._tell(line)
        elif line == self._shown_last and seconds > max(COUNTED_SECONDS, self._counted + 1):
            self._counted = int(seconds)
            self._tell(line)

    def _tell(self, line: str) -> None:
        self._is_displayed = bool(line)
        processes = sys.modules.get("multiprocessing.process")
        if self.speaks or processes is None or processes.parent_process() is None:
            self.show(line, self._counted)


_reporter = _WaitReporter()
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_reporter.__init__)  # type: ignore[misc]
