"""Compares a position with the game's naive twin."""

from __future__ import annotations

from functools import cache

from contract.cases import twin
from leafwise.envs.core.check.inspection import compare_with_twin, in_words
from leafwise.envs.core.check.rule_caller import PLAYED, RuleCaller
from leafwise.envs.core.contract.game import Game
from leafwise.envs.core.contract.state import State


@cache
def caller(game: Game) -> RuleCaller:
    """Returns the caller of a game's rules, one per game."""
    return RuleCaller(game, PLAYED)


def compare(state: State) -> None:
    """Compares every answer of the rules with the twin's; raises RuleFault if one differs."""
    compare_with_twin(in_words(caller(state.game), state.row), twin(state.game))
