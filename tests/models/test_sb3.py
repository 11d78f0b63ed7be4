"""Models of Stable-Baselines3 as leaves and players: objects and files, normalized or not, and what is refused."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np
import pytest
import torch
from sb3_contrib import QRDQN, MaskablePPO, RecurrentPPO
from stable_baselines3 import A2C, DQN, PPO
from stable_baselines3.common.vec_env import DummyVecEnv, VecFrameStack, VecMonitor, VecNormalize

import leafwise
from games.refusals import one_line
from leafwise.envs.core.gym.env import GameEnv
from leafwise.envs.core.gym.observation import Observer
from leafwise.envs.core.gym.vector import GameVectorEnv
from leafwise.models import sb3
from leafwise.search import Search
from leafwise.training.ppo.network import ScaledRewards
from leafwise.training.sb3 import Sb3VecEnv

TRILOBITE = leafwise.game("trilobite")
SMALL: dict[str, Any] = {"policy_kwargs": {"net_arch": [8]}, "seed": 0, "device": "cpu"}


def ppo(env: Any, kind: Any = PPO, **more: Any) -> Any:
    return kind("MlpPolicy", env, **{**SMALL, **more})


MAKERS: dict[str, Callable[[Any], Any]] = {
    "PPO": lambda env: ppo(env, gamma=0.9),
    "A2C": lambda env: ppo(env, A2C, gamma=0.9),
    "DQN": lambda env: ppo(env, DQN, gamma=0.9, buffer_size=10),
    "MaskablePPO": lambda env: ppo(env, MaskablePPO, gamma=0.9),
    "QRDQN": lambda env: ppo(env, QRDQN, gamma=0.9, buffer_size=10),
}
LOADING = "runs code kept in it"


def two_moves() -> leafwise.State:
    return TRILOBITE.new(0).play(1).play(1)


def numbers(model: Any, obs: Any) -> Any:
    """What a model says of observations, by its own means."""
    with torch.no_grad():
        given = model.policy.obs_to_tensor(obs)[0]
        if hasattr(model.policy, "predict_values"):
            return model.policy.predict_values(given).numpy()
        if hasattr(model.policy, "q_net"):
            return model.policy.q_net(given).numpy()
        return model.policy.quantile_net(given).numpy().mean(axis=1)


@pytest.mark.parametrize("name", MAKERS)
def test_objects_and_files_are_leaves(name: str, tmp_path: Path) -> None:
    model, state = MAKERS[name](GameEnv(TRILOBITE)), two_moves()
    said = numbers(model, Observer(TRILOBITE)(state.row[None]).obs)[0]
    worth = 0.9 * (said[0] if said.shape == (1,) else said[list(state.legal_actions)].max())
    assert state.value(leafwise.leaf(TRILOBITE, model)) == pytest.approx(worth, rel=1e-5)
    assert state.value(leafwise.leaf(TRILOBITE, model.policy)) == pytest.approx(worth / 0.9, rel=1e-5)
    assert state.value(leafwise.leaf(TRILOBITE, model, discount=1.0, scale=2.0)) == pytest.approx(
        worth / 0.45, rel=1e-5
    )
    file = tmp_path / "a, b.zip"  # a comma in a path
    model.save(file)
    with pytest.warns(UserWarning, match=LOADING):
        assert state.value(leafwise.leaf(TRILOBITE, file)) == pytest.approx(worth, rel=1e-5)
    own = leafwise.player(f'search:sb3:"{file}",depth=2', TRILOBITE)  # said once is enough
    assert own.choose(state) == Search(TRILOBITE, leafwise.leaf(TRILOBITE, model), depth=2)(state).action
    assert leafwise.player(f"sb3:{file}", TRILOBITE).choose(state) == policy_choice(model, state)


def policy_choice(model: Any, state: leafwise.State) -> int:
    """The legal action that a policy likes best."""
    obs = Observer(TRILOBITE)(state.row[None]).obs
    if hasattr(model.policy, "predict_values"):
        likes = [
            model.policy.evaluate_actions(model.policy.obs_to_tensor(obs)[0], torch.tensor([a]))[1].item()
            for a in range(3)
        ]
    else:
        likes = numbers(model, obs)[0]
    return max(state.legal_actions, key=lambda a: likes[a])


def test_a_model_of_planes_sees_planes() -> None:
    model, state = ppo(GameEnv(TRILOBITE, observation="planes")), two_moves()
    said = numbers(model, Observer(TRILOBITE, "planes")(state.row[None]).obs)[0]
    assert state.value(leafwise.leaf(TRILOBITE, model)) == pytest.approx(float(said[0]) * model.gamma, rel=1e-5)
    assert sb3.PolicyPlayer(TRILOBITE, model, "ppo").choose(state) in state.legal_actions
    refused(model, r"expected observations Box\(-1\.0, 1\.0, \(9,\), float32\)", observation="default")


def test_observations_of_starship_in_dicts() -> None:
    ship = leafwise.game("starship")
    model: Any = MaskablePPO("MultiInputPolicy", GameEnv(ship), **SMALL)
    state, env = ship.new(3), GameEnv(ship)
    env.reset(seed=0)
    env.set_state({**env.get_state(), "rows": state.row[None].copy()})
    said = numbers(model, {key: a[None] for key, a in env._see().items()})
    assert state.value(leafwise.leaf(ship, model)) == pytest.approx(float(said[0, 0]) * model.gamma, rel=1e-4)


def test_the_normalization_comes_along(tmp_path: Path) -> None:
    env = VecNormalize(DummyVecEnv([lambda: gym.make("leafwise/Trilobite-v0", seat="random")]))
    model = ppo(env, n_steps=64, batch_size=64, n_epochs=1).learn(64)
    model.save(tmp_path / "m.zip")
    env.save(str(tmp_path / "n.pkl"))
    state = two_moves()
    obs: Any = Observer(TRILOBITE)(state.row[None]).obs
    scale = float(np.sqrt(env.ret_rms.var + env.epsilon))
    worth = float(numbers(model, env.normalize_obs(obs))[0, 0]) * model.gamma * scale
    assert state.value(leafwise.leaf(TRILOBITE, model)) == pytest.approx(worth, rel=1e-5)
    assert state.value(leafwise.leaf(TRILOBITE, model, scale=1.0)) == pytest.approx(worth / scale, rel=1e-5)
    with (
        pytest.warns(UserWarning, match=LOADING),
        pytest.raises(ValueError, match="expected normalize=, the VecNormalize"),
    ):
        leafwise.leaf(TRILOBITE, tmp_path / "m.zip")
    with pytest.warns(UserWarning, match=LOADING):
        own = leafwise.leaf(TRILOBITE, tmp_path / "m.zip", normalize=tmp_path / "n.pkl")
    assert state.value(own) == pytest.approx(worth, rel=1e-5)
    with pytest.warns(UserWarning, match=LOADING):
        player = leafwise.player(f"search:sb3:{tmp_path / 'm.zip'},normalize={tmp_path / 'n.pkl'},depth=1", TRILOBITE)
    assert player.choose(state) == Search(TRILOBITE, own, depth=1)(state).action
    scaled = ScaledRewards(VecMonitor(Sb3VecEnv(GameVectorEnv(2, TRILOBITE, autoreset_mode="SameStep"))), 5.0)
    bare = ppo(scaled)
    value = numbers(bare, obs)[0, 0] * bare.gamma
    assert state.value(leafwise.leaf(TRILOBITE, bare)) == pytest.approx(5 * value, rel=1e-5)
    with one_line("expected normalize as a VecNormalize or its file, got int"):
        leafwise.leaf(TRILOBITE, model, normalize=3)
    with (
        pytest.warns(UserWarning, match=LOADING),
        pytest.raises(ValueError, match=r"expected a file of VecNormalize.save at"),
    ):
        leafwise.leaf(TRILOBITE, model, normalize=tmp_path / "m.zip")


class Blank(gym.ObservationWrapper[Any, Any, Any]):
    """Observations that no longer are the environment's, in the same space."""

    def observation(self, observation: Any) -> Any:
        return observation * 0


class Halved(gym.RewardWrapper[Any, Any]):
    """Rewards that no longer are the environment's."""

    def reward(self, reward: Any) -> float:
        return float(reward) / 2


def refused(model: Any, problem: str, **options: Any) -> None:
    with one_line(problem):
        leafwise.leaf(TRILOBITE, model, **options)


def test_models_that_do_not_fit_are_refused() -> None:
    refused(ppo(GameEnv("trilobite", board="4x4")), r"^leaf 'PPO': expected observations Box\(.*, got Box")
    refused(ppo(GameEnv("cassis")), "expected observations .*; if wrappers change them, pass a")
    refused(ppo(Blank(GameEnv(TRILOBITE))), "expected no wrapper but VecNormalize, got Blank; pass")
    stacked = VecFrameStack(DummyVecEnv([lambda: GameEnv(TRILOBITE)]), 2)
    refused(ppo(stacked), "expected observations")
    halved = ppo(Halved(GameEnv(TRILOBITE)))
    refused(halved, "got Halved; pass a function .* and scale if rewards were changed$")
    assert leafwise.leaf(TRILOBITE, halved, scale=2.0).batch is not None
    refused(ppo(GameEnv(TRILOBITE)), "'PPO': expected kind 'value' as in the model, got 'q'$", kind="q")
    refused(
        RecurrentPPO("MlpLstmPolicy", GameEnv(TRILOBITE), device="cpu"), "expected a PPO, .*, got RecurrentPPO with a"
    )
    merges = ppo(GameEnv("threes", reward="merges"))
    with one_line("expected to_go for a model trained on the reward 'merges', which is not the"):
        leafwise.leaf("threes", merges)
    assert leafwise.leaf("threes", merges, to_go=False).to_go is False


def test_files_that_hold_no_model_are_refused(tmp_path: Path) -> None:
    (tmp_path / "text.zip").write_text("nonsense")
    refused(tmp_path / "text.zip", "^expected a .zip of Stable-Baselines3, got ")
    ppo(GameEnv(TRILOBITE)).policy.save(str(tmp_path / "p.zip"))
    with pytest.warns(UserWarning, match=LOADING):
        refused(tmp_path / "p.zip", "^expected a PPO, A2C, .* of Stable-Baselines3 in '.*p.zip', got ")
    RecurrentPPO("MlpLstmPolicy", GameEnv(TRILOBITE), device="cpu").save(tmp_path / "r.zip")
    with pytest.warns(UserWarning, match=LOADING):
        refused(tmp_path / "r.zip", "got a policy RecurrentActorCriticPolicy$")
    with one_line(r"for a model of Stable-Baselines3 use leafwise.leaf\(game, "):
        leafwise.load(tmp_path / "text.zip")
    for text in ("sb3:", "sb3:model", "sb3:m.zip,depth=2"):
        with one_line(r"expected sb3:FILE.zip or sb3:FILE.zip,normalize=FILE.pkl, got 'sb3:"):
            leafwise.player(text, TRILOBITE)


def test_a_file_that_changes_is_read_again(tmp_path: Path) -> None:
    file = tmp_path / "m.zip"
    for seed in range(2):
        PPO("MlpPolicy", GameEnv(TRILOBITE), seed=seed, device="cpu").save(file)
        with pytest.warns(UserWarning, match=LOADING):
            found = sb3.load(file)
        assert found.seed == seed
        assert sb3.load(file) is found


@pytest.mark.long
def test_the_readmes_search_beats_the_policy_that_it_searches_with(tmp_path: Path) -> None:
    readme = (Path(__file__).parents[2] / "README.md").read_text(encoding="utf-8")
    (code,) = [block for block in re.findall(r"```python\n(.*?)```", readme, re.DOTALL) if "leafwise.leaf(" in block]
    assert len([line for line in code.splitlines() if line]) <= 15
    done = subprocess.run([sys.executable, "-W", "ignore", "-c", code], cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    found = re.findall(r"^(\S+) (\S+) \((\S+), (\S+)\)$", done.stdout, re.MULTILINE)
    (bare, *_, bare_high), (searching, _, low, _) = found
    assert (bare, searching) == ("sb3:ppo.zip", "search:sb3:ppo.zip,depth=2")
    assert float(bare_high) < float(low)
