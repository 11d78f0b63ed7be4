"""What a run of the suite costs: CPU seconds by file, and each worker's peak memory. Asked for with `--costs`."""

from __future__ import annotations

import resource
import sys
from collections import Counter
from collections.abc import Generator
from typing import Any

import pytest

SHOWN = 12
"""Files shown, the dearest first."""
PER_MB = 2**20 if sys.platform == "darwin" else 2**10
"""Units of the system's peak memory in a MB."""


def cpu_seconds() -> float:
    """Returns the CPU seconds of this process and of those it has started that have ended."""
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(u.ru_utime + u.ru_stime for u in used)


class Costs:
    """A plugin that adds the costs up, also those of pytest-xdist's workers."""

    def __init__(self) -> None:
        self.by_file: Counter[str] = Counter()
        self.peaks: list[int] = []
        self.total = 0.0

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Generator[None, Any, Any]:
        before = cpu_seconds()
        done = yield
        self.by_file[item.location[0]] += cpu_seconds() - before  # type: ignore[assignment]
        return done

    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        self.total += cpu_seconds()
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
