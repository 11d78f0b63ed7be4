"""An agent that never gets to decide is told so in one line, by reset and by step, alone, in a batch and in turns."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import pytest
from gymnasium.vector import AutoresetMode

import leafwise
from games import undecided
from leafwise.envs.core.gym.env import GameEnv
from leafwise.envs.core.gym.vector import GameVectorEnv

NEVER = "^expected a seat or options with which the second player gets to decide, got .*, where that never comes$"


def env(stones: int, **keywords: Any) -> GameEnv:
    made = GameEnv(undecided.GAME, **{"opponent": "random", "seat": "second", **keywords})
    made._stepper.tables.stones[0] = stones
    return made


def batch(stones: int, **keywords: Any) -> GameVectorEnv:
    made = GameVectorEnv(3, undecided.GAME, **{"opponent": "random", "seat": "second", **keywords})
    made._stepper.tables.stones[0] = stones
    return made


def in_time(work: Callable[[], Any]) -> None:
    """Lets a test fail, instead of hang, where something never returns: compiled code lets other threads run."""
    problems: list[BaseException] = []

    def run() -> None:
        try:
            work()
        except BaseException as problem:
            problems.append(problem)

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    thread.join(300)
    assert not thread.is_alive(), "it hangs"
    if problems:
        raise problems[0]


@pytest.mark.parametrize("make", [env, batch], ids=["env", "batch"])
@pytest.mark.parametrize(
    "keywords",
    [{}, {"plies": 30}, {"opponent": lambda state: state.legal_actions[0]}],
    ids=["plain", "plies", "function"],
)
@pytest.mark.parametrize("stones", [1, 0])
def test_reset_where_the_game_is_over_before(make: Any, keywords: dict[str, Any], stones: int) -> None:
    made = make(stones, **keywords)
    with pytest.raises(ValueError, match=NEVER):
        in_time(lambda: made.reset(seed=1))
    made._stepper.tables.stones[0] = 7
    made.reset(seed=1)
    made.step(0 if make is env else [0, 0, 0])


@pytest.mark.parametrize("make", [env, batch], ids=["env", "batch"])
def test_reset_where_the_opponent_goes_on_for_ever(make: Any) -> None:
    with pytest.raises(ValueError, match=NEVER):
        in_time(lambda: make(-1).reset(seed=1))


def test_a_player_who_seldom_decides_is_waited_for() -> None:
    made = env(4)
    for seed in range(100):
        made.reset(seed=seed)
        assert made.state.current_player == 1


def test_a_step_after_which_no_decision_comes() -> None:
    made = env(7)
    made.reset(seed=1)
    made._stepper.buffers.S[0, 0] = -1
    with pytest.raises(ValueError, match=NEVER):
        in_time(lambda: made.step(0))
    with pytest.raises(ValueError, match=r"expected reset\(\) before step"):
        made.step(0)


@pytest.mark.parametrize("mode", [AutoresetMode.SAME_STEP, AutoresetMode.NEXT_STEP])
def test_an_automatic_reset_after_which_no_decision_comes(mode: AutoresetMode) -> None:
    made = batch(7, autoreset_mode=mode)
    made.reset(seed=1)
    made._stepper.tables.stones[0] = 1
    with pytest.raises(ValueError, match=NEVER):
        in_time(lambda: [made.step([0, 0, 0]) for _ in range(30)])


def test_agents_in_turn() -> None:
    made = leafwise.aec(undecided.GAME)
    made.game.shared_tables.stones[0] = 0
    with pytest.raises(ValueError, match=r"^expected options with which a player gets to decide, got"):
        made.reset(seed=1)
