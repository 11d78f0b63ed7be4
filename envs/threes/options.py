"""What can be chosen in Threes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from leafwise.envs.core.errors import UserError
from leafwise.envs.core.ranges import OneOf, Range, settle_fields

BONUS_P = 1 / 21


@dataclass(frozen=True)
class Options:
    """The variant; raises ValueError for one that Threes does not have."""

    bonus_value: Annotated[str, OneOf(("uniform", "window3"))] = "uniform"
    """How the value of a bonus tile is drawn."""
    bonus_schedule: Annotated[str, OneOf(("iid", "slot21"))] = "iid"
    """When bonus tiles come."""
    hint: Annotated[str, OneOf(("plus", "window3", "colour", "exact"))] = "plus"
    """What is shown of a bonus tile that comes next."""
    top: Annotated[str, OneOf(("end_at_12288", "continue", "no_merge_6144"))] = "end_at_12288"
    """What happens at the highest tiles."""
    entry: Annotated[str, OneOf(("moved_lane", "any_empty_edge"))] = "moved_lane"
    """Where a new tile may enter."""
    bonus_p: Annotated[float, Range(0, 1, below=True)] = BONUS_P
    """The chance of a bonus tile, with bonus_schedule `iid`."""

    def __post_init__(self) -> None:
        settle_fields(self, "threes")
        if self.hint == "window3" and self.bonus_value != "window3":
            raise UserError("threes: hint='window3' shows the window that bonus_value='window3' draws; set both")
        if self.hint == "colour" and self.bonus_schedule == "slot21":
            raise UserError("threes: expected bonus_schedule='iid' with hint='colour', got 'slot21'")
        if self.bonus_p != BONUS_P and self.bonus_schedule == "slot21":
            raise UserError(f"threes: expected no bonus_p with bonus_schedule='slot21', got {self.bonus_p!r}")
