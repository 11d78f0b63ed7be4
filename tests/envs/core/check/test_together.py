"""What a game or a leaf does for many positions at once is compared with what it does for each."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest

from games import hurried
from leafwise.envs.core.check import process, source
from leafwise.envs.core.check.checking import settled
from leafwise.envs.core.check.inspection import PLAIN
from leafwise.envs.core.check.source import ContractError
from leafwise.envs.threes import GAME

TEXTS = [
    "48 24 12 6/3 1 2 0/3 0 1 0/2 0 0 0 deck=0,2,1",
    "48 24 12 6/3 1 2 0/3 0 1 0/2 0 0 0 next=+ deck=0,2,1 move=left lanes=12",
    "768 384 192 96/12 24 48 96/6 3 2 1/1 2 0 3 deck=0,1,2",
    "3 6 3 6/6 3 6 3/3 6 3 6/6 3 0 6 deck=4,4,3",
]
"""Before a draw; before a bonus enters; crowded; and a board that may die."""


@cache
def results() -> dict[str, dict[str, Any]]:
    """Returns what one process of plain Python finds of all games, by name."""
    games = {"sound": GAME, "learned": hurried.LEARNED, **hurried.PLANTED}
    with TemporaryDirectory() as name:
        folder = Path(name)
        jobs = [
            {"origin": source.origin(game, folder), "task": {"seconds": {PLAIN: 0.0}, "texts": TEXTS}}
            for game in games.values()
        ]
        return dict(zip(games, process.run(jobs, folder, process.Limits(call_s=10.0)), strict=True))


@pytest.mark.parametrize("name", ["sound", "learned"])
def test_the_sound_game_has_no_fault(name: str) -> None:
    assert settled("threes", results()[name])["positions"] == len(TEXTS) + 1


@pytest.mark.parametrize("name", hurried.PLANTED)
def test_a_mistake_gets_one_line(name: str) -> None:
    with pytest.raises(ContractError) as caught:
        settled("threes", results()[name])
    assert re.match(f"threes: {hurried.SAID[name]}", str(caught.value)), str(caught.value)
    assert "\n" not in str(caught.value)
