"""Options and order of the whole suite."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable
from typing import Any

import pytest

pytest.register_assert_rewrite("contract", "running")

from running import groups  # noqa: E402
from running.campaign import Campaign, new_campaign, print_counts  # noqa: E402

# Networks of tests are small: torch's threads would only wait, which costs processor time. Child processes inherit this.
os.environ.setdefault("OMP_NUM_THREADS", "1")
# Slow compilation and loading print notes, but tests compare the whole output.
os.environ["LEAFWISE_QUIET"] = "1"

# A background job ignores Ctrl-C, and the processes that tests start would inherit that.
signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--regenerate-golden", action="store_true", help="write tests/golden/*.txt instead of comparing with them"
    )
    parser.addoption("--costs", action="store_true", help="print processor time by file and peak memory by worker")
    parser.addoption(
        "--campaign-seconds", type=float, help="seconds of all campaigns together (default: each runs whole)"
    )
    parser.addoption("--campaign-seed", type=int, default=0, help="seed of the campaigns")


def pytest_configure(config: pytest.Config) -> None:
    if config.getoption("--costs"):
        from running.costs import Costs

        config.pluginmanager.register(Costs())


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    groups.sort(items)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    return groups.scheduler(config, log) if config.getoption("dist") == "loadscope" else None


def pytest_terminal_summary(terminalreporter: Any) -> None:
    print_counts(terminalreporter)


@pytest.fixture
def campaign(request: pytest.FixtureRequest, record_property: Callable[[str, object], None]) -> Campaign:
    """Runs a campaign; for tests with the marker of that name."""
    return new_campaign(request, record_property)
