"""Plays games between named players, with paired seeds and 95 % intervals.

`evaluate` plays one player alone or against another. `arena` plays a round robin with paired openings and both seats; it tolerates
faulty players and can be resumed.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from functools import cached_property
from itertools import combinations
from pathlib import Path
from typing import get_args

import numpy as np

from leafwise.envs.core.contract.features import cell_values
from leafwise.envs.core.contract.game import Game
from leafwise.envs.core.contract.state import State
from leafwise.envs.core.contract.stream import new_stream
from leafwise.envs.core.errors import Forfeit, UserError, short
from leafwise.envs.core.play.gamefile import GameRecorder
from leafwise.envs.core.play.players import play_out
from leafwise.envs.core.ranges import Range, is_number_in
from leafwise.envs.registry import as_game
from leafwise.models.players import player
from leafwise.search.players import Player, draws, load_code
from leafwise.search.search_options import MAX_SECONDS
from leafwise.training.evaluation.match_workers import Maker, MatchJob, MatchOutcome, from_text, matches_for, unseen
from leafwise.training.evaluation.openings import CHANCE, PLAYER, derived, plies_of
from leafwise.training.evaluation.openings import openings as distinct_openings
from leafwise.training.evaluation.results import (
    NO_TIMES,
    Evaluation,
    Fault,
    FaultKind,
    GameFigures,
    GameStore,
    TurnTimes,
)
from leafwise.training.evaluation.statistics import (
    GamePair,
    Ratings,
    bounds,
    elo_difference,
    points_and_wins,
    rate,
    returns_interval,
)
from leafwise.training.execution import check_backend, executor_for, in_pieces
from leafwise.training.runs import FINAL_SEED
from leafwise.training.types import Json

__all__ = ["FINAL_SEED", "Evaluation", "arena", "check", "elo_difference", "evaluate"]

BATCH = 5
"""Seeds per task. Each task creates new players, so the result does not depend on the number of processes."""


def play_game(
    game: Game, seats: Sequence[Player], seed: int, seat: int, keep: bool = False, opening: State | None = None
) -> GameFigures:
    """Plays one game from an opening (default: the start); returns the figures of the player at `seat`.

    A player that forfeits loses. Chance and players take their random numbers from `seed`; a player gets the same ones in either
    seat. A player with a `dealer` settles chance itself: a baseline that sees what is hidden. A player's `begin`, if any, is
    called before the game. `keep`: the figures contain the game as text.
    """
    for k, who in enumerate(seats):
        if begin := getattr(who, "begin", None):
            begin()
        if hasattr(who, "stream"):
            who.stream = new_stream(derived(seed, PLAYER + (k != seat)))
    stream, start = new_stream(seed), game.start() if opening is None else opening
    recorder = GameRecorder(start, [who.name for who in seats], seed)
    paces, moves, latest, last, turn = [NO_TIMES] * len(seats), 0, start, -1, 0.0

    def choose(state: State) -> int:
        nonlocal moves, latest, last, turn
        latest, at = state, state.current_player
        started = time.perf_counter()
        try:
            action = seats[at].choose(state)
        finally:
            spent, begins = time.perf_counter() - started, at != last
            last, turn = at, spent if begins else turn + spent
            paces[at] = paces[at].after(spent, turn, begins)
        moves += at == seat
        return action

    text, loser, fault = "", -1, ""
    try:
        if keep:
            latest = recorder.play_out(choose, stream)
            text = str(recorder.record())
        else:
            latest = play_out(start, choose, dealer_of(seats[seat], seed) or (lambda state: state.settle(stream)))
        returns = latest.returns
    except Forfeit as problem:
        at = latest.current_player
        returns, loser, fault = game.return_range[at], int(at != seat), "\n".join([str(problem), *problem.report])
        text = str(recorder.record(f"player {at + 1}: forfeit: {problem}", returns)) if keep else ""
    times, opponent_times = paces[seat], paces[1 - seat] if len(seats) > 1 else NO_TIMES
    score, cells = returns if seat == 0 else -returns, game.features.get("ntuple")
    best_cell = max(cell_values(cells, latest.row, game.tables())) if cells is not None else 0
    return GameFigures(score, best_cell, moves, times.seconds, text, times, opponent_times, loser, fault)


def dealer_of(who: Player, seed: int) -> Callable[[State], State] | None:
    """Returns the function that settles chance for a player with a `dealer`; None for other players."""
    dealer = getattr(who, "dealer", None)
    return None if dealer is None else dealer(seed)


Start = tuple[int, State]
"""Seed of a game, or of two games against an opponent, and the position at its start."""


@dataclass(frozen=True)
class PlayBatch:
    """Job: plays one game per seed, or two against an opponent, first with the player in the first seat."""

    game: Game
    text: str
    opponent: str | None = None
    keep: bool = False

    def warm(self) -> None:
        """Loads the compiled code."""
        for name in filter(None, (self.text, self.opponent)):
            loaded(name, self.game, 0)

    def __call__(self, starts: Sequence[Start]) -> list[GameFigures]:
        """Returns the games, in the order of their starts."""
        game, first = self.game, starts[0][0]
        candidate = loaded(self.text, game, first)
        if self.opponent is None:
            return [play_game(game, [candidate], seed, 0, self.keep, start) for seed, start in starts]
        opponent = loaded(self.opponent, game, first + 1)
        both = (candidate, opponent), (opponent, candidate)
        return [
            play_game(game, seats, seed, k, self.keep, start) for seed, start in starts for k, seats in enumerate(both)
        ]


def loaded(text: str, game: Game, seed: int) -> Player:
    """Returns a player whose code is loaded."""
    who = player(text, game, seed=seed)
    load_code(who, game.new(seed))
    return who


def check(
    game: Game,
    text: str,
    games: int,
    first_seed: int,
    opponent: str | None,
    processes: int,
    *,
    plies: int | None = None,
    keep: bool = False,
    cluster: str = "",
    file: Path | None = None,
    resume: bool = False,
) -> GameStore[int, list[GameFigures]]:
    """Checks the arguments of `evaluate`; returns the batches of games that the file holds, by their first seeds.

    Raises ValueError for wrong arguments and for a file of other games.
    """
    check_amounts(games, first_seed)
    check_backend(processes, cluster)
    if (opponent is None) != (game.players == 1):
        expected = "no opponent" if game.players == 1 else "an opponent"
        raise UserError(f"evaluate: expected {expected} in {game.name!r}, got {opponent!r}")
    if games % game.players:
        raise UserError(f"evaluate: expected an even number of games, each seed from both seats, got {games!r}")
    if opponent is None and plies:
        raise UserError(f"evaluate: expected no plies in {game.name!r}, a single-player game, got {plies!r}")
    for name in (text, opponent):
        if name is not None and dealer_of(player(name, game), first_seed) is not None and keep:
            raise UserError(f"evaluate: expected a fair player to keep its games, got {name!r}")
    if opponent is not None:
        distinct_openings(game, 1, plies_of(game, plies), first_seed)
    about = {"game": game.name, "options": game.given_options, "player": text, "opponent": opponent, "records": keep}
    begins = {"plies": (plies_of(game, plies) if opponent is not None else 0) or None}
    kept: GameStore[int, list[GameFigures]] = GameStore(
        file,
        about | begins,
        under="batches",
        what="the games of an evaluation",
        encode=lambda batches: dict(sorted(batches.items())),
        decode=GameFigures.by_seed,
    )
    kept.begin("evaluate", resume)
    return kept


def starts_of(game: Game, games: int, first_seed: int, plies: int, drawing: bool) -> tuple[list[Start], int]:
    """Returns the openings for games of two players, two games each, and the number of different openings.

    In a game without chance, two players that draw nothing (`drawing`) play each opening once, because a repeat would be the same
    game.
    """
    seeds = range(first_seed, first_seed + games // 2)
    if game.max_stages and not plies:
        start = game.start()
        return [(seed, start) for seed in seeds], 1
    positions = distinct_openings(game, len(seeds), plies, first_seed)
    if not game.max_stages and not drawing:
        seeds = seeds[: len(positions)]
    return [(seed, positions[k % len(positions)]) for k, seed in enumerate(seeds)], len(positions)


def evaluate(
    game: str | Game,
    text: str,
    games: int,
    first_seed: int = FINAL_SEED,
    *,
    opponent: str | None = None,
    plies: int | None = None,
    processes: int = 1,
    cluster: str = "",
    progress: Callable[[int], None] = lambda done: None,
    keep: bool = False,
    file: Path | None = None,
    resume: bool = False,
) -> Evaluation:
    """Plays games with seeds from `first_seed` on; a two-player game needs an opponent and an even number of games.

    The same seed starts the same game for every player. Against an opponent each seed is played from both seats. Games against an
    opponent begin with `plies` random decisions (default: 4, or none in games of chance). In a game without chance no two of
    these openings are equal or symmetric. If there are fewer openings than pairs of games, players that draw random numbers repeat
    openings. All other players play fewer games than `games`.

    `progress` gets the number of finished games; `keep` stores every game as text. `processes` and `cluster` say where they are
    played, as for `leafwise.executor_for`, and change no game. With `file` each game is written to that file when it ends, and
    `resume` plays only the games that are missing there. Raises ValueError for arguments that do not fit, and for a file of other
    games.
    """
    game = as_game(game)
    # Starts: seeds alone, or openings that are played from both seats
    where: Json = {"cluster": cluster, "file": file, "resume": resume}
    kept = check(game, text, games, first_seed, opponent, processes, plies=plies, keep=keep, **where)
    opening_count = 0
    if opponent is None:
        start = game.start()
        starts = [(seed, start) for seed in range(first_seed, first_seed + games)]
    else:
        drawing = any(draws(player(name, game)) for name in (text, opponent))
        starts, opening_count = starts_of(game, games, first_seed, plies_of(game, plies), drawing)
    # Jobs, without those whose games are in the file
    pieces = [(some[0][0], some) for some in in_pieces(starts, BATCH)]
    missing = [(seed, batch) for seed, batch in pieces if len(kept.get(seed, ())) < game.players * len(batch)]
    done = game.players * (len(starts) - sum(len(batch) for _, batch in missing))
    # Play, and save the finished games even after an error
    try:
        with executor_for(PlayBatch(game, text, opponent, keep), processes, cluster, len(missing)) as executor:
            for seed, batch in executor.stream(missing):
                kept.add(seed, batch)
                done += len(batch)
                progress(done)
    finally:
        kept.save()
    # Combine all games, in the order of their seeds
    played = [one for seed, batch in pieces for one in kept[seed][: game.players * len(batch)]]
    moves = sum(p.moves for p in played)
    return Evaluation(
        player=text,
        first_seed=first_seed,
        scores=np.array([p.score for p in played]),
        best_cells=np.array([p.best_cell for p in played]),
        moves=moves,
        seconds_per_move=sum(p.seconds for p in played) / max(moves, 1),
        opponent=opponent,
        records=tuple(p.record for p in played) if keep else (),
        pace=TurnTimes.of_all(p.pace for p in played),
        opponent_pace=TurnTimes.of_all(p.opponent_pace for p in played),
        faults=tuple(faults(played, (text, opponent or ""), first_seed, game.players)),
        return_range=game.return_range,
        asked=games,
        plies=plies_of(game, plies) if opponent is not None else 0,
        openings=opening_count,
    )


def faults(played: Sequence[GameFigures], names: tuple[str, str], first_seed: int, players: int) -> Iterator[Fault]:
    """Yields the faults that lost games, in the order of the seeds; `names` are the names of player and opponent."""
    for k, one in enumerate(played):
        if one.loser >= 0:
            what, _, report = one.fault.partition("\n")
            yield Fault(
                names[one.loser], first_seed + k // players, (k % players + one.loser) % 2, "forfeit", what, report
            )


KINDS: tuple[FaultKind, ...] = get_args(FaultKind)
"""Kinds of faults that lose a game."""
MOST_GAMES, MOST_SEED = 10**7, 2**62
"""Maximum number of games, and maximum seed."""


Key = tuple[str, str, int]
"""The players by seat, and the round."""


def check_amounts(games: int, seed: int) -> None:
    """Raises ValueError for too many games or too large seeds."""
    if not is_number_in(games, Range(1, MOST_GAMES), int):
        raise UserError(f"expected 1 to {MOST_GAMES:,} games, got {games!r}")
    if not is_number_in(seed, Range(0, MOST_SEED), int):
        raise UserError(f"expected a first seed of 0 to 2**62, got {seed!r}")


@dataclass(frozen=True)
class ArenaGame:
    """One game of a round robin."""

    first: str
    second: str
    """The players by seat."""
    round: int
    opening: str
    result: float
    """For the first seat 1, 0 or -1, or the return where games are worth more than that."""
    moves: tuple[int, int]
    seconds: tuple[float, float]
    """Time to choose, by seat."""
    fault: dict[str, str] | None = None
    """`player`, `kind` (one of KINDS) and `what` of the fault that lost the game."""
    random: bool = True
    """Whether another game from the same opening may differ: by chance, or by a player that draws."""

    @property
    def key(self) -> Key:
        """Key of the game."""
        return self.first, self.second, self.round

    @staticmethod
    def by_key(entries: Sequence[Json]) -> dict[Key, ArenaGame]:
        """Decodes the games of a file."""
        games = (ArenaGame(**{**p, "moves": tuple(p["moves"]), "seconds": tuple(p["seconds"])}) for p in entries)
        return {one.key: one for one in games}

    @staticmethod
    def listed(games: Mapping[Key, ArenaGame]) -> list[Json]:
        """Encodes games for a file."""
        return [asdict(one) for one in games.values()]


@dataclass
class Tournament:
    """A round robin: every two players play `games` games, each opening from both seats.

    Round r begins with opening r modulo the number of openings. Its two games draw chance from the same stream. If nothing is
    random, a repeated opening gives the same game again. Such repeats do not count.
    """

    game: Game
    players: tuple[str, ...]
    games: int
    """Per pair of players; even."""
    openings: int
    """Requested number of openings."""
    plies: int
    """Number of random decisions in an opening."""
    seed: int
    played: GameStore[Key, ArenaGame] = field(default_factory=GameStore)

    @cached_property
    def positions(self) -> list[State]:
        """The openings."""
        return distinct_openings(self.game, self.openings, self.plies, self.seed)

    def opening(self, number: int) -> State:
        """Returns the opening of a round."""
        return self.positions[number % len(self.positions)]

    @property
    def counted(self) -> list[ArenaGame]:
        """The games played so far, without duplicates."""
        return [p for p in self.played.values() if p.random or p.round < len(self.positions)]

    def jobs(self) -> Iterator[MatchJob]:
        """Yields the remaining games round by round, so that all pairs have played about the same number."""
        for number in range(self.games // 2):
            for one, other in combinations(self.players, 2):
                for names in ((one, other), (other, one)):
                    if (*names, number) not in self.played:
                        seed = self.seed + number
                        player_seeds = {name: derived(seed, PLAYER + k) for k, name in enumerate(sorted(names))}
                        seeds = player_seeds[names[0]], player_seeds[names[1]]
                        yield MatchJob(names, self.opening(number), derived(seed, CHANCE), seeds, number)

    def add(self, job: MatchJob, outcome: MatchOutcome) -> ArenaGame:
        """Records a finished game."""
        lost = outcome.fault
        fault = None if lost is None else {"player": lost.player, "kind": str(lost.kind), "what": lost.what}
        seconds = (round(outcome.seconds[0], 6), round(outcome.seconds[1], 6))
        first, second = job.names
        one = ArenaGame(
            first, second, job.number, str(job.opening), outcome.result, outcome.moves, seconds, fault, outcome.random
        )
        self.played.add(one.key, one, self.counts())
        return one

    @property
    def total(self) -> int:
        """Number of games of the whole round robin."""
        return self.games * len(self.players) * (len(self.players) - 1) // 2

    @property
    def complete(self) -> bool:
        """Whether every game has been played."""
        return len(self.played) == self.total

    def points(self, one: ArenaGame, player: str) -> float:
        """Returns a player's points of a game: 1, 1/2 or 0."""
        return float(1 + np.sign(self.worth(one, player))) / 2

    def worth(self, one: ArenaGame, player: str) -> float:
        """Returns the result of a game for a player."""
        return one.result if one.first == player else -one.result

    def of(self, player: str, other: str | None = None) -> list[ArenaGame]:
        """Returns a player's games, against all others or one."""
        names = set(self.players) if other is None else {player, other}
        return [p for p in self.counted if player in (p.first, p.second) and {p.first, p.second} <= names]

    def units(self) -> list[GamePair]:
        """Returns the games in pairs: both games of a round, or the one that is finished."""
        number = {name: k for k, name in enumerate(self.players)}
        rounds: dict[tuple[str, str, int], list[ArenaGame]] = {}
        for one in self.counted:
            low, high = sorted((one.first, one.second), key=number.__getitem__)
            rounds.setdefault((low, high, one.round), []).append(one)
        return [
            GamePair(number[low], number[high], sum(self.points(p, low) for p in both), len(both))
            for (low, high, _), both in sorted(rounds.items())
        ]

    def tally(self, player: str, other: str | None = None) -> Json:
        """Returns a player's games, wins, draws, losses, its mean result, points a game and share of wins, with 95 % intervals.

        Results are 1, 0 and -1, or returns where games are worth more than that.
        """
        games = self.of(player, other)
        points = [self.points(p, player) for p in games]
        rounds: dict[tuple[frozenset[str], int], list[float]] = {}
        for p in games:
            rounds.setdefault((frozenset((p.first, p.second)), p.round), []).append(self.worth(p, player))
        means = np.array([np.mean(both) for both in rounds.values()])
        wins = np.array([np.mean([worth > 0 for worth in both]) for both in rounds.values()])
        span = self.game.return_range if self.game.stake > 1 else (-1.0, 1.0)
        return {
            "games": len(games),
            "wins": points.count(1.0),
            "draws": points.count(0.5),
            "losses": points.count(0.0),
            "mean": float(np.mean(means)) if len(means) else None,
            **(bounds(returns_interval(means, span)) if len(means) else {"ci_low": None, "ci_high": None}),
            **points_and_wins(means, wins, span),
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
        """Returns the settings that a file must share to be resumed."""
        return {"game": self.game.name, "options": self.game.given_options, "plies": self.plies, "seed": self.seed}

    def counts(self) -> Json:
        """Returns further contents of the file beside settings and games."""
        return {
            "openings": len(self.positions),
            "players": list(self.players),
            "games": self.games,
            "complete": self.complete,
        }

    def save(self) -> None:
        """Writes the file, if there is one, with games and figures."""
        if self.played.file is not None:
            self.played.save(self.counts() | self.figures())

    def keep_in(self, file: Path | None, resume: bool) -> None:
        """Stores the games in a file from now on, and loads those that it holds.

        Raises ValueError if they are not of this round robin.
        """
        self.played = GameStore(
            file,
            self.settings(),
            under="played",
            what="an arena's file",
            encode=ArenaGame.listed,
            decode=ArenaGame.by_key,
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
    """Returns a new round robin; raises ValueError for wrong numbers or players.

    `openings` default to one per two games, `plies` to 4, or 0 in games of chance.
    """
    if game.players != 2:
        raise UserError(f"arena: expected a two-player game, got {game.name!r}")
    names = list(players) if isinstance(players, Collection) and not isinstance(players, str) else [players]
    if len(names) < 2 or not all(isinstance(name, str) for name in names) or len(set(names)) != len(names):
        given = ", ".join(name if isinstance(name, str) else short(repr(name)) for name in names)
        raise UserError(f"arena: expected at least two players, all different, got {given or 'none'}")
    check_amounts(games, seed)
    if games % 2:
        raise UserError(f"arena: expected an even number of games, each opening from both seats, got {games!r}")
    openings = games // 2 if openings is None else openings
    if not is_number_in(openings, Range(1, games // 2), int):
        raise UserError(f"arena: expected 1 to {games // 2} openings for {games} games, got {openings!r}")
    return Tournament(game, tuple(players), games, openings, plies_of(game, plies), seed)


def arena(
    game: str | Game,
    players: Sequence[str] | Mapping[str, Maker],
    games: int = 200,
    *,
    openings: int | None = None,
    plies: int | None = None,
    seed: int = FINAL_SEED,
    seconds: float = 60.0,
    processes: int = 1,
    cluster: str = "",
    file: Path | None = None,
    resume: bool = False,
    progress: Callable[[Tournament, ArenaGame], None] = lambda tournament, played: None,
) -> Tournament:
    """Plays a round robin: every two players meet in `games` games, from random openings, each played from both seats.

    Players are texts, or names with functions (game, seed) -> Player that other processes can import. A player that crashes,
    takes more than `seconds` for a move, or chooses no legal action loses that game. With `file` each game is written to that
    file when it ends, and `resume` plays only the games that are missing there. `progress` is called after every game. Every
    player runs in a process that imports the caller's script anew, so a script calls this below `if __name__ == "__main__":`.
    Raises ValueError for arguments that do not make a round robin.
    """
    tournament, makers = ready(
        as_game(game),
        players,
        games,
        openings=openings,
        plies=plies,
        seed=seed,
        seconds=seconds,
        processes=processes,
        cluster=cluster,
        file=file,
        resume=resume,
    )
    run(tournament, makers, seconds, processes, progress, cluster=cluster)
    return tournament


def ready(
    game: Game,
    players: Sequence[str] | Mapping[str, Maker],
    games: int,
    *,
    openings: int | None,
    plies: int | None,
    seed: int,
    seconds: float,
    processes: int,
    file: Path | None,
    resume: bool,
    cluster: str = "",
) -> tuple[Tournament, Mapping[str, Maker]]:
    """Checks all arguments of `arena`; returns the round robin with the games of the file, and its players' makers."""
    tournament = plan(game, players, games, openings=openings, plies=plies, seed=seed)
    tournament.opening(0)
    check_backend(processes, cluster)
    if not is_number_in(seconds, Range(0, MAX_SECONDS, above=True)):
        raise UserError(f"arena: expected seconds above 0 and at most {MAX_SECONDS:,.0f}, got {seconds!r}")
    tournament.keep_in(file, resume)
    if isinstance(players, Mapping):
        return tournament, players
    for text in players:
        player(text, game)
    return tournament, {text: from_text(text) for text in players}


def run(
    tournament: Tournament,
    makers: Mapping[str, Maker],
    seconds: float,
    processes: int,
    progress: Callable[[Tournament, ArenaGame], None],
    keep: Callable[[str], None] | None = None,
    cluster: str = "",
) -> None:
    """Plays the remaining games. The file of `ready` gets all finished games, also after an error.

    `keep` is called with every game as text.
    """
    try:
        jobs = [job._replace(keep=keep is not None) for job in tournament.jobs()]
        with matches_for(tournament.game, makers, seconds, len(jobs), processes, cluster) as executor:
            for number, outcome in executor.stream(enumerate(jobs)):
                if keep is not None:
                    keep(outcome.record or str(unseen(jobs[number], outcome)))
                progress(tournament, tournament.add(jobs[number], outcome))
    finally:
        tournament.save()
