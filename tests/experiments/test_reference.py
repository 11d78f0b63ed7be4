"""The study of reference returns: it measures what is missing, and nothing twice."""

from __future__ import annotations

import json
from pathlib import Path

import gymnasium as gym
import pytest

import leafwise
from leafwise.experiments import reference
from leafwise.experiments.reference import FIRST_SEED, by_player, main, play


def test_a_player_is_measured_by_the_environments_own_returns() -> None:
    game = leafwise.game("trilobite")
    env = gym.make("leafwise/Trilobite-v0")
    returns = play(env, by_player("random", game), 30)
    assert set(returns) <= {-1.0, 0.0, 1.0}
    assert returns == play(env, by_player("random", game), 30)
    env.reset(seed=FIRST_SEED)
    assert env.unwrapped.state == game.new(FIRST_SEED)  # type: ignore[attr-defined]


def test_what_is_known_is_not_measured_again(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    where = ["--out", str(tmp_path), "--data", str(tmp_path)]
    words = [*where, "--ids", "Trilobite-v0", "--steps", "0", "--games"]
    assert main([*words, "10"]) == 0
    found = json.loads((tmp_path / "reference.json").read_text())
    assert [one["role"] for one in found["Trilobite-v0"].values()] == ["random", "hand-made", "shipped", "perfect"]
    assert "random" in capsys.readouterr().out
    assert main([*words, "10", "--again", "shipped"]) == 0
    told = capsys.readouterr().out
    assert "search:learned" in told
    assert "random" not in told
    assert main([*words, "12"]) == 0
    again = json.loads((tmp_path / "reference.json").read_text())
    assert {one["games"] for one in again["Trilobite-v0"].values()} == {12}


def test_what_another_run_writes_meanwhile_is_kept_and_ids_are_in_order(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "reference.json"

    def played(env: object, choose: object, games: int) -> list[float]:
        known = json.loads(file.read_text()) if file.exists() else {}
        file.write_text(json.dumps({"Trilobite-v0": {"random": {"role": "random"}}} | known))
        return [0.0] * games

    monkeypatch.setattr(reference, "play", played)
    words = ["--out", str(tmp_path), "--data", str(tmp_path), "--ids", "Cassis-v0", "--steps", "0", "--games", "10"]
    assert main(words) == 0
    found = json.loads(file.read_text())
    assert list(found) == ["Cassis-v0", "Trilobite-v0"]
    assert len(found["Cassis-v0"]) > 1


@pytest.mark.long
def test_learners_are_trained_and_measured(tmp_path: Path) -> None:
    words = ["--out", str(tmp_path), "--ids", "Cassis-v0", "--steps", "64", "--games", "10", "--learner-games", "2"]
    words += ["--data", str(tmp_path)]
    assert main(words) == 0
    found = json.loads((tmp_path / "reference.json").read_text())["Cassis-v0"]
    assert {name for name, one in found.items() if one["training_steps"] == 64} == {"PPO", "DQN", "MaskablePPO"}
