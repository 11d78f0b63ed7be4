"""Measures how fast environments step."""

from __future__ import annotations

from collections.abc import Callable
from time import perf_counter

import numpy as np

from leafwise.envs.core.contract.game import Game
from leafwise.envs.core.gym.env import GameEnv
from leafwise.envs.core.gym.vector import GameVectorEnv

SIZES = (1, 64, 1024)
ACTIONS = 1024
"""How many steps of actions are drawn beforehand, so that drawing them is not measured."""


def best_rate(work: Callable[[], int], seconds: float) -> float:
    """Returns the most steps per second that repeated calls of `work` (steps done) reach; the first only compiles."""
    work()
    best, end = 0.0, perf_counter() + seconds
    while best == 0.0 or perf_counter() < end:
        start = perf_counter()
        steps = work()
        best = max(best, steps / (perf_counter() - start))
    return best


def bench_single(game: Game, seconds: float = 1.0) -> float:
    """Returns steps per second of one `GameEnv`: legal random actions, infos and new starts included."""
    env = GameEnv(game)
    random = np.random.default_rng(0)
    order = np.argsort(random.random((ACTIONS, len(game.actions))), axis=1)
    _, info = env.reset(seed=0)

    def work() -> int:
        nonlocal info
        for preferred in order:
            mask = info["action_mask"]
            for action in preferred:
                if mask[action]:
                    break
            _, _, terminated, _, info = env.step(action)
            if terminated:
                _, info = env.reset()
        return ACTIONS

    return best_rate(work, seconds)


def bench_batch(game: Game, n: int, seconds: float = 1.0) -> float:
    """Returns steps per second of a `GameVectorEnv` of n: legal actions given, masks and new starts included."""
    env = GameVectorEnv(n, game, autoreset_mode="SameStep")
    _, info = env.reset(seed=0)
    best, end = 0.0, perf_counter() + seconds
    calls = min(ACTIONS, max(16, 65536 // n))
    weights = np.random.default_rng(0).random((calls, n, len(game.actions)), dtype=np.float32)
    while best == 0.0 or perf_counter() < end:
        stepping, steps = 0.0, 0
        for weight in weights:
            actions = (weight * info["action_mask"]).argmax(axis=1)
            start = perf_counter()
            _, _, _, _, info = env.step(actions)
            stepping += perf_counter() - start
            steps += n
        best = max(best, steps / stepping)
    return best


def bench_envs(game: Game, seconds: float = 1.0) -> dict[str, float]:
    """Returns steps per second by name: `single` (GameEnv) and `batch_1`, `batch_64`, `batch_1024` (GameVectorEnv).

    Each is the best of the repeats that fit into `seconds`, on one core, after compilation.
    """
    return {"single": bench_single(game, seconds)} | {f"batch_{n}": bench_batch(game, n, seconds) for n in SIZES}
