"""The options of the building game, in each form that a person can give them, and the tables and sizes that follow from them.

Parameters, hull and targets become short texts that hold everything. So a variant of the game can be compared, written down and
read again, even if its files are gone.
"""

from __future__ import annotations

import functools
import json
import re
import reprlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Annotated, Any

import numpy as np
from msgspec import to_builtins
from msgspec.structs import replace

from leafwise.envs.core.contract.game import About
from leafwise.envs.core.errors import UserError
from leafwise.envs.core.fields import RULE_ONLY, from_file
from leafwise.envs.core.ranges import OneOf, settle_fields
from leafwise.envs.starship import tables as at
from leafwise.envs.starship.catalogue import DIRECTIONS
from leafwise.envs.starship.hull import RUN_LENGTHS, from_run_lengths, hull_mask, lines_of, run_lengths
from leafwise.envs.starship.settings import PRESETS, SIZES, Parameters, changed, changes_from, final, runs, toml_values
from leafwise.envs.starship.tables import GameTables, new_tables, row_length
from leafwise.envs.starship.targets import asked_of, read_targets, with_targets

HULL_LENGTHS = rf"{RUN_LENGTHS}(/{RUN_LENGTHS})*"
"""A hull in run lengths."""
ABOUT = About(
    actions=(
        "An action says where the top-left cell of the requested part goes, and which way its front faces: `x,yN` for "
        "north. Let `side` be the number of cells on a side of the grid, and `rotation` 0 to 3 for north, east, south and west. "
        "Then the number of the action is `(rotation * side + y) * side + x`."
    ),
    observation=(
        "A request names the part to place. A stage requests parts of one group, such as thrusters, until the points of "
        "these parts reach the target of the stage. The points of each part are in `leafwise.envs.starship.catalogue.PARTS`."
    ),
    ends=(
        "The game ends after the last request. It also ends when no further part of a stage fits and the parts placed in this "
        "stage have fewer points than the minimum of the stage."
    ),
    rewards={
        "score": "how much the placed part changes the quality of the unfinished ship",
        "dense": "the same as `score`",
        "terminal": "the quality, when the ship is finished",
    },
    options={
        "preset": "the size of the ships and the requests; the settings of each preset are in `leafwise.envs.starship.PRESETS`",
        "parameters": (
            'settings that differ from the preset, as a mapping such as `{"crew": {"min_seats": 12}}`, or as the path or the '
            "text of a file that `leafwise ship gen --save-config FILE` writes; if these settings name a preset, it replaces "
            "`preset`"
        ),
        "hull": (
            'your own hull, instead of a random one: rows of "." (hull) and " " (space), the path of a file with such rows, '
            "or an array with one boolean for each cell of the grid"
        ),
        "targets": (
            'what the ship must have to be valid, as a mapping with any of these entries: `{"thrust": 40, "seats": 48, '
            '"firepower": {"north": 6, "east": 2}}`; '
            "`firepower` may also be one number; with this option the observation has more entries, which contain the targets"
        ),
    },
)
"""Texts for people about the environments."""


def is_settings(text: str) -> bool:
    """Returns whether a text holds parameters, in JSON or TOML, and not the path of a file of them."""
    return text.lstrip().startswith("{") or "\n" in text or "=" in text


def is_hull(text: str) -> bool:
    """Returns whether a text is a hull, in run lengths or rows, and not the path of a file of rows."""
    return "\n" in text or re.fullmatch(HULL_LENGTHS, text) is not None


@dataclass(frozen=True)
class Options:
    """The options of a variant; raises ValueError for one that the game does not have. `ABOUT` describes each option."""

    preset: Annotated[str, OneOf.described(SIZES)] = field(default="scout", metadata=RULE_ONLY)
    parameters: str = field(default="", metadata=RULE_ONLY | from_file(is_settings))
    """Kept as JSON."""
    hull: str = field(default="", metadata=RULE_ONLY | from_file(is_hull))
    """Kept as run lengths."""
    targets: str = field(default="", metadata=RULE_ONLY)
    """Kept as JSON."""

    def __post_init__(self) -> None:
        settle_fields(self, "starship")
        try:
            if not isinstance(self.parameters, str) or self.parameters:
                preset, parameters = read_parameters(self.parameters, self.preset)
                object.__setattr__(self, "preset", preset)
                object.__setattr__(self, "parameters", parameters)
            object.__setattr__(self, "targets", _compact(read_targets(self.targets)))
            if not isinstance(self.hull, str) or self.hull:
                grid = built(self.preset, self.parameters, "given", self.targets).grid
                object.__setattr__(self, "hull", read_hull(self.hull, grid))
            _ = self.built
        except UserError as problem:
            raise UserError(f"starship: {str(problem).removeprefix('starship: ')}") from None

    @property
    def built(self) -> Parameters:
        """All parameters of the variant."""
        return built(self.preset, self.parameters, self.hull, self.targets)


def _compact(values: Mapping[str, Any]) -> str:
    """Returns values as JSON, "" for none."""
    return json.dumps(values, sort_keys=True, separators=(",", ":")) if values else ""


def read_parameters(given: Any, preset: str) -> tuple[str, str]:
    """Returns the name of a preset and, as JSON, what differs from it: "" for nothing.

    `given` is a `Parameters`, a mapping of changes like `{"crew": {"min_seats": 12}}`, or such a mapping as JSON or TOML. It
    changes `preset`, or the preset that it names. Raises ValueError.
    """
    parameters = given if isinstance(given, Parameters) else changed(preset, _mapping(given))
    base = parameters.preset if parameters.preset in PRESETS else "classic"
    changes = changes_from(to_builtins(PRESETS[base]), to_builtins(parameters))
    changes.pop("max_attempts", None)  # a ship that is built has one attempt
    return base, _compact(changes)


def _mapping(given: Any) -> Mapping[str, Any]:
    """Returns a mapping of changes, given as one or as JSON or TOML."""
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


def read_hull(given: Any, grid: int) -> str:
    """Returns a hull in run lengths.

    `given` is booleans [grid, grid], rows of "." and " ", a text of such rows, or run lengths. Rows of a text are filled up
    with space on the right and below. Raises ValueError.
    """
    if isinstance(given, str):
        if not is_hull(given):
            raise UserError(f"expected hull in run lengths or rows of text, got {given[:60]!r}")
        return run_lengths(hull_mask(lines_of(given, grid), grid) if "\n" in given else from_run_lengths(given, grid))
    if isinstance(given, np.ndarray) or (isinstance(given, Sequence) and given):
        return run_lengths(hull_mask(given, grid))
    raise UserError(f"expected hull as booleans, rows of text or run lengths, got {reprlib.repr(given)}")


@functools.lru_cache(maxsize=256)
def built(preset: str, parameters: str, hull: str, targets: str) -> Parameters:
    """Returns all parameters of a variant; raises ValueError for those that a building game cannot have."""
    parameters_built = with_targets(changed(PRESETS[preset], json.loads(parameters or "{}")), read_targets(targets))
    if hull:
        parameters_built = replace(parameters_built, shape=replace(parameters_built.shape, enabled=False))
    elif not final(parameters_built).shape.enabled:
        raise UserError("expected a hull if the stage Shape does not run, got none")
    for run in runs(parameters_built):
        if run.row != run.number and run.number in at.KINDS:
            raise UserError(f"expected each stage that places parts once where a ship is built, got {run.title} twice")
    return parameters_built


def make_tables(options: Options) -> GameTables:
    """Returns the tables of a variant."""
    hull = from_run_lengths(options.hull, options.built.grid) if options.hull else None
    asked = asked_of(read_targets(options.targets))
    return GameTables(new_tables(options.built, hull=hull, asked=asked), np.zeros(1, np.uint8))


def width(options: Options) -> int:
    """Returns the number of words of a row."""
    return row_length(options.built)


@functools.cache
def names(options: Options) -> tuple[str, ...]:
    """Returns the names of the actions: x and y of the top-left cell, and the direction that the front faces."""
    side = range(options.built.grid)
    return tuple(f"{x},{y}{way}" for way in DIRECTIONS for y in side for x in side)
