"""Comparing builders of ships: hand-made bars, roll-outs, results that a later run adds to."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from leafwise.envs.starship import GAME, Generator
from leafwise.envs.starship.hand import hand_made_ships, hand_rollout
from leafwise.experiments.starship.learned.__main__ import main


def test_the_first_hand_made_ship_is_the_generators() -> None:
    for seed in range(5):
        found, best = hand_made_ships(GAME, seed, 6)
        assert found[0] == pytest.approx(Generator("scout").attempt(seed, 0).stats["quality"], abs=1e-6)
        assert best.is_terminal
        assert best.returns == found.max()
        assert len(set(found)) > 1


def test_a_roll_out_is_a_function_of_the_row() -> None:
    state, evaluator = GAME.new(3), hand_rollout(GAME, 3)
    assert 0 < state.value(evaluator) < 1
    assert state.value(evaluator) == state.value(hand_rollout(GAME, 3))
    assert state.value(evaluator) != state.value(hand_rollout(GAME, 3, seed=1))
    with pytest.raises(ValueError, match="expected n of 1 to 1,000,000 ships, got 0"):
        hand_rollout(GAME, 0)


def test_a_later_run_adds_to_the_results(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = ["--records", str(tmp_path), "--builders", "hand", "best:3"]
    assert main([*words, "--seeds", "2"]) == 0
    first = json.loads((tmp_path / "scout-best_3.json").read_text())
    assert main([*words, "--seeds", "3"]) == 0
    again = json.loads((tmp_path / "scout-best_3.json").read_text())
    assert again[:2] == first  # with the same seconds: not built anew
    assert [record["seed"] for record in again] == [1_000_000, 1_000_001, 1_000_002]
    assert "| `best:3` |" in capsys.readouterr().out


def test_the_page(tmp_path: Path) -> None:
    words = [
        "--records",
        str(tmp_path / "results"),
        "--page",
        "--out",
        str(tmp_path / "page"),
        "--seeds",
        "3",
        "--diversity",
        "3",
    ]
    assert main([*words, "--builders", "hand", "best:3", "--pairs", "best:3 > hand"]) == 0
    text = (tmp_path / "page" / "README.md").read_text()
    assert "| `best:3` | `hand` | +" in text
    assert "| builder, 3 ships | set score | mean distance |" in text
    assert "python -m leafwise.experiments.starship.learned" in text
    told = json.loads((tmp_path / "page" / "results.json").read_text())
    assert list(told) == ["scout"]
    builders = told["scout"]["builders"]
    assert builders["best:3"]["gain"]["mean"] >= 0 == builders["hand"]["gain"]["mean"]
    assert "| `hand` | " in text.partition("cockpit's rotation, bits")[2]
    assert (tmp_path / "page" / "gallery-scout.png").read_bytes().startswith(b"\x89PNG")
