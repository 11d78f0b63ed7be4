"""Trains several runs that differ only in their seeds, in processes or on a cluster that shares their folder."""

from __future__ import annotations

import importlib
import json
from collections.abc import Iterator, Sequence
from contextlib import redirect_stdout
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from leafwise.envs.core.errors import UserError
from leafwise.envs.core.files import read_text
from leafwise.training.execution import executor_for

if TYPE_CHECKING:
    from leafwise.training.types import Json

LOG, RESULTS = "train.log", "results.json"
"""File of a run's output, and file of its results."""


def train_one(module: str, config: Any) -> str:
    """Trains one run with the `train` of a module and writes its output to a file; returns an error message or "".

    Raises KeyboardInterrupt for a run that was stopped.
    """
    folder = Path(config.run)
    folder.mkdir(parents=True, exist_ok=True)
    with open(folder / LOG, "a", encoding="utf-8") as log, redirect_stdout(log):
        try:
            importlib.import_module(module).train(config)
        except UserError as problem:
            return str(problem)
    if not (folder / RESULTS).exists():
        raise KeyboardInterrupt
    return ""


def train_side_by_side(module: str, configs: Sequence[Any], processes: int, cluster: str) -> Iterator[Path]:
    """Trains runs and yields each finished folder. After a failure the others continue, then it raises ValueError."""
    failed = []
    with executor_for(partial(train_one, module), processes, cluster, len(configs)) as executor:
        for k, problem in executor.stream(enumerate(configs)):
            if problem:
                failed.append(f"{configs[k].run}: {problem}")
            else:
                yield Path(configs[k].run)
    if failed:
        raise UserError("; ".join(failed))


def results_of(folder: Path) -> Json:
    """Returns the results of a finished run."""
    results: Json = json.loads(read_text(folder / RESULTS))
    return results
