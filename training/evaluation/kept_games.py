"""The games of an evaluation in a file, as they are played: one that was stopped goes on from there."""

from __future__ import annotations

import json
import time
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from leafwise.envs.core.errors import UserError
from leafwise.envs.core.textfile import read_text
from leafwise.envs.core.writing import is_stream, write_named

SAVE_SECONDS = 2.0
"""Between two times that games are written."""


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


class KeptGames:
    """Batches of games by the seed that each begins with, in memory and, where there is one, in a file."""

    def __init__(self, file: Path | None, about: Mapping[str, Any], *, resume: bool = False) -> None:
        """Begins with no games, or with those of the file; `about` is what a file must agree on to be gone on with.

        Raises ValueError for a file that is there and not to be gone on with, or that holds something else.
        """
        self.file, self.about = file, dict(about)
        self.batches: dict[int, list[Figures]] = {}
        self._saved = time.monotonic()
        if file is None or not file.exists() or is_stream(file):
            return
        if not resume:
            raise UserError(f"evaluate: expected a new file, or to resume, got {str(file)!r}, which is there")
        try:
            old = json.loads(read_text(file))
            self.batches = {
                int(seed): [Figures.of_json(one) for one in batch] for seed, batch in old["batches"].items()
            }
        except (ValueError, KeyError, TypeError, AttributeError) as problem:
            raise UserError(f"expected the games of an evaluation, got {str(file)!r}: {problem!s:.120}") from None
        for name, expected in self.about.items():
            if old.get(name) != expected:
                raise UserError(f"{str(file)!r}: expected {name} {expected!r}, got {old.get(name)!r:.120}")

    def has(self, seed: int, games: int) -> bool:
        """Whether so many games of the batch that begins with a seed are there."""
        return len(self.batches.get(seed, ())) >= games

    def add(self, seed: int, batch: Sequence[Figures]) -> None:
        """Keeps a batch; the file has it a moment later, a device or a pipe at the end."""
        self.batches[seed] = list(batch)
        if time.monotonic() - self._saved > SAVE_SECONDS and not (self.file and is_stream(self.file)):
            self.save()

    def save(self) -> None:
        """Writes the file, if there is one."""
        if self.file is not None:
            batches = {str(seed): self.batches[seed] for seed in sorted(self.batches)}
            write_named(self.file, (json.dumps({**self.about, "batches": batches}) + "\n").encode())
        self._saved = time.monotonic()
