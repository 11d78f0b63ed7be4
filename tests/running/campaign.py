"""Campaigns: one check after another of things drawn at random, until the time is up or so many are done.

A campaign is a test with the marker `campaign(whole, share=1)` that hands its checks to the fixture `campaign`, as an iterator
that yields after each. `whole` is how many make the whole campaign; with `--campaign-seconds`, all campaigns together
take about so long, each its `share`.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from random import Random
from typing import Any, TypeVar

import pytest

HANG_S = 2.0
"""Processor time after which a check hangs."""
R = TypeVar("R")


def quick(work: Callable[[], R]) -> R:
    """Returns what something small returns, and fails if it hangs; it may do so once, where something has to be compiled."""
    for _ in range(2):
        begun = time.process_time()
        found = work()
        if time.process_time() - begun < HANG_S:
            return found
    raise AssertionError(f"{work!r} took more than {HANG_S:g} s of processor time, twice")


class Campaign:
    """Carries one campaign out and counts."""

    def __init__(self, whole: int, seconds: float | None, seed: int, tell: Callable[[str], None]) -> None:
        self.whole, self.seconds, self.seed, self._tell = whole, seconds, seed, tell
        self.rng = Random(seed)

    def run(self, checks: Iterator[Any], what: str, warm: bool = False) -> int:
        """Makes checks until all are done or the time is up; returns their number, at least 1. The first, which may
        have to be compiled for, costs no time, unless all is warm."""
        count, start, end = 0, time.monotonic(), None
        for count, _ in enumerate(checks, 1):
            now = time.monotonic()
            if end is None and self.seconds is not None:
                end = (start if warm else now) + self.seconds
            if count == self.whole or (end is not None and now >= end):
                break
        assert count, "there was nothing to check"
        self._tell(f"{count:,} {what} in {time.monotonic() - start:.0f} s, seed {self.seed}")
        return count


def new_campaign(request: pytest.FixtureRequest, record: Callable[[str, object], None]) -> Campaign:
    """Returns the campaign of a test, with its share of the seconds for all that are run."""
    whole, share = wanted(request.node)
    everything = request.config.getoption("--campaign-seconds")
    seconds = None
    if everything is not None:
        seconds = everything * share / sum(wanted(item)[1] for item in request.session.items)
    return Campaign(whole, seconds, request.config.getoption("--campaign-seed"), lambda said: record("campaign", said))


def wanted(item: pytest.Item) -> tuple[int, float]:
    """Returns how many checks make a test's whole campaign, and its share of the time: 0 if it is none."""
    mark = item.get_closest_marker("campaign")
    if mark is None:
        return 0, 0.0
    return mark.kwargs["whole"], mark.kwargs.get("share", 1.0)


def print_counts(reporter: Any) -> None:
    """Prints what the campaigns have checked, after a run."""
    said = [
        f"{report.nodeid.split('::')[-1].split('@')[0]}: {value}"
        for reports in reporter.stats.values()
        for report in reports
        for name, value in getattr(report, "user_properties", [])
        if name == "campaign" and report.when == "call"
    ]
    if said:
        reporter.section("campaigns")
        for line in sorted(said):
            reporter.line(line)
