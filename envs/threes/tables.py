"""The variants of Threes, and the line tables of its rules."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

import numpy as np

from leafwise.envs.core.arrays import Ints
from leafwise.envs.core.errors import UserError
from leafwise.envs.core.ranges import OneOf, Range, limits_of, settle_fields
from leafwise.envs.threes.rules import NO_MERGE_6144, Tables

BONUS_P = 1 / 21
BONUS_VALUES = {
    "uniform": "every possible value is equally likely",
    "window3": "first three neighbouring values are drawn, then one of the three",
}
SCHEDULES = {
    "iid": "each draw is a bonus with the chance `bonus_p`",
    "slot21": "exactly one of every 21 draws is a bonus",
}
HINTS = {
    "plus": "that it is a bonus",
    "window3": "three values, one of which is its own",
    "colour": "that it is white (a 3 is white too)",
    "exact": "its value",
}
TOPS = {
    "end_at_12288": "they merge, and the game ends",
    "continue": "they merge, and the game goes on",
    "no_merge_6144": "they do not merge",
}
ENTRIES = {
    "moved_lane": "a row or column that moved",
    "any_empty_edge": "any row or column with an empty cell at the edge where tiles enter",
}


@dataclass(frozen=True)
class Options:
    """The options of a variant; raises ValueError for one that Threes does not have. `ABOUT` describes each option."""

    bonus_value: Annotated[str, OneOf.described(BONUS_VALUES)] = "uniform"
    bonus_schedule: Annotated[str, OneOf.described(SCHEDULES)] = "iid"
    hint: Annotated[str, OneOf.described(HINTS)] = "plus"
    top: Annotated[str, OneOf.described(TOPS)] = "end_at_12288"
    entry: Annotated[str, OneOf.described(ENTRIES)] = "moved_lane"
    bonus_p: Annotated[float, Range(0, 1, below=True)] = BONUS_P

    def __post_init__(self) -> None:
        settle_fields(self, "threes")
        if self.hint == "window3" and self.bonus_value != "window3":
            raise UserError(f"threes: expected bonus_value='window3' with hint='window3', got {self.bonus_value!r}")
        if self.hint == "colour" and self.bonus_schedule == "slot21":
            raise UserError("threes: expected bonus_schedule='iid' with hint='colour', got 'slot21'")
        if self.bonus_p != BONUS_P and self.bonus_schedule == "slot21":
            raise UserError(f"threes: expected no bonus_p with bonus_schedule='slot21', got {self.bonus_p!r}")


Lines = Ints


def cells_of(lines: Lines) -> list[Lines]:
    """Returns the four ranks of each line, lowest nibble first; each of shape [n]."""
    return [(lines >> (4 * k)) & 15 for k in range(4)]


def line_of(cells: list[Lines]) -> Lines:
    """Returns lines made of four ranks each."""
    return cells[0] | cells[1] << 4 | cells[2] << 8 | cells[3] << 12


def slide_low(lines: Lines, top: int) -> Lines:
    """Returns every line after a slide towards its lowest nibble."""
    # A line moves at the first cell that is empty or merges; the cells behind it follow.
    cells = cells_of(lines)
    result = lines.copy()
    is_done = np.zeros(len(lines), dtype=bool)
    for k in range(3):
        a, b = cells[k], cells[k + 1]
        behind = [*cells[k + 1 :], np.zeros_like(lines)]
        step = ~is_done & (a == 0)
        result[step] = line_of([*cells[:k], *behind])[step]
        pair = ((a == b) & (a >= 3) & (a < 15)) | ((a + b == 3) & (a * b == 2))
        if top == NO_MERGE_6144:
            pair &= a != 14
        merge = ~is_done & ~step & pair
        merged = np.where(a == b, a + 1, 3)
        result[merge] = line_of([*cells[:k], merged, *behind[1:], np.zeros_like(lines)])[merge]
        is_done |= step | merge
    return result


def reversed_line(lines: Lines) -> Lines:
    """Returns every line reversed."""
    return line_of(cells_of(lines)[::-1])


def tile_points(rank: Lines) -> Lines:
    """Returns the score of a tile of each rank: 0 below the 3, otherwise 3**(rank - 2)."""
    return np.where(rank >= 3, 3 ** np.maximum(rank - 2, 0), 0)


def make_tables(options: Options) -> Tables:
    """Returns the tables of a variant (about 0.6 MB)."""
    limits = limits_of(Options).items()
    code = {name: one.choices.index(getattr(options, name)) for name, one in limits if isinstance(one, OneOf)}
    lines = np.arange(65536)
    low = slide_low(lines, code["top"])
    high = reversed_line(slide_low(reversed_line(lines), code["top"]))
    return Tables(
        slide_low=low.astype(np.uint16),
        slide_high=high.astype(np.uint16),
        ways=((low != lines) | (high != lines) << 1).astype(np.uint8),
        points=sum(tile_points(c) for c in cells_of(lines)).astype(np.int32),  # type: ignore[union-attr]
        bonus_p=float(options.bonus_p),
        stop=np.zeros(1, dtype=np.uint8),
        leaf=(),
        **code,
    )
