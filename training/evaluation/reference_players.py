"""Reference players: by name, every network of a run meets them, so that its Elo means the same from start to end."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import combinations
from typing import Any

import numpy as np

from leafwise.envs.core.contract.game import Game
from leafwise.models.network import Learned
from leafwise.models.players import player
from leafwise.search.players import draws
from leafwise.training.evaluation.arena import starts_of
from leafwise.training.evaluation.elo import Unit, rate
from leafwise.training.evaluation.matches import Meetings, NamedPlayer, NetworkPlayer
from leafwise.training.evaluation.openings import plies_of
from leafwise.training.execution.executor import Executor
from leafwise.training.runs.seeds import SELECTION_SEED, SELECTION_SEEDS

SAMPLES = 200
BLOCK = 5
"""Pairs of games in a piece of work."""


class ReferencePlayers:
    """Players by name; their own games are played once, the first has Elo 0."""

    def __init__(self, game: Game, names: Sequence[str], pairs: int, line: Executor[Any, Any]) -> None:
        """Any two of them are to play `pairs` pairs of games, on `line`; raises ValueError for names of no players."""
        self.game, self.names, self.pairs, self.line = game, tuple(names), pairs, line
        self.draws = [draws(player(name, game)) for name in names]
        self.units: list[Unit] | None = None

    def games(self, meetings: Sequence[tuple[int, int, NetworkPlayer | NamedPlayer]], number: int) -> list[list[Unit]]:
        """Plays the games of player a, made by the last of each meeting, against reference player b, first and second.

        Seeds and openings are those of evaluation `number`; no two games between players that draw nothing are the same.
        """
        pieces = []
        first, plies = SELECTION_SEED + number * self.pairs % SELECTION_SEEDS, plies_of(self.game, None)
        for a, b, own in meetings:
            other = NamedPlayer(self.game, self.names[b])
            drawing = self.draws[b] or (isinstance(own, NamedPlayer) and self.draws[a])
            starts = starts_of(self.game, 2 * self.pairs, first, plies, drawing)[0]
            for k in range(0, len(starts), BLOCK):
                pieces.append(((a, b), Meetings(self.game, own, other, starts[k : k + BLOCK])))
        units: dict[tuple[int, int], list[Unit]] = {(a, b): [] for a, b, _ in meetings}
        found = self.line.in_order(enumerate(piece for _, piece in pieces))
        for (pair, _), points in zip(pieces, found, strict=True):
            units[pair] += [Unit(*pair, point, 2) for point in points]
        return list(units.values())

    def rating_of(self, newest: Learned, depth: int, options: dict[str, Any], number: int) -> dict[str, float]:
        """Returns what is logged: Elo over the first of a search with a network, half its 95 % interval, points against each."""
        n = len(self.names)
        if self.units is None:
            own = [(a, b, NamedPlayer(self.game, self.names[a])) for a, b in combinations(range(n), 2)]
            self.units = [unit for units in self.games(own, 0) for unit in units]
        logged, found = {}, list(self.units)
        challenger = NetworkPlayer(self.line.share(newest), depth, options)
        for b, units in enumerate(self.games([(n, b, challenger) for b in range(n)], number)):
            found += units
            logged[f"eval/points_{tag(self.names[b])}"] = float(np.mean([u.points for u in units]) / 2)
        elo, error = rate(n + 1, found, samples=SAMPLES).difference(n, 0)
        return {"eval/ladder_elo": elo, "eval/ladder_elo_error": error, **logged}


def tag(name: str) -> str:
    """Returns a player's name without the signs that TensorBoard changes."""
    return re.sub("[^a-z0-9.+]+", "_", name.lower())
