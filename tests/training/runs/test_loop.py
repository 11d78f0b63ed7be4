"""The loop of all learners: what it says in a file, where no bar is shown before the end."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from games import undecided
from leafwise.training.runs import loop
from leafwise.training.runs.loop import find_variant, train_to_the_end


class Learner:
    goal, unit, done = 3000, "decisions", 0
    config = SimpleNamespace(checkpoint_seconds=60.0)
    folder = SimpleNamespace(checkpoint_due=lambda seconds: False)
    saved = 0

    def step(self) -> dict[str, float]:
        self.done += 1000
        return {"train/loss": 0.5} | ({"eval/score_mean": self.done * 11.1} if self.done > 1000 else {})

    def save(self) -> None:
        self.saved += 1


def test_a_file_gets_a_line_for_each_evaluation(capsys: pytest.CaptureFixture[str]) -> None:
    learner: Any = Learner()
    events: Any = SimpleNamespace(add=lambda *told: None, flush=lambda: None)
    train_to_the_end(learner, events, "dqn threes")
    said = capsys.readouterr().out.splitlines()
    assert said[:2] == ["2,000 of 3,000 decisions: score_mean 22,200", "3,000 of 3,000 decisions: score_mean 33,300"]
    assert learner.saved == 1


def test_a_game_without_decisions_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(loop, "find_game", lambda name: undecided.GAME)
    undecided.GAME._shared_tables.stones[0] = 0
    try:
        with pytest.raises(ValueError, match=r"^expected options with which a player gets to decide, got"):
            find_variant("undecided", "")
    finally:
        undecided.GAME._shared_tables.stones[0] = 7
