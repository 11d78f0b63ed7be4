"""What can be chosen in Trap."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Annotated

from leafwise.envs.core.fields import RULE_ONLY, SHOWN_ONLY
from leafwise.envs.core.ranges import OneOf, Range, settle_fields

MIN_SIZE, MAX_SIZE, MOST_TURNS = 3, 9, 60_000


@dataclass(frozen=True)
class Options:
    """The variant; raises ValueError for one that Trap does not have."""

    size: Annotated[int, Range(MIN_SIZE, MAX_SIZE)] = 7
    """Side of the board."""
    self_trap: Annotated[str, OneOf(("immediate", "deferred"))] = field(default="immediate", metadata=RULE_ONLY)
    """When a player who has trapped itself has lost."""
    max_turns: Annotated[int | None, Range(1, MOST_TURNS)] = field(default=None, metadata=RULE_ONLY)
    """The turn after which the game is a draw; None: four for each cell."""
    observe_turn: bool = field(default=False, metadata=SHOWN_ONLY)
    """Whether the observation tells the turns that are left until then."""

    def __post_init__(self) -> None:
        settle_fields(self, "trap")

    @property
    def last_turn(self) -> int:
        """The turn after which the game is a draw."""
        return 4 * self.size**2 if self.max_turns is None else self.max_turns
