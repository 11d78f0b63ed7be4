"""Settings of MaskablePPO: the file is one that it takes and learns by, the study goes on, the page shows its table."""

from __future__ import annotations

import inspect
import json
from pathlib import Path
from typing import Any

import gymnasium as gym
import pytest

from leafwise.experiments.methods import learners, newcomers, tune
from leafwise.experiments.methods.__main__ import SETTINGS
from leafwise.experiments.methods.learners import IDS, game_and_options
from leafwise.experiments.methods.newcomers import id_of, settings_of
from leafwise.training.evaluation.arena import evaluate
from leafwise.training.runs.loop import find_variant

ROOT = Path(__file__).resolve().parents[2]
FILE = str(ROOT / SETTINGS)
OURS = {"n_envs", "n_timesteps", "normalize", "env_kwargs"}
"""Settings that are no options of the algorithm."""


@pytest.mark.parametrize("name", IDS)
def test_the_settings_of_an_id_are_those_of_the_algorithm(name: str) -> None:
    from sb3_contrib import MaskablePPO

    assert id_of(find_variant(*game_and_options(name))) == f"leafwise/{name}-v0"
    settings = settings_of(FILE, f"leafwise/{name}-v0")
    assert settings.keys() <= OURS | inspect.signature(MaskablePPO).parameters.keys()
    assert settings["n_envs"] * settings["n_steps"] % settings["batch_size"] == 0
    seen = settings.get("env_kwargs", {}).get("observation", "default")
    space = find_variant(*game_and_options(name)).observation_space(seen)
    assert settings["policy"] == ("MultiInputPolicy" if isinstance(space, gym.spaces.Dict) else "MlpPolicy")


WRONG = {
    "x: {policy_kwargs: 'dict(net_arch=[64])'}": "expected policy_kwargs of x as YAML without Python in ",
    "y: {}": "expected hyper-parameters of x as YAML in ",
    "x: !!python/object:os.system {}": "could not determine a constructor",
    "x: [": "expected hyper-parameters of x as YAML in ",
}


@pytest.mark.parametrize("text", WRONG)
def test_files_that_are_none_are_refused(text: str, tmp_path: Path) -> None:
    file = tmp_path / "file.yml"
    file.write_text(text)
    with pytest.raises(ValueError, match=WRONG[text]) as refused:
        settings_of(str(file), "x")
    assert "\n" not in str(refused.value)
    with pytest.raises(ValueError, match="expected a file of hyper-parameters, got"):
        settings_of(str(tmp_path / "none.yml"), "x")


@pytest.fixture
def commands(monkeypatch: pytest.MonkeyPatch) -> list[list[str]]:
    """Has runs and games take no time; returns the commands of the runs."""
    commands: list[list[str]] = []

    def trained(words: list[str], path: Path) -> dict[str, Any]:
        commands.append(words)
        return {"steps": 7000, "command": " ".join(words)}

    def scored(game: Any, text: str, *more: Any, **options: Any) -> dict[str, Any]:
        return {"mean": 0.25 if "normalize" in text else 0.125, "ci_low": 0.0, "ci_high": 0.5, "games": 4}

    for module in (learners, tune):
        monkeypatch.setattr(module, "trained", trained)
        monkeypatch.setattr(module, "scored", scored)
    return commands


def test_the_study_trains_by_settings_and_by_defaults_and_goes_on(commands: list[list[str]], tmp_path: Path) -> None:
    words = [
        "--out",
        str(tmp_path),
        "--data",
        str(tmp_path),
        "--runs",
        str(tmp_path / "runs"),
        "--minutes",
        "2",
        "--ids",
        "Cassis",
    ]
    assert learners.main([*words, "Threes"]) == 0
    assert len(commands) == 4
    assert [SETTINGS in line for line in commands] == [True, False, True, False]
    page = (tmp_path / "learners.md").read_text()
    assert "| `leafwise/Cassis-v0` | settings | 2 minutes | 7,000 | 25% (0% to 50%) |" in page
    assert "| `leafwise/Threes-v0` | defaults | 2 minutes | 7,000 | 0.125 (0.000 to 0.500) |" in page
    assert learners.main(words) == 0
    assert len(commands) == 4


def test_the_page_on_learners_has_the_table_of_the_study() -> None:
    page = (ROOT / "docs/howto/learners.md").read_text()
    known = json.loads((ROOT / "experiments/methods/learners.json").read_text())["results"]
    lines = learners.tables(known)
    assert "\n".join(lines).strip() in page


@pytest.mark.long
def test_optuna_begins_with_the_settings_and_goes_on(
    commands: list[list[str]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("optuna")
    monkeypatch.chdir(ROOT)
    for trials in (2, 3):
        assert tune.main(["--trials", str(trials), "--runs", str(tmp_path)]) == 0
    assert len(commands) == 3
    usual = settings_of(FILE, "leafwise/Cassis-v0")
    first = settings_of(str(tmp_path / "Cassis-2min" / "trial-0.yml"), "leafwise/Cassis-v0")
    assert first == {**usual, "gamma": 0.99}
    assert "leafwise/Cassis-v0:\n" in capsys.readouterr().out


@pytest.mark.long
def test_settings_learn_to_beat_random_play(tmp_path: Path) -> None:
    config = newcomers.Config("cassis", "", "MaskablePPO", minutes=0.25, run=str(tmp_path / "run"), settings=FILE)
    newcomers.train(config)
    player = f"sb3:{tmp_path}/run/model.zip,normalize={tmp_path}/run/normalize.pkl"
    with pytest.warns(UserWarning, match="loading a"):
        played = evaluate(find_variant("cassis", ""), player, 200, opponent="random")
    assert played.interval()[0] > 0
