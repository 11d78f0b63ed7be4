"""Leafwise: board and card games with exact rules, fast depth-limited search, and learned values at its leaves.

env = gymnasium.make("leafwise/Threes-v0")
search = leafwise.Search(leafwise.game("threes"), leafwise.load("threes"), depth=2)
"""

from __future__ import annotations

import importlib
import os
from typing import TYPE_CHECKING, Any

from leafwise import envs
from leafwise.envs import aec
from leafwise.envs.reference import reference
from leafwise.envs.registry import game, games, register_game, set_makers
from leafwise.registration import register_when_there

if TYPE_CHECKING:
    from leafwise.envs.core.check.checking import check_game
    from leafwise.envs.core.check.fault import ContractError
    from leafwise.envs.core.contract.evaluator import Evaluator
    from leafwise.envs.core.contract.game import Game
    from leafwise.envs.core.contract.state import State
    from leafwise.envs.core.play.gamefile import load_game
    from leafwise.models.leaves import leaf
    from leafwise.search import Result, Search
    from leafwise.search.players import Player

__version__ = "0.1.0"

__all__ = [
    "ContractError",
    "Evaluator",
    "Game",
    "Player",
    "Result",
    "Search",
    "State",
    "aec",
    "check_game",
    "envs",
    "game",
    "games",
    "leaf",
    "load",
    "load_game",
    "player",
    "reference",
    "register_game",
    "score",
]

_HOMES = {
    "ContractError": "leafwise.envs.core.check.fault",
    "Evaluator": "leafwise.envs.core.contract.evaluator",
    "Game": "leafwise.envs.core.contract.game",
    "leaf": "leafwise.models.leaves",
    "Player": "leafwise.search.players",
    "Result": "leafwise.search",
    "Search": "leafwise.search",
    "State": "leafwise.envs.core.contract.state",
    "check_game": "leafwise.envs.core.check.checking",
    "load_game": "leafwise.envs.core.play.gamefile",
}
"""Public names that are imported when they are first used, and where they live: they bring numba along."""

register_when_there()


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        return getattr(importlib.import_module(_HOMES[name]), name)
    if name in ("search", "models", "training", "experiments"):
        return importlib.import_module(f"leafwise.{name}")
    raise AttributeError(f"module 'leafwise' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})


def score(game_name: str, score_name: str | None = None, /, **options: object) -> Evaluator:
    """Returns a hand-made evaluator (default: the game's own); raises ValueError if there is no such score."""
    return game(game_name, **options).score(score_name)


def load(source: str | os.PathLike[str], game: str | Game = "") -> Evaluator:
    """Returns a trained model as a leaf evaluator.

    `source` is the name of a model that ships with leafwise (`threes`, `cassis8`), a run folder, a `.safetensors` file, or one of
    the Hugging Face Hub: `hf://OWNER/NAME`, with `@REVISION` and `/FILE.safetensors` at will (extra `hub`). The file says
    which game and variant it is for; `game` checks that it is yours. Raises ValueError in one line if it does not fit.
    """
    from leafwise.models import files

    if not game:
        return files.load_evaluator(files.game_of(source), source)
    return files.load_evaluator(envs.registry.game(game) if isinstance(game, str) else game, source)


def player(text: str, game: str | Game, seed: int = 0) -> Player:
    """Returns the player that a text names: `random`, `greedy:LEAF`, `search:LEAF,depth=3,seconds=0.1`.

    A leaf is a hand-made score, `learned` (the shipped model), a run folder, a model file, `hf://OWNER/NAME`, or
    `sb3:FILE.zip`. Raises ValueError for a text that names no player.
    """
    from leafwise.models.players import player as named

    return named(text, envs.registry.game(game) if isinstance(game, str) else game, seed)


def _leaf(game: Game, name: str) -> Evaluator:
    from leafwise.models.files import leaf

    return leaf(game, name)


set_makers(player, _leaf)
