"""Episodes that begin with random actions: `plies`."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest

import leafwise
from games import dice
from leafwise.envs.core.contract.stream import below, new_stream
from leafwise.envs.core.gym.env import GameEnv
from leafwise.envs.core.gym.vector import GameVectorEnv

GAMES = [dice.GAME, leafwise.game("threes"), leafwise.game("trap", size=3), leafwise.game("cassis", n=5)]


def opened(game: leafwise.Game, seed: int, plies: int) -> leafwise.State:
    """Returns what `plies` says in words: so many random actions, none of them by chance; anew where the game is over then."""
    stream = new_stream(seed)
    while True:
        state, left = game.start(), below(stream, plies + 1)
        while left > 0 and not state.is_terminal:
            state = state.settle(stream)
            if not state.is_terminal:
                state = state.play(state.legal_actions[below(stream, len(state.legal_actions))])
                left -= 1
        state = state.settle(stream)
        if not state.is_terminal:
            return state


@pytest.mark.parametrize("game", GAMES, ids=repr)
def test_episodes_begin_with_random_actions(game: leafwise.Game) -> None:
    keywords: dict[str, Any] = {"opponent": "random", "seat": "first"} if game.players == 2 else {}
    env = GameEnv(game, plies=7, **keywords)
    met = 0
    for seed in range(60):
        env.reset(seed=seed)
        expected = opened(game, seed, 7)
        if expected.current_player == 0:  # else the opponent has moved since
            assert env.state.row.tolist() == expected.row.tolist(), seed
            met += 1
    assert met > 15


def test_their_number_is_drawn() -> None:
    batch = GameVectorEnv(5000, "cassis", opponent="random", seat="first", plies=4)
    batch.reset(seed=3)
    drawn = Counter(
        (15 - batch.action_masks().sum(axis=1)).tolist()
    )  # 0 to 4 edges, and one more if the other is to move
    assert set(drawn) == {0, 2, 4}
    assert [drawn[n] / 5000 for n in (0, 2, 4)] == pytest.approx([0.2, 0.4, 0.4], abs=0.03)


@pytest.mark.parametrize("plies", [-1, 1001, 2.0, True, "3", None])
def test_what_is_no_number_of_actions_is_refused(plies: Any) -> None:
    with pytest.raises(ValueError, match=rf"^threes: expected plies of 0 to 1,000, got {plies!r}$"):
        GameEnv("threes", plies=plies)
