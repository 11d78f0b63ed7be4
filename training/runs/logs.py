"""What a run says while it goes: TensorBoard's events, and a progress bar.

The writers of torch and TensorBoard write in a thread of their own, which dies with a traceback where the disk is full, and what
follows is lost. `Events` writes at once, and whoever logs hears of it. Percentage and time left of the bar stay whole, however
narrow the terminal.
"""

from __future__ import annotations

import contextlib
import os
import socket
import time
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from rich import get_console
from rich.console import Console
from rich.progress import BarColumn, Progress, ProgressColumn, Task, TaskProgressColumn, TextColumn, TimeRemainingColumn
from rich.table import Column
from rich.text import Text

VERSION = "brain.Event:2"


class Events:
    """A file of events in a run folder."""

    def __init__(self, folder: Path, first_step: int | None = None) -> None:
        """Begins a file; a run that goes on says its first step, from which on what earlier files say does not count."""
        from tensorboard.compat.proto.event_pb2 import Event, SessionLog
        from tensorboard.summary.writer.record_writer import RecordWriter

        self._event = Event
        name = f"events.out.tfevents.{int(time.time()):010d}.{socket.gethostname()}.{os.getpid()}.{time.time_ns()}"
        self.path = folder / name
        self._file = open(self.path, "xb")  # noqa: SIM115
        self._records = RecordWriter(self._file)
        self._add(file_version=VERSION)
        if first_step is not None:
            self._add(step=first_step, session_log=SessionLog(status=SessionLog.START))

    def add_text(self, tag: str, text: str) -> None:
        """Logs Markdown."""
        from torch.utils.tensorboard import summary

        self._add(summary=summary.text(tag, text))

    def add(self, tag: str, thing: float | NDArray[np.uint8], step: int) -> None:
        """Logs a number, or a picture [height, width, 3]."""
        from torch.utils.tensorboard import summary

        is_picture = isinstance(thing, np.ndarray) and thing.ndim == 3
        told = summary.image(tag, thing, dataformats="HWC") if is_picture else summary.scalar(tag, thing)
        self._add(step=step, summary=told)

    def flush(self) -> None:
        """Writes what was logged to the disk; raises OSError where it is full."""
        try:
            self._file.flush()
        except OSError as problem:
            raise self._named(problem) from None

    def close(self) -> None:
        """Ends the file; what can no longer be written was told by `flush`."""
        with contextlib.suppress(OSError):
            self._file.close()

    def _add(self, **fields: Any) -> None:
        try:
            self._records.write(self._event(wall_time=time.time(), **fields).SerializeToString())
        except OSError as problem:
            raise self._named(problem) from None

    def _named(self, problem: OSError) -> OSError:
        return OSError(problem.errno, problem.strerror, str(self.path))


BAR = 20
"""Width of the bar."""


class Shortened(ProgressColumn):
    """A text of the task that gives way where the line is too long."""

    def __init__(self, field: str) -> None:
        """`field` is a field of the task, or its description."""
        super().__init__(Column(overflow="ellipsis"))
        self.field = field

    def render(self, task: Task) -> Text:
        """Returns the text, on one line."""
        text = task.description if self.field == "description" else str(task.fields.get(self.field, ""))
        return Text(text, no_wrap=True, overflow="ellipsis")


def run_progress(console: Console | None = None, *, shown: bool = True, transient: bool = False) -> Progress:
    """Returns the bar of a task: what it is, percentage, time left, and what its field `told` says.

    In a notebook it is shown if ipywidgets is installed; without it rich would write a warning at every change instead.
    """
    if (console or get_console()).is_jupyter and find_spec("ipywidgets") is None:
        shown = False
    columns = (
        Shortened("description"), BarColumn(BAR), TaskProgressColumn(), TimeRemainingColumn(), TextColumn("left"),
        Shortened("told"),
    )  # fmt: skip
    return Progress(*columns, console=console, transient=transient, disable=not shown)
