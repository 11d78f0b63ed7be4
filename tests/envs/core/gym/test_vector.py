"""The batch environment: equal to single ones, in gymnasium's own forms."""

from __future__ import annotations

import itertools
import subprocess
import sys
from collections.abc import Callable
from functools import partial
from typing import Any

import gymnasium as gym
import numpy as np
import pytest
from gymnasium.vector import AsyncVectorEnv, AutoresetMode, SyncVectorEnv

import leafwise
from contract.same import assert_same
from games import dice
from leafwise.envs.core.gym.env import GameEnv
from leafwise.envs.core.gym.vector import GameVectorEnv

THREES = leafwise.game("threes")


@pytest.mark.parametrize("mode", [AutoresetMode.SAME_STEP, AutoresetMode.NEXT_STEP], ids=lambda mode: mode.value)
@pytest.mark.parametrize(
    ("game", "keywords"),
    [
        (THREES, {}),
        (THREES, {"illegal": "lose", "reward": "merges"}),
        (dice.GAME, {"seat": "random"}),
        (dice.GAME, {"illegal": "noop", "opponent": "random", "seat": "second"}),
        (THREES, {"max_episode_steps": 37}),
        (dice.GAME, {"illegal": "lose", "max_episode_steps": 2}),
    ],
    ids=["threes", "threes-lose", "dice", "dice-noop", "threes-steps", "dice-lose-steps"],
)
def test_a_batch_equals_single_environments(mode: AutoresetMode, game: leafwise.Game, keywords: dict[str, Any]) -> None:
    n, random = 5, np.random.default_rng(0)
    batch = GameVectorEnv(n, game, autoreset_mode=mode, **keywords)
    singles = SyncVectorEnv([partial(GameEnv, game, **keywords)] * n, autoreset_mode=mode)
    assert batch.metadata["autoreset_mode"] is singles.metadata["autoreset_mode"]
    assert batch.action_space == singles.action_space
    assert batch.observation_space == singles.observation_space
    mine = batch.reset(seed=11)
    assert_same(mine, singles.reset(seed=11))
    masks, ends, cut = mine[1]["action_mask"], np.zeros(n), 0
    while ends.min() < 3:
        # mostly legal, for long episodes; sometimes not, for illegal ones
        weights = masks if random.random() < 0.9 else np.ones_like(masks)
        actions = (random.random(masks.shape) * weights).argmax(axis=1)
        result = batch.step(actions)
        assert_same(result, singles.step(actions))
        masks = result[4]["action_mask"]
        ends += result[2] | result[3]
    for _ in range(
        130 if keywords.get("illegal", "noop") == "noop" and game is THREES else 0
    ):  # each always does the same
        result = batch.step(np.arange(n) % 4)
        assert_same(result, singles.step(np.arange(n) % 4))
        cut += result[3].sum()
    assert cut or keywords.get("illegal") or game is not THREES
    assert_same(batch.reset(), singles.reset())  # without a seed the streams go on
    assert_same(batch.reset(seed=[4, None, 4, 1, None]), singles.reset(seed=[4, None, 4, 1, None]))


def test_the_id_makes_a_batch() -> None:
    batch = gym.make_vec("leafwise/Threes-v0", num_envs=3, hint="exact", render_mode="ansi")
    assert isinstance(batch, GameVectorEnv)
    assert batch.game == leafwise.game("threes", hint="exact")
    assert batch.metadata["autoreset_mode"] is AutoresetMode.NEXT_STEP  # as Gymnasium's own
    batch.reset(seed=0)
    frames = batch.render()
    assert frames == tuple(batch.state(e).board() for e in range(3))
    batch.close()


@pytest.mark.parametrize("mode", AutoresetMode)
def test_the_id_makes_a_batch_in_every_mode_by_name(mode: AutoresetMode) -> None:
    batch = gym.make_vec("leafwise/Threes-v0", num_envs=2, autoreset_mode=mode.value)
    assert batch.metadata["autoreset_mode"] is mode


def test_spawned_workers_play_the_same_games() -> None:
    make: list[Callable[[], gym.Env[Any, Any]]] = [partial(GameEnv, "threes")] * 2
    workers = AsyncVectorEnv(make, context="spawn", autoreset_mode=AutoresetMode.SAME_STEP)
    try:
        batch = GameVectorEnv(2, "threes", autoreset_mode="SameStep")
        assert_same(batch.reset(seed=3), workers.reset(seed=3))
        for action in (0, 1, 2, 3) * 5:
            actions = np.full(2, action)
            assert_same(batch.step(actions), workers.step(actions))
    finally:
        workers.close()


SPAWNED = """
import gymnasium as gym
if __name__ == "__main__":
    workers = {}
    observations, infos = workers.reset(seed=1)
    print(len(observations), infos["action_mask"].sum())
    workers.close()
"""


@pytest.mark.parametrize(
    "made",
    [
        pytest.param(
            'gym.vector.AsyncVectorEnv([lambda: gym.make("leafwise:leafwise/Cassis-v0")] * 2, context="spawn")',
            marks=pytest.mark.long,
        ),
        'gym.make_vec("leafwise:leafwise/Cassis-v0", num_envs=2, vectorization_mode="async", vector_kwargs={"context": "spawn"})',
    ],
    ids=["workers", "make_vec"],
)
def test_processes_spawned_where_nothing_is_imported_find_the_id(made: str) -> None:
    command = [sys.executable, "-c", SPAWNED.format(made)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stderr
    assert done.stdout.split() == ["2", "30"]


def test_wrappers_are_asked_for_the_mask() -> None:
    env = gym.make("leafwise:leafwise/Cassis-v0")
    _, info = env.reset(seed=1)
    assert env is not env.unwrapped
    assert not hasattr(env, "action_masks")
    for ask in (env.get_wrapper_attr("action_masks"), env.unwrapped.action_masks):  # type: ignore[attr-defined]
        assert (ask() == info["action_mask"]).all()


def test_returned_arrays_never_share_memory() -> None:
    batch = GameVectorEnv(8, "threes", illegal="lose", autoreset_mode="SameStep")
    obs, info = batch.reset(seed=0)
    arrays, ended = [obs, *info.values(), batch.action_masks(), *batch.get_state().values()], False
    for _ in range(6):
        obs, reward, terminated, truncated, info = batch.step(np.zeros(8, dtype=np.int64))
        ended = ended or bool(terminated.any())
        arrays += [obs, reward, terminated, truncated, batch.action_masks()]
        arrays += [value for value in info.values() if isinstance(value, np.ndarray)]
        arrays += [value for value in info.get("final_info", {}).values() if isinstance(value, np.ndarray)]
        arrays += [value for value in info.get("final_obs", ()) if value is not None]
    assert ended
    assert not any(
        np.shares_memory(a, b) for a, b in itertools.combinations(arrays, 2) if object not in (a.dtype, b.dtype)
    )


def test_raise_changes_nothing() -> None:
    batch = GameVectorEnv(3, dice.GAME, illegal="raise")
    batch.reset(seed=0)
    before = batch.get_state()
    with pytest.raises(
        ValueError, match=r"^dice: expected a legal action \(left, right, wild\) in environment 1, got 'hold'$"
    ):
        batch.step(np.array([dice.LEFT, dice.HOLD, dice.LEFT]))
    assert_same(batch.get_state(), before)


@pytest.mark.parametrize(
    ("actions", "message"),
    [
        ([0, 1, 4], "threes: expected an action in 0..3 in environment 2, got 4"),
        ([0, -1, 0], "threes: expected an action in 0..3 in environment 1, got -1"),
        ([0, 1], r"threes: expected 3 action ids, got an array int64 \(2,\)"),
        ([0.0, 1.0, 2.0], r"threes: expected 3 action ids, got an array float64 \(3,\)"),
        (1, r"threes: expected 3 action ids, got an array int64 \(\)"),
    ],
)
def test_what_are_no_actions_is_refused(actions: Any, message: str) -> None:
    batch = GameVectorEnv(3, "threes")
    batch.reset(seed=0)
    before = batch.get_state()
    with pytest.raises(ValueError, match=f"^{message}$"):
        batch.step(actions)
    assert_same(batch.get_state(), before)


def test_wrong_resets_get_one_line() -> None:
    batch = GameVectorEnv(2, "threes")
    with pytest.raises(ValueError, match=r"^threes: expected 2 seeds, got 3$"):
        batch.reset(seed=[1, 2, 3])
    with pytest.raises(ValueError, match=r"^threes: expected reset_mask as an array bool \(2,\), got int64 \(2,\)$"):
        batch.reset(options={"reset_mask": np.array([1, 0])})
    with pytest.raises(ValueError, match=r"^threes: expected reset_mask as an array bool \(2,\), got \[True, False\]$"):
        batch.reset(options={"reset_mask": [True, False]})
    with pytest.raises(ValueError, match=r"^threes: expected a reset_mask that is True somewhere, got all False$"):
        batch.reset(options={"reset_mask": np.zeros(2, dtype=np.bool_)})
    with pytest.raises(ValueError, match=r"^threes: expected a seed of 0 to 2\*\*64 - 1, got -1$"):
        batch.reset(seed=[-1, None])
