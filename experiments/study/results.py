"""Results of a study by name, in a JSON file that is written as soon as one of them is known."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from leafwise.experiments.study.config import Study
from leafwise.models.files import model_path, write_atomically
from leafwise.training.evaluation.results import GameStore

Results = GameStore[str, Any]
"""What is known so far, by name; what is known is not worked out again."""


def known_results(
    study: Study,
    name: str,
    about: Mapping[str, Any] | None = None,
    *,
    under: str = "results",
    indent: int | None = None,
    anew: bool = True,
    encode: Callable[[Mapping[str, Any]], Any] = dict,
) -> Results:
    """Returns the results of a file of the study.

    With `about`, what the results hold for stands beside them in the file. Results for something else are left out, and
    overwritten by the first result that is kept; without `anew` they are refused. `encode` says how results are written. Raises
    ValueError if there is no folder for the file, but for a study that only looks at what is known (its option `dry_run`).
    """
    file = None if getattr(study, "dry_run", False) else study.target(name)
    results: Results = GameStore(file, about, under=under if about else "", indent=indent, encode=encode)
    if path := study.source(name):
        results.read(path, anew=anew)
    return results


def digest_of(model: str) -> str:
    """Returns what tells a model's file, as it is, from others."""
    return hashlib.sha256(model_path(model).read_bytes()).hexdigest()[:16]


def results_of(study: Study, name: str, models: Sequence[str] = (), command: str = "", *, anew: bool = True) -> Results:
    """Returns the results that hold for a command (default: the study's) and for the model files as they are."""
    digests = {model: digest_of(model) for model in models}
    return known_results(study, name, {"command": command or study.repeated_by, "models": digests}, indent=1, anew=anew)


def write_json(study: Study, name: str, found: Any, indent: int | None = 1) -> None:
    """Writes a JSON file to the study's folder."""
    write_atomically(study.target(name), (json.dumps(found, indent=indent) + "\n").encode())
