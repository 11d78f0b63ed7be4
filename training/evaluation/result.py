"""What came of a player's games: their scores, how sure the mean is, how long moves took, who gave games away."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from leafwise.training.evaluation.elo import Unit, rate
from leafwise.training.evaluation.intervals import Interval, returns_interval
from leafwise.training.evaluation.kept_games import NO_PACE, Pace

FaultKind = Literal["crash", "hang", "illegal", "forfeit"]


@dataclass(frozen=True)
class Fault:
    """How a player lost a game other than on the board."""

    player: str
    seed: int
    """Of the game's chance."""
    seat: int
    """Where it sat: 0 first, 1 second."""
    kind: FaultKind
    what: str
    """Why, in one line."""
    report: str = ""
    """More lines for who wrote the player: a traceback, the position."""


@dataclass(frozen=True)
class Evaluation:
    """Games of one player, alone or against an opponent, in the order of their seeds."""

    player: str
    first_seed: int
    scores: NDArray[np.float64]
    """Returns of the player, [games]; against an opponent each seed is played from both seats, first seat first."""
    best_cells: NDArray[np.int64]
    """Highest rank on the final board of each game, [games]; 0 in games without ranks."""
    moves: int
    seconds_per_move: float
    """Time to choose, averaged over all moves of the player."""
    opponent: str | None = None
    records: tuple[str, ...] = ()
    """Every game as text (`leafwise.envs.core.play.gamefile`), where it was to be kept."""
    pace: Pace = NO_PACE
    """Time of the player's turns."""
    opponent_pace: Pace = NO_PACE
    faults: tuple[Fault, ...] = ()
    """The games that a player gave away, in the order of their seeds."""
    return_range: tuple[float, float] = (-np.inf, np.inf)
    """Of the game: it says what kind of interval the mean has."""
    asked: int = 0
    """Games that were asked for, where there are fewer different ones than that."""
    plies: int = 0
    """Random decisions that the games against an opponent begin with."""
    openings: int = 0
    """Different positions that they begin with."""

    @property
    def mean(self) -> float:
        """Mean return."""
        return float(self.scores.mean())

    @property
    def by_seed(self) -> NDArray[np.float64]:
        """Mean return per seed, [seeds]: the unit that is drawn independently."""
        return self.scores if self.opponent is None else self.scores.reshape(-1, 2).mean(axis=1)

    def interval(self) -> Interval:
        """Returns the 95 % interval of the mean over seeds, by `leafwise.training.evaluation.intervals.returns_interval`.

        Both bounds are nan where all scores are alike, but for games that are won, drawn or lost.
        """
        return returns_interval(self.by_seed, self.return_range)

    def elo(self) -> tuple[float, float]:
        """Returns the Elo difference to the opponent and half its 95 % interval, by the module `elo`."""
        units = [Unit(0, 1, 1 + float(mean), 2) for mean in np.sign(self.scores).reshape(-1, 2).mean(axis=1)]
        return rate(2, units).difference(0, 1)
