"""A second game as the twin of a first: both are to say the same of every position."""

from __future__ import annotations

from dataclasses import dataclass

from leafwise.envs.core.check.answers import PLAYERS
from leafwise.envs.core.contract.game import Game
from leafwise.envs.core.contract.state import State


@dataclass(frozen=True)
class GameTwin:
    """Answers as a twin of plain Python does, by the rules of another game."""

    game: Game

    def read(self, text: str) -> State:
        """Returns the position that a text describes."""
        return self.game.parse(text)

    def write(self, position: State) -> str:
        """Returns the text of a position."""
        return str(position)

    def player(self, position: State) -> str:
        """Returns who acts."""
        return PLAYERS[position.current_player]

    def returns(self, position: State) -> float:
        """Returns player 0's return so far."""
        return position.returns

    def legal(self, position: State) -> tuple[str, ...]:
        """Returns the names of the legal actions."""
        return position.legal_names

    def play(self, position: State, name: str) -> State:
        """Returns where an action leads."""
        return position.play(name)

    def outcomes(self, position: State) -> list[tuple[float, State]]:
        """Returns what chance can do."""
        return position.outcomes()
