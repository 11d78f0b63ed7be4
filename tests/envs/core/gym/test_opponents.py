"""Environments against a room's own players: either seat, batches, copies, and what is refused."""

from __future__ import annotations

import copy
from typing import Any

import gymnasium as gym
import numpy as np
import pytest

import leafwise
from leafwise.envs.core.gym.env import GameEnv
from leafwise.envs.core.gym.stepper import Stepper
from leafwise.envs.core.play.solver import FunctionPlayer, exact_solver

CASES = [
    ("Trilobite", "solver"),
    ("Trilobite", "minimax"),
    ("Trilobite", "solver:level=medium"),
    ("Cassis", "solver:level=easy"),
    ("Cassis", "dfs:canonical"),
]


def finished_games(env: gym.Env[Any, Any], games: int) -> list[float]:
    """Plays at random; returns the rewards of the last steps."""
    rng = np.random.default_rng(0)
    rewards: list[float] = []
    _, info = env.reset(seed=7)
    while len(rewards) < games:
        _, reward, over, _, info = env.step(int(rng.choice(np.flatnonzero(info["action_mask"]))))
        if over:
            rewards.append(float(reward))
            _, info = env.reset()
    return rewards


@pytest.mark.parametrize(("short", "opponent"), CASES)
@pytest.mark.parametrize("seat", ["first", "second", "random"])
def test_random_play_loses_more_than_it_wins(short: str, opponent: str, seat: str) -> None:
    rewards = finished_games(gym.make(f"leafwise/{short}-v0", opponent=opponent, seat=seat), 12)
    assert sum(rewards) < 0


def test_the_solver_never_gives_away_what_it_has() -> None:
    env = GameEnv("trilobite", opponent="solver", seat="first", board="4x4")
    solver = exact_solver(env.game)
    rng = np.random.default_rng(1)
    for seed in range(8):
        _, info = env.reset(seed=seed)
        over, value = False, -1.0
        while not over:
            before = solver.solve(env.state)
            action = int(rng.choice(np.flatnonzero(info["action_mask"])))
            value = before.action_values[env.game.actions[action]]
            _, reward, over, _, info = env.step(action)
            assert (reward if over else solver.solve(env.state, "none").value) == value


@pytest.mark.parametrize("opponent", ["solver:level=easy", "dfs"])
def test_a_batch_plays_the_games_of_single_environments(opponent: str) -> None:
    batch = gym.make_vec("leafwise/Cassis-v0", num_envs=3, opponent=opponent, seat="random", autoreset_mode="SameStep")
    singles = [gym.make("leafwise/Cassis-v0", opponent=opponent, seat="random") for _ in range(3)]
    seen, infos = batch.reset(seed=5)
    assert all(np.array_equal(env.reset(seed=5 + e)[0], seen[e]) for e, env in enumerate(singles))
    for _ in range(25):
        actions = infos["action_mask"].argmax(axis=1)
        seen, rewards, over, _, infos = batch.step(actions)
        for e, env in enumerate(singles):
            obs, reward, done, _, _ = env.step(int(actions[e]))
            assert (reward, done) == (rewards[e], over[e])
            assert np.array_equal(env.reset()[0] if done else obs, seen[e])


def test_a_copy_goes_on_alike_and_draws_alike() -> None:
    env = GameEnv("cassis", opponent="solver:level=easy")
    _, info = env.reset(seed=1)
    env.step(int(info["action_mask"].argmax()))
    twin = copy.deepcopy(env)
    for _ in range(3):
        action = int(env.action_masks().argmax())
        (_, reward, *_), (_, other_reward, *_) = env.step(action), twin.step(action)
        assert env.state == twin.state
        assert reward == other_reward


@pytest.mark.parametrize(
    ("game", "opponent", "problem"),
    [
        ("trilobite", "dfs", "expected opponent among random, greedy, greedy:lines, solver, minimax, got 'dfs'"),
        ("cassis", "solver:level=hardest", "expected level among easy, medium, hard, got 'hardest'"),
        ("cassis", "dfs:nonsense", "expected key among board, degree, colours, canonical, got 'nonsense'"),
        ("threes", "nneonneo", "expected no opponent in a game for one player, got 'nneonneo'"),
    ],
)
def test_unknown_opponents_are_refused(game: str, opponent: str, problem: str) -> None:
    with pytest.raises(ValueError, match=problem):
        GameEnv(game, opponent=opponent)


def test_an_illegal_opponent_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    game = leafwise.game("trilobite")
    monkeypatch.setitem(game.ais, "cheat", lambda game, name, words: FunctionPlayer(name, lambda state: 7))
    env = GameEnv(game, opponent="cheat")
    env.reset(seed=0)
    with pytest.raises(ValueError, match="expected a legal action from opponent 'cheat', got 7 at "):
        env.step(0)


def test_a_rebuilt_stepper_keeps_its_opponent() -> None:
    stepper = Stepper(
        leafwise.game("trilobite"),
        1,
        reward="score",
        illegal=None,
        opponent="solver:level=easy",
        seat="first",
        autoreset=0,
    )
    stepper.start({0: np.uint64(3)})
    again = copy.deepcopy(stepper)
    assert again.opponent == "solver:level=easy"
    assert np.array_equal(again.buffers.S[:1], stepper.buffers.S[:1])
