"""Shared parts of all learners: variant, main loop, TensorBoard events, progress bar, checkpoints.

The writers of torch and TensorBoard write in a background thread, which dies with a traceback on a full disk, and later events
are lost. `Events` writes in the calling thread and raises the error there. The progress bar always shows percentage and time left
in full, also on a narrow terminal.
"""

from __future__ import annotations

import contextlib
import copy
import io
import os
import socket
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import asdict
from importlib.util import find_spec
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np
from PIL import Image
from rich import get_console
from rich.console import Console
from rich.progress import BarColumn, Progress, Task, TaskProgressColumn, TextColumn, TimeRemainingColumn
from rich.table import Column
from rich.text import Text

from leafwise.envs.core.arrays import Bytes
from leafwise.envs.core.commandline import flag_of
from leafwise.envs.core.contract.evaluator import Evaluator
from leafwise.envs.core.contract.game import Game
from leafwise.envs.core.contract.state import State
from leafwise.envs.core.contract.stream import new_stream
from leafwise.envs.core.errors import UserError
from leafwise.envs.core.interrupts import Deferred, silent_keys
from leafwise.envs.core.ranges import check_fields
from leafwise.envs.registry import game as find_game
from leafwise.training.runs.folder import (
    Checkpoint,
    RunFolder,
    check_form,
    commit,
    hardware,
    load_checkpoint,
    need_train_extra,
    training_command,
)
from leafwise.training.runs.position import middle_of, picture
from leafwise.training.runs.run_options import variant_options
from leafwise.training.runs.tags import TAGS, words_of
from leafwise.training.types import Json, Tensors

VERSION = "brain.Event:2"


class Events:
    """Writes TensorBoard events to a file in a run folder."""

    def __init__(self, folder: Path, first_step: int | None = None) -> None:
        """Creates a file. With `first_step` (a resumed run) earlier files count only up to that step."""
        from tensorboard.compat.proto.event_pb2 import Event, SessionLog
        from tensorboard.compat.proto.summary_pb2 import SummaryMetadata
        from tensorboard.summary.writer.record_writer import RecordWriter

        self._event, self._metadata = Event, SummaryMetadata
        self._described: set[str] = set()
        """Tags whose descriptions are already in the file."""
        name = f"events.out.tfevents.{int(time.time()):010d}.{socket.gethostname()}.{os.getpid()}.{time.time_ns()}"
        self.path = folder / name
        self._file = open(self.path, "xb")  # noqa: SIM115
        self._records = RecordWriter(self._file)
        self._add(file_version=VERSION)
        if first_step is not None:
            self._add(step=first_step, session_log=SessionLog(status=SessionLog.START))

    def add_text(self, tag: str, text: str) -> None:
        """Logs Markdown."""
        from tensorboard.compat.proto.tensor_pb2 import TensorProto
        from tensorboard.compat.proto.tensor_shape_pb2 import TensorShapeProto

        plugin = self._metadata(plugin_data={"plugin_name": "text"})
        shape = TensorShapeProto(dim=[TensorShapeProto.Dim(size=1)])
        words = TensorProto(dtype="DT_STRING", string_val=[text.encode()], tensor_shape=shape)
        self._log(0, tag=f"{tag}/text_summary", metadata=plugin, tensor=words)

    def add_options(self, options: Json) -> None:
        """Logs hyper-parameters as text, and for TensorBoard's tab HPARAMS."""
        from tensorboard.plugins.hparams import metadata
        from tensorboard.plugins.hparams.plugin_data_pb2 import HParamsPluginData, SessionStartInfo

        settings = "\n".join(f"| {k} | {v} |" for k, v in options.items())
        self.add_text("hyper-parameters", f"| option | value |\n|---|---|\n{settings}")
        start = SessionStartInfo(start_time_secs=time.time())
        for name, value in options.items():
            kind = {bool: "bool_value", int: "number_value", float: "number_value"}.get(type(value), "string_value")
            setattr(start.hparams[name], kind, str(value) if kind == "string_value" else value)
        plugin = metadata.create_summary_metadata(HParamsPluginData(session_start_info=start))
        self._log(0, tag=metadata.SESSION_START_INFO_TAG, metadata=plugin, tensor=metadata.NULL_TENSOR)

    def add(self, tag: str, logged: float | Bytes, step: int) -> None:
        """Logs a number, or a picture as uint8 [height, width, 3]."""
        if isinstance(logged, np.ndarray) and logged.ndim == 3:
            (height, width, colours), data = logged.shape, io.BytesIO()
            Image.fromarray(logged).save(data, "PNG")
            png = {"height": height, "width": width, "colorspace": colours, "encoded_image_string": data.getvalue()}
            value: dict[str, Any] = {"image": png}
        else:
            value = {"simple_value": float(logged)}
        if tag in TAGS and tag not in self._described:
            # TensorBoard shows a description only with the kind of data
            kind, plugin = ("BLOB_SEQUENCE", "images") if "image" in value else ("SCALAR", "scalars")
            which = {"plugin_data": {"plugin_name": plugin}, "data_class": f"DATA_CLASS_{kind}"}
            value["metadata"] = self._metadata(summary_description=TAGS[tag], **which)
            self._described.add(tag)
        self._log(step, tag=tag, **value)

    def _log(self, step: int, **value: Any) -> None:
        self._add(step=step, summary={"value": [value]})

    def flush(self) -> None:
        """Flushes the file; raises OSError on a full disk."""
        try:
            self._file.flush()
        except OSError as problem:
            raise self._named(problem) from None

    def close(self) -> None:
        """Closes the file; errors of writing are raised by `flush`."""
        with contextlib.suppress(OSError):
            self._file.close()

    def _add(self, **fields: Any) -> None:
        try:
            self._records.write(self._event(wall_time=time.time(), **fields).SerializeToString())
        except OSError as problem:
            raise self._named(problem) from None

    def _named(self, problem: OSError) -> OSError:
        return OSError(problem.errno, problem.strerror, str(self.path))


BAR = 20
"""Width of the bar."""
ESTIMATE_SECONDS = 20.0
"""Seconds from the first step to the estimate of a run's duration, if no evaluation ends sooner."""


class EllipsisColumn(TextColumn):
    """A column of the progress bar that cuts its text if the line is too long."""

    def __init__(self, text: str) -> None:
        super().__init__(text, markup=False, table_column=Column(overflow="ellipsis"))

    def render(self, task: Task) -> Text:
        """Returns the text, on one line."""
        text = super().render(task)
        text.no_wrap, text.overflow = True, "ellipsis"
        return text


def run_progress(console: Console | None = None, *, transient: bool = False) -> Progress:
    """Returns the progress bar of a task: description, percentage, time left, and its field `status`.

    Output to a file has no bar. A notebook needs ipywidgets to show it; without it rich would print a warning at every change.
    """
    console = console or get_console()
    hidden = find_spec("ipywidgets") is None if console.is_jupyter else not console.is_terminal
    columns = (
        EllipsisColumn("{task.description}"), BarColumn(BAR), TaskProgressColumn(), TimeRemainingColumn(), TextColumn("left"),
        EllipsisColumn("{task.fields[status]}"),
    )  # fmt: skip
    return Progress(*columns, console=console, transient=transient, disable=hidden)


def find_variant(name: str, variant: str) -> Game:
    """Returns a game in a variant written as `board=7x6,k=4`, without opening files.

    Raises ValueError for unknown games and options, and for a game without decisions.
    """
    from leafwise.envs.core.gym.stepper import first_decision

    game = find_game(name)
    chosen = game.variant(**variant_options(game, variant))
    first_decision(chosen, new_stream(0))  # learners need at least one decision
    return chosen


def exploration_at(config: Any, done: int) -> float:
    """Returns the share of random actions after `done` steps, linear over `exploration_fraction` of the run."""
    progress = min(1.0, done / config.total_steps / max(config.exploration_fraction, 1e-9))
    return float(config.exploration + (config.final_exploration - config.exploration) * progress)


class Learner(ABC):
    """A training run that is executed step by step."""

    method: str
    """Name of the method for `leafwise train GAME --method`."""
    unit: str
    """Unit of steps."""
    needs: tuple[str, ...] = ("torch", "tensorboard")
    """Packages of the train extra that the method imports."""
    config: Any
    game: Game
    folder: RunFolder
    seconds = 0.0
    """Processor time so far, in seconds."""
    score: Json
    """Score of the kept network, and the games behind it."""
    start: Mapping[str, Any] = MappingProxyType({})
    """Provenance of the initial model."""
    report: Callable[[], None] = staticmethod(lambda: None)
    """Updates the progress bar; long steps call it from time to time."""
    breaks_whole = False
    """Whether a step checks for Ctrl-C itself (`leafwise.envs.core.interrupts.check`), at points where a checkpoint is possible.
    Other steps are undone."""

    def __init__(self, config: Any) -> None:
        """Raises ValueError for missing packages, an option out of range, or an unknown variant."""
        need_train_extra(self.needs)
        check_fields(config, shown=flag_of)
        self.config = config
        self.game = find_variant(config.game, config.variant)

    def open_folder(self) -> None:
        """Opens the run folder (default: runs/GAME-METHOD-SEED); raises ValueError if it holds another run."""
        config = self.config
        variant = "".join(f"-{word.replace('=', '')}" for word in config.variant.split(",") if word)
        path = Path(config.run or f"runs/{config.game}{variant}-{self.method}-{config.seed}")
        self.folder = RunFolder(path, config, resume=config.resume)

    @property
    @abstractmethod
    def done(self) -> int:
        """Number of steps done, in `unit`."""

    @property
    def goal(self) -> int:
        """Number of steps of the run."""
        return int(self.config.total_steps)

    def is_due(self, number: int, every: int) -> bool:
        """Whether part `number` of the run ends with an evaluation: the first, every `every`th, and the last."""
        return number == 1 or number % every == 0 or self.done >= self.goal

    def leaf(self) -> Evaluator | None:
        """Returns the current network as a leaf, for a picture of its values; None: no picture."""
        return None

    @abstractmethod
    def step(self) -> Json:
        """Trains for one step; returns the logged values by tag: numbers, and pictures as uint8 [height, width, 3].

        Raises KeyboardInterrupt if Ctrl-C interrupted it.
        """

    def state(self) -> Checkpoint:
        """Returns the state for a checkpoint; a method adds its own."""
        return {}, {"method": self.method, "seconds": self.seconds}

    def restore(self, tensors: Tensors, metadata: Json) -> None:
        """Restores the state of a checkpoint; a method restores its own in addition."""
        self.seconds = metadata["seconds"]

    def save(self) -> None:
        """Writes a checkpoint."""
        self.folder.save(*self.state())

    def step_or_save(self, stop: Deferred) -> Json:
        """Runs a step. After Ctrl-C it saves the state before the step and raises KeyboardInterrupt."""
        if self.breaks_whole:
            try:
                return self.step()
            except KeyboardInterrupt:
                self.save()
                raise
        tensors, metadata = self.state()
        before = {name: np.array(tensor) for name, tensor in tensors.items()}, copy.deepcopy(metadata)
        try:
            with stop.raising():
                return self.step()
        except KeyboardInterrupt:
            self.folder.save(*before)
            raise

    def resume(self) -> bool:
        """Resumes from the run's last checkpoint if the options ask for it and there is one; returns whether it did.

        Raises ValueError in one line for a checkpoint that does not fit.
        """
        saved = load_checkpoint(self.folder.path) if self.config.resume else None
        if saved is None:
            return False
        try:
            check_form(saved, self.state())
            self.restore(*saved)
        except (ValueError, TypeError, LookupError, RuntimeError) as problem:  # torch raises the last
            file, what = str(self.folder.state), " ".join(str(problem).split())
            raise UserError(f"{file!r}: expected a checkpoint of this run: {what:.300}") from None
        return True

    def close(self) -> None:  # noqa: B027
        """Releases the run's workers."""

    def description(self) -> Json:
        """Returns the provenance for the model file."""
        description = {
            "steps": self.done,
            "seconds": round(self.seconds, 1),
            "command": training_command(self.method, self.config),
        }
        return {**description, "commit": commit(), "score": self.score, "start": dict(self.start)}

    def results(self) -> Json:
        """Returns the contents of results.json for a finished run."""
        return {**self.description(), "hardware": hardware()}


def run_learner(learner: Learner) -> Path:
    """Trains to the end of the run, or until Ctrl-C or SIGTERM; returns the run folder."""
    config, folder = learner.config, learner.folder
    if folder.shorter is not None:
        spans = f"from {folder.shorter:,} to {learner.goal:,} {learner.unit}"
        print(f"the run is extended {spans}; learning rates and other schedules now end there")
    try:
        events = Events(folder.path, learner.done + 1 if config.resume else None)
        events.add_options(asdict(config))
        try:
            done = train_to_the_end(learner, events)
        finally:
            events.close()
        if done < learner.goal:
            print(f"stopped after {done:,} {learner.unit}; continue with --run {folder.path} --resume")
        else:
            folder.save_results(learner.results())
    finally:
        learner.close()
        folder.lock.release()
    return folder.path


class RunEstimate:
    """Estimates the duration of a run once: after its second evaluation, or `ESTIMATE_SECONDS` after its first step.

    The first step does not count, because it compiles code.
    """

    def __init__(self, learner: Learner) -> None:
        self.learner, self.started = learner, time.monotonic()
        self.first: tuple[float, int] | None = None
        """Time at the end of the first step, and the number of steps done then."""
        self.printed = False

    def lines(self, evaluated: bool | None) -> list[str]:
        """Returns the first line of a run's output, once the duration can be estimated.

        `evaluated`: whether the finished step ended with an evaluation; None: a step is in progress.
        """
        learner, now = self.learner, time.monotonic()
        first = self.first
        if evaluated is not None:
            self.first = first or (now, learner.done)
        if self.printed or first is None or not (evaluated or now - first[0] > ESTIMATE_SECONDS):
            return []
        self.printed = True
        rest = (learner.goal - learner.done) * (now - first[0]) / (learner.done - first[1])
        name, steps = learner.game.name.capitalize(), f"{learner.goal:,} {learner.unit}"
        return [f"training {name} with {learner.method}: {steps}, {about(now - self.started + rest)} on this machine"]


def about(seconds: float) -> str:
    """Returns a rounded duration in words: `about 5 minutes`."""
    if seconds < 90:
        return f"about {max(10, round(seconds, -1)):.0f} seconds"
    return f"about {seconds / 60:.0f} minutes" if seconds < 5400 else f"about {seconds / 3600:.1f} hours"


def train_to_the_end(learner: Learner, events: Events) -> int:
    """Trains, logs, shows progress and saves checkpoints until the run is finished or stopped.

    Returns the number of steps that are done and saved.
    """
    with Deferred() as stop, silent_keys(), run_progress() as progress:
        name = f"{learner.method} {learner.config.game}"
        task = progress.add_task(name, total=learner.goal, completed=learner.done, status="")
        estimate, lines = RunEstimate(learner), list[str]()

        def show(evaluated: bool | None = None) -> None:
            progress.update(task, completed=learner.done)
            lines[:0] = estimate.lines(evaluated)
            if estimate.printed or learner.done >= learner.goal:
                print(*lines, sep="\n", end="\n" if lines else "", flush=True)
                lines.clear()

        learner.report = show
        position: State | None = None
        while (done := learner.done) < learner.goal:
            if stop.requested:
                learner.save()
                break
            try:
                logged = learner.step_or_save(stop)
            except KeyboardInterrupt:
                return learner.done if learner.breaks_whole else done
            for tag, value in logged.items():
                events.add(tag, value, learner.done)
            events.flush()
            if learner.done >= learner.goal or learner.folder.checkpoint_due(learner.config.checkpoint_seconds):
                learner.save()
            if status := words_of(logged, learner.game.players):
                progress.update(task, status=status)
            if status and not (progress.console.is_terminal or progress.console.is_jupyter):
                lines.append(f"{learner.done:,} of {learner.goal:,} {learner.unit}: {status}")
            if status and (leaf := learner.leaf()):
                position = position or middle_of(learner.game)
                events.add("position", picture(position, leaf), learner.done)
                events.flush()
            show(bool(status))
    return learner.done
