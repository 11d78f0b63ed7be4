"""Progress bars of which the percentage and the time that is left stay whole, however narrow the terminal."""

from __future__ import annotations

from importlib.util import find_spec

from rich import get_console
from rich.console import Console
from rich.progress import BarColumn, Progress, ProgressColumn, Task, TaskProgressColumn, TextColumn, TimeRemainingColumn
from rich.table import Column
from rich.text import Text

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
