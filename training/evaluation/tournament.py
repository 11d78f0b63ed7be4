"""A round robin between players of a game for two: paired openings, both seats, results that survive and go on."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from functools import cached_property
from itertools import combinations
from pathlib import Path
from typing import Any, get_args

import numpy as np

from leafwise.envs.core.contract.game import Game
from leafwise.envs.core.contract.state import State
from leafwise.envs.core.errors import UserError
from leafwise.training.evaluation.match_workers import Job, Maker, Outcome
from leafwise.training.evaluation.openings import CHANCE, PLAYER, derived, openings, plies_of
from leafwise.training.evaluation.results import FaultKind, GameStore
from leafwise.training.evaluation.statistics import Ratings, Unit, bounds, rate, results_interval
from leafwise.training.types import Json

KINDS: tuple[FaultKind, ...] = get_args(FaultKind)
"""Faults by which a player loses."""
MOST_GAMES, MOST_SEED = 10**7, 2**62
"""What may be asked for at most."""


Key = tuple[str, str, int]
"""The players by seat, and the round."""


def check_amounts(games: int, seed: int) -> None:
    """Raises ValueError for more games, or greater seeds, than there can be."""
    if not 1 <= games <= MOST_GAMES:
        raise UserError(f"expected 1 to {MOST_GAMES:,} games, got {games!r}")
    if not 0 <= seed <= MOST_SEED:
        raise UserError(f"expected a first seed of 0 to 2**62, got {seed!r}")


@dataclass(frozen=True)
class Played:
    """One game of a round robin."""

    first: str
    second: str
    """The players by seat."""
    round: int
    opening: str
    result: int
    """1, 0 or -1 for the first seat."""
    moves: tuple[int, int]
    seconds: tuple[float, float]
    """Spent choosing, by seat."""
    fault: dict[str, str] | None = None
    """`player`, `kind` (one of KINDS) and `what` of a player who lost by it."""
    random: bool = True
    """Whether it may go otherwise the next time from the same opening: by chance, or by a player that draws."""

    @property
    def key(self) -> Key:
        """What tells a game from all others."""
        return self.first, self.second, self.round

    @staticmethod
    def by_key(told: Sequence[Mapping[str, Any]]) -> dict[Key, Played]:
        """Returns the games that a file holds."""
        games = (Played(**{**p, "moves": tuple(p["moves"]), "seconds": tuple(p["seconds"])}) for p in told)
        return {one.key: one for one in games}

    @staticmethod
    def listed(games: Mapping[Key, Played]) -> list[Json]:
        """Returns games as a file holds them."""
        return [asdict(one) for one in games.values()]


@dataclass
class Tournament:
    """Every two players meet in `games` games: the rounds' openings, each from both seats.

    Round r begins with opening r modulo the number of openings; its chance comes from the same stream in both games.
    Where openings come again and nothing in a game is random, it is the same game again, and does not count.
    """

    game: Game
    players: tuple[str, ...]
    games: int
    """Per pair of players; even."""
    openings: int
    """Asked for."""
    plies: int
    """Random decisions of an opening."""
    seed: int
    played: GameStore[Key, Played] = field(default_factory=GameStore)

    @cached_property
    def positions(self) -> list[State]:
        """The openings."""
        return openings(self.game, self.openings, self.plies, self.seed)

    def opening(self, number: int) -> State:
        """Returns the opening of a round."""
        return self.positions[number % len(self.positions)]

    @property
    def counted(self) -> list[Played]:
        """The games that have been played, without those that are others again."""
        return [p for p in self.played.values() if p.random or p.round < len(self.positions)]

    def jobs(self) -> Iterator[Job]:
        """Yields the games still to be played, round by round, so that all pairs have played about as much."""
        for number in range(self.games // 2):
            for one, other in combinations(self.players, 2):
                for names in ((one, other), (other, one)):
                    if (*names, number) not in self.played:
                        yield self._job(names, number)

    def _job(self, names: tuple[str, str], number: int) -> Job:
        seed = self.seed + number
        own = {name: derived(seed, PLAYER + k) for k, name in enumerate(sorted(names))}
        opening = self.opening(number)
        return Job(names, opening, derived(seed, CHANCE), (own[names[0]], own[names[1]]), number)

    def add(self, job: Job, outcome: Outcome) -> Played:
        """Keeps a game that has ended."""
        lost = outcome.fault
        fault = None if lost is None else {"player": lost.player, "kind": str(lost.kind), "what": lost.what}
        seconds = (round(outcome.seconds[0], 6), round(outcome.seconds[1], 6))
        first, second = job.names
        one = Played(
            first,
            second,
            job.number,
            str(job.opening),
            outcome.result,
            outcome.moves,
            seconds,
            fault,
            outcome.random,
        )
        self.played.add(one.key, one, self.counts())
        return one

    @property
    def total(self) -> int:
        """Games of the whole round robin."""
        return self.games * len(self.players) * (len(self.players) - 1) // 2

    @property
    def complete(self) -> bool:
        """Whether every game has been played."""
        return len(self.played) == self.total

    def points(self, one: Played, player: str) -> float:
        """Returns a player's points of a game: 1, 1/2 or 0."""
        return (1 + (one.result if one.first == player else -one.result)) / 2

    def of(self, player: str, other: str | None = None) -> list[Played]:
        """Returns a player's games, against all others or one."""
        names = set(self.players) if other is None else {player, other}
        return [p for p in self.counted if player in (p.first, p.second) and {p.first, p.second} <= names]

    def units(self) -> list[Unit]:
        """Returns the games as pairs: both of a round, or the one that has been played."""
        number = {name: k for k, name in enumerate(self.players)}
        rounds: dict[tuple[str, str, int], list[Played]] = {}
        for one in self.counted:
            low, high = sorted((one.first, one.second), key=number.__getitem__)
            rounds.setdefault((low, high, one.round), []).append(one)
        return [
            Unit(number[low], number[high], sum(self.points(p, low) for p in both), len(both))
            for (low, high, _), both in sorted(rounds.items())
        ]

    def tally(self, player: str, other: str | None = None) -> Json:
        """Returns a player's games, wins, draws, losses, and its mean result (1, 0, -1) with a 95 % interval."""
        games = self.of(player, other)
        points = [self.points(p, player) for p in games]
        rounds: dict[tuple[frozenset[str], int], list[float]] = {}
        for p, point in zip(games, points, strict=True):
            rounds.setdefault((frozenset((p.first, p.second)), p.round), []).append(2 * point - 1)
        means = np.array([np.mean(both) for both in rounds.values()])
        return {
            "games": len(games),
            "wins": points.count(1.0),
            "draws": points.count(0.5),
            "losses": points.count(0.0),
            "mean": float(np.mean(means)) if len(means) else None,
            **(bounds(results_interval(means)) if len(means) else {"ci_low": None, "ci_high": None}),
        }

    def standing(self, player: str, ratings: Ratings) -> Json:
        """Returns a player's line in the table."""
        k = self.players.index(player)
        low, high = ratings.interval(k)
        spent = [
            (p.moves[s], p.seconds[s]) for p in self.of(player) for s in (0, 1) if (p.first, p.second)[s] == player
        ]
        moves = sum(m for m, _ in spent)
        faults = [p.fault for p in self.of(player) if p.fault and p.fault["player"] == player]
        return {
            "player": player,
            **self.tally(player),
            "elo": float(ratings.elo[k]),
            "elo_error": (high - low) / 2,
            "elo_low": low,
            "elo_high": high,
            "moves": moves,
            "seconds_per_move": sum(s for _, s in spent) / moves if moves else None,
            "faults": {kind: sum(f["kind"] == kind for f in faults) for kind in KINDS},
        }

    def figures(self) -> Json:
        """Returns all figures by the names that `--json` writes, the strongest player first."""
        ratings = rate(len(self.players), self.units())
        standings = [self.standing(player, ratings) for player in self.players]
        pairs = []
        for one, other in combinations(self.players, 2):
            elo, error = ratings.difference(self.players.index(one), self.players.index(other))
            pairs.append({"player": one, "opponent": other, **self.tally(one, other), "elo": elo, "elo_error": error})
        return {
            "counted": len(self.counted),
            "standings": sorted(standings, key=lambda line: -line["elo"]),
            "pairs": pairs,
            "faults": [
                {"first": p.first, "second": p.second, "round": p.round, **p.fault} for p in self.counted if p.fault
            ],
        }

    def settings(self) -> Json:
        """Returns what a file must agree on to be gone on with."""
        return {
            "game": self.game.name,
            "options": self.game.given_options,
            "plies": self.plies,
            "seed": self.seed,
        }

    def counts(self) -> Json:
        """Returns what a file says of a round robin beside its settings and games."""
        return {
            "openings": len(self.positions),
            "players": list(self.players),
            "games": self.games,
            "complete": self.complete,
        }

    def save(self) -> None:
        """Writes the file with the figures, which take a moment, if there is one."""
        if self.played.file is not None:
            self.played.save(self.counts() | self.figures())

    def keep_in(self, file: Path | None, resume: bool) -> None:
        """Keeps the games in a file from now on, and takes over those that it holds.

        Raises ValueError, saying what was expected, if they are not of this round robin.
        """
        self.played = GameStore(
            file, self.settings(), under="played", what="an arena's file", encode=Played.listed, decode=Played.by_key
        )
        self.played.begin("arena", resume)

        def refuse(what: str, expected: object, got: object) -> UserError:
            return UserError(f"arena file {str(file)!r}: expected {what} {expected!r}, got {got!r}")

        for one in self.played.values():
            if missing := {one.first, one.second} - set(self.players):
                raise refuse("its players among those named", list(self.players), sorted(missing))
            if one.round >= self.games // 2:
                raise refuse("games a pair of at least", 2 * one.round + 2, self.games)
            if one.opening != str(self.opening(one.round)):
                raise refuse("opening", str(self.opening(one.round)), one.opening)


def plan(
    game: Game,
    players: Sequence[str] | Mapping[str, Maker],
    games: int,
    *,
    openings: int | None = None,
    plies: int | None = None,
    seed: int = 1_000_000,
) -> Tournament:
    """Returns a round robin that has not begun; raises ValueError for numbers and players that make none.

    `openings` default to one per two games, `plies` to 4, or 0 in games of chance.
    """
    if game.players != 2:
        raise UserError(f"arena: expected a game for two players, got {game.name!r}")
    if len(players) < 2 or len(set(players)) != len(players):
        raise UserError(f"arena: expected at least two players, all different, got {', '.join(players) or 'none'}")
    check_amounts(games, seed)
    if games % 2:
        raise UserError(f"arena: expected an even number of games, each opening from both seats, got {games!r}")
    openings = games // 2 if openings is None else openings
    if not 1 <= openings <= games // 2:
        raise UserError(f"arena: expected 1 to {games // 2} openings for {games} games, got {openings!r}")
    return Tournament(game, tuple(players), games, openings, plies_of(game, plies), seed)
