"""What can be chosen in Trilobite."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from leafwise.envs.core.errors import UserError
from leafwise.envs.core.ranges import Range, settle_fields

MAX_SIDE, MAX_CELLS = 8, 56


@dataclass(frozen=True)
class Options:
    """The variant; raises ValueError for one that Trilobite does not have."""

    board: str = "3x3"
    """Width x height, 3x3 to 8x7."""
    k: Annotated[int, Range(3, 5)] = 3
    """Chips in a row that win, 3 to 5, at most the longer side."""

    def __post_init__(self) -> None:
        width, height = board_size(self.board)
        settle_fields(self, "trilobite")
        if self.k > max(width, height):
            most = max(width, height)
            raise UserError(f"trilobite: expected k of at most {most} on a {width}x{height} board, got {self.k!r}")
        object.__setattr__(self, "board", f"{width}x{height}")

    @property
    def size(self) -> tuple[int, int]:
        """Width and height of the board."""
        return board_size(self.board)


def board_size(board: str) -> tuple[int, int]:
    """Returns width and height of a board written as `7x6`; raises ValueError if Trilobite has no such board."""
    sides = board.lower().split("x") if isinstance(board, str) else []
    if len(sides) == 2 and all(len(side) == 1 and side in "345678" for side in sides):
        width, height = int(sides[0]), int(sides[1])
        if width * height <= MAX_CELLS:
            return width, height
    raise UserError(
        f"trilobite: expected board as 3x3 to 8x7 (width x height, 3 to {MAX_SIDE} each, at most {MAX_CELLS} cells), "
        f"got {board!r}"
    )
