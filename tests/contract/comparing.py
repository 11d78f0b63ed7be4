"""Compares one position with the naive twin's answer."""

from __future__ import annotations

from functools import cache

from contract.cases import twin
from leafwise.envs.core.check.inspection import compare_with_twin, in_words
from leafwise.envs.core.check.rule_caller import PLAYED, RuleCaller
from leafwise.envs.core.contract.game import Game
from leafwise.envs.core.contract.state import State


@cache
def door(game: Game) -> RuleCaller:
    """Returns what asks a game's rules."""
    return RuleCaller(game, PLAYED)


def compare(state: State) -> None:
    """Compares all that the rules say of a position; raises RuleFault where the twin says otherwise."""
    asked = door(state.game)
    compare_with_twin(in_words(asked, state.row), twin(state.game))
