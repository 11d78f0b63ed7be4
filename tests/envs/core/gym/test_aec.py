"""The PettingZoo view."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
from pettingzoo import AECEnv
from pettingzoo.test import api_test, seed_test
from pettingzoo.utils.env_logger import EnvLogger

import leafwise
from games import dice
from leafwise.envs.core.gym.env import GameEnv
from leafwise.envs.core.gym.vector import GameVectorEnv


def play(env: Any, seed: int) -> list[tuple[str, int]]:
    """Plays random legal actions to the end; returns who did what."""
    random, story = np.random.default_rng(seed), []
    env.reset(seed=seed)
    for agent in env.agent_iter():
        obs, _, terminated, _, _ = env.last()
        action = None if terminated else int(random.choice(np.flatnonzero(obs["action_mask"])))
        if action is not None:
            story.append((agent, action))
        env.step(action)
    return story


@pytest.mark.parametrize("game", ["threes", dice.GAME], ids=["threes", "dice"])
def test_pettingzoos_own_tests_pass(game: Any) -> None:
    with warnings.catch_warnings():
        # its message for every environment whose observations are dicts with a mask
        warnings.filterwarnings("ignore", message="Observation space for each agent probably should be")
        warnings.filterwarnings("ignore", message="Observation is not a NumPy array")
        api_test(leafwise.envs.aec(game), num_cycles=200)
        seed_test(lambda: leafwise.envs.aec(game), num_cycles=100)


def test_agents_act_in_the_games_turn_and_share_out_the_return() -> None:
    env = leafwise.envs.aec(dice.GAME)
    env.reset(seed=3)
    random, total, twice, before = np.random.default_rng(0), dict.fromkeys(env.possible_agents, 0.0), False, ""
    while not env.position.is_terminal:
        agent = env.agent_selection
        assert agent == f"player_{env.position.current_player}"
        mask = env.observe(agent)["action_mask"]
        assert tuple(np.flatnonzero(mask)) == env.position.legal_actions
        other = next(name for name in env.agents if name != agent)
        assert env.observe(other)["action_mask"].all()
        env.step(int(random.choice(np.flatnonzero(mask))))
        for name in total:
            total[name] += env.rewards[name]
        twice, before = twice or agent == before, agent
    assert twice
    assert total == {"player_0": env.position.returns, "player_1": -env.position.returns}
    assert all(env.terminations.values())
    assert env.observe("player_0")["action_mask"].all()


def test_a_seed_starts_the_game_of_the_single_environment() -> None:
    env, single = leafwise.envs.aec("threes"), GameEnv("threes")
    env.reset(seed=8)
    obs, _ = single.reset(seed=8)
    seen = env.observe("player_0")
    assert (seen["observation"] == obs).all()
    for k in range(20):
        action = single.state.legal_actions[k % len(single.state.legal_actions)]
        env.step(action)
        obs, reward, _, _, info = single.step(action)
        seen = env.observe("player_0")
        assert (seen["observation"] == obs).all()
        assert (seen["action_mask"] == info["action_mask"]).all()
        assert env.rewards["player_0"] == reward


def test_a_seed_tells_the_future_and_no_seed_goes_on() -> None:
    env = leafwise.envs.aec(dice.GAME)
    assert play(env, 1) == play(env, 1)
    env = leafwise.envs.aec("threes")
    starts = []
    for seed in (1, None, 1, None):
        env.reset(seed=seed)
        starts.append(env.position)
    assert starts[:2] == starts[2:]
    assert starts[0] != starts[1]


@pytest.mark.parametrize(("illegal", "reward"), [("lose", -1.0), ("noop", 0.0), ("raise", None)])
def test_illegal_actions(illegal: str, reward: float | None) -> None:
    env = leafwise.envs.aec(dice.GAME, illegal=illegal)
    env.reset(seed=0)
    with pytest.raises(ValueError, match=r"^dice: expected an action in 0..3, got 9$"):
        env.step(9)
    if reward is None:
        with pytest.raises(ValueError, match=r"^dice: expected a legal action \(left, right, wild\), got 'hold'$"):
            env.step(dice.HOLD)
        return
    env.step(dice.HOLD)
    assert env.rewards == {"player_0": reward, "player_1": -reward}
    assert env.infos["player_0"]["illegal"].startswith("dice: 'hold' is not legal here, ")
    assert list(env.terminations.values()) == [illegal == "lose"] * 2
    if illegal == "noop":
        env.step(dice.LEFT)
        assert not any(env.infos.values())


def test_pictures() -> None:
    env = leafwise.envs.aec("threes", render_mode="ansi", hint="exact")
    env.reset(seed=0)
    assert env.render() == env.position.board()


def test_before_reset_pettingzoo_says_so() -> None:
    env = leafwise.envs.aec(dice.GAME, render_mode="ansi")
    for call, name in ((lambda: env.step(0), "step"), (lambda: env.observe("player_0"), "observe")):
        with pytest.raises(AssertionError, match=rf"^reset\(\) needs to be called before {name}\.$"):
            call()
    with pytest.raises(AssertionError, match=r"^reset\(\) needs to be called before render\.$"):
        env.render()
    with pytest.raises(AssertionError, match=r"^reset\(\) needs to be called before agent_iter\(\)\.$"):
        env.agent_iter()
    for look in (env.last, lambda: env.agent_selection):
        with pytest.raises(AttributeError, match=r"^agent_selection cannot be accessed before reset$"):
            look()
    with pytest.raises(AttributeError, match=r"^'GameAECEnv' object has no attribute 'nothing'$"):
        _ = env.nothing
    env.reset(seed=0)
    assert env.last()[0]["action_mask"].any()


def test_a_step_after_the_end_is_told_of_as_pettingzoo_does(monkeypatch: pytest.MonkeyPatch) -> None:
    warnings: list[str] = []
    monkeypatch.setattr(EnvLogger, "warn_step_after_terminated_truncated", lambda: warnings.append("step"))
    env = leafwise.envs.aec("threes")
    play(env, 2)
    assert (env.agents, warnings) == ([], [])
    env.step(0)
    assert warnings == ["step"]


WHOLE = [np.array(1), np.int8(1), np.uint64(1), torch.tensor(1), 1]
NO_ACTIONS = ["down", "S", None, 1.0, np.float64(1), np.array([1, 2]), np.array(1.0), 1j, 4, -1, 2**70]
MAKERS: dict[str, Callable[[Any], Any]] = {
    "single": GameEnv,
    "turns": leafwise.envs.aec,
    "batch": lambda game: GameVectorEnv(1, game),
}


def position(env: Any) -> str:
    """Returns where an environment of any kind is."""
    state = env.position if isinstance(env, AECEnv) else env.state(0) if isinstance(env, GameVectorEnv) else env.state
    return str(state)


@pytest.mark.parametrize("kind", MAKERS)
def test_an_action_is_a_whole_number_of_any_type_in_every_environment(kind: str) -> None:
    env: Any = MAKERS[kind]("threes")
    seen = set()
    for action in WHOLE:
        env.reset(seed=3)
        env.step([action] if kind == "batch" else action)
        seen.add(position(env))
    assert len(seen) == 1
    env.reset(seed=3)
    for action in NO_ACTIONS:
        with pytest.raises(
            ValueError, match=r"^threes: expected (an action id|an action in 0..3|1 action ids)"
        ) as error:
            env.step([action] if kind == "batch" else action)
        assert "\n" not in str(error.value)
        assert position(env) == str(leafwise.game("threes").new(3))


@pytest.mark.parametrize("kind", MAKERS)
@pytest.mark.parametrize("seed", [1.0, np.float32(1), "1", True, -1, 2**64, {1}, 1j], ids=repr)
def test_a_seed_is_a_whole_number_in_every_environment(kind: str, seed: Any) -> None:
    env: Any = MAKERS[kind]("threes")
    with pytest.raises(ValueError, match=r"^threes: expected a seed of 0 to 2\*\*64 - 1, got "):
        env.reset(seed=seed)
    env.reset(seed=np.uint8(3))
    assert position(env) == str(leafwise.game("threes").new(3))
