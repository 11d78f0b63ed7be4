"""Run folder: configuration, best model, last two checkpoints, TensorBoard events, results.

    config.toml  model.safetensors  state.safetensors  state.previous.safetensors  events.out.tfevents...  results.json  run.lock

Every file is written to a temporary name and renamed, so a run killed at any moment resumes from its last checkpoint. If that file
is damaged, the run resumes from the previous one. One process writes at a time.
"""

from __future__ import annotations

import dataclasses
import functools
import importlib.util
import json
import os
import platform
import shlex
import subprocess
import sys
import time
from collections.abc import Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np

from leafwise.envs.core.commandline import flag_of
from leafwise.envs.core.errors import UserError
from leafwise.envs.registry import named_modules, source_of
from leafwise.models.files import load_tensors, model_path, save_tensors, write_atomically
from leafwise.models.tensors import MODEL
from leafwise.training.runs.files import CONFIG, FolderLock, config_file, resumed_file
from leafwise.training.runs.run_options import NOT_OPTIONS, described, read_options, to_toml
from leafwise.training.types import Json, Tensors

Checkpoint = tuple[Tensors, Json]
"""Contents of a checkpoint: arrays by name, and metadata for JSON."""
LAST, BEFORE, NEXT = (f"{name}.safetensors" for name in ("state", "state.previous", ".state.next"))
"""Files of a run's checkpoints: the last, the previous, and the one being written."""


def load_checkpoint(folder: Path) -> Checkpoint | None:
    """Returns a run's last checkpoint, or the previous one with a warning; None without checkpoints.

    Raises ValueError if no existing checkpoint can be read.
    """
    last, before = folder / LAST, folder / BEFORE
    problem: UserError | None = None
    for file in (last, before):
        try:
            checkpoint = load_tensors(file) if file.exists() else None
            if checkpoint and (name := not_finite(checkpoint[0])):
                raise UserError(f"expected finite numbers in {name!r}, got nan or infinity in {str(file)!r}")
        except UserError as wrong:
            problem = problem or wrong
            continue
        if checkpoint and file is before:
            reason = problem or f"expected a state in {str(last)!r}, found none"
            print(f"warning: {reason}; continues from the previous checkpoint", file=sys.stderr)
            os.replace(before, last)  # else the next save would replace the good checkpoint
        if checkpoint:
            return checkpoint
    if problem:
        raise problem
    return None


def not_finite(tensors: Tensors) -> str:
    """Returns the name of a tensor that contains nan or infinity, "" if all are finite."""
    floats = {name: tensor for name, tensor in tensors.items() if np.issubdtype(tensor.dtype, np.floating)}
    return next((name for name, tensor in floats.items() if not np.isfinite(tensor).all()), "")


def check_form(saved: Checkpoint, initial: Checkpoint) -> None:
    """Raises ValueError unless a state has all entries of a learner's initial state, with the same types and sizes.

    It may have more entries. An array that is empty at the start may have grown.
    """
    for name, tensor in initial[0].items():
        given, free = saved[0].get(name), 1 if tensor.ndim and not len(tensor) else 0
        forms = ["nothing" if one is None else f"{one.dtype} {list(one.shape)}" for one in (tensor, given)]
        fixed = [one is not None and (one.ndim, one.dtype, one.shape[free:]) for one in (tensor, given)]
        if fixed[0] != fixed[1]:
            raise UserError(f"expected {name!r} as {forms[0]}, got {forms[1]}")
    _check_entries(saved[1], initial[1])


def _check_entries(saved: Json, initial: Json) -> None:
    for name, value in initial.items():
        given = saved.get(name)
        if isinstance(value, dict):
            if not isinstance(given, dict):
                raise UserError(f"expected {name!r} with entries by name, got {given!r:.80}")
            _check_entries(given, value)
        elif isinstance(value, str):
            if given != value:
                raise UserError(f"expected {name!r} to be {value!r}, got {given!r:.80}")
        elif not _is_like(given, value):
            raise UserError(f"expected a number as {name!r}, got {given!r:.80}")


def _is_like(given: Any, value: float) -> bool:
    """Whether a saved number fits the learner's initial one: integers stay counts, finite numbers stay finite."""
    if isinstance(given, bool) or not isinstance(given, int | float):
        return False
    if isinstance(value, int):
        return isinstance(given, int) and 0 <= given < 1 << 63
    return bool(np.isfinite(given)) if np.isfinite(value) else given == given


CHECKPOINT_SHARE = 0.1
"""Maximum share of the time spent on checkpoints; slower checkpoints come less often."""


def module_words(game: str, network: str) -> list[str]:
    """Returns the `--module` options that a command needs for its game and its network's class."""
    network_module = named_modules().get(network.partition(":")[0])
    return [
        word
        for source in dict.fromkeys(filter(None, (source_of(game), network_module)))
        for word in ("--module", source)
    ]


def training_command(method: str, config: Any) -> str:
    """Returns the command that repeats a run, independent of later changes of the game's recipe."""
    words = ["leafwise", "train", config.game, "--method", method, "--no-recipe"]
    words += module_words(config.game, getattr(config, "network", ""))
    return command_of(words, config, left_out=("game", *NOT_OPTIONS))


def command_of(words: Sequence[str], config: Any, left_out: Sequence[str] = NOT_OPTIONS) -> str:
    """Returns a command line: `words` and options for the fields of a dataclass that differ from their defaults."""
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


@functools.cache
def commit() -> str:
    """Returns the commit of the running checkout, or the installed version."""
    package = Path(__file__).resolve().parents[2]
    if (package / ".git").exists():
        answer = subprocess.run(["git", "-C", str(package), "rev-parse", "HEAD"], capture_output=True, text=True)
        if answer.returncode == 0:
            return answer.stdout.strip()
    return f"leafwise {version('leafwise')}"


def provenance(source: str) -> Json:
    """Returns the provenance of the model that a run starts from, including that of its own initial model."""
    metadata = load_tensors(model_path(source))[1]
    return {name: metadata[name] for name in ("steps", "seconds", "command", "commit", "start") if metadata.get(name)}


def need_train_extra(needs: Sequence[str] = ("torch", "tensorboard")) -> None:
    """Raises ValueError if packages for training are not installed; without torch the ntuple extra is enough."""
    missing = [name for name in needs if importlib.util.find_spec(name) is None]
    if missing:
        extra = "train" if "torch" in needs else "ntuple"
        raise UserError(
            f"expected {' and '.join(needs)}, found no {' and no '.join(missing)}: pip install 'leafwise[{extra}]'"
        )


def hardware(threads: int = 1) -> str:
    """Returns a description of the hardware of a run."""
    return f"{threads} of {os.cpu_count()} cores, {platform.machine()}, {platform.system()}, Python {platform.python_version()}"


class RunFolder:
    """The files of one training run."""

    def __init__(self, path: Path, config: Any, *, resume: bool) -> None:
        """Opens the folder of a new run, or of a run to resume, whose length may have grown.

        Raises ValueError if a new run would overwrite one. Also if the run to resume is missing, has other options or is still
        running in another process.
        """
        self.path = path
        self.model, self.results, self.state = (path / name for name in (MODEL, "results.json", LAST))
        self.shorter: int | None = None
        """Former number of steps of a run that this one extends."""
        self._find(resume)  # raises before anything is written
        self.lock = FolderLock(path)
        try:
            self._open(self._find(resume), config)
        except BaseException:
            self.lock.release()
            raise
        self._last_save = time.perf_counter()
        self._save_cost = 0.0

    def _find(self, resume: bool) -> Path | None:
        """Returns the options file of a run to resume, None for a new run; raises ValueError if the folder does not fit."""
        if resume:
            return resumed_file(self.path)
        near = next(path for path in (self.path, *self.path.absolute().parents) if path.exists())
        if not near.is_dir():
            raise UserError(f"expected a run folder, got {str(self.path)!r}, where {str(near)!r} is a file")
        if config_file(self.path) is not None:
            raise UserError(
                f"expected a new run folder, got {str(self.path)!r} with a run in it; --resume continues it"
            )
        for file in (self.model, self.state):  # files of a run without config.toml
            if file.exists():
                raise UserError(f"expected a new run folder, got {str(self.path)!r} with {file.name} in it")
        return None

    def _open(self, before: Path | None, config: Any) -> None:
        """Prepares the folder for a run with these options."""
        for left in self.path.glob(".*"):  # half-written by a process that was killed
            if left.name.lstrip(".").startswith(("config.", "model.", "results.", "state.")):
                left.unlink(missing_ok=True)
        if before is not None:
            self._compare(before, config)
        if self.shorter is not None:
            self.results.unlink(missing_ok=True)
        if before is None or self.shorter is not None:
            write_atomically(self.path / CONFIG, to_toml(described(config)).encode())

    def _compare(self, file: Path, config: Any) -> None:
        """Raises ValueError for options that differ from the file's; only a larger --total-steps is allowed and noted."""
        kind = type(config)
        defaults = {field.name: field.default for field in dataclasses.fields(config)}
        before = {**defaults, **read_options(file, kind)}  # options that are None are not in the file
        for name in sorted(described(config)):
            now, then, flag = getattr(config, name), before[name], flag_of(name)
            if name == "total_steps" and now < then:
                raise UserError(f"resume: expected {flag} of at least {then} as before, got {now}")
            if name == "total_steps" and now > then:
                self.shorter = then
            elif (now or config.empty_means.get(name)) != (then or config.empty_means.get(name)):
                raise UserError(f"resume: expected {flag} {then} as before, got {now}")

    def checkpoint_due(self, seconds: float) -> bool:
        """Whether `seconds` have passed since the last checkpoint, and at least ten times its duration."""
        wait = max(seconds, self._save_cost / CHECKPOINT_SHARE)
        return time.perf_counter() - self._last_save >= wait

    def save(self, tensors: Tensors, metadata: Json) -> None:
        """Writes a checkpoint; the last one becomes the previous one.

        Raises ValueError for a state that is not finite, and OSError if it cannot be written; both leave the files unchanged.
        """
        start = time.perf_counter()
        if name := not_finite(tensors):
            raise UserError(f"expected finite numbers in {name!r} of the trainer's state, got nan or infinity: the run has "
                             "diverged, and keeps its last checkpoint")  # fmt: skip
        save_tensors(self.path / NEXT, tensors, metadata)
        if self.state.exists():
            os.replace(self.state, self.path / BEFORE)
        os.replace(self.path / NEXT, self.state)
        self._last_save = time.perf_counter()
        self._save_cost = self._last_save - start

    def save_results(self, results: Json) -> None:
        """Writes results.json."""
        write_atomically(self.results, json.dumps(dict(results), indent=2).encode())
