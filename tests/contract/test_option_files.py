"""`check_game` finds games that open a file because an option names it."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest

from games import dice
from leafwise.envs.core.check.inspection import check_option_files, inspect_game
from leafwise.envs.core.check.rule_caller import PLAIN, RuleFault
from leafwise.envs.core.fields import from_file

RaceOptions: Any = type(dice.GAME.options)


@dataclass(frozen=True)
class Opening(RaceOptions):
    """Options of a game that reads a file by itself."""

    kind: str = "plain"
    book: str = ""

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.book and not Path(self.book).read_text(encoding="utf-8"):
            raise ValueError("expected a book with words, got none")


@dataclass(frozen=True)
class Told(RaceOptions):
    """Options of a game that is told what a file says."""

    book: str = field(default="", metadata=from_file(lambda text: "\n" in text))


def test_a_game_that_opens_what_an_option_names_is_found() -> None:
    with pytest.raises(
        RuleFault, match=r"expected the file that the option book names to stay closed .*, got one that was"
    ):
        inspect_game(replace(dice.GAME, options=Opening()), {PLAIN: 0.0})
    check_option_files(replace(dice.GAME, options=Told()))
