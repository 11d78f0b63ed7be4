"""Fixtures of the command line's tests."""

import pytest
from front.console import Shell, make_shell

from games import dice
from leafwise.envs import registry


@pytest.fixture
def shell(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Shell:
    """Runs `leafwise` inside the test's process."""
    return make_shell(capsys, monkeypatch)


@pytest.fixture
def dice_game(monkeypatch: pytest.MonkeyPatch) -> None:
    """Makes the dice race, a two-player game, known by its name."""
    monkeypatch.setitem(registry._added, "dice", dice.GAME)
