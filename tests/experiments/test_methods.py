"""The comparison of all methods: its plans are runs that there are, its page tells what is known, and it goes on."""

from __future__ import annotations

import base64
import json
import pickle
import zipfile
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal

import gymnasium as gym
import pytest

from leafwise.experiments.methods import newcomers
from leafwise.experiments.methods.plans import PLANS
from leafwise.experiments.methods.runs import trained, words_of
from leafwise.training.runs.loop import find_variant
from leafwise.training.runs.options import parse_options
from leafwise.training.runs.recipes import method_of, with_recipe

SMALL = [
    "--total-steps",
    "2000",
    "--envs",
    "50",
    "--learning-starts",
    "500",
    "--batch-size",
    "64",
    "--interval",
    "1000",
]
RUN = {"command": "python -m x", "commit": "0", "seconds": 60.0, "steps": 7, "memory_mb": 100.0}


@pytest.mark.parametrize("name", PLANS)
def test_every_way_of_a_plan_is_a_run_that_there_is(name: str, tmp_path: Path) -> None:
    plan = PLANS[name]
    game = find_variant(name, plan.variant)
    assert plan.hand in game.scores
    for word, way in plan.ways.items():
        module, *words = words_of(name, plan, word, way, tmp_path / "run", 30)
        if way.algorithm:
            assert module == "leafwise.experiments.methods.newcomers"
            continue
        assert [module, *words[:4]] == ["leafwise", "train", name, "--method", word]
        line = with_recipe(name, word, ["--game", name, *words[4:]])
        config, _ = parse_options(method_of(name, word).options, line, "x")
        assert config.total_steps == round(30 * way.steps)
        assert (config.game, config.variant) == (name, plan.variant)
        own = ["--variant", plan.variant, "--run", str(tmp_path / "run")]
        recipe = words_of(name, plan, word, way, tmp_path / "run", 0)
        assert recipe == [module, *words[:4], *own]


@pytest.mark.long
def test_runs_are_processes_whose_memory_is_known(tmp_path: Path) -> None:
    words = ["leafwise", "train", "trilobite", "--method", "dqn", "--no-recipe", "--run", str(tmp_path / "q"), *SMALL]
    told = trained([*words, "--match-pairs", "100", "--judged", "0", "--hidden", "8", "8"], tmp_path / "q")
    assert told["steps"] == 2000
    assert told["memory_mb"] > 50
    assert told["curve"]["tag"] == "eval/best_elo"
    config: dict[str, Any] = {"game": "trilobite", "algorithm": "PPO", "minutes": 0.02, "run": str(tmp_path / "sb3")}
    newcomers.train(newcomers.Config(**config, env='{"opponent": "random"}'))
    told = trained([], tmp_path / "sb3")
    assert told["seconds"] >= 1.2
    assert (tmp_path / "sb3" / "model.zip").exists()


def touch(path: str) -> None:
    Path(path).touch()


class Evil:
    """Touches a file when it is unpickled."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self) -> Any:
        return touch, (str(self.path),)


@pytest.mark.parametrize("algorithm", ["PPO", "DQN"])
def test_a_newcomer_goes_on_and_runs_no_code_of_its_folder(algorithm: Literal["PPO", "DQN"], tmp_path: Path) -> None:
    path = tmp_path / "run"
    given: dict[str, Any] = {"env": '{"opponent": "random"}', "run": str(path)}
    config = newcomers.Config("trilobite", algorithm=algorithm, minutes=1e-3, **given)
    newcomers.train(config)
    told, old, new = json.loads((path / "config.json").read_text()), path / "model.zip", path / "new.zip"
    evil = {":type:": "x", ":serialized:": base64.b64encode(pickle.dumps(Evil(tmp_path / "ran"))).decode()}
    with zipfile.ZipFile(old) as before, zipfile.ZipFile(new, "w") as after:
        for name in before.namelist():
            data = before.read(name)
            after.writestr(name, json.dumps({**json.loads(data), "policy_class": evil}) if name == "data" else data)
    new.replace(old)
    newcomers.train(replace(config, minutes=2e-3, resume=True))
    again = json.loads((path / "config.json").read_text())
    assert not (tmp_path / "ran").exists()
    assert again["steps"] > told["steps"] > 0
    assert again["seconds"] > told["seconds"]


def test_replay_buffers_of_newcomers_fit_into_memory() -> None:
    spaces = {name: gym.make(f"leafwise/{name}-v0").observation_space for name in ("Trap", "StarshipPlace")}
    assert newcomers.fitting("DQN", spaces["Trap"]) == {}
    steps = newcomers.fitting("DQN", spaces["StarshipPlace"])["buffer_size"]
    values = 25 * 24 * 24 + 48  # a grid and what stands beside it
    assert 3.9e9 < 2 * 4 * values * steps <= newcomers.BUFFER_BYTES
    assert newcomers.fitting("PPO", spaces["StarshipPlace"]) == {}
