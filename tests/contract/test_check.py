"""Every game keeps its contract: `check_game`'s inspection of each.

Here it is of plain Python, which compiles nothing. `make test-long` runs the whole of `check_game`, with compiled code that
checks every index and the naive twin.
"""

from __future__ import annotations

from random import Random

import pytest

import leafwise
from contract.cases import CASES, GAMES, twin
from leafwise.envs.core.check.inspection import inspect_game
from leafwise.envs.core.check.rule_caller import PLAIN
from leafwise.envs.core.contract.game import Game

SECONDS = 0.3
"""Of processor time for each game's positions."""
UNUSUAL = 12
"""Positions that play seldom leads to."""


def unusual(game: Game) -> list[str]:
    """Returns some texts of positions that random play seldom meets."""
    texts = list(twin(game).unusual(Random(7)))
    return Random(3).sample(texts, min(UNUSUAL, len(texts)))


QUICK = [pytest.param(g, id=repr(g), marks=() if g in GAMES else pytest.mark.long) for g in CASES]
"""Games as they are by default; `make test-long` has the variants."""


@pytest.mark.parametrize("game", QUICK)
def test_the_game_keeps_its_contract(game: Game) -> None:
    assert inspect_game(game, {PLAIN: SECONDS}, texts=unusual(game))["positions"] > 4


@pytest.mark.long
@pytest.mark.parametrize("game", CASES, ids=repr)
def test_the_game_keeps_its_contract_in_every_form(game: Game) -> None:
    leafwise.check_game(game, seconds=3 if game in GAMES else 1, twin=twin(game), positions=unusual(game))
