"""`leafwise train` in tests: without a recipe, the game among the words; and runs that are cut."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from leafwise.__main__ import run
from leafwise.models.files import load_tensors


def train_words(method: str, words: Sequence[str]) -> list[str]:
    """Returns the words of the command, of which `--game GAME` names the game (else Threes)."""
    rest, game = [*words], "threes"
    if "--game" in rest:
        k = rest.index("--game")
        game, rest = rest[k + 1], [*rest[:k], *rest[k + 2 :]]
    return ["train", game, "--method", method, "--no-recipe", *rest]


def train_command(method: str, words: Sequence[str]) -> list[str]:
    """Returns the command for a process of its own."""
    return [sys.executable, "-m", "leafwise", *train_words(method, words)]


def learn(method: str, words: Sequence[str]) -> int:
    """Runs the command here; returns its status."""
    return run(train_words(method, words))


def cut_and_compare(
    kind: Any, train: Callable[[Any], Path], config: Any, whole: Path, steps: int = 1
) -> dict[str, Any]:
    """Trains by a learner's class for some steps, breaks off behind a checkpoint, goes on to the end, and compares the state.

    It is to be that of a run that was whole. Returns what the last step before the checkpoint logged.
    """
    learner = kind(config)
    logged = [learner.step() for _ in range(steps)][-1]
    learner.save()
    if learner.done < learner.goal:
        learner.step()  # what was done since the last checkpoint is lost
    learner.folder.lock.release()
    cut = train(replace(config, resume=True))
    one, other = (load_tensors(path / "state.safetensors")[0] for path in (whole, cut))
    assert set(one) == set(other)
    assert [name for name in one if not np.array_equal(one[name], other[name])] == []
    return dict(logged)
