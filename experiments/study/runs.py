"""Runs of the trainers that a study needs, and what they logged."""

from __future__ import annotations

import importlib
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from leafwise.envs.core.errors import UserError
from leafwise.training.runs.folder import need_train_extra
from leafwise.training.runs.options import config_file
from leafwise.training.runs.recipes import method_of


def finished(path: Path) -> Path:
    """Returns the folder of a finished run; raises KeyboardInterrupt if it was stopped, and so is the study."""
    if not (path / "results.json").exists():
        raise KeyboardInterrupt
    return path


def trained(path: Path, method: str, options: Mapping[str, Any]) -> Path:
    """Returns the folder of a finished run, trained now, or gone on with, if it is not."""
    if not (path / "results.json").exists():
        module = importlib.import_module(method_of(options["game"], method).module)
        config = module.Config(run=str(path), **options)
        module.train(replace(config, resume=config_file(path) is not None))
    return finished(path)


def logged(run: Path, tags: Sequence[str]) -> dict[str, dict[int, float]]:
    """Returns what a run logged, by tag and step; raises ValueError if it logged no such thing."""
    need_train_extra()
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    events = EventAccumulator(str(run), size_guidance={"scalars": 0})
    events.Reload()
    missing = set(tags) - set(events.Tags()["scalars"])
    if missing:
        raise UserError(f"expected a run that logged {', '.join(tags)}, got {str(run)!r}")
    return {tag: {event.step: event.value for event in events.Scalars(tag)} for tag in tags}
