"""What the learners have in common: the variant they play, the main loop, TensorBoard's events, a progress bar, checkpoints.

The writers of torch and TensorBoard write in a thread of their own, which dies with a traceback where the disk is full, and what
follows is lost. `Events` writes at once, and whoever logs hears of it. Percentage and time left of the bar stay whole, however
narrow the terminal.
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
    """A file of events in a run folder."""

    def __init__(self, folder: Path, first_step: int | None = None) -> None:
        """Begins a file; a run that goes on says its first step, from which on what earlier files say does not count."""
        from tensorboard.compat.proto.event_pb2 import Event, SessionLog
        from tensorboard.compat.proto.summary_pb2 import SummaryMetadata
        from tensorboard.summary.writer.record_writer import RecordWriter

        self._event, self._metadata = Event, SummaryMetadata
        self._told: set[str] = set()
        """Tags whose descriptions are written."""
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
        """Logs hyper-parameters, as text and for the tab HPARAMS, beside the run's figures."""
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

    def add(self, tag: str, thing: float | Bytes, step: int) -> None:
        """Logs a number, or a picture as uint8 [height, width, 3]."""
        if isinstance(thing, np.ndarray) and thing.ndim == 3:
            (height, width, colours), data = thing.shape, io.BytesIO()
            Image.fromarray(thing).save(data, "PNG")
            png = {"height": height, "width": width, "colorspace": colours, "encoded_image_string": data.getvalue()}
            value: dict[str, Any] = {"image": png}
        else:
            value = {"simple_value": float(thing)}
        if tag in TAGS and tag not in self._told:
            # TensorBoard shows a description where the kind of data stands beside it
            kind, plugin = ("BLOB_SEQUENCE", "images") if "image" in value else ("SCALAR", "scalars")
            which = {"plugin_data": {"plugin_name": plugin}, "data_class": f"DATA_CLASS_{kind}"}
            value["metadata"] = self._metadata(summary_description=TAGS[tag], **which)
            self._told.add(tag)
        self._log(step, tag=tag, **value)

    def _log(self, step: int, **value: Any) -> None:
        self._add(step=step, summary={"value": [value]})

    def flush(self) -> None:
        """Writes what was logged to the disk; raises OSError where it is full."""
        try:
            self._file.flush()
        except OSError as problem:
            raise self._named(problem) from None

    def close(self) -> None:
        """Ends the file; what can no longer be written was told by `flush`."""
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
PACE_SECONDS = 20.0
"""How long a run is watched, after its first step, before it is told how long it will take, if no evaluation ends sooner."""


class Shortened(TextColumn):
    """A text of the task that gives way where the line is too long."""

    def __init__(self, text: str) -> None:
        super().__init__(text, markup=False, table_column=Column(overflow="ellipsis"))

    def render(self, task: Task) -> Text:
        """Returns the text, on one line."""
        text = super().render(task)
        text.no_wrap, text.overflow = True, "ellipsis"
        return text


def run_progress(console: Console | None = None, *, transient: bool = False) -> Progress:
    """Returns the bar of a task: what it is, percentage, time left, and what its field `told` says.

    In a notebook it is shown if ipywidgets is installed; without it rich would write a warning at every change instead. A file
    shows none.
    """
    console = console or get_console()
    hidden = find_spec("ipywidgets") is None if console.is_jupyter else not console.is_terminal
    columns = (
        Shortened("{task.description}"), BarColumn(BAR), TaskProgressColumn(), TimeRemainingColumn(), TextColumn("left"),
        Shortened("{task.fields[told]}"),
    )  # fmt: skip
    return Progress(*columns, console=console, transient=transient, disable=hidden)


def find_variant(name: str, variant: str) -> Game:
    """Returns a game in the variant written as `board=7x6,k=4`, opening no file.

    Raises ValueError for what there is not, and for a game in which nobody ever decides.
    """
    from leafwise.envs.core.gym.stepper import first_decision

    game = find_game(name)
    found = game.variant(**variant_options(game, variant))
    first_decision(found, new_stream(0))  # learners wait for games with decisions
    return found


def exploration_at(config: Any, done: int) -> float:
    """Returns the share of random actions when so many steps are done: linear, up to `exploration_fraction` of the run."""
    fallen = min(1.0, done / config.total_steps / max(config.exploration_fraction, 1e-9))
    return float(config.exploration + (config.final_exploration - config.exploration) * fallen)


class Learner(ABC):
    """A run that goes on step by step."""

    method: str
    """Its name, as `leafwise train GAME --method` takes it."""
    unit: str
    """What steps count."""
    needs: tuple[str, ...] = ("torch", "tensorboard")
    """Packages of the train extra that it imports."""
    config: Any
    game: Game
    folder: RunFolder
    seconds = 0.0
    """Processor time spent."""
    score: Json
    """How good the kept network is, and by what games."""
    start: Mapping[str, Any] = MappingProxyType({})
    """How the model was made that the run started from."""
    report: Callable[[], None] = staticmethod(lambda: None)
    """Shows how far the run is; a step that lasts long calls it now and then."""
    breaks_whole = False
    """Whether a step looks itself whether Ctrl-C was pressed (`leafwise.envs.core.interrupts.check`), where a checkpoint may be
    made; any other is taken back."""

    def __init__(self, config: Any) -> None:
        """Raises ValueError without what it needs, for an option out of range, and for a variant that there is not."""
        need_train_extra(self.needs)
        check_fields(config, shown=flag_of)
        self.config = config
        self.game = find_variant(config.game, config.variant)

    def open_folder(self) -> None:
        """Makes or finds the run folder, the one named or runs/GAME-METHOD-SEED; raises ValueError if it holds another run."""
        config = self.config
        variant = "".join(f"-{word.replace('=', '')}" for word in config.variant.split(",") if word)
        path = Path(config.run or f"runs/{config.game}{variant}-{self.method}-{config.seed}")
        self.folder = RunFolder(path, config, resume=config.resume)

    @property
    @abstractmethod
    def done(self) -> int:
        """Steps taken, in `unit`."""

    @property
    def goal(self) -> int:
        """Steps in all."""
        return int(self.config.total_steps)

    def is_due(self, number: int, every: int) -> bool:
        """Whether piece `number` of the run ends with an evaluation: the first, for an early score, every few, the last."""
        return number == 1 or number % every == 0 or self.done >= self.goal

    def leaf(self) -> Evaluator | None:
        """Returns what is learned by now as a leaf, whose values of a position are pictured; None: no picture."""
        return None

    @abstractmethod
    def step(self) -> Json:
        """Learns for a while; returns what is logged, by tag: numbers, and pictures as uint8 [height, width, 3].

        Raises KeyboardInterrupt where Ctrl-C broke it off.
        """

    def state(self) -> Checkpoint:
        """Returns what a checkpoint holds; a method adds its own."""
        return {}, {"method": self.method, "seconds": self.seconds}

    def restore(self, tensors: Tensors, metadata: Json) -> None:
        """Takes the state of a checkpoint; a method takes its own besides."""
        self.seconds = metadata["seconds"]

    def save(self) -> None:
        """Writes a checkpoint."""
        self.folder.save(*self.state())

    def step_or_save(self, stop: Deferred) -> Json:
        """Makes a step; where Ctrl-C breaks it off, what was done before is saved and KeyboardInterrupt raised."""
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
        """Goes on where the run's last checkpoint was, if it is to and there is one; returns whether.

        Raises ValueError in one line for a checkpoint of something else.
        """
        saved = load_checkpoint(self.folder.path) if self.config.resume else None
        if saved is None:
            return False
        try:
            check_form(saved, self.state())
            self.restore(*saved)
        except (ValueError, TypeError, LookupError, RuntimeError) as problem:  # torch raises the last
            file, what = str(self.folder.state), " ".join(str(problem).split())
            raise UserError(f"{file!r}: expected the state of such a run: {what:.300}") from None
        return True

    def close(self) -> None:  # noqa: B027
        """Lets go of what works for the run elsewhere."""

    def description(self) -> Json:
        """Returns what the model file says of how it was made."""
        told = {
            "steps": self.done,
            "seconds": round(self.seconds, 1),
            "command": training_command(self.method, self.config),
        }
        return {**told, "commit": commit(), "score": self.score, "start": dict(self.start)}

    def results(self) -> Json:
        """Returns what results.json says of a run that is over."""
        return {**self.description(), "hardware": hardware()}


def run_learner(learner: Learner) -> Path:
    """Trains to the end of the run, or until Ctrl-C or SIGTERM; returns the run folder."""
    config, folder = learner.config, learner.folder
    if folder.shorter is not None:
        spans = f"from {folder.shorter:,} to {learner.goal:,} {learner.unit}"
        print(f"the run is lengthened {spans}; what falls over a run now falls to the new end")
    try:
        events = Events(folder.path, learner.done + 1 if config.resume else None)
        events.add_options(asdict(config))
        try:
            done = train_to_the_end(learner, events)
        finally:
            events.close()
        if done < learner.goal:
            print(f"stopped after {done:,} {learner.unit}; go on with --run {folder.path} --resume")
        else:
            folder.save_results(learner.results())
    finally:
        learner.close()
        folder.lock.release()
    return folder.path


class Pace:
    """Tells, once, how long a run takes here: as its second evaluation ends, or `PACE_SECONDS` after its first step, in which code
    was compiled."""

    def __init__(self, learner: Learner) -> None:
        self.learner, self.started = learner, time.monotonic()
        self.first: tuple[float, int] | None = None
        """When the first step was over, and the steps that were done then."""
        self.is_told = False

    def lines(self, evaluated: bool | None) -> list[str]:
        """Returns the line with which a run's output begins, if it can be told now and was not.

        `evaluated` says whether the step that is over ended with an evaluation; None: a step is under way.
        """
        learner, now = self.learner, time.monotonic()
        first = self.first
        if evaluated is not None:
            self.first = first or (now, learner.done)
        if self.is_told or first is None or not (evaluated or now - first[0] > PACE_SECONDS):
            return []
        self.is_told = True
        rest = (learner.goal - learner.done) * (now - first[0]) / (learner.done - first[1])
        name, steps = learner.game.name.capitalize(), f"{learner.goal:,} {learner.unit}"
        return [f"learns {name} by {learner.method}: {steps}, {about(now - self.started + rest)} on this machine"]


def about(seconds: float) -> str:
    """Returns a time as people say it: `about 5 minutes`."""
    if seconds < 90:
        return f"about {max(10, round(seconds, -1)):.0f} seconds"
    return f"about {seconds / 60:.0f} minutes" if seconds < 5400 else f"about {seconds / 3600:.1f} hours"


def train_to_the_end(learner: Learner, events: Events) -> int:
    """Trains, logs, shows how far it is and saves now and then, until the run is over or a stop is asked for.

    Returns the steps that are done, and saved.
    """
    with Deferred() as stop, silent_keys(), run_progress() as progress:
        name = f"{learner.method} {learner.config.game}"
        task = progress.add_task(name, total=learner.goal, completed=learner.done, told="")
        pace, lines = Pace(learner), list[str]()

        def show(evaluated: bool | None = None) -> None:
            progress.update(task, completed=learner.done)
            lines[:0] = pace.lines(evaluated)
            if pace.is_told or learner.done >= learner.goal:
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
            for tag, thing in logged.items():
                events.add(tag, thing, learner.done)
            events.flush()
            if learner.done >= learner.goal or learner.folder.checkpoint_due(learner.config.checkpoint_seconds):
                learner.save()
            if told := words_of(logged, learner.game.players):
                progress.update(task, told=told)
            if told and not (progress.console.is_terminal or progress.console.is_jupyter):
                lines.append(f"{learner.done:,} of {learner.goal:,} {learner.unit}: {told}")
            if told and (leaf := learner.leaf()):
                position = position or middle_of(learner.game)
                events.add("position", picture(position, leaf), learner.done)
                events.flush()
            show(bool(told))
    return learner.done
