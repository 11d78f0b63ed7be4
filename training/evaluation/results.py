"""Results of games: scores with intervals, times of moves, faults; and their storage in a file.

Stopped evaluations, round robins and studies resume from the file.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, NamedTuple, TypeVar

import numpy as np

from leafwise.envs.core.arrays import Floats, Ints
from leafwise.envs.core.errors import UserError
from leafwise.envs.core.files import is_stream, read_text, write_named
from leafwise.training.evaluation.statistics import GamePair, Interval, points_and_wins, rate, returns_interval
from leafwise.training.types import Json

FaultKind = Literal["crash", "hang", "illegal", "forfeit"]


class TurnTimes(NamedTuple):
    """Times of a player's turns. A turn is all decisions that it makes in a row."""

    turns: int = 0
    seconds: float = 0.0
    longest: float = 0.0
    """Seconds of the longest turn."""

    def after(self, seconds: float, turn: float, begins: bool) -> TurnTimes:
        """Adds a decision of a turn that has taken `turn` seconds so far; `begins`: it is the turn's first decision."""
        return TurnTimes(self.turns + begins, self.seconds + seconds, max(self.longest, turn))

    @staticmethod
    def of_all(paces: Iterable[TurnTimes]) -> TurnTimes:
        """Combines the times of several games."""
        turns, seconds, longest = zip(*paces, strict=True)
        return TurnTimes(sum(turns), sum(seconds), max(longest))


NO_TIMES = TurnTimes()


class GameFigures(NamedTuple):
    """Figures of one game of the player."""

    score: float
    """Return of the player."""
    best_cell: int
    moves: int
    seconds: float
    """Time of the player to choose."""
    record: str = ""
    """The game as text, if requested."""
    pace: TurnTimes = NO_TIMES
    """Times of the player."""
    opponent_pace: TurnTimes = NO_TIMES
    loser: int = -1
    """Who lost by a fault: 0 the player, 1 the opponent, -1 nobody."""
    fault: str = ""
    """The fault in lines; the first line gives the reason."""

    @staticmethod
    def of_json(entry: Sequence[Any]) -> GameFigures:
        """Decodes the figures of a file."""
        figures = GameFigures(*entry)
        return figures._replace(pace=TurnTimes(*figures.pace), opponent_pace=TurnTimes(*figures.opponent_pace))

    @staticmethod
    def by_seed(batches: Json) -> dict[int, list[GameFigures]]:
        """Decodes the batches of games of a file, by their first seeds."""
        return {int(seed): [GameFigures.of_json(one) for one in batch] for seed, batch in batches.items()}


@dataclass(frozen=True)
class Fault:
    """Fault that lost a game: crash, timeout or illegal action."""

    player: str
    seed: int
    """Seed of the game's chance."""
    seat: int
    """Seat of the player: 0 first, 1 second."""
    kind: FaultKind
    what: str
    """Reason, in one line."""
    report: str = ""
    """More lines for the player's author: traceback, position."""


@dataclass(frozen=True)
class Evaluation:
    """Games of one player, alone or against an opponent, in the order of their seeds."""

    player: str
    first_seed: int
    scores: Floats
    """Returns of the player, [games]; against an opponent each seed is played from both seats, first seat first."""
    best_cells: Ints
    """Highest rank on the final board of each game, [games]; 0 in games without ranks."""
    moves: int
    seconds_per_move: float
    """Time to choose, averaged over all moves of the player."""
    opponent: str | None = None
    records: tuple[str, ...] = ()
    """Every game as text (`leafwise.envs.core.play.gamefile`), with `keep=True`."""
    pace: TurnTimes = NO_TIMES
    """Time of the player's turns."""
    opponent_pace: TurnTimes = NO_TIMES
    faults: tuple[Fault, ...] = ()
    """The games that a player gave away, in the order of their seeds."""
    return_range: tuple[float, float] = (-np.inf, np.inf)
    """Lowest and highest return of the game. They decide which kind of interval the mean has."""
    asked: int = 0
    """Requested number of games; `scores` has fewer if there are not that many different ones."""
    plies: int = 0
    """Random decisions that the games against an opponent begin with."""
    openings: int = 0
    """Different positions that they begin with."""

    @property
    def mean(self) -> float:
        """Mean return."""
        return float(self.scores.mean())

    @property
    def by_seed(self) -> Floats:
        """Mean return for each seed, [seeds], the independent unit."""
        return self.scores if self.opponent is None else self.scores.reshape(-1, 2).mean(axis=1)

    def interval(self) -> Interval:
        """Returns the 95 % interval of the mean over seeds, by `leafwise.training.evaluation.statistics.returns_interval`.

        If all scores are equal, both bounds are nan, except in games that are won, drawn or lost.
        """
        return returns_interval(self.by_seed, self.return_range)

    def told_points(self) -> Json:
        """Returns points a game and the share of games won against an opponent, with intervals, by the names that files have."""
        wins = (self.scores > 0).reshape(-1, 2).mean(axis=1)
        return points_and_wins(self.by_seed, wins, self.return_range)

    def elo(self) -> tuple[float, float]:
        """Returns the Elo difference to the opponent and half its 95 % interval, by `leafwise.training.evaluation.statistics`."""
        units = [GamePair(0, 1, 1 + float(mean), 2) for mean in np.sign(self.scores).reshape(-1, 2).mean(axis=1)]
        return rate(2, units).difference(0, 1)


SAVE_SECONDS = 2.0
"""Minimum time between two writes of the file while games are played."""
K = TypeVar("K")
V = TypeVar("V")


class GameStore(dict[K, V]):
    """Stores games or results by key: a seed, the players and the round, or a name.

    The file is a JSON object with the entries of `about`, which identify the games, and the games `under` a name ("": the games
    alone). `encode` and `decode` convert the games. A file with other entries is refused, or with `anew` replaced at the first
    write.
    """

    def __init__(
        self,
        file: Path | None = None,
        about: Mapping[str, Any] | None = None,
        *,
        under: str = "",
        what: str = "kept results",
        encode: Callable[[Mapping[K, V]], Any] = dict,
        decode: Callable[[Any], Mapping[K, V]] = dict,
        indent: int | None = None,
    ) -> None:
        super().__init__()
        self.file, self.about, self.under, self.what = (
            None if file is None else Path(file),
            dict(about or {}),
            under,
            what,
        )
        self._encode, self._decode, self._indent = encode, decode, indent
        self._saved = time.monotonic()

    def begin(self, who: str, resume: bool) -> None:
        """Loads the games of the file, if it exists; raises ValueError for a file that cannot be resumed."""
        if self.file is not None and self.file.is_dir():
            raise UserError(f"{who}: expected a file, got the folder {str(self.file)!r}")
        if self.file is None or not self.file.exists() or is_stream(self.file):
            return
        if not resume:
            raise UserError(f"{who}: expected a new file, or to resume, got {str(self.file)!r}, which exists")
        self.read(self.file)

    def read(self, path: Path, *, anew: bool = False) -> None:
        """Loads the games of a file; for a file of other games it raises ValueError, or with `anew` loads none."""
        try:
            old = json.loads(read_text(path))
            wrong = [(name, value, old.get(name)) for name, value in self.about.items() if old.get(name) != value]
            games = {} if wrong and anew else self._decode(old[self.under] if self.under else old)
        except (ValueError, KeyError, TypeError, AttributeError) as problem:
            reason = f"no {problem}" if isinstance(problem, KeyError) else str(problem)
            raise UserError(f"expected {self.what}, got {str(path)!r}: {reason:.120}") from None
        for name, value, got in wrong[: not anew]:
            raise UserError(f"{str(path)!r}: expected {name} {value!r}, got {got!r:.120}")
        self.update(games)

    def add(self, key: K, games: V, beside: Json | None = None) -> None:
        """Adds games. A file gets them shortly after; a device or pipe gets them at the end."""
        self[key] = games
        if self.file and time.monotonic() - self._saved > SAVE_SECONDS and not is_stream(self.file):
            self.save(beside)

    def keep(self, key: K, games: V, line: str = "") -> None:
        """Adds a result, writes the file at once, and prints a line."""
        self[key] = games
        self.save()
        print(line or f"{key} {games}", flush=True)

    def find(self, key: K, work: Callable[[], V]) -> V:
        """Returns the result of a name; computes and stores it if it is unknown."""
        if key not in self:
            self.keep(key, work())
        return self[key]

    def save(self, beside: Json | None = None) -> None:
        """Writes the whole file, if there is one."""
        if self.file is not None:
            games = self._encode(self)
            everything = {**self.about, **(beside or {}), self.under: games} if self.under else games
            write_named(self.file, (json.dumps(everything, indent=self._indent) + "\n").encode())
        self._saved = time.monotonic()


def missing_seeds(done: int, games: int, most: int, first: int) -> Iterator[range]:
    """Yields the seeds of the remaining games, in groups of a maximum size."""
    while done < games:
        block = range(first + done, first + min(done + most, games))
        yield block
        done += len(block)
