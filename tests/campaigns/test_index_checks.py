"""Random games in a build that checks every index: it ends with no IndexError and answers like the other build."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from itertools import takewhile
from pathlib import Path

import pytest

from contract.playthrough import END, listings_from
from running.campaign import Campaign

TESTS = Path(__file__).parents[1]


@pytest.mark.campaign(whole=5_000)
def test_random_games(campaign: Campaign) -> None:
    environment = {**os.environ, "NUMBA_BOUNDSCHECK": "1", "PYTHONPATH": str(TESTS)}
    command = [sys.executable, "-W", "error", "-m", "contract.playthrough", str(campaign.seed)]
    process = subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True)

    def checks() -> Iterator[None]:
        assert process.stdout is not None
        for expected in listings_from(campaign.seed):
            yield compare("".join(takewhile(lambda line: line != END, process.stdout)), expected)

    try:
        campaign.run(checks(), "games")
    finally:
        process.kill()
        process.communicate()


def compare(got: str, expected: str) -> None:
    assert got.splitlines() == expected.splitlines()
