"""Waiting for other processes and threads. There is no limit of time here: pytest ends a test that hangs for minutes."""

from __future__ import annotations

import subprocess
import time
from collections.abc import Callable


def until(
    condition: Callable[[], object], process: subprocess.Popen[str] | subprocess.Popen[bytes] | None = None
) -> None:
    """Waits until something is so; fails if the process that is to bring it about ends before."""
    while not condition():
        if process is not None and process.poll() is not None:
            assert condition(), f"the process ended with status {process.returncode} too early"
        time.sleep(0.005)
