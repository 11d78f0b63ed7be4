"""`leafwise train` in tests, without recipes; and runs that are killed and resumed."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

from leafwise.__main__ import run
from leafwise.models.files import load_tensors
from leafwise.training.runs.files import Curves
from leafwise.training.runs.loop import run_learner


def train_words(method: str, words: Sequence[str]) -> list[str]:
    """Returns the words of the command; `--game GAME` in `words` names the game (default: Threes)."""
    rest, game = [*words], "threes"
    if "--game" in rest:
        k = rest.index("--game")
        game, rest = rest[k + 1], [*rest[:k], *rest[k + 2 :]]
    return ["train", game, "--method", method, "--no-recipe", *rest]


def train_command(method: str, words: Sequence[str]) -> list[str]:
    """Returns the command that trains in a new process."""
    return [sys.executable, "-m", "leafwise", *train_words(method, words)]


def learn(method: str, words: Sequence[str]) -> int:
    """Runs the command in this process; returns its exit status."""
    return run(train_words(method, words))


def refusal(method: str, words: Sequence[str], capsys: Any) -> str:
    """Returns the error line of a command with invalid words."""
    capsys.readouterr()
    try:
        status: Any = learn(method, words)
    except SystemExit as exit:
        status = exit.code
    error = str(capsys.readouterr().err)
    assert (status, error.count("\n")) == (2, 1), error
    return error


def checkpoint(path: Path) -> dict[str, Any]:
    """Returns the tensors of a run's last checkpoint by name, its gate, and the number of finished iterations."""
    tensors, metadata = load_tensors(path / "state.safetensors")
    return {
        **{name: tensor.tobytes() for name, tensor in tensors.items()},
        "gate": metadata.get("gate"),
        "done": metadata.get("done"),
    }


class Killed(BaseException):
    """Ends a run as kill -9 does: it writes nothing more."""


def cut_and_compare(kind: Any, config: Any, whole: Path, steps: int = 1) -> dict[str, Any]:
    """Kills a run some steps after its checkpoint, resumes it to the end, and compares it with the uninterrupted run `whole`.

    Both must have the same state, and the curves must have each step once. Returns what the last step before the checkpoint
    logged.
    """
    learner, logged = kind(config), list[dict[str, Any]]()
    step = learner.step

    def counted() -> dict[str, Any]:
        if len(logged) < steps + 2:
            logged.append(step())
            if learner.done < learner.goal:
                return logged[-1]
        raise Killed

    learner.step = counted
    learner.folder.checkpoint_due = lambda seconds: len(logged) == steps
    with suppress(Killed):
        run_learner(learner)
    cut = run_learner(kind(replace(config, resume=True)))
    one, other = checkpoint(whole), checkpoint(cut)
    assert set(one) == set(other)
    assert [name for name in one if one[name] != other[name]] == []
    curves = [{tag: [at for at, _ in points] for tag, points in Curves(path).read().items()} for path in (whole, cut)]
    assert curves[0].keys() == curves[1].keys()
    assert curves[0]["time/fps"] == curves[1]["time/fps"]
    assert all(steps_of_tag == sorted(set(steps_of_tag)) for steps_of_tag in curves[1].values())
    return logged[steps - 1]
