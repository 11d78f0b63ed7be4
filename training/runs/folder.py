"""A run folder: configuration, best model, trainer state, TensorBoard events, results.

    config.toml  model.safetensors  state.safetensors  state.previous.safetensors  events.out.tfevents...  results.json  run.lock

Every file is written to a temporary name and renamed, so a run killed at any moment resumes from its last checkpoint. One process
writes at a time.
"""

from __future__ import annotations

import dataclasses
import importlib.util
import json
import os
import platform
import shlex
import subprocess
import time
from collections.abc import Mapping, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any

from numpy.typing import NDArray

from leafwise.envs.core.errors import UserError
from leafwise.envs.registry import source_of
from leafwise.models.files import load_tensors, model_path, write_atomically
from leafwise.training.runs.checkpoints import Checkpoints
from leafwise.training.runs.lock import FolderLock
from leafwise.training.runs.options import (
    CONFIG,
    NOT_OPTIONS,
    config_file,
    described,
    flag_of,
    read_options,
    resumed_file,
    to_toml,
)

CHECKPOINT_SHARE = 0.1
"""Checkpoints may take this share of the time; where they take longer, they come more seldom."""


def training_command(method: str, config: Any) -> str:
    """Returns the command that repeats a run of a method, whatever the game's recipe says by then."""
    source = source_of(config.game)
    words = ["leafwise", "train", config.game, "--method", method, "--no-recipe"]
    return command_of([*words, *(["--module", source] if source else [])], config, left_out=("game", *NOT_OPTIONS))


def command_of(words: Sequence[str], config: Any, left_out: Sequence[str] = NOT_OPTIONS) -> str:
    """Returns a command line that begins with these words: the fields of a dataclass that differ from their defaults."""
    words = [*words]
    for field in dataclasses.fields(config):
        value = getattr(config, field.name)
        if value != field.default and field.name not in left_out:
            flag = flag_of(field.name)
            if isinstance(value, bool):
                words.append(flag if value else flag.replace("--", "--no-", 1))
            else:
                words += [flag, *(str(v) for v in value)] if isinstance(value, tuple) else [flag, str(value)]
    return shlex.join(words)


def commit() -> str:
    """Returns the commit of the checkout that runs, or the installed version."""
    here = Path(__file__).resolve().parents[2]
    if (here / ".git").exists():
        answer = subprocess.run(["git", "-C", str(here), "rev-parse", "HEAD"], capture_output=True, text=True)
        if answer.returncode == 0:
            return answer.stdout.strip()
    return f"leafwise {version('leafwise')}"


def origin(source: str) -> dict[str, Any]:
    """Returns how a model was made that a run starts from, and what that one started from."""
    metadata = load_tensors(model_path(source))[1]
    return {name: metadata[name] for name in ("steps", "seconds", "command", "commit", "start") if metadata.get(name)}


def need_train_extra() -> None:
    """Raises ValueError if what training needs beyond playing is not installed."""
    missing = [name for name in ("torch", "tensorboard") if importlib.util.find_spec(name) is None]
    if missing:
        raise UserError(f"expected the train extra, pip install 'leafwise[train]'; {' and '.join(missing)} not found")


def hardware(threads: int = 1) -> str:
    """Returns what the threads of a run ran on, in words."""
    return f"{threads} of {os.cpu_count()} cores, {platform.machine()}, {platform.system()}, Python {platform.python_version()}"


class RunFolder:
    """The files of one training run."""

    def __init__(self, path: Path, config: Any, *, resume: bool) -> None:
        """Opens the folder of a new run, or of one to go on with, which may be longer than it was.

        Raises ValueError if a new run would overwrite one, the run to resume is missing, was configured otherwise, or is
        going on in another process.
        """
        self.path = path
        self.model, self.results = path / "model.safetensors", path / "results.json"
        self.checkpoints = Checkpoints(path)
        self.shorter: int | None = None
        """The run's length before this one lengthened it."""
        self._find(resume)  # before anything is written
        self.lock = FolderLock(path)
        try:
            self._open(self._find(resume), config)
        except BaseException:
            self.lock.release()
            raise
        self._last_save = time.perf_counter()
        self._save_cost = 0.0

    def _find(self, resume: bool) -> Path | None:
        """Returns the file of options of the run to resume, None for a new one; raises ValueError for the other kind."""
        if resume:
            return resumed_file(self.path)
        if config_file(self.path) is not None:
            raise UserError(
                f"expected a new run folder, got {str(self.path)!r} with a run in it; use --resume to go on"
            )
        for file in (self.model, self.checkpoints.last):  # of something that this version does not write
            if file.exists():
                raise UserError(f"expected a new run folder, got {str(self.path)!r} with {file.name} in it")
        return None

    def _open(self, before: Path | None, config: Any) -> None:
        """Makes the folder ready for a run with these options."""
        for left in self.path.glob(".*"):  # half-written, by a process that was killed
            if left.name.lstrip(".").startswith(("config.", "model.", "results.", "state.")):
                left.unlink(missing_ok=True)
        if before is not None:
            self._compare(before, config)
        if self.shorter is not None:
            self.results.unlink(missing_ok=True)
        if before is None or self.shorter is not None:
            write_atomically(self.path / CONFIG, to_toml(described(config)).encode())

    def _compare(self, file: Path, config: Any) -> None:
        """Raises ValueError for options other than those in a file, but for a greater length, which it takes note of."""
        kind = type(config)
        defaults = {field.name: field.default for field in dataclasses.fields(config)}
        before = {**defaults, **read_options(file, kind)}  # what is left open is not in the file
        for name in sorted(described(config)):
            now, then, flag = getattr(config, name), before[name], flag_of(name)
            if name == "total_steps" and now < then:
                raise UserError(f"resume: expected {flag} of at least {then} as before, got {now}")
            if name == "total_steps" and now > then:
                self.shorter = then
            elif now != then:
                raise UserError(f"resume: expected {flag} {then} as before, got {now}")

    def checkpoint_due(self, seconds: float) -> bool:
        """Whether `seconds` have passed since the last checkpoint, or ten times what it took."""
        wait = max(seconds, self._save_cost / CHECKPOINT_SHARE)
        return time.perf_counter() - self._last_save >= wait

    def save_state(self, tensors: Mapping[str, NDArray[Any]], metadata: Mapping[str, Any]) -> None:
        """Writes the trainer's state and keeps the one before."""
        start = time.perf_counter()
        self.checkpoints.save(tensors, metadata)
        self._last_save = time.perf_counter()
        self._save_cost = self._last_save - start

    def save_results(self, results: Mapping[str, Any]) -> None:
        """Writes results.json."""
        write_atomically(self.results, json.dumps(dict(results), indent=2).encode())
