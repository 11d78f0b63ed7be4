"""What came of a player's games: their scores, how sure the mean is, how long moves took, who gave games away."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from leafwise.training.evaluation.elo import Unit, rate
from leafwise.training.evaluation.intervals import Interval, returns_interval

FaultKind = Literal["crash", "hang", "illegal", "forfeit"]


class Pace(NamedTuple):
    """How long a player took for its turns: the decisions that it made in a row."""

    turns: int = 0
    seconds: float = 0.0
    longest: float = 0.0
    """Seconds of the longest turn."""

    def after(self, seconds: float, turn: float, begins: bool) -> Pace:
        """Returns it with a decision more, of a turn that is now `turn` seconds long; `begins`: it was the first of it."""
        return Pace(self.turns + begins, self.seconds + seconds, max(self.longest, turn))

    @staticmethod
    def of_all(paces: Iterable[Pace]) -> Pace:
        """Returns that of several games."""
        turns, seconds, longest = zip(*paces, strict=True)
        return Pace(sum(turns), sum(seconds), max(longest))


NO_PACE = Pace()


class Figures(NamedTuple):
    """One game of the player in question."""

    score: float
    """Its return."""
    best_cell: int
    moves: int
    seconds: float
    """Of the player, to choose."""
    record: str = ""
    """The game as text, where it is kept."""
    pace: Pace = NO_PACE
    """Of the player."""
    opponent_pace: Pace = NO_PACE
    loser: int = -1
    """Who gave the game away: 0 the player, 1 the opponent, -1 nobody."""
    fault: str = ""
    """How, in lines, the first of which says why."""

    @staticmethod
    def of_json(told: Sequence[Any]) -> Figures:
        """Returns the figures that a file holds."""
        found = Figures(*told)
        return found._replace(pace=Pace(*found.pace), opponent_pace=Pace(*found.opponent_pace))

    @staticmethod
    def by_seed(told: Mapping[str, Any]) -> dict[int, list[Figures]]:
        """Returns the batches of games that a file holds, by the seed that each begins with."""
        return {int(seed): [Figures.of_json(one) for one in batch] for seed, batch in told.items()}


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
