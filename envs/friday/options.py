"""What can be chosen in Friday."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from leafwise.envs.core.contract.options import RULE_ONLY, need_one_of
from leafwise.envs.core.errors import UserError

CHOICES: dict[str, tuple[Any, ...]] = {
    "level": (1, 2, 3, 4),
    "scared_stacking": ("each", "one"),
    "empty_aging": ("lose", "reshuffle_only"),
    "destroy": ("face_down", "immediate"),
    "double_needs_source": (True, False),
}
MOST_LIFE = 31
"""What a row has room for; with the booklet's tokens nobody has more than 22."""


@dataclass(frozen=True)
class Options:
    """The variant; raises ValueError for one that Friday does not have. `CHOICES` lists what each may be.

    One network serves all of them: it sees what they change.
    """

    level: int = field(default=1, metadata=RULE_ONLY)
    """How hard the game is, 1 to 4."""
    scared_stacking: str = field(default="each", metadata=RULE_ONLY)
    """Whether each "highest card = 0" takes a card, or all of them one."""
    empty_aging: str = field(default="lose", metadata=RULE_ONLY)
    """What a shuffle without an aging card left means."""
    destroy: str = field(default="face_down", metadata=RULE_ONLY)
    """When a destroyed card leaves the game."""
    double_needs_source: bool = field(default=True, metadata=RULE_ONLY)
    """Whether a card is doubled by a card that is told."""
    start_life: int = field(default=0, metadata=RULE_ONLY)
    """Life at the start, 1 to MOST_LIFE; 0: that of the level."""

    def __post_init__(self) -> None:
        need_one_of("friday", self, CHOICES)
        given = self.start_life
        if type(given) is not int or not 0 <= given <= MOST_LIFE:
            raise UserError(
                f"friday: expected start_life of 1 to {MOST_LIFE}, or 0 for that of the level, got {given!r}"
            )

    @property
    def most_life(self) -> int:
        """The most life there can be: that of the level, or the start life where it is more (an easier game)."""
        return max(20 if self.level == 4 else 22, self.start_life)
