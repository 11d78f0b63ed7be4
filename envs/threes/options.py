"""What can be chosen in Threes."""

from __future__ import annotations

from dataclasses import dataclass

from leafwise.envs.core.contract.options import need_one_of
from leafwise.envs.core.errors import UserError

CHOICES: dict[str, tuple[str, ...]] = {
    "bonus_value": ("uniform", "window3"),
    "bonus_schedule": ("iid", "slot21"),
    "hint": ("plus", "window3", "colour", "exact"),
    "top": ("end_at_12288", "continue", "no_merge_6144"),
    "entry": ("moved_lane", "any_empty_edge"),
}
BONUS_P = 1 / 21


@dataclass(frozen=True)
class Options:
    """The variant; raises ValueError for one that Threes does not have. `CHOICES` lists what each may be."""

    bonus_value: str = "uniform"
    """How the value of a bonus tile is drawn."""
    bonus_schedule: str = "iid"
    """When bonus tiles come."""
    hint: str = "plus"
    """What is shown of a bonus tile that comes next."""
    top: str = "end_at_12288"
    """What happens at the highest tiles."""
    entry: str = "moved_lane"
    """Where a new tile may enter."""
    bonus_p: float = BONUS_P
    """The chance of a bonus tile, in [0, 1), with bonus_schedule `iid`."""

    def __post_init__(self) -> None:
        need_one_of("threes", self, CHOICES)
        p = self.bonus_p
        if isinstance(p, bool) or not isinstance(p, (int, float)) or not 0 <= p < 1:
            raise UserError(f"threes: expected bonus_p in [0, 1), got {p!r}")
        if self.hint == "window3" and self.bonus_value != "window3":
            raise UserError("threes: hint='window3' shows the window that bonus_value='window3' draws; set both")
        if self.hint == "colour" and self.bonus_schedule == "slot21":
            raise UserError("threes: expected bonus_schedule='iid' with hint='colour', got 'slot21'")
        if p != BONUS_P and self.bonus_schedule == "slot21":
            raise UserError(f"threes: expected no bonus_p with bonus_schedule='slot21', got {p!r}")
