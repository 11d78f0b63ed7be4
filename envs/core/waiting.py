"""Tells people what they wait for: what is compiled, loaded or unpacked for more than a second.

Put `with waiting("unpacking the network of Threes"):` around such work. A line says so before the second is over, on a terminal the
seconds are counted below it from the third on; work that is done sooner says nothing.

The line is an INFO record of the logger `leafwise`. Where nobody has set up logging it goes to standard error as it is, in a
notebook as in a script; `logging.getLogger("leafwise").setLevel("WARNING")` silences it. A worker process says nothing, since all
workers would say the same, unless `Speech.is_on` makes it the one that does.
"""

from __future__ import annotations

import contextlib
import os
import sys
import threading
import time
from collections.abc import Iterator

SAID_SECONDS, COUNTED_SECONDS = 0.8, 3.0
"""How long something lasts before it is said, and before its seconds are counted."""
GAP_SECONDS = 0.3
"""Pauses up to this long end no wait: what is compiled piece by piece is one."""
TICK_SECONDS = 0.1
CLEAR = "\r\x1b[K"


@contextlib.contextmanager
def waiting(what: str, kept: object = None) -> Iterator[None]:
    """Tells what a block does where it lasts; `kept` is where its result is kept, so that it happens once.

    Of blocks within one another the outermost is told. Costs microseconds.
    """
    block = (f"{what}, once; kept in {kept}" if kept else what,)
    _watch.begin(block)
    try:
        yield
    finally:
        _watch.end(block)


class Speech:
    """Who speaks."""

    is_on: bool | None = None
    """Whether this process does; None: unless it is a worker of `multiprocessing`."""


def _speaks() -> bool:
    if Speech.is_on is None:
        processes = sys.modules.get("multiprocessing.process")
        return processes is None or processes.parent_process() is None
    return Speech.is_on


def say(line: str) -> None:
    """Hands a line to the logger, or to standard error where nobody has set up logging."""
    import logging  # not where help is asked for

    logger = logging.getLogger("leafwise")
    if logger.level == logging.NOTSET:
        logger.setLevel(logging.INFO)
    if logger.hasHandlers():
        logger.info(line)
    elif sys.stderr and logger.isEnabledFor(logging.INFO):
        with contextlib.suppress(OSError, ValueError):  # closed
            print(line, file=sys.stderr, flush=True)


class _Watch:
    """The thread that looks at what is waited for; it lives no longer than that."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._open: list[tuple[str]] = []
        self._thread: threading.Thread | None = None
        self._now, self._said = "", ""
        """The line of the wait under way, and the one said last."""
        self._since = 0.0
        self._ended = float("-inf")
        self._counted = 0
        """The seconds that stand on the terminal now."""

    def begin(self, block: tuple[str]) -> None:
        """Begins a wait, or goes on with the last one."""
        with self._lock:
            self._open.append(block)
            if self._thread is None or not self._thread.is_alive():
                self._now, self._said, self._since = block[0], "", time.monotonic()
                self._thread = threading.Thread(target=self._run, name="leafwise-waiting", daemon=True)
                self._thread.start()

    def end(self, block: tuple[str]) -> None:
        """Ends a block; what is printed from now on finds an empty line."""
        with self._lock:
            if any(one is block for one in self._open):  # else this process was forked since
                self._open = [one for one in self._open if one is not block]
            self._ended = time.monotonic()
            if not self._open:
                self._clear()

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
            self._clear()
            self._said = line
            if _speaks():
                say(line)
        elif line == self._said and seconds > COUNTED_SECONDS and int(seconds) != self._counted:
            if _speaks() and _is_terminal():
                self._counted = int(seconds)
                print(f"{CLEAR}  {self._counted} s", end="\r", file=sys.stderr, flush=True)

    def _clear(self) -> None:
        if self._counted:
            self._counted = 0
            print(CLEAR, end="", file=sys.stderr, flush=True)


def _is_terminal() -> bool:
    """Whether lines can be written over: standard error is a terminal, and nobody else draws on it."""
    stream = sys.__stderr__
    return stream is not None and sys.stderr is stream and stream.isatty()


_watch = _Watch()
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_watch.__init__)  # type: ignore[misc]
