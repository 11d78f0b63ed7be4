"""What a search of `safe` moves considers: against a plain reading of the same rule, and that it never loses value."""

from __future__ import annotations

import random

import numpy as np
import pytest

import leafwise
from leafwise.envs.core.contract.state import State
from leafwise.envs.trilobite.rules import CANDIDATES
from leafwise.envs.trilobite.solver import Solver

GAMES = [leafwise.game("trilobite"), leafwise.game("trilobite", board="5x4", k=4)]


def considered(state: State, name: str) -> tuple[int, ...]:
    """Returns the actions that a search considers."""
    game = state.game
    assert game.rules.candidates is not None
    actions, rows = np.zeros(game.max_actions, dtype=np.int64), state.row[None].copy()
    return tuple(actions[: game.rules.candidates(rows, np.uint64(0), actions, game.tables(None, name))].tolist())


def wins(state: State) -> list[int]:
    """Returns the actions that win at once."""
    return [a for a in state.legal_actions if state.play(a).is_terminal and state.play(a).returns != 0]


def decisions(game: leafwise.Game, n: int) -> list[State]:
    """Returns decisions of random games."""
    drawn, state = random.Random(3), game.start()
    found: list[State] = []
    while len(found) < n:
        found.append(state)
        state = state.play(drawn.choice(state.legal_actions))
        state = game.start() if state.is_terminal else state
    return found


@pytest.mark.parametrize("game", GAMES, ids=repr)
def test_safe_moves_win_or_do_not_lose_at_once_and_keep_the_value(game: leafwise.Game) -> None:
    solver, fewer = Solver(game, 4), 0
    for state in decisions(game, 150):
        safe = considered(state, "safe")
        assert considered(state, "all") == state.legal_actions
        won, unpunished = wins(state), [a for a in state.legal_actions if not wins(state.play(a))]
        if won or not unpunished:
            assert len(safe) == 1
            assert set(safe) <= set(won or state.legal_actions)
        else:
            assert list(safe) == unpunished
        values = solver.solve(state).action_values
        assert max(values[game.actions[a]] for a in safe) == max(values.values())
        fewer += len(safe) < len(state.legal_actions)
    assert 20 < fewer < 150


def test_a_search_of_safe_moves_keeps_the_value_with_fewer_nodes() -> None:
    game = GAMES[0]
    every, safe = (leafwise.Search(game, game.score(), 9, candidates=name) for name in CANDIDATES)
    for state in decisions(game, 30):
        assert safe(state).value == every(state).value
        assert set(safe(state).action_values) <= set(every(state).action_values)
    assert safe(game.start()).nodes < every(game.start()).nodes
    with pytest.raises(ValueError, match=r"^trilobite: expected candidates among all, safe, got 'forced'$"):
        leafwise.Search(game, game.score(), 1, candidates="forced")
