"""Which stages run, and in which order: the source's own, or that of a list in the settings.

    stages = ["Shape", "Fill Gaps", "Cockpit", "Reactor", "Weapons", "Thrusters", "Armour part=ammo_supply layers=2"]

An entry is a stage by name, and after it what this run does otherwise than the stage's own table says. Stages may be left out,
reordered and repeated; those of the hull come first, Add Extra Doors last. A stage that places parts again goes on from what
stands: its targets count all parts of its kinds. "Armour" lays rings round every part of a kind. Each run has random streams
of its own; the first one of a stage has those that the stage has always had.
"""

from __future__ import annotations

import dataclasses
import functools
import re
import reprlib
from typing import TYPE_CHECKING, Any, NamedTuple

from leafwise.envs.core.errors import UserError
from leafwise.envs.starship.parameters import STAGES, PartArmour

if TYPE_CHECKING:
    from leafwise.envs.starship.presets import Parameters

PART_ARMOUR, PART_ARMOUR_TITLE = 16, "Armour"
"""The number of the stage that only a list can ask for."""
FIRST_FURTHER = 17
"""The first row of a run beyond the usual ones."""
MOST_RUNS = 30
ROWS = FIRST_FURTHER + MOST_RUNS
HULL_STAGES = ("Shape", "Fill Gaps", "Carve")


class Run(NamedTuple):
    """One run of a stage."""

    row: int
    """Of the matrix of parameters, and of the random streams."""
    number: int
    """Of the stage."""
    title: str
    settings: Any
    """Of this run: a dataclass of `parameters`."""


@functools.lru_cache(maxsize=256)
def runs(parameters: Parameters) -> tuple[Run, ...]:
    """Returns the runs of the stages that are enabled, in order; ValueError in one line for a list that makes no sense."""
    if not parameters.stages:
        all_runs = (Run(number, number, title, getattr(parameters, field)) for number, field, title in STAGES)
        return tuple(run for run in all_runs if run.settings.enabled)
    if len(parameters.stages) > MOST_RUNS:
        raise UserError(f"stages should be at most {MOST_RUNS}, got {len(parameters.stages)}")
    found: list[Run] = []
    for k, entry in enumerate(parameters.stages):
        try:
            number, title, settings = _read(parameters, entry)
        except UserError as problem:
            raise UserError(f"stages[{k}]: {problem}") from None
        taken = number == PART_ARMOUR or number in (run.number for run in found)
        found.append(Run(FIRST_FURTHER + k if taken else number, number, title, settings))
    _check_order([run.title for run in found])
    return tuple(run for run in found if run.settings.enabled)


def check(parameters: Parameters) -> None:
    """Raises ValueError in one line for a list of stages that makes no sense."""
    runs(parameters)


def stage_field(name: str) -> str:
    """Returns the field of a stage given by its name ("Exterior Armour") or field (exterior_armour), in any case.

    Armor is spelt so too, as the source does.
    """
    wanted = re.sub(r"armor(?=_|$)", "armour", name.strip().lower().replace(" ", "_").replace("-", "_"))
    for _, field, title in STAGES:
        if wanted in (field, title.lower().replace(" ", "_")):
            return field
    raise UserError(f"stage should be one of {', '.join(title for _, _, title in STAGES)}, got {reprlib.repr(name)}")


def _read(parameters: Parameters, entry: str) -> tuple[int, str, Any]:
    """Returns the number, title and settings of an entry; ValueError for a wrong one."""
    from leafwise.envs.starship import schema

    base: Any
    words = entry.split()
    name = " ".join(word for word in words if "=" not in word)
    changes = {key: _value(text) for key, _, text in (word.partition("=") for word in words if "=" in word)}
    if re.fullmatch(r"(?i)armou?r", name):
        if "part" not in changes:
            raise UserError(
                f"expected the part that armour goes round, like 'Armour part=reactor', got {_short(entry)}"
            )
        number, title, base = PART_ARMOUR, PART_ARMOUR_TITLE, PartArmour()
    else:
        field = stage_field(name)
        number, title = next((number, title) for number, own, title in STAGES if own == field)
        base = getattr(parameters, field)
    values = {key: value for key, value in dataclasses.asdict(base).items() if key != "enabled"}
    kind: Any = type(base)
    schema.read(values | changes, schema.struct(kind, ("enabled",)), title)
    settings = dataclasses.replace(base, **changes)
    for low, high in (("min_score", "max_score"), ("min_count", "max_count")):
        if low in values and getattr(settings, low) > getattr(settings, high):
            raise UserError(f"{low} should be at most {high} = {getattr(settings, high)}, got {getattr(settings, low)}")
    return number, title, settings


def _value(text: str) -> int | bool | str:
    if re.fullmatch("[0-9]{1,9}", text):
        return int(text)
    return {"true": True, "false": False}.get(text, text)


def _short(entry: str) -> str:
    return reprlib.repr(entry)


def _check_order(titles: list[str]) -> None:
    """Raises ValueError unless the hull's stages come first, Shape once, and the extra doors last."""
    hull = [title in HULL_STAGES for title in titles]
    if sorted(hull, reverse=True) != hull:
        late = titles[max(k for k, own in enumerate(hull) if own)]
        raise UserError(
            f"stages should begin with those of the hull ({', '.join(HULL_STAGES)}), got {late} after others"
        )
    if "Shape" in titles[1:]:
        raise UserError("stages should have Shape once, as the first, got it later")
    if "Add Extra Doors" in titles[:-1]:
        raise UserError("stages should have Add Extra Doors once, as the last, got it earlier")


@functools.lru_cache(maxsize=256)
def final(parameters: Parameters) -> Parameters:
    """Returns what a finished ship has to keep: each stage's settings in its last run, switched off if it never runs."""
    if not parameters.stages:
        return parameters
    last = {run.number: run.settings for run in runs(parameters)}
    stages = {
        field: last.get(number, dataclasses.replace(getattr(parameters, field), enabled=False))
        for number, field, _ in STAGES
    }
    return dataclasses.replace(parameters, stages=(), **stages)


def greatest(parameters: Parameters, field: str, name: str) -> int:
    """Returns the greatest value that a setting of a stage has in any run, or in its own table."""
    number = next(number for number, own, _ in STAGES if own == field)
    values = [getattr(run.settings, name) for run in runs(parameters) if run.number == number]
    return max([getattr(getattr(parameters, field), name), *values])
