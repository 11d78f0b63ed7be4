"""Runs of the trainers that a study needs, and what they logged."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from leafwise.envs.core.errors import UserError
from leafwise.training.runs.folder import need_train_extra


def finished(path: Path) -> Path:
    """Returns the folder of a finished run; raises KeyboardInterrupt if it was stopped, and so is the study."""
    if not (path / "results.json").exists():
        raise KeyboardInterrupt
    return path


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
