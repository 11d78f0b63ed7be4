"""One game of each room, listed in full, does not change unnoticed.

After a change that is meant, write the files anew with `python -m pytest --regenerate-golden` and read the diff.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from contract.cases import GAMES
from contract.playthrough import playthrough
from leafwise.envs.core.contract.game import Game

GOLDEN = Path(__file__).parents[1] / "golden"


@pytest.mark.parametrize("game", GAMES, ids=lambda g: g.name)
def test_playthrough_is_as_stored(game: Game, request: pytest.FixtureRequest) -> None:
    path, got = GOLDEN / f"{game.name}.txt", playthrough(game)
    if request.config.getoption("--regenerate-golden"):
        temporary = path.with_suffix(".new")
        temporary.write_text(got)
        os.replace(temporary, path)
    assert path.exists(), f"{path} is missing: python -m pytest --regenerate-golden"
    assert got.splitlines() == path.read_text().splitlines()


def test_every_stored_playthrough_has_a_game() -> None:
    assert {path.stem for path in GOLDEN.glob("*.txt")} == {g.name for g in GAMES}
