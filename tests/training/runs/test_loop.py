"""The loop of all learners: what it says in a file, where no bar is shown before the end."""

import os
import signal
import sys
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from games import undecided
from leafwise.envs.core import interrupts
from leafwise.envs.core.interrupts import stoppable
from leafwise.training.runs import loop
from leafwise.training.runs.loop import find_variant, train_to_the_end
from running.waiting import until


class Learner:
    method, goal, unit, done, breaks_whole = "dqn", 3000, "decisions", 0, False
    config = SimpleNamespace(checkpoint_seconds=60.0, game="threes")
    folder = SimpleNamespace(checkpoint_due=lambda seconds: False)
    saved = 0

    def step(self) -> dict[str, float]:
        self.done += 1000
        return {"train/loss": 0.5} | ({"eval/score_mean": self.done * 11.1} if self.done > 1000 else {})

    def step_or_save(self, stop: Any) -> dict[str, float]:
        return self.step()

    def save(self) -> None:
        self.saved += 1


def test_a_file_gets_a_line_for_each_evaluation(capsys: pytest.CaptureFixture[str]) -> None:
    learner: Any = Learner()
    events: Any = SimpleNamespace(add=lambda *told: None, flush=lambda: None)
    train_to_the_end(learner, events)
    said = capsys.readouterr().out.splitlines()
    assert said[:2] == ["2,000 of 3,000 decisions: score_mean 22,200", "3,000 of 3,000 decisions: score_mean 33,300"]
    assert learner.saved == 1


def test_a_game_without_decisions_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(loop, "find_game", lambda name: undecided.GAME)
    undecided.GAME.shared_tables.stones[0] = 0
    try:
        with pytest.raises(ValueError, match=r"^expected options with which a player gets to decide, got"):
            find_variant("undecided", "")
    finally:
        undecided.GAME.shared_tables.stones[0] = 7


class Folder:
    def __init__(self) -> None:
        self.saved: list[Any] = []

    def checkpoint_due(self, seconds: float) -> bool:
        return False

    def save(self, tensors: Any, metadata: Any) -> None:
        self.saved.append(({name: tensor.tolist() for name, tensor in tensors.items()}, metadata))


class Broken(loop.Learner):
    """A run whose third step is broken off in its middle, by Ctrl-C."""

    method, unit, config = "test", "steps", SimpleNamespace(checkpoint_seconds=60.0, total_steps=5, game="none")
    done = 0

    def __init__(self, whole: bool) -> None:
        self.breaks_whole, self.folder, self.weights = whole, Folder(), np.zeros(2)  # type: ignore[assignment]

    def step(self) -> dict[str, Any]:
        self.weights += 1
        if self.done == 2:
            os.kill(os.getpid(), signal.SIGINT)
            stop = np.zeros(1, dtype=np.uint8)
            assert stoppable(lambda: until(lambda: stop[0]), stop) is None  # compiled code that ends early
            interrupts.check()
        self.done += 1
        return {}

    def state(self) -> tuple[dict[str, Any], dict[str, Any]]:
        return {"weights": self.weights}, {"done": self.done}


@pytest.mark.skipif(sys.platform == "win32", reason="signals of POSIX")
@pytest.mark.parametrize(("whole", "weights"), [(True, 3.0), (False, 2.0)], ids=["goes on", "is taken back"])
def test_a_step_that_ctrl_c_breaks_off(whole: bool, weights: float) -> None:
    learner: Any = Broken(whole)
    events: Any = SimpleNamespace(add=lambda *told: None, flush=lambda: None)
    assert train_to_the_end(learner, events) == 2
    [(tensors, metadata)] = learner.folder.saved
    assert tensors == {"weights": [weights, weights]}
    assert metadata["done"] == 2
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
