"""Publishing networks of games that no exact solver judges: the network plays games of the final seeds, beside the hand-made leaf.

A game for one is played by both on the same seeds, in a game for two they meet, each seed from both seats.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from leafwise.envs.core.contract.evaluator import Evaluator
from leafwise.envs.core.contract.game import Game
from leafwise.models.sparse import SparseNetwork, load_sparse
from leafwise.search.engine import Search
from leafwise.search.players import Player, RandomPlayer, SearchPlayer
from leafwise.training.evaluation.arena import BATCH, Start, play_game, starts_of
from leafwise.training.evaluation.openings import plies_of
from leafwise.training.evaluation.statistics import bounds, returns_interval
from leafwise.training.execution import executor_for
from leafwise.training.execution.executor import Shared
from leafwise.training.execution.generations import call
from leafwise.training.publish.card import interval, seeds_line
from leafwise.training.runs import FINAL_SEED

WHAT, UNIT, load = "value network", "steps", load_sparse
OPTIONS = ("games",)
GAMES = (400, 100)
"""Games at depth 1, 2 unless the options say others."""


def prepare(network: SparseNetwork, source: Path, told: Any, config: Any) -> tuple[SparseNetwork, dict[str, Any]]:
    """Returns the network, and what hand-made leaf it is held against; random play where the game has none."""
    return network, {"hand_made": network.game.default_score}


def measure(network: SparseNetwork, config: Any) -> Iterator[dict[str, Any]]:
    """Yields the mean return by depth: of both leaves in a game for one, of the network against the other in a game for two."""
    game, hand_made = network.game, network.game.default_score or ""
    with executor_for(call, config.processes, config.cluster) as executor:
        own = executor.share(network)
        for depth, games in enumerate(config.games or GAMES, start=1):
            found: dict[str, Any] = {"depth": depth, "games": games, "players": game.players, "first_seed": FINAL_SEED}
            starts = starts_for(game, games, hand_made)
            found["games"] = game.players * len(starts)
            leaves = {"learned": own} if game.players == 2 else {"learned": own, "hand_made": None}
            for name, leaf in leaves.items():
                pieces = [
                    Seeds(game, leaf, hand_made, depth, starts[k : k + BATCH]) for k in range(0, len(starts), BATCH)
                ]
                parts = executor.in_order(enumerate(pieces))
                found[name] = figures_of(game, [score for part in parts for score in part])
            print(f"depth {depth}: mean return {found['learned']['mean']:,.3f}", flush=True)
            yield found


def starts_for(game: Game, games: int, hand_made: str) -> list[Start]:
    """Returns the seeds and positions that games begin with, in a game for two no more than there are different games."""
    if game.players == 2:
        return starts_of(game, games, FINAL_SEED, plies_of(game, None), drawing=not hand_made)[0]
    start = game.start()
    return [(seed, start) for seed in range(FINAL_SEED, FINAL_SEED + games)]


def seated(game: Game, leaf: Evaluator | None, depth: int, seed: int) -> Player:
    """Returns a search with a leaf, or random play, which draws from `seed`, where there is none."""
    return RandomPlayer(seed) if leaf is None else SearchPlayer(Search(game, leaf, depth, all_values=False), leaf.name)


@dataclass(frozen=True)
class Seeds:
    """A piece of work: the games of some seeds, of a network or the hand-made leaf alone, or of both against each other."""

    game: Game
    network: Shared[SparseNetwork] | None
    hand_made: str
    depth: int
    starts: Sequence[Start]

    def __call__(self) -> list[float]:
        """Returns the return of each game, in a game for two the mean of those from either seat."""
        game = self.game
        other = game.score(self.hand_made) if self.hand_made else None
        leaf = self.network.get().evaluator("learned") if self.network else other
        first = self.starts[0][0]
        player = seated(game, leaf, self.depth, first)
        if game.players == 1:
            return [play_game(game, [player], seed, 0, opening=start).score for seed, start in self.starts]
        rival = seated(game, other, self.depth, first)
        tables = ((player, rival), (rival, player))
        return [
            float(np.mean([play_game(game, table, seed, k, opening=start).score for k, table in enumerate(tables)]))
            for seed, start in self.starts
        ]


def figures_of(game: Game, returns: list[float]) -> dict[str, float | None]:
    """Returns the mean return, of each seed one, with its 95 % interval."""
    return {"mean": float(np.mean(returns)), **bounds(returns_interval(np.array(returns), game.return_range))}


def about(path: Path, told: dict[str, Any]) -> list[str]:
    """Returns what the model is."""
    layers, size = ", ".join(map(str, told["hidden"])), path.stat().st_size / 1e6
    return [f"A network with a sparse first layer, layers {layers}, {size:.2f} MB."]


def made(told: dict[str, Any]) -> list[str]:
    """Returns how the model was chosen."""
    return ["- chosen by games on selection seeds"]


def figures(told: dict[str, Any]) -> list[str]:
    """Returns the table of figures."""
    first, other = told["score"][0], f"hand-made (`{told['hand_made']}`)" if told["hand_made"] else "random play"
    if first["players"] == 2:
        lines = [
            f"Mean result against {other} in the same search, a win 1, a loss -1, with 95 % intervals:",
            "",
            "| search depth | games | mean |",
            "|---|---|---|",
            *(f"| {s['depth']} | {s['games']} | {interval(s['learned'], '.3f')} |" for s in told["score"]),
        ]
    else:
        lines = [
            "Mean return in the same search on the same seeds, with 95 % intervals:",
            "",
            f"| search depth | games | learned | {other} |",
            "|---|---|---|---|",
        ]
        for s in told["score"]:
            learned, by_hand = (interval(s[name], ",.3f") for name in ("learned", "hand_made"))
            lines.append(f"| {s['depth']} | {s['games']} | {learned} | {by_hand} |")
    most = max(s["games"] for s in told["score"]) // first["players"]
    return [*lines, "", f"Games have {seeds_line(FINAL_SEED, FINAL_SEED + most - 1)}."]
