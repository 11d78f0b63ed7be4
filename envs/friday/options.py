"""What can be chosen in Friday."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Annotated

from leafwise.envs.core.fields import RULE_ONLY
from leafwise.envs.core.ranges import OneOf, Range, settle_fields

HARDNESS = (1, 2, 3, 4)
MOST_LIFE = 31
"""What a row has room for; with the booklet's tokens nobody has more than 22."""


@dataclass(frozen=True)
class Options:
    """The variant; raises ValueError for one that Friday does not have. One network serves all: it sees what they change."""

    level: Annotated[int, OneOf(HARDNESS)] = field(default=1, metadata=RULE_ONLY)
    """How hard the game is, 1 to 4."""
    scared_stacking: Annotated[str, OneOf(("each", "one"))] = field(default="each", metadata=RULE_ONLY)
    """Whether each "highest card = 0" takes a card, or all of them one."""
    empty_aging: Annotated[str, OneOf(("lose", "reshuffle_only"))] = field(default="lose", metadata=RULE_ONLY)
    """What a shuffle without an aging card left means."""
    destroy: Annotated[str, OneOf(("face_down", "immediate"))] = field(default="face_down", metadata=RULE_ONLY)
    """When a destroyed card leaves the game."""
    double_needs_source: bool = field(default=True, metadata=RULE_ONLY)
    """Whether a card is doubled by a card that is told."""
    start_life: Annotated[int, Range(0, MOST_LIFE)] = field(default=0, metadata=RULE_ONLY)
    """Life at the start; 0: that of the level."""

    def __post_init__(self) -> None:
        settle_fields(self, "friday")

    @property
    def most_life(self) -> int:
        """The most life there can be: that of the level, or the start life where it is more (an easier game)."""
        return max(20 if self.level == 4 else 22, self.start_life)
