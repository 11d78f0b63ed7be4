"""What a Monte Carlo tree search answers."""

from __future__ import annotations

from dataclasses import dataclass, field

from leafwise.search.result import Result


@dataclass(frozen=True)
class MctsResult(Result):
    """What a Monte Carlo tree search found. The value of an action is the mean of its simulations, for the player to move,
    within what is proven of it.

    `depth` is the most actions on the way of one simulation. `line` are the actions taken most often; it is looked up when first
    asked for, or when the tree is about to change.
    """

    visits: dict[int, int] = field(default_factory=dict)
    """Simulations by action id, those of earlier searches included where the tree goes on."""
    simulations: int = 0
    """Simulations of this search."""
    proven: bool = False
    """Whether the value is exact, in a game without chance: no simulation could change it."""

    @property
    def chosen(self) -> int:
        """Id of the action; a tree search is asked for decisions alone."""
        assert self.action is not None
        return self.action

    @property
    def action_visits(self) -> dict[str, int]:
        """Simulations by action, by name."""
        return {self.state.game.actions[a]: n for a, n in self.visits.items()}
