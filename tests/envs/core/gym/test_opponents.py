"""Environments against a room's own players: both seats, batches, copies, and refusals."""

from __future__ import annotations

import copy
import pickle
from typing import Any

import gymnasium as gym
import numpy as np
import pytest

import leafwise
from games import nim
from leafwise.envs.core.contract.state import State
from leafwise.envs.core.gym.env import GameEnv
from leafwise.envs.core.gym.stepper import not_begun
from leafwise.envs.core.gym.vector import GameVectorEnv
from leafwise.envs.core.play.players import resolve_opponent
from leafwise.envs.core.play.solver import FunctionPlayer, exact_solver
from leafwise.search.players import RandomPlayer

CASES = [
    ("Trilobite", "solver"),
    ("Trilobite", "minimax"),
    pytest.param("Trilobite", "solver:level=medium", marks=pytest.mark.long),
    pytest.param("Cassis", "solver:level=easy", marks=pytest.mark.long),
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
@pytest.mark.parametrize("seat", [*(pytest.param(s, marks=pytest.mark.long) for s in ("first", "second")), "random"])
def test_random_play_loses_more_than_it_wins(short: str, opponent: str, seat: str) -> None:
    rewards = finished_games(gym.make(f"leafwise/{short}-v0", opponent=opponent, seat=seat), 30)
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


def first_legal(state: State) -> int:
    return state.legal_actions[0]


@pytest.mark.parametrize(
    ("short", "opponent"),
    [
        ("Cassis", "solver:level=easy"),
        ("Cassis", "dfs"),
        ("Trilobite", "search:lines,depth=2"),
        ("Trilobite", RandomPlayer()),
        ("Trilobite", first_legal),
    ],
)
def test_a_batch_plays_the_games_of_single_environments(short: str, opponent: Any) -> None:
    words: dict[str, Any] = {"opponent": opponent, "seat": "random"}
    batch = gym.make_vec(f"leafwise/{short}-v0", num_envs=3, autoreset_mode="SameStep", **words)
    singles = [gym.make(f"leafwise/{short}-v0", **words) for _ in range(3)]
    seen, infos = batch.reset(seed=5)
    assert all(np.array_equal(env.reset(seed=5 + e)[0], seen[e]) for e, env in enumerate(singles))
    for _ in range(25):
        actions = infos["action_mask"].argmax(axis=1)
        seen, rewards, over, _, infos = batch.step(actions)
        for e, env in enumerate(singles):
            obs, reward, done, _, _ = env.step(int(actions[e]))
            assert (reward, done) == (rewards[e], over[e])
            assert np.array_equal(env.reset()[0] if done else obs, seen[e])


@pytest.mark.long
def test_a_learned_leaf_is_compiled_into_the_step_and_a_search_is_asked() -> None:
    learned = GameEnv("trilobite", board="7x6", k=4, opponent="greedy:learned")
    search = leafwise.Search(learned.game, leafwise.leaf(learned.game, "learned"), 1)
    _, info = learned.reset(seed=3)
    over = False
    while not over:
        before = learned.state.play(int(info["action_mask"].argmax()))
        _, _, over, _, info = learned.step(int(info["action_mask"].argmax()))
        if not before.is_terminal:
            played = [a for a in before.legal_actions if before.play(a).row.tobytes() == learned.state.row.tobytes()]
            values = search(before).values
            assert [values[a] for a in played] == [max(values.values())]  # several may win at once
    assert resolve_opponent(learned.game, "greedy:learned").is_python is False
    assert resolve_opponent(learned.game, "search:lines,depth=2").is_python is True


def test_a_game_without_a_score_has_a_greedy_opponent_that_takes_what_wins_at_once() -> None:
    env = GameEnv(nim.GAME)
    assert env._stepper.options.opponent == "greedy"
    env.reset(seed=0)
    env.step(2)  # four stones are left: it takes one to three of them
    left = int(env.state.row[0])
    assert left in (1, 2, 3)
    _, reward, over, _, _ = env.step(left - 1)
    assert (reward, over) == (1.0, True)
    env.reset(seed=0)
    env.set_state({**env.get_state(), "rows": np.array([[4, 0]])})
    _, reward, over, _, _ = env.step(0)  # three are left
    assert (reward, over) == (-1.0, True)


def test_a_player_with_a_stream_draws_from_the_environment() -> None:
    env = GameEnv("cassis", opponent=RandomPlayer(seed=1))
    env.reset(seed=4)
    state = env.get_state()
    seen = []
    for _ in range(2):
        env.set_state(state)
        seen.append([env.step(int(env.action_masks().argmax()))[0].tobytes() for _ in range(2)])  # type: ignore[union-attr]
    assert seen[0] == seen[1]
    assert (env.get_state()["streams"] != state["streams"]).any()


def test_an_opponent_that_cannot_be_copied_is_named() -> None:
    env = GameEnv("trilobite", opponent=lambda state: state.legal_actions[0])
    env.reset(seed=0)
    for copied in (copy.deepcopy, pickle.dumps):
        with pytest.raises(
            ValueError, match=r"^trilobite: expected an opponent that can be pickled, or named by a text, "
        ):
            copied(env)


def test_an_illegal_opponent_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    game = leafwise.game("trilobite")
    monkeypatch.setitem(game.ais, "cheat", lambda game, name, words: FunctionPlayer(name, lambda state: 7))
    env = GameEnv(game, opponent="cheat")
    env.reset(seed=0)
    with pytest.raises(ValueError, match="expected a legal action from opponent 'cheat', got 7 at "):
        env.step(0)


def test_an_opponent_that_fails_in_a_reset_leaves_the_others_games_alone() -> None:
    left = [4]

    def opponent(state: State) -> int:
        left[0] -= 1
        if not left[0]:
            raise RuntimeError("no more")
        return state.legal_actions[0]

    batch = GameVectorEnv(3, "trilobite", opponent=opponent, seat="second")
    batch.reset(seed=1)
    left[0] = 2
    before = batch.state(2)
    with pytest.raises(RuntimeError, match="no more"):
        batch.reset(seed=2)  # in the second environment
    batch.step(np.full(3, before.legal_actions[-1]))
    assert batch.state(2) == before.play(before.legal_actions[-1]).play(before.legal_actions[0])


def test_the_first_reset_compiles_all_that_steps_need() -> None:
    env = GameEnv("trilobite")
    with pytest.raises(ValueError, match="expected reset"):
        env.step(0)
    assert env._stepper.call is not_begun
    env.reset(seed=0)
    call = env._stepper.call
    assert call is not not_begun
    env.step(0)
    env.reset()
    assert env._stepper.call is call
