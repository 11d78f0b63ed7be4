"""Leafwise: board and card games with exact rules, fast depth-limited search, and learned values at its leaves.

env = gymnasium.make("leafwise/Threes-v0")
search = leafwise.Search(leafwise.game("threes"), leafwise.load("threes"), depth=2)
"""

from __future__ import annotations

import os

from leafwise import envs
from leafwise.envs.core.contract.evaluator import Evaluator
from leafwise.envs.core.contract.game import Game
from leafwise.envs.core.contract.state import State
from leafwise.envs.registry import game, games, register_envs, register_game, set_player_maker
from leafwise.models.files import game_of as _game_of
from leafwise.models.files import leaf as _leaf
from leafwise.models.files import load_evaluator as _load_evaluator
from leafwise.search import Result, Search
from leafwise.search.players import Player
from leafwise.search.players import player as _player

__version__ = "0.1.0"

__all__ = [
    "Evaluator",
    "Game",
    "Player",
    "Result",
    "Search",
    "State",
    "envs",
    "game",
    "games",
    "load",
    "player",
    "register_game",
    "score",
]

register_envs()


def score(game_name: str, score_name: str | None = None, **options: object) -> Evaluator:
    """Returns a hand-made evaluator (default: the game's own); raises ValueError if there is no such score."""
    return game(game_name, **options).score(score_name)


def load(source: str | os.PathLike[str], game: str | Game = "") -> Evaluator:
    """Returns a trained model as a leaf evaluator.

    `source` is the name of a model that ships with leafwise (`threes`, `cassis8`), a run folder, or a `.safetensors` file. The
    file says which game and variant it is for; `game` checks that it is yours. Raises ValueError in one line if it does
    not fit.
    """
    if isinstance(game, Game):
        return _load_evaluator(game, source)
    return _load_evaluator(envs.registry.game(game) if game else _game_of(source), source)


def player(text: str, game: str | Game, seed: int = 0) -> Player:
    """Returns the player that a text names: `random`, `greedy:LEAF`, `search:LEAF,depth=3,seconds=0.1`.

    A leaf is a hand-made score, `learned` (the shipped model), a run folder or a model file.
    """
    return _player(text, envs.registry.game(game) if isinstance(game, str) else game, seed, _leaf)


set_player_maker(player)
