"""The last two states of a trainer: a file that is damaged costs no more than the time since the one before."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from leafwise.envs.core.errors import UserError
from leafwise.models.files import load_tensors, save_tensors

Tensors = Mapping[str, NDArray[Any]]


class Checkpoints:
    """The state of a trainer, and the one before it."""

    def __init__(self, folder: Path) -> None:
        self.last, self.before, self._next = (
            folder / f"{name}.safetensors" for name in ("state", "state.previous", ".state.next")
        )

    def save(self, tensors: Tensors, metadata: Mapping[str, Any]) -> None:
        """Writes a state; the last one becomes the one before.

        Raises ValueError for one that is not finite, and OSError where it cannot be written; both leave the files as they are.
        """
        if name := not_finite(tensors):
            raise UserError(f"expected finite numbers in {name!r} of the trainer's state, got nan or infinity: the run has "
                             "diverged; it stands as it was saved before")  # fmt: skip
        save_tensors(self._next, tensors, metadata)
        if self.last.exists():
            os.replace(self.last, self.before)
        os.replace(self._next, self.last)

    def load(self) -> tuple[dict[str, NDArray[Any]], dict[str, Any]] | None:
        """Returns the last state, or with a line on standard error the one before; None if there is neither.

        Raises ValueError if there are some, and none can be used.
        """
        problem: UserError | None = None
        for file in (self.last, self.before):
            try:
                found = load_tensors(file) if file.exists() else None
                if found and (name := not_finite(found[0])):
                    raise UserError(f"expected finite numbers in {name!r}, got nan or infinity in {str(file)!r}")
            except UserError as wrong:
                problem = problem or wrong
                continue
            if found and file is self.before:
                said = problem or f"expected a state in {str(self.last)!r}, found none"
                print(f"warning: {said}; goes on from the checkpoint before it", file=sys.stderr)
                os.replace(self.before, self.last)  # else the next state saved would push it out
            if found:
                return found
        if problem:
            raise problem
        return None


def not_finite(tensors: Tensors) -> str:
    """Returns the name of a tensor with nan or infinity in it, "" if there is none."""
    floats = {name: tensor for name, tensor in tensors.items() if np.issubdtype(tensor.dtype, np.floating)}
    return next((name for name, tensor in floats.items() if not np.isfinite(tensor).all()), "")


def check_form(saved: tuple[Tensors, Mapping[str, Any]], own: tuple[Tensors, Mapping[str, Any]]) -> None:
    """Raises ValueError unless a state has what a learner's own has at the start, of the same types and sizes.

    It may have more; an array that is empty at the start may have grown.
    """
    for name, tensor in own[0].items():
        expected, got = f"{tensor.dtype} {list(tensor.shape)}", "nothing"
        if name in saved[0]:
            given = saved[0][name]
            got = f"{given.dtype} {list(given.shape)}"
            free = 1 if tensor.ndim and not len(tensor) else 0
            if given.ndim == tensor.ndim and (given.dtype, given.shape[free:]) == (tensor.dtype, tensor.shape[free:]):
                continue
        raise UserError(f"expected {name!r} as {expected}, got {got}")
    _check_entries(saved[1], own[1])


def _check_entries(saved: Mapping[str, Any], own: Mapping[str, Any]) -> None:
    for name, value in own.items():
        given = saved.get(name)
        if isinstance(value, Mapping):
            if not isinstance(given, Mapping):
                raise UserError(f"expected {name!r} with entries by name, got {given!r:.80}")
            _check_entries(given, value)
        elif isinstance(value, str):
            if given != value:
                raise UserError(f"expected {name!r} to be {value!r}, got {given!r:.80}")
        elif not _is_like(given, value):
            raise UserError(f"expected a number as {name!r}, got {given!r:.80}")


def _is_like(given: Any, value: float) -> bool:
    """Whether a number may stand where a learner has this one at the start: a whole one counts, and a finite one stays finite."""
    if isinstance(given, bool) or not isinstance(given, int | float):
        return False
    if isinstance(value, int):
        return isinstance(given, int) and 0 <= given < 1 << 63
    return bool(np.isfinite(given)) if np.isfinite(value) else given == given
