"""Publishing networks of games that no exact solver judges: the network plays games of the final seeds, beside the hand-made leaf.

A game for one is played by both on the same seeds, in a game for two they meet, each seed from both seats.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from leafwise.envs.core.contract.evaluator import Evaluator
from leafwise.envs.core.contract.game import Game
from leafwise.models.sparse import SparseNetwork
from leafwise.models.sparse_files import load_sparse
from leafwise.search.engine import Search
from leafwise.search.players import Player, RandomPlayer, SearchPlayer
from leafwise.training.evaluation.arena import play_game
from leafwise.training.evaluation.elo import bootstrap_interval
from leafwise.training.publish.card import interval, seeds_line
from leafwise.training.runs.seeds import FINAL_SEED

WHAT, UNIT, load = "value network", "steps", load_sparse
OPTIONS = ("games",)
GAMES = (400, 100)
"""Games at depth 1, 2 unless the options say others."""


def prepare(network: SparseNetwork, source: Path, told: Any, config: Any) -> tuple[SparseNetwork, dict[str, Any]]:
    """Returns the network, and what hand-made leaf it is held against; random play where the game has none."""
    return network, {"hand_made": network.game.default_score}


def measure(network: SparseNetwork, config: Any) -> Iterator[dict[str, Any]]:
    """Yields the mean return by depth: of both leaves in a game for one, of the network against the other in a game for two."""
    game, leaf = network.game, network.evaluator("learned")
    other = game.score() if game.scores else None
    for depth, games in enumerate(config.games or GAMES, start=1):
        found: dict[str, Any] = {"depth": depth, "games": games, "players": game.players, "first_seed": FINAL_SEED}
        if game.players == 2:
            found["learned"] = figures_of(meetings(game, leaf, other, depth, games))
        else:
            found["learned"], found["hand_made"] = (figures_of(alone(game, x, depth, games)) for x in (leaf, other))
        print(f"depth {depth}: mean return {found['learned']['mean']:,.3f}", flush=True)
        yield found


def seated(game: Game, leaf: Evaluator | None, depth: int) -> Player:
    """Returns a search with a leaf, or random play where there is none."""
    return RandomPlayer() if leaf is None else SearchPlayer(Search(game, leaf, depth, all_values=False), leaf.name)


def alone(game: Game, leaf: Evaluator | None, depth: int, games: int) -> list[float]:
    """Returns the return of each game."""
    player = seated(game, leaf, depth)
    return [play_game(game, [player], seed, 0)[0] for seed in range(FINAL_SEED, FINAL_SEED + games)]


def meetings(game: Game, leaf: Evaluator, other: Evaluator | None, depth: int, games: int) -> list[float]:
    """Returns the mean return of the two games of each seed, one from either seat."""
    own, rival = seated(game, leaf, depth), seated(game, other, depth)
    tables = ((own, rival), (rival, own))
    seeds = range(FINAL_SEED, FINAL_SEED + games // 2)
    return [float(np.mean([play_game(game, table, seed, k)[0] for k, table in enumerate(tables)])) for seed in seeds]


def figures_of(scores: list[float]) -> dict[str, float]:
    """Returns a mean with its 95 % interval."""
    low, high = bootstrap_interval(np.array(scores))
    return {"mean": float(np.mean(scores)), "ci_low": low, "ci_high": high}


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
            f"Mean result against {other} in the same search, a win 1, a loss -1, with 95 % bootstrap intervals:",
            "",
            "| search depth | games | mean |",
            "|---|---|---|",
            *(f"| {s['depth']} | {s['games']} | {interval(s['learned'], '.3f')} |" for s in told["score"]),
        ]
    else:
        lines = [
            "Mean return in the same search on the same seeds, with 95 % bootstrap intervals:",
            "",
            f"| search depth | games | learned | {other} |",
            "|---|---|---|---|",
        ]
        for s in told["score"]:
            learned, by_hand = (interval(s[name], ",.3f") for name in ("learned", "hand_made"))
            lines.append(f"| {s['depth']} | {s['games']} | {learned} | {by_hand} |")
    most = max(s["games"] for s in told["score"]) // first["players"]
    return [*lines, "", f"Games have {seeds_line(FINAL_SEED, FINAL_SEED + most - 1)}."]
