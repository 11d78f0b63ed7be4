"""Every planted mistake gets one clear line, whatever it does, and the sound game none."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest

from games import coins, miscompiled, misplayed, mistold, strange
from leafwise.envs.core.check import process, source
from leafwise.envs.core.check.checking import settled
from leafwise.envs.core.check.inspection import CHECKED, PLAIN
from leafwise.envs.core.check.source import ContractError
from leafwise.envs.core.contract.game import Game

SOUND, VALID = "sound", "sound, and says which rows are valid"
PLANTED = {**misplayed.PLANTED, **mistold.PLANTED, **strange.PLANTED}
SAID = {**misplayed.MISTAKES.said, **mistold.MISTAKES.said, **strange.MISTAKES.said}


@cache
def results(form: str) -> dict[str, dict[str, Any]]:
    """Returns what the processes find of one form of all games, by name: several share a process as long as it lives."""
    games = {SOUND: coins.GAME, VALID: strange.SOUND, **(PLANTED if form == PLAIN else miscompiled.COMPILED)}
    with TemporaryDirectory() as name:
        folder = Path(name)
        jobs = [job(game, form, folder) for game in games.values()]
        return dict(zip(games, process.run(jobs, folder, process.Limits(call_s=4.0)), strict=True))


def job(game: Game, form: str, folder: Path) -> dict[str, Any]:
    return {"origin": source.origin(game, folder), "task": {"seconds": {form: 0.5}}}


def line(result: dict[str, Any]) -> str:
    with pytest.raises(ContractError) as caught:
        settled("coins", result)
    return str(caught.value)


@pytest.mark.parametrize("name", PLANTED)
def test_a_mistake_gets_one_line(name: str) -> None:
    said = line(results(PLAIN)[name])
    assert re.match(f"coins: {SAID[name]}", said), said
    assert "\n" not in said
    assert len(said) < 400


def test_there_are_enough() -> None:
    assert len(PLANTED) >= 50


@pytest.mark.parametrize("form", [PLAIN, CHECKED])
@pytest.mark.parametrize("name", [SOUND, VALID])
def test_the_sound_game_has_no_fault(form: str, name: str) -> None:
    assert settled("coins", results(form)[name])["positions"] > 30


@pytest.mark.parametrize("name", miscompiled.COMPILED)
def test_a_mistake_that_compiled_code_alone_shows(name: str) -> None:
    said = line(results(CHECKED)[name])
    assert re.match(f"coins: {miscompiled.SAID[name]}", said), said
    assert said.count("\n") <= 1
