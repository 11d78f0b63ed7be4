"""What illegal actions do, and that every episode ends: truncation after illegal actions in a row and after steps."""

from __future__ import annotations

import copy
import pickle
from functools import partial
from typing import Any

import gymnasium as gym
import numpy as np
import pytest
from gymnasium.vector import AutoresetMode, SyncVectorEnv

import leafwise
from contract.same import assert_same
from games import dice
from leafwise.envs.core.gym.env import GameEnv
from leafwise.envs.core.gym.stepper import PATIENCE
from leafwise.envs.core.gym.vector import GameVectorEnv

ALL_UP = "3 1 1 1/0 0 0 0/0 0 0 0/0 0 0 0 next=1 deck=3,4,4"
UP, DOWN = 0, 1


def with_one_legal_move(**keywords: Any) -> GameEnv:
    """Returns Threes where "down" alone is legal."""
    env = GameEnv("threes", **keywords)
    env.reset(seed=0)
    state = env.get_state()
    state["rows"][0] = env.game.parse(ALL_UP).row
    env.set_state(state)
    return env


def test_noop_changes_nothing() -> None:
    env = with_one_legal_move()
    before, position = env.get_state(), env.state
    obs, reward, terminated, truncated, info = env.step(UP)
    assert (reward, terminated, truncated) == (0.0, False, False)
    assert info["illegal"] == "threes: 'up' is not legal here, nothing happens"
    assert info["action_mask"].tolist() == [0, 1, 0, 0]
    assert np.asarray(obs)[:4].tolist() == [3, 1, 1, 1]
    assert env.state == position
    after = env.get_state()
    counted = {name for name in before if (after[name] != before[name]).any()}
    assert counted == {"steps", "illegal_in_a_row"}
    assert "illegal" not in env.step(DOWN)[4]


def test_lose_ends_with_the_least_return() -> None:
    env = with_one_legal_move(illegal="lose")
    _, reward, terminated, _, info = env.step(UP)
    assert terminated
    assert reward == -3.0  # the least return is 0, and there were 3 points
    assert info["illegal"] == "threes: 'up' is not legal here, the game is lost"
    assert info["action_mask"].all()
    with pytest.raises(ValueError, match=r"threes: expected reset\(\) before step\(\), the episode is over"):
        env.step(DOWN)


def test_raise_says_what_is_legal_and_changes_nothing() -> None:
    env = with_one_legal_move(illegal="raise")
    position = env.state
    with pytest.raises(ValueError, match=r"^threes: expected a legal action \(down\), got 'up'$"):
        env.step(UP)
    assert env.state == position
    env.step(DOWN)


def test_illegal_actions_in_a_row_truncate() -> None:
    env = with_one_legal_move()
    for n in range(1, PATIENCE):
        obs, reward, terminated, truncated, info = env.step(UP)
        assert (reward, terminated, truncated) == (0.0, False, False), n
        assert info["illegal"] == "threes: 'up' is not legal here, nothing happens"
    last, reward, terminated, truncated, info = env.step(UP)
    assert (reward, terminated, truncated) == (0.0, False, True)
    assert info["illegal"] == "threes: 'up' is not legal here, nothing happens, and the episode is truncated"
    assert info["action_mask"].tolist() == [0, 1, 0, 0]  # the game is not over
    assert (last == obs).all()  # type: ignore[union-attr]  # the count is not in the observation
    with pytest.raises(ValueError, match=r"^threes: expected reset\(\) before step\(\)"):
        env.step(DOWN)
    env.reset()
    assert not env.step(int(env.action_masks().argmax()))[3]


def test_a_legal_action_forgets_the_illegal_ones() -> None:
    env = with_one_legal_move()
    for _ in range(PATIENCE - 1):
        env.step(UP)
    assert env.get_state()["illegal_in_a_row"].tolist() == [PATIENCE - 1]
    assert not env.step(DOWN)[3]
    assert env.get_state()["illegal_in_a_row"].tolist() == [0]


def test_a_game_of_many_actions_is_more_patient() -> None:
    env = GameEnv("friday")
    assert len(env.game.actions) > PATIENCE
    env.reset(seed=0)
    illegal, steps, truncated = int(np.argmin(env.action_masks())), 0, False
    while not truncated:
        _, _, _, truncated, _ = env.step(illegal)
        steps += 1
    assert steps == len(env.game.actions)


@pytest.mark.parametrize("name", ["threes", "friday"])
def test_with_masks_no_episode_is_truncated(name: str) -> None:
    env, random = GameEnv(name), np.random.default_rng(0)
    _, info = env.reset(seed=0)
    ends = 0
    for _ in range(3000):
        _, _, terminated, truncated, info = env.step(random.choice(np.flatnonzero(info["action_mask"])))
        assert not truncated
        if terminated:
            ends += 1
            _, info = env.reset()
    assert ends > 3


@pytest.mark.parametrize("mode", [AutoresetMode.NEXT_STEP, AutoresetMode.SAME_STEP], ids=lambda mode: mode.value)
@pytest.mark.parametrize(
    ("game", "keywords"),
    [
        (leafwise.game("threes"), {}),
        (leafwise.game("threes"), {"max_episode_steps": 37}),
        (dice.GAME, {"illegal": "noop", "opponent": "random"}),
        (dice.GAME, {"illegal": "lose", "max_episode_steps": 2}),
    ],
    ids=["threes", "threes-steps", "dice", "dice-lose-steps"],
)
def test_batches_are_truncated_as_single_environments_are(
    mode: AutoresetMode, game: leafwise.Game, keywords: dict[str, Any]
) -> None:
    n, actions = 4, np.array([UP, DOWN, 2, 3])
    batch = GameVectorEnv(n, game, autoreset_mode=mode, **keywords)
    singles = SyncVectorEnv([partial(GameEnv, game, **keywords)] * n, autoreset_mode=mode)
    assert_same(batch.reset(seed=3), singles.reset(seed=3))
    cut = 0
    for _ in range(260):  # each always does the same
        told = batch.step(actions)
        assert_same(told, singles.step(actions))
        cut += int(told[3].sum())
    assert cut > 3


def test_steps_are_counted_as_gymnasiums_own_wrapper_counts_them() -> None:
    batch = gym.make_vec("leafwise/Threes-v0", num_envs=3, max_episode_steps=20)
    assert isinstance(batch, GameVectorEnv)
    singles = gym.make_vec("leafwise/Threes-v0", num_envs=3, vectorization_mode="sync", max_episode_steps=20)
    random = np.random.default_rng(0)
    told, theirs = batch.reset(seed=1), singles.reset(seed=1)
    assert_same(told, theirs)
    cut, masks = 0, told[1]["action_mask"]
    for _ in range(100):
        actions = (random.random(masks.shape) * masks).argmax(axis=1)
        step = batch.step(actions)
        assert_same(step, singles.step(actions))
        masks, cut = step[4]["action_mask"], cut + int(step[3].sum())
    assert cut >= 12
    assert gym.make("leafwise/Threes-v0", max_episode_steps=20).spec.max_episode_steps == 20  # type: ignore[union-attr]


def test_disabled_waits_for_a_reset() -> None:
    batch = GameVectorEnv(3, "threes", autoreset_mode="Disabled", max_episode_steps=5)
    singles = SyncVectorEnv(
        [partial(GameEnv, "threes", max_episode_steps=5)] * 3, autoreset_mode=AutoresetMode.DISABLED
    )
    assert_same(batch.reset(seed=1), singles.reset(seed=1))
    first = np.array([True, False, True])
    for _ in range(3):
        actions = batch.action_masks().argmax(axis=1)
        assert_same(batch.step(actions), singles.step(actions))
    again: list[Any] = [env.reset(seed=[4, 5, None], options={"reset_mask": first.copy()}) for env in (batch, singles)]
    assert_same(again[0], again[1])
    for _ in range(2):
        told = batch.step(batch.action_masks().argmax(axis=1))
    assert told[3].tolist() == [False, True, False]
    with pytest.raises(ValueError, match=r"^threes: expected reset\(\) before step\(\) in environment 1"):
        batch.step(batch.action_masks().argmax(axis=1))
    batch.reset(options={"reset_mask": told[3]})
    batch.step(batch.action_masks().argmax(axis=1))


def with_its_state(env: GameEnv) -> GameEnv:
    other = GameEnv("threes", max_episode_steps=1000)
    other.set_state(env.get_state())
    return other


@pytest.mark.parametrize(
    "copied",
    [copy.deepcopy, lambda env: pickle.loads(pickle.dumps(env)), with_its_state],
    ids=["deepcopy", "pickle", "state"],
)
def test_copies_keep_the_counts(copied: Any) -> None:
    env = with_one_legal_move(max_episode_steps=1000)
    for _ in range(PATIENCE - 1):
        env.step(UP)
    twin = copied(env)
    assert twin.get_state()["illegal_in_a_row"].tolist() == [PATIENCE - 1]
    assert twin.get_state()["steps"].tolist() == [PATIENCE - 1]
    assert twin.step(UP)[3]
    assert env.step(UP)[3]
    assert copied(env).get_state()["over"].tolist() == [2]  # truncated: what the game shows goes on to be shown
    assert copied(env).action_masks().tolist() == [False, True, False, False]


@pytest.mark.parametrize("steps", [0, -1, 2.5, "9", True, 2**62])
def test_what_is_no_number_of_steps_is_refused(steps: Any) -> None:
    with pytest.raises(ValueError, match=r"^threes: expected max_episode_steps of 1 to 2\*\*62 - 1, got "):
        GameEnv("threes", max_episode_steps=steps)
