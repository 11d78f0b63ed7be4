"""Games of networks as jobs: matches of the sequential test, single-player games, games against reference players.

Every evaluated network of a run plays the same reference players, so that its Elo has the same meaning throughout the run.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import chain, combinations, islice
from typing import Any

import numpy as np

from leafwise.envs.core.arrays import Floats
from leafwise.envs.core.contract.evaluator import Evaluator
from leafwise.envs.core.contract.game import Game
from leafwise.envs.core.interrupts import stoppable
from leafwise.models.network import Learned
from leafwise.models.players import player
from leafwise.search.engine import Search
from leafwise.search.players import Player, SearchPlayer, draws
from leafwise.training.batches import PlayOptions, SideBySide, batches_side_by_side
from leafwise.training.evaluation.arena import Start, play_game, starts_of
from leafwise.training.evaluation.openings import plies_of
from leafwise.training.evaluation.statistics import GamePair, rate
from leafwise.training.execution import in_pieces
from leafwise.training.execution.executor import Executor, Ref
from leafwise.training.games import BATCH, PlayedGames, kernels, new_table, play_solo
from leafwise.training.runs import SELECTION_SEED, SELECTION_SEEDS
from leafwise.training.types import Json, Logged


def play_pairs(
    networks: Ref[tuple[Learned, Learned]],
    openings: range,
    depth: int,
    plies: int,
    rare: float,
    candidates: str | None,
    from_start: float = 0.0,
) -> Floats:
    """Returns the results of the first network against the second, [openings, 2], first seat first.

    `openings` are indices into the selection seeds. The first share `from_start` of them begins at the game's start.
    """
    newest, best = networks.get()
    game, evaluator = newest.game, newest.evaluator("newest")
    if evaluator.value is None:
        return pairs_side_by_side(
            (evaluator, best.evaluator("best")), openings, game, depth, plies, candidates, from_start
        )
    new, old = (game.tables(e, candidates) for e in (evaluator, best.evaluator("best")))
    keys = (SELECTION_SEED + np.array(openings) % SELECTION_SEEDS).astype(np.uint64)
    results = np.zeros((len(keys), 2))
    table = new_table(game, depth, 0, evaluator, rare=rare)
    play_matches, plain = kernels(game, evaluator).play_matches, round(from_start * len(keys))
    for some, most in ((slice(plain), 0), (slice(plain, None), plies)):
        play = partial(play_matches, table, keys[some], results[some], depth, most, None, new, old)
        stoppable(play, new.stop, old.stop)
    return results


def pairs_side_by_side(
    evaluators: Sequence[Evaluator],
    openings: range,
    game: Game,
    depth: int,
    plies: int,
    candidates: str | None,
    from_start: float,
) -> Floats:
    """`play_pairs` for leaves that value batches."""
    keys = (SELECTION_SEED + np.array(openings) % SELECTION_SEEDS).astype(np.uint64).repeat(2)
    most = np.where(np.arange(len(keys)) < 2 * round(from_start * len(openings)), 0, plies)
    seats = np.arange(len(keys)) % 2
    games = SideBySide(game, evaluators, depth, candidates=candidates).play(keys, 1 - seats, PlayOptions(most))
    return (games.outcomes * (1 - 2 * seats)).reshape(-1, 2)


def _alone(network: Ref[Learned], game: Game, seeds: range, depth: int, nodes: int) -> PlayedGames:
    """Returns games of one network in a variant of a single-player game."""
    evaluator = network.get().evaluator("newest")
    if evaluator.value is not None:
        return play_solo(game, evaluator, seeds[0], len(seeds), depth=depth, nodes=nodes)
    return PlayedGames.joined(list(batches_side_by_side(game, evaluator, seeds, len(seeds), depth=depth, nodes=nodes)))


def play_alone(
    channel: Executor[Any, Any],
    network: Learned,
    requests: Sequence[tuple[Game, int, int]],
    first_seed: int,
    nodes: int,
) -> Iterator[PlayedGames]:
    """Yields the games of a network in variants of a single-player game; a request is (variant, games, depth)."""
    shared = channel.share(network)
    pieces = [
        [
            partial(_alone, shared, game, seeds, depth, nodes)
            for seeds in in_pieces(range(first_seed, first_seed + games), BATCH)
        ]
        for game, games, depth in requests
    ]
    results = channel.in_order(enumerate(chain(*pieces)))
    for parts in pieces:
        yield PlayedGames.joined(list(islice(results, len(parts))))


@dataclass(frozen=True)
class NetworkPlayer:
    """Makes a search with a network."""

    network: Ref[Learned]
    depth: int
    options: Json

    def __call__(self, seed: int) -> Player:
        """Returns the player; it draws nothing at random."""
        network = self.network.get()
        search = Search(network.game, network.evaluator("newest"), self.depth, all_values=False, **self.options)
        return SearchPlayer(search, "newest")


@dataclass(frozen=True)
class NamedPlayer:
    """Makes the player that a text names."""

    game: Game
    text: str

    def __call__(self, seed: int) -> Player:
        """Returns the player."""
        return player(self.text, self.game, seed)


def meet(game: Game, players: Sequence[NetworkPlayer | NamedPlayer], starts: Sequence[Start]) -> Floats:
    """Plays games of one player alone, or of two players with each opening from both seats.

    Returns the first player's returns from each opening, [openings, seats].
    """
    known = [make(0) if isinstance(make, NetworkPlayer) else None for make in players]
    returns = []
    for seed, start in starts:
        seats = [who or make(seed + k) for k, (who, make) in enumerate(zip(known, players, strict=True))]
        tables = enumerate((seats, seats[::-1])[: len(seats)])
        returns.append([play_game(game, table, seed, k, opening=start).score for k, table in tables])
    return np.array(returns)


SAMPLES = 200
BLOCK = 5
"""Number of pairs of games in a job."""


class ReferencePlayers:
    """Reference players by name; the games among them are played once, and the first has Elo 0."""

    def __init__(self, game: Game, names: Sequence[str], pairs: int, channel: Executor[Any, Any]) -> None:
        """Any two of them play `pairs` pairs of games on the executor `line`; raises ValueError for unknown players."""
        self.game, self.names, self.pairs, self.channel = game, tuple(names), pairs, channel
        self.draws = [draws(player(name, game)) for name in names]
        self.units: list[GamePair] | None = None

    def games(
        self, meetings: Sequence[tuple[int, int, NetworkPlayer | NamedPlayer]], number: int
    ) -> list[list[GamePair]]:
        """Plays games in both seats; a meeting is (player a, reference player b, maker of player a).

        Seeds and openings are those of evaluation `number`; no two games between players that draw nothing are the same.
        """
        pieces = []
        first, plies = SELECTION_SEED + number * self.pairs % SELECTION_SEEDS, plies_of(self.game, None)
        for a, b, challenger in meetings:
            other = NamedPlayer(self.game, self.names[b])
            drawing = self.draws[b] or (isinstance(challenger, NamedPlayer) and self.draws[a])
            starts = starts_of(self.game, 2 * self.pairs, first, plies, drawing)[0]
            pieces += [
                ((a, b), partial(meet, self.game, (challenger, other), some)) for some in in_pieces(starts, BLOCK)
            ]
        units: dict[tuple[int, int], list[GamePair]] = {(a, b): [] for a, b, _ in meetings}
        results = self.channel.in_order(enumerate(piece for _, piece in pieces))
        for (pair, _), returns in zip(pieces, results, strict=True):
            units[pair] += [GamePair(*pair, 1 + float(mean), 2) for mean in np.sign(returns).mean(axis=1)]
        return list(units.values())

    def rating_of(self, newest: Learned, depth: int, options: Json, number: int) -> Logged:
        """Returns the logged values: Elo of a search over the first player, half its 95 % interval, points against each."""
        n = len(self.names)
        if self.units is None:
            meetings = [(a, b, NamedPlayer(self.game, self.names[a])) for a, b in combinations(range(n), 2)]
            self.units = [unit for units in self.games(meetings, 0) for unit in units]
        logged, played = {}, list(self.units)
        challenger = NetworkPlayer(self.channel.share(newest), depth, options)
        for b, units in enumerate(self.games([(n, b, challenger) for b in range(n)], number)):
            played += units
            tag = re.sub("[^a-z0-9.+]+", "_", self.names[b].lower())  # TensorBoard replaces other characters
            logged[f"eval/points_{tag}"] = float(np.mean([u.points for u in units]) / 2)
        elo, error = rate(n + 1, played, samples=SAMPLES).difference(n, 0)
        return {"eval/ladder_elo": elo, "eval/ladder_elo_error": error, **logged}
