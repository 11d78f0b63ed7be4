"""Runs of the comparison: each in a process of its own, whose time and memory are known when it is over."""

from __future__ import annotations

import json
import signal
import sys
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import psutil

from leafwise.envs.core.commandline import flag_of
from leafwise.envs.core.errors import UserError
from leafwise.envs.core.files import read_text
from leafwise.envs.core.programs import Process
from leafwise.experiments.methods.plans import Plan, Way
from leafwise.experiments.study import finished, logged
from leafwise.models.files import write_atomically
from leafwise.training.runs.files import config_file

SCORES = ("eval/keeps_value", "eval/best_elo", "eval/score_mean", "rollout/ep_rew_mean")
"""Tags of learning curves, the first that a run logged counts."""
RECIPE = "its recipe"
"""The length of a run that is as long as its game's recipe says."""
MB = 1e6
PERIOD = 0.5
"""Seconds between two looks at the memory of a run."""


def key_of(game: str, way: str, minutes: float | None, what: str) -> str:
    """Returns the name of a result: what is known of a way to learn a game for so long (None: it learns nothing)."""
    return ", ".join([game, way, *([] if minutes is None else [length_said(minutes)]), what])


def length_said(minutes: float) -> str:
    """Returns how long a run is, in words; 0 minutes stand for what its recipe says."""
    return f"{minutes:g} minutes" if minutes else RECIPE


@contextmanager
def stopped_by_sigterm() -> Iterator[None]:
    """Has SIGTERM stop the study as Ctrl-C does, so that no run goes on without it."""

    def stop(number: int, frame: Any) -> None:
        raise KeyboardInterrupt

    main = threading.current_thread() is threading.main_thread()
    before = signal.signal(signal.SIGTERM, stop) if main else None
    try:
        yield
    finally:
        if main:
            signal.signal(signal.SIGTERM, before)


def words_of(game: str, plan: Plan, name: str, way: Way, path: Path, minutes: float) -> list[str]:
    """Returns the command of a run, as a module's name and its arguments; 0 minutes: what `leafwise train` makes of its name."""
    if way.algorithm:
        env = json.dumps(plan.env)
        own = ["--game", game, "--variant", plan.variant, "--algorithm", way.algorithm, "--env", env]
        return ["leafwise.experiments.methods.newcomers", *own, "--minutes", f"{minutes:g}", "--run", str(path)]
    words = ["--game", game, "--variant", plan.variant, "--run", str(path)]
    if minutes:
        words += ["--total-steps", str(max(1, round(way.steps * minutes)))]
    for option, value in way.options.items() if minutes else ():
        words += [flag_of(option), *(map(str, value) if isinstance(value, list) else [str(value)])]
    return ["leafwise", "train", game, "--method", name, *words[2:]]


def trained(words: Sequence[str], path: Path) -> dict[str, Any]:
    """Trains, or goes on; returns how the run went.

    Raises KeyboardInterrupt for a run that was stopped, ValueError for one that failed.
    """
    if not (path / "results.json").exists():
        again = ["--resume"] if config_file(path) is not None else []
        with Process([sys.executable, "-m", *words, *again], shows=True) as process:
            most = watched(process)
        if process.status:
            raise UserError(f"expected a run that learns, got status {process.status} of {' '.join(words)}")
        finished(path)
        write_atomically(path / "memory.json", json.dumps(most).encode())
    told = json.loads(read_text(path / "results.json"))
    memory = path / "memory.json"
    return {
        "command": told["command"],
        "commit": told["commit"],
        "seconds": told["seconds"],
        "steps": told["steps"],
        "memory_mb": json.loads(read_text(memory)) if memory.exists() else None,
        "curve": curve(path),
    }


def watched(process: Process) -> float:
    """Waits for a run to end; returns the most memory that it had, in MB. Where the study is stopped the run is too, and saves."""
    most = 0.0
    try:
        while not process.wait(PERIOD):
            with suppress(psutil.NoSuchProcess):
                most = max(most, psutil.Process(process.pid).memory_info().rss / MB)
    except KeyboardInterrupt:
        process.terminate()
        process.wait()
        raise
    return most


def curve(path: Path) -> dict[str, Any]:
    """Returns the learning curve of a run: what is scored, and by its share of the run's time; {} where nothing was logged."""
    for tag in SCORES:
        try:
            found: Mapping[int, float] = logged(path, [tag])[tag]
        except UserError:
            continue
        steps = sorted(found)
        return {"tag": tag, "steps": steps, "values": [round(found[step], 4) for step in steps]}
    return {}
