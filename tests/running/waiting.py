"""Waits for other processes and threads, without a time limit: pytest ends a test that hangs for minutes."""

from __future__ import annotations

import subprocess
import time
from collections.abc import Callable


def until(
    condition: Callable[[], object], process: subprocess.Popen[str] | subprocess.Popen[bytes] | None = None
) -> None:
    """Waits until the condition holds; fails if the process ends before."""
    while not condition():
        if process is not None and process.poll() is not None:
            assert condition(), f"the process ended with status {process.returncode} too early"
        time.sleep(0.005)
