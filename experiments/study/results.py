"""Results of a study by name, in a JSON file that is written as soon as one of them is known."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from leafwise.envs.core.textfile import read_text
from leafwise.experiments.study.config import Study
from leafwise.models.files import model_path, write_atomically
from leafwise.training.evaluation.arena import FINAL_SEED


class Results(dict[str, Any]):
    """What is known so far, by name; what is known is not worked out again.

    With `about`, what the results hold for stands beside them in the file. `differs` says that the file holds results for
    something else; they are then left out, and overwritten by the first result that is kept.
    """

    def __init__(
        self,
        study: Study,
        name: str,
        about: Mapping[str, Any] | None = None,
        *,
        under: str = "results",
        indent: int | None = None,
    ) -> None:
        super().__init__()
        self.study, self.name, self.under, self.indent = study, name, under, indent
        self.about: Mapping[str, Any] = about or {}
        path = study.source(name)
        old = json.loads(read_text(path)) if path else {}
        self.differs = bool(old) and bool(about) and not self.about.items() <= old.items()
        if not self.differs:
            self.update(old.get(under, {}) if about else old)

    def keep(self, name: str, found: Any, told: str = "") -> None:
        """Keeps a result, writes all of them, and tells the new one."""
        self[name] = found
        self.write()
        print(told or f"{name} {found}", flush=True)

    def write(self) -> None:
        """Writes all of them."""
        everything = {**self.about, self.under: dict(self)} if self.about else dict(self)
        write_json(self.study, self.name, everything, self.indent)

    def find(self, name: str, work: Callable[[], Any]) -> Any:
        """Returns a result, worked out now if it is not known."""
        if name not in self:
            self.keep(name, work())
        return self[name]


def digest_of(model: str) -> str:
    """Returns what tells a model's file, as it is, from others."""
    return hashlib.sha256(model_path(model).read_bytes()).hexdigest()[:16]


def results_of(study: Study, name: str, models: Sequence[str] = (), command: str = "") -> Results:
    """Returns the results that hold for a command (default: the study's) and for the model files as they are."""
    digests = {model: digest_of(model) for model in models}
    return Results(study, name, {"command": command or study.repeated_by, "models": digests}, indent=1)


def write_json(study: Study, name: str, found: Any, indent: int | None = 1) -> None:
    """Writes a JSON file to the study's folder."""
    write_atomically(study.target(name), (json.dumps(found, indent=indent) + "\n").encode())


def missing_seeds(done: int, games: int, most: int, first: int = FINAL_SEED) -> Iterator[range]:
    """Yields the seeds of the games that are missing, at most so many at a time."""
    while done < games:
        block = range(first + done, first + min(done + most, games))
        yield block
        done += len(block)
