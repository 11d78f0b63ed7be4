"""What a ship file must look like. Imported when one is read, as `schema` is."""

from __future__ import annotations

import functools
import types
import typing
from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta

from leafwise.envs.starship import schema
from leafwise.envs.starship.catalogue import PART_NUMBERS
from leafwise.envs.starship.parameters import STAGES
from leafwise.envs.starship.presets import Parameters
from leafwise.envs.starship.tables import REASON_NAMES

NUMBER: Any = Annotated[float, Meta(ge=-schema.GREATEST, le=schema.GREATEST)]
"""The type of a finite number."""


@functools.cache
def ship(grid: int) -> Any:
    """Returns what a ship file of this grid holds."""
    across = schema.whole(0, grid - 1)
    line: Any = Annotated[str, Meta(min_length=grid, max_length=grid, pattern=r"^[. ]*\Z")]
    part = _object("Part", id=Literal[tuple(PART_NUMBERS)], r=schema.whole(0, 3), x=across, y=across)
    kinds = typing.get_type_hints(Parameters)
    stages = (
        _object("Stage", name=Literal[title], enabled=bool, params=schema.struct(kinds[field], ("enabled",)))
        for _, field, title in STAGES
    )
    return _object(
        "Ship",
        schema=Literal["starship/1"],
        preset=str,
        seed=Annotated[int, Meta(ge=0)],
        attempt=schema.whole(0, 1000),
        valid=bool,
        reasons=_list(Literal[REASON_NAMES], 0, len(REASON_NAMES)),
        grid=schema.whole(12, 64),
        hull=_list(line, grid, grid),
        armour=_list(_entries(across, across), 0, grid**2),
        parts=_list(part, 0, grid**2),
        doors=_list(_entries(across, across, Literal["E", "S"], schema.whole(0, 1)), 0, 2 * grid**2),
        stages=_entries(*stages),
        stats=dict[str, NUMBER],
        order=(tuple[str, ...], ()),
    )


def _object(name: str, /, **fields: Any) -> Any:
    """Returns an object with these fields: a type, or a type and what stands where it is left out."""
    told = [(key, *kind) if isinstance(kind, tuple) else (key, kind) for key, kind in fields.items()]
    return msgspec.defstruct(name, told, forbid_unknown_fields=True)


def _list(kind: Any, low: int, high: int) -> Any:
    return Annotated[list[kind], Meta(min_length=low, max_length=high)]


def _entries(*kinds: Any) -> Any:
    """Returns the type of a list with one entry of each kind."""
    return types.GenericAlias(tuple, kinds)
