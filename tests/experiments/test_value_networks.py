"""The comparison of learners: each is trained once, and the page names all of them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from leafwise.experiments import value_networks as methods
from leafwise.experiments.value_networks import Plan, main

SMALL = {"match_pairs": 100, "checkpoint_seconds": 0.0}
PLAN = Plan(
    variant="",
    runs={
        "selfplay": {
            "total_steps": 2,
            "positions": 1000,
            "buffer_size": 2000,
            "batch_size": 256,
            "hidden": (16, 8),
            **SMALL,
        },
        "dqn": {
            "total_steps": 4000,
            "envs": 100,
            "learning_starts": 1000,
            "batch_size": 128,
            "interval": 2000,
            "hidden": (32, 16),
            **SMALL,
        },
        "ppo": {"total_steps": 4096, "envs": 32, "rollout": 64, "evaluate_every": 1, "hidden": (32, 16), **SMALL},
    },
    judged={"judged": 20, "judged_plies": (1, 7)},
    arena_plies=2,
)


def test_the_page_of_a_small_plan(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(methods, "PLANS", {"trilobite": PLAN})
    words = [
        "--positions",
        "40",
        "--games",
        "4",
        "--runs",
        str(tmp_path / "runs"),
        "--out",
        str(tmp_path),
        "--data",
        str(tmp_path),
    ]
    words += ["--depths", "1"]
    assert main(words) == 0
    results = json.loads((tmp_path / "methods.json").read_text())["results"]
    for method in PLAN.runs:
        seconds = results[f"run {method}"]["curve"]["time/seconds"]
        assert len(seconds) == 2
        assert 0 < seconds[0] < seconds[1]
        assert 0 < results[f"strength {method}"]["1"]["mean"] <= 1
    page = (tmp_path / "methods.md").read_text()
    assert [line.split(" | ")[0] for line in page.splitlines() if "±" in line] == [
        "| selfplay", "| dqn", "| ppo", "| hand-made",
    ]  # fmt: skip
    assert page.count("python -m leafwise.training.") == 3
    assert (tmp_path / "methods.png").read_bytes().startswith(b"\x89PNG")
    monkeypatch.setattr(methods, "trained", lambda path, method, options: path)
    monkeypatch.setattr(methods, "strength", None)
    assert main(words) == 0
    assert (tmp_path / "methods.md").read_text() == page


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--game", "friday"], "expected a game among trilobite, cassis, got 'friday'"),
        (["--share", "0"], "expected --share"),
    ],
)
def test_wrong_options_get_one_line_and_status_2(capsys, words: list[str], message: str) -> None:
    assert main(words) == 2
    said = capsys.readouterr().err
    assert message in said
    assert said.count("\n") == 1
