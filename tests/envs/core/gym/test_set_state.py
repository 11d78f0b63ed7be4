"""`set_state` takes what `get_state` returned, and refuses everything else in one line, having changed nothing."""

from __future__ import annotations

import pickle
from typing import Any

import pytest

import leafwise
from games import coins, dice
from leafwise.envs.core.gym.env import GameEnv
from leafwise.envs.core.gym.vector import GameVectorEnv

Env = GameEnv | GameVectorEnv


def begun(env: Any) -> Any:
    env.reset(seed=1)
    return env


def refusal(env: Env, state: Any) -> str:
    before = env.get_state()
    with pytest.raises(ValueError, match=f"^{env._stepper.game.name}: expected ") as problem:
        env.set_state(state)
    after = env.get_state()
    assert all((before[name] == after[name]).all() for name in before)
    assert "\n" not in str(problem.value)
    return str(problem.value).split(": expected ", 1)[1]


@pytest.fixture(params=["single", "vector"])
def env(request: pytest.FixtureRequest) -> Any:
    return begun(GameEnv(dice.GAME) if request.param == "single" else GameVectorEnv(3, dice.GAME))


CHANCE_ROW = 1  # a die is about to be thrown
OVER = 12 << 4
SECOND_DECIDES = 1 << 4  # one turn was played


@pytest.mark.parametrize(
    ("name", "value", "said"),
    [
        ("seats", 1, "seats of a state in 0, got 1"),
        ("seats", 9, "seats of a state in 0, got 9"),
        ("over", 4, "over of a state in 0..3, got 4"),
        ("steps", -1, "steps of a state in 0..4611686018427387904, got -1"),
        ("illegal_in_a_row", -7, "illegal_in_a_row of a state in 0..4611686018427387904, got -7"),
        ("rows", CHANCE_ROW, "a decision of player 0 in the row of a state, got "),
        ("rows", SECOND_DECIDES, "a decision of player 0 in the row of a state, got "),
        ("rows", OVER, "a decision of player 0 in the row of a state, got "),
        ("rows", 3, "a row that the rules can go on from, got [3]: "),
        ("variant", 1, "a state of leafwise.game('dice'), got one of another game or variant"),
    ],
)
def test_a_value_that_no_episode_has(env: Env, name: str, value: int, said: str) -> None:
    state = env.get_state()
    state[name][-1] = value
    assert refusal(env, state).startswith(said)


def test_what_is_no_state(env: Env) -> None:
    state = env.get_state()
    assert refusal(env, {**state, "more": 1}).startswith("a state from get_state with rows, ")
    assert refusal(env, {1: 2}).startswith("a state from get_state with rows, ")
    assert refusal(env, {"rows": state["rows"]}).startswith("a state from get_state with rows, ")
    assert refusal(env, {**state, "rows": state["rows"][:, :0]}).startswith("rows of a state as uint64 (")
    assert refusal(env, None) == "a state from get_state, got NoneType"
    assert refusal(env, {**state, "steps": state["steps"].astype(float)}).startswith("steps of a state as int64 (")
    state["rows"][:], state["over"][:] = 2**64 - 1, 3  # where no episode has begun either
    assert refusal(env, state).startswith("a row that the rules can go on from, got [")


@pytest.mark.parametrize("options", [{"size": 9}, {"max_turns": 11}, {"self_trap": "deferred"}])
def test_a_state_of_another_variant(options: dict[str, Any]) -> None:
    small, other = begun(GameEnv("trap", size=3)), begun(GameEnv("trap", **{"size": 3, **options}))
    assert refusal(small, other.get_state()) == (
        "a state of leafwise.game('trap', size=3), got one of another game or variant"
    )
    state = begun(GameEnv("cassis")).get_state()
    assert refusal(begun(GameEnv("trilobite")), state).startswith("a state of leafwise.game('trilobite'), got one of")


def test_seats_that_may_be_drawn() -> None:
    env = GameEnv("cassis", seat="random")
    env.reset(seed=3)
    state = env.get_state()
    state["rows"][0], state["seats"][0] = (1, 0), 1
    env.set_state(state)
    assert env.state.current_player == 1
    state["seats"][0] = 0
    assert refusal(env, state).startswith("a decision of player 0 in the row of a state, got ")
    assert refusal(begun(GameEnv("cassis", seat="second")), state) == "seats of a state in 1, got 0"


def test_a_state_before_the_first_episode_and_after_its_end() -> None:
    env = GameEnv(coins.GAME)
    fresh = env.get_state()
    env.reset(seed=1)
    env.step(coins.STOP)
    ended = env.get_state()
    assert ended["over"].tolist() == [1]
    for state in (fresh, ended):
        other = GameEnv(coins.GAME)
        other.set_state(state)
        assert (other.get_state()["over"] == state["over"]).all()
        with pytest.raises(ValueError, match="expected reset"):
            other.step(0)
    ended["rows"][0] = 0, 0, 0, coins.TOSS_LEFT
    assert refusal(env, ended).startswith("no chance stage in the row of a state, got '0 0 0 1'"[:40])


def test_a_pickled_environment_is_checked() -> None:
    env = begun(GameEnv(leafwise.game("cassis")))
    assert pickle.loads(pickle.dumps(env)).state == env.state
    data = pickle.dumps(env)
    row = env.get_state()["rows"].tobytes()
    assert data.count(row)
    with pytest.raises(ValueError, match=r"^cassis: expected a row that the rules can go on from, got "):
        pickle.loads(data.replace(row, b"\xff" * len(row)))
