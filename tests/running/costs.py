"""Measures a run of the suite (`--costs`): processor time of each file and peak memory of each worker."""

from __future__ import annotations

import resource
import sys
import time
from collections import Counter
from collections.abc import Generator
from typing import Any

import pytest

SHOWN = 12
"""Number of files to print, the slowest first."""
PER_MB = 2**20 if sys.platform == "darwin" else 2**10
"""Units per MB of the peak memory that the system reports."""


def cpu_seconds() -> float:
    """Returns the processor time of this process and of its children that have ended, in seconds."""
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(u.ru_utime + u.ru_stime for u in used)


class Costs:
    """A pytest plugin that sums the costs, also of pytest-xdist's workers."""

    def __init__(self) -> None:
        self.by_file: Counter[str] = Counter()
        self.peaks: list[int] = []
        self.total = 0.0

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Generator[None, Any, Any]:
        before = cpu_seconds()
        result = yield
        self.by_file[item.location[0]] += cpu_seconds() - before  # type: ignore[assignment]
        return result

    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        # children of pytest-xdist's controller are its workers, which report their own times
        is_controller = session.config.pluginmanager.hasplugin("dsession")
        self.total += time.process_time() if is_controller else cpu_seconds()
        self.peaks.append(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // PER_MB)
        if hasattr(session.config, "workeroutput"):
            session.config.workeroutput["costs"] = (dict(self.by_file), self.total, self.peaks)

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodedown(self, node: Any, error: object) -> None:
        if costs := getattr(node, "workeroutput", {}).get("costs"):
            self.by_file.update(costs[0])
            self.total += costs[1]
            self.peaks += costs[2]

    def pytest_terminal_summary(self, terminalreporter: Any) -> None:
        terminalreporter.section("costs")
        for name, seconds in self.by_file.most_common(SHOWN):
            terminalreporter.line(f"{seconds:7.1f} s  {name}")
        terminalreporter.line(f"{self.total:7.1f} s  of CPU in all; peak memory {', '.join(map(str, self.peaks))} MB")
