"""What can be chosen in Trap."""

from __future__ import annotations

from dataclasses import dataclass, field

from leafwise.envs.core.contract.options import RULE_ONLY, SHOWN_ONLY, need_one_of, need_whole

MIN_SIZE, MAX_SIZE, MOST_TURNS = 3, 9, 60_000
SELF_TRAP = ("immediate", "deferred")


@dataclass(frozen=True)
class Options:
    """The variant; raises ValueError for one that Trap does not have."""

    size: int = 7
    """Side of the board, MIN_SIZE to MAX_SIZE."""
    self_trap: str = field(default="immediate", metadata=RULE_ONLY)
    """When a player who has trapped itself has lost, one of SELF_TRAP."""
    max_turns: int | None = field(default=None, metadata=RULE_ONLY)
    """The turn after which the game is a draw, 1 to MOST_TURNS; None: four for each cell."""
    observe_turn: bool = field(default=False, metadata=SHOWN_ONLY)
    """Whether the observation tells the turns that are left until then."""

    def __post_init__(self) -> None:
        need_whole("trap", self, {"size": (MIN_SIZE, MAX_SIZE)})
        if self.max_turns is not None:
            need_whole("trap", self, {"max_turns": (1, MOST_TURNS)})
        need_one_of("trap", self, {"self_trap": SELF_TRAP, "observe_turn": (False, True)})

    @property
    def last_turn(self) -> int:
        """The turn after which the game is a draw."""
        return 4 * self.size**2 if self.max_turns is None else self.max_turns
