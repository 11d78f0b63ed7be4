"""Comparisons of searches with each other and with perfect play: games, leaves and players."""

from __future__ import annotations

import inspect
from collections.abc import Collection, Mapping
from typing import Any, NamedTuple

from leafwise.envs.core.contract.game import Game
from leafwise.envs.core.ranges import need_among
from leafwise.envs.registry import game as find_game
from leafwise.experiments.study import digest_of
from leafwise.models.files import need_shipped
from leafwise.search.mcts import Mcts

SEARCH, MCTS, ROLLOUTS = "search", "mcts", "rollouts"


class Contest(NamedTuple):
    """A variant, its games by milliseconds a move, and their openings."""

    name: str
    options: Mapping[str, Any]
    games: Mapping[int, int]
    plies: int = 0
    """Maximum random decisions of openings, in two-player games."""


CONTESTS = {
    "Threes": Contest("threes", {}, {1: 100, 10: 60, 100: 30}),
    "Friday, level 4": Contest("friday", {"level": 4}, {1: 400, 10: 100, 100: 20}),
    "Starship": Contest("starship", {}, {1: 200, 10: 100, 100: 60}),
    "Trap": Contest("trap", {}, {1: 200, 10: 200, 100: 100}, 4),
    "Connect Four": Contest("trilobite", {"board": "7x6", "k": 4}, {1: 200, 10: 200, 100: 100}, 6),
    "Sim on 8 points": Contest("cassis", {"n": 8}, {1: 200, 10: 200, 100: 100}, 4),
}
ROLLOUTS_MS = 10
"""Maximum milliseconds a move of rollouts."""
LEAVES = {"learned": "learned,", "hand-made": ""}
"""Leaves, and how they stand in a player's text."""
TREE_OPTIONS = ("exploration", "scale", "temperature")
"""Options of tree searches with their defaults."""
PROOFS = "proofs"
"""A further one, in games without chance."""


def variant(label: str) -> Game:
    """Returns the game of a contest."""
    return find_game(CONTESTS[label].name, **CONTESTS[label].options)


def text(kind: str, leaf: str, ms: int = 0, depth: int = 0) -> str:
    """Returns a player's text with processor time for each decision, or a depth."""
    front = "rollout:n=1," if kind == ROLLOUTS else LEAVES[leaf]
    effort = f"depth={depth}" if depth else f"seconds={ms / 1000:g},clock=cpu"
    return f"{SEARCH if kind == SEARCH else MCTS}:{front}{effort}"


def mcts_defaults(game: Game) -> str:
    """Returns the default options of tree searches in a game; other defaults give other results."""
    known = inspect.signature(Mcts).parameters
    return ",".join(
        f"{name}={known[name].default}" for name in (TREE_OPTIONS if game.max_outcomes else (*TREE_OPTIONS, PROOFS))
    )


def about(game: Game, leaf: str, *, trees: bool) -> dict[str, Any]:
    """Returns what identifies a player besides its text: hash of the network (None for a hand-made leaf), search defaults."""
    what = {"model": digest_of(need_shipped(game)) if LEAVES[leaf] else None}
    return what | ({"mcts": mcts_defaults(game)} if trees else {})


def check_names(games: Collection[str], leaves: Collection[str]) -> None:
    """Raises ValueError for an unknown game or leaf."""
    for flag, given, known in (("--games", games, CONTESTS), ("--leaves", leaves, LEAVES)):
        for name in given:
            need_among(name, known, flag)
