"""What an environment of ships is told: parameters, a hull and targets, in any of several forms, as short texts that say it all.

So a variant of the game can be compared, written down and read again, wherever its files have gone.
"""

from __future__ import annotations

import functools
import json
import re
import reprlib
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from leafwise.envs.core.errors import UserError
from leafwise.envs.starship import order
from leafwise.envs.starship import tables as at
from leafwise.envs.starship.hull import RUN_LENGTHS, from_run_lengths, hull_mask, lines_of, run_lengths
from leafwise.envs.starship.presets import CLASSIC, PRESETS, Parameters
from leafwise.envs.starship.settings import changed, changes_from, toml_values
from leafwise.envs.starship.targets import read_targets, with_targets

HULL_LENGTHS = rf"{RUN_LENGTHS}(/{RUN_LENGTHS})*"
"""A hull in run lengths."""


def read_parameters(given: Any, preset: str) -> tuple[str, str]:
    """Returns the name of a preset and, as JSON, what differs from it: "" for nothing.

    `given` is a `Parameters`, a mapping of changes like `{"crew": {"min_seats": 12}}`, or such a mapping as JSON or TOML. It may
    name another preset than `preset`, which is what it changes otherwise. Raises ValueError.
    """
    if isinstance(given, Parameters):
        parameters = given
    else:
        values = _mapping(given)
        name = values.get("preset", preset)
        parameters = changed(PRESETS.get(name, CLASSIC) if isinstance(name, str) else CLASSIC, values)
    base = parameters.preset if parameters.preset in PRESETS else "classic"
    changes = changes_from(PRESETS[base], parameters)
    changes.pop("max_attempts", None)  # a ship that is built has one attempt
    return base, json.dumps(changes, sort_keys=True, separators=(",", ":")) if changes else ""


def _mapping(given: Any) -> Mapping[str, Any]:
    """Returns a mapping of changes, read from JSON or TOML if it is not one."""
    if isinstance(given, str) and given.lstrip().startswith("{"):
        try:
            given = json.loads(given)
        except (ValueError, RecursionError):
            raise UserError(f"expected parameters as JSON, got {given[:60]!r}") from None
    if isinstance(given, str):
        if not is_settings(given):
            raise UserError(f"expected parameters in JSON or TOML, got {given[:60]!r}")
        return toml_values(given)
    if not isinstance(given, Mapping):
        raise UserError(f"expected parameters as a mapping, JSON or TOML, got {reprlib.repr(given)}")
    return given


def is_settings(text: str) -> bool:
    """Whether a text holds parameters, in JSON or TOML, rather than the path of a file of them."""
    return text.lstrip().startswith("{") or "\n" in text or "=" in text


def is_hull(text: str) -> bool:
    """Whether a text is a hull, in run lengths or rows, rather than the path of a file of rows."""
    return "\n" in text or re.fullmatch(HULL_LENGTHS, text) is not None


def read_hull(given: Any, grid: int) -> str:
    """Returns a hull in run lengths. `given` is booleans [grid, grid], rows of "." and " ", a text of such rows, or run lengths.

    Rows of a text are filled up with space on the right and below. Raises ValueError.
    """
    if isinstance(given, str) and re.fullmatch(HULL_LENGTHS, given):
        return run_lengths(from_run_lengths(given, grid))
    if isinstance(given, str):
        if not is_hull(given):
            raise UserError(f"expected hull in run lengths or rows of text, got {given[:60]!r}")
        return run_lengths(hull_mask(lines_of(given, grid), grid))
    if isinstance(given, np.ndarray) or (isinstance(given, Sequence) and given):
        return run_lengths(hull_mask(given, grid))
    raise UserError(f"expected hull as booleans, rows of text or run lengths, got {reprlib.repr(given)}")


def told_targets(given: Any) -> str:
    """Returns targets as JSON, "" for none; raises ValueError for wrong ones."""
    targets = read_targets(given)
    return json.dumps(targets, sort_keys=True, separators=(",", ":")) if targets else ""


@functools.lru_cache(maxsize=256)
def built(preset: str, parameters: str, hull: str, targets: str) -> Parameters:
    """Returns all parameters of a variant; raises ValueError for those that a building game cannot have."""
    told = PRESETS[preset]
    if parameters:
        told = changed(told, json.loads(parameters))
    if targets:
        told = with_targets(told, read_targets(targets))
    if hull:
        told = replace(told, shape=replace(told.shape, enabled=False))
    elif not order.final(told).shape.enabled:
        raise UserError("expected a hull where the stage Shape does not run, got none")
    for run in order.runs(told):
        if run.row != run.number and run.number in at.KINDS:
            raise UserError(f"expected each stage that places parts once where a ship is built, got {run.title} twice")
    return told


def mask_of(hull: str, grid: int) -> NDArray[np.bool_] | None:
    """Returns a hull in run lengths as booleans [grid, grid]; None for ""."""
    return from_run_lengths(hull, grid) if hull else None
