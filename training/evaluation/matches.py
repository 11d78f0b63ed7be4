"""Games between networks as pieces of work: matches of the sequential test, games for one, games against reference players."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import chain, islice
from typing import Any

import numpy as np
from numpy.typing import NDArray

from leafwise.envs.core.contract.game import Game
from leafwise.envs.core.interrupts import stoppable
from leafwise.models.network import Learned
from leafwise.models.players import player
from leafwise.search.engine import Search
from leafwise.search.players import Player, SearchPlayer
from leafwise.training.evaluation.arena import Start, play_game
from leafwise.training.execution.executor import Executor, Shared
from leafwise.training.games.kernels import kernels, new_table
from leafwise.training.games.solo import Played, play_solo, seeds_from
from leafwise.training.runs.seeds import SELECTION_SEED, SELECTION_SEEDS


@dataclass(frozen=True)
class Pairs:
    """Games of two networks from openings, each from both seats."""

    networks: Shared[tuple[Learned, Learned]]
    places: range
    """Which of the selection seeds the openings have."""
    depth: int
    plies: int
    rare: float
    candidates: str | None
    from_start: float = 0.0
    """Share of the openings that are the game's start: the first of the places."""

    def __call__(self) -> NDArray[np.float64]:
        """Returns the results of the first network, [openings, 2], first seat first."""
        newest, best = self.networks.get()
        game, evaluator = newest.game, newest.evaluator("newest")
        new, old = (game.tables(e, self.candidates) for e in (evaluator, best.evaluator("best")))
        keys = (SELECTION_SEED + np.array(self.places) % SELECTION_SEEDS).astype(np.uint64)
        results = np.zeros((len(keys), 2))
        table = new_table(game, self.depth, 0, evaluator, rare=self.rare)
        play_matches, plain = kernels(game, evaluator).play_matches, round(self.from_start * len(keys))
        for some, plies in ((slice(plain), 0), (slice(plain, None), self.plies)):
            play = partial(play_matches, table, keys[some], results[some], self.depth, plies, new, old)
            stoppable(play, new.stop, old.stop)
        return results


@dataclass(frozen=True)
class Alone:
    """Games of one network in a variant of a game for one."""

    network: Shared[Learned]
    game: Game
    first_seed: int
    games: int
    depth: int
    nodes: int

    def __call__(self) -> Played:
        """Returns the games."""
        leaf = self.network.get().evaluator("newest")
        return play_solo(self.game, leaf, self.first_seed, self.games, depth=self.depth, nodes=self.nodes)


def play_alone(
    line: Executor[Any, Any],
    network: Learned,
    wanted: Sequence[tuple[Game, int, int]],
    first_seed: int,
    nodes: int,
) -> Iterator[Played]:
    """Yields the games of a network in variants of a game for one: variant, games and depth are wanted, in this order."""
    own = line.share(network)
    pieces = [
        [Alone(own, game, seeds[0], len(seeds), depth, nodes) for seeds in seeds_from(first_seed, games)]
        for game, games, depth in wanted
    ]
    found = line.in_order(enumerate(chain(*pieces)))
    for parts in pieces:
        yield Played.joined(list(islice(found, len(parts))))


@dataclass(frozen=True)
class NetworkPlayer:
    """Makes a search with a network."""

    network: Shared[Learned]
    depth: int
    options: dict[str, Any]

    def __call__(self, seed: int) -> Player:
        """Returns the player; it draws nothing at random."""
        network = self.network.get()
        search = Search(network.game, network.evaluator("newest"), self.depth, all_values=False, **self.options)
        return SearchPlayer(search, "newest")


@dataclass(frozen=True)
class NamedPlayer:
    """Makes a player that a text names."""

    game: Game
    text: str

    def __call__(self, seed: int) -> Player:
        """Returns the player."""
        return player(self.text, self.game, seed)


@dataclass(frozen=True)
class Meetings:
    """Games of two players, each opening from both seats."""

    game: Game
    own: NetworkPlayer | NamedPlayer
    other: NamedPlayer
    starts: Sequence[Start]

    def __call__(self) -> list[float]:
        """Returns the points of the first player from each opening, 0 to 2."""
        newest = self.own(0) if isinstance(self.own, NetworkPlayer) else None
        found = []
        for seed, start in self.starts:
            own, other = newest or self.own(seed), self.other(seed + 1)
            seats = (own, other), (other, own)
            scores = [play_game(self.game, both, seed, k, opening=start).score for k, both in enumerate(seats)]
            found.append(1 + float(np.sign(scores).mean()))
        return found
