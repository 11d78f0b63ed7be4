"""What the jobs of a working process share with it: who asked, and where the runs are."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Iterator
from typing import Any

RUNS_VARIABLE = "LEAFWISE_WEB_RUNS"
"""The environment variable by which the server tells its processes the folder of runs."""


class Control:
    """What a job knows of who asked: whether it is still wanted, and how to say that it is loading."""

    def __init__(self, send: Callable[[dict[str, Any]], None]) -> None:
        self._send = send
        self._lock = threading.Lock()
        self._stop: Callable[[], None] | None = None
        self.stopped = False

    def stop(self) -> None:
        """Ends the job soon."""
        with self._lock:
            self.stopped = True
            if self._stop is not None:
                self._stop()

    @contextlib.contextmanager
    def stoppable(self, stop: Callable[[], None]) -> Iterator[None]:
        """Has `stop` called, from another thread, when the job is to end."""
        with self._lock:
            self._stop = stop
            if self.stopped:
                stop()
        try:
            yield
        finally:
            with self._lock:
                self._stop = None

    @contextlib.contextmanager
    def loading(self) -> Iterator[None]:
        """Says that what is done inside is not what takes time on most days."""
        self._send({"stage": "loading"})
        yield
        self._send({"stage": "working"})


Job = Callable[[Any, Control], Iterator[Any]]
"""(what is asked, control) -> answers, one after another; raises ValueError for what is asked wrongly."""
