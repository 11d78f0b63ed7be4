"""Campaigns: random checks, until the time is up or their number is reached.

A campaign is a test with the marker `campaign(whole, share=1)`. It passes an iterator, which yields after each check, to the
fixture `campaign`. `whole` is the number of checks. `--campaign-seconds` limits the time of all campaigns together; each gets
its `share`.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from random import Random
from typing import Any, TypeVar

import pytest

HANG_S = 2.0
"""Processor time in seconds after which a check counts as hanging."""
R = TypeVar("R")


def quick(work: Callable[[], R]) -> R:
    """Returns the result of a short call, and fails if it hangs twice; the first call may have to compile."""
    for _ in range(2):
        begun = time.process_time()
        result = work()
        if time.process_time() - begun < HANG_S:
            return result
    raise AssertionError(f"{work!r} took more than {HANG_S:g} s of processor time, twice")


class Campaign:
    """Runs one campaign and counts its checks."""

    def __init__(self, whole: int, seconds: float | None, seed: int, report: Callable[[str], None]) -> None:
        self.whole, self.seconds, self.seed, self._report = whole, seconds, seed, report
        self.rng = Random(seed)

    def run(self, checks: Iterator[Any], what: str, warm: bool = False) -> int:
        """Runs checks until all are done or the time is up; returns their number, at least 1.

        The first check may have to compile. Its time does not count, unless `warm`.
        """
        count, start, end = 0, time.monotonic(), None
        for count, _ in enumerate(checks, 1):
            now = time.monotonic()
            if end is None and self.seconds is not None:
                end = (start if warm else now) + self.seconds
            if count == self.whole or (end is not None and now >= end):
                break
        assert count, "expected at least one check, got none"
        self._report(f"{count:,} {what} in {time.monotonic() - start:.0f} s, seed {self.seed}")
        return count


def new_campaign(request: pytest.FixtureRequest, record: Callable[[str, object], None]) -> Campaign:
    """Returns the campaign of a test, with its share of the seconds of all campaigns of this run."""
    whole, share = wanted(request.node)
    total = request.config.getoption("--campaign-seconds")
    seconds = None
    if total is not None:
        seconds = total * share / sum(wanted(item)[1] for item in request.session.items)
    return Campaign(whole, seconds, request.config.getoption("--campaign-seed"), lambda line: record("campaign", line))


def wanted(item: pytest.Item) -> tuple[int, float]:
    """Returns the number of checks of a test's whole campaign and its share of the time; 0 for other tests."""
    mark = item.get_closest_marker("campaign")
    if mark is None:
        return 0, 0.0
    return mark.kwargs["whole"], mark.kwargs.get("share", 1.0)


def print_counts(reporter: Any) -> None:
    """Prints the counts of the campaigns after a run."""
    lines = [
        f"{report.nodeid.split('::')[-1].split('@')[0]}: {value}"
        for reports in reporter.stats.values()
        for report in reports
        for name, value in getattr(report, "user_properties", [])
        if name == "campaign" and report.when == "call"
    ]
    if lines:
        reporter.section("campaigns")
        for line in sorted(lines):
            reporter.line(line)
