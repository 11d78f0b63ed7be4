"""Reference players: by name, every network of a run meets them, so that its Elo means the same from start to end."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from itertools import combinations

import numpy as np

from leafwise.envs.core.contract.game import Game
from leafwise.models.players import player
from leafwise.search.players import Player
from leafwise.training.evaluation.arena import play_game
from leafwise.training.evaluation.elo import Unit, rate
from leafwise.training.runs.seeds import SELECTION_SEED, SELECTION_SEEDS

SAMPLES = 200


class ReferencePlayers:
    """Players by name; their own games are played once, the first has Elo 0."""

    def __init__(self, game: Game, names: Sequence[str], pairs: int) -> None:
        """Plays `pairs` pairs of games between every two; raises ValueError for names of no players."""
        self.game, self.names, self.pairs = game, tuple(names), pairs
        for name in names:
            player(name, game)
        self.units = [
            unit for a, b in combinations(range(len(names)), 2) for unit in self.games(a, b, self.named(a), 0)
        ]

    def named(self, k: int) -> Callable[[int], Player]:
        """Returns what makes one of them with a seed."""
        return lambda seed: player(self.names[k], self.game, seed)

    def games(self, a: int, b: int, make: Callable[[int], Player], number: int) -> list[Unit]:
        """Plays player a, made by `make`, against reference player b on the seeds of evaluation `number`."""
        units = []
        for k in range(self.pairs):
            seed = SELECTION_SEED + (number * self.pairs + k) % SELECTION_SEEDS
            own, other = make(seed), self.named(b)(seed + 1)
            scores = [
                play_game(self.game, seats, seed, seat)[0] for seat, seats in enumerate(((own, other), (other, own)))
            ]
            units.append(Unit(a, b, 1 + float(np.sign(scores).mean()), 2))
        return units

    def rating_of(self, newest: Player, number: int) -> dict[str, float]:
        """Returns what is logged: Elo of a player over the first, half its 95 % interval, points against each."""
        n = len(self.names)
        logged, units = {}, list(self.units)
        for b, name in enumerate(self.names):
            found = self.games(n, b, lambda seed: newest, number)
            units += found
            logged[f"eval/points_{tag(name)}"] = float(np.mean([u.points for u in found]) / 2)
        elo, error = rate(n + 1, units, samples=SAMPLES).difference(n, 0)
        return {"eval/ladder_elo": elo, "eval/ladder_elo_error": error, **logged}


def tag(name: str) -> str:
    """Returns a player's name without the signs that TensorBoard changes."""
    return re.sub("[^a-z0-9.+]+", "_", name.lower())
