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
from leafwise.envs.core.waiting import loading
from leafwise.envs.reference import reference
from leafwise.envs.registry import game, games, register_game, set_makers
from leafwise.registration import register_when_there

if TYPE_CHECKING:
    from pathlib import Path

    from leafwise.envs.core.check.checking import ContractError, check_game
    from leafwise.envs.core.contract.evaluator import Evaluator
    from leafwise.envs.core.contract.game import Game
    from leafwise.envs.core.contract.state import State
    from leafwise.envs.core.errors import UserError
    from leafwise.envs.core.gym.env import GameEnv
    from leafwise.envs.core.gym.masked import MaskedObservation
    from leafwise.envs.core.gym.vector import GameVectorEnv
    from leafwise.envs.core.play.companion import Following
    from leafwise.envs.core.play.gamefile import GameRecord, load_game
    from leafwise.models import Network, NetworkKind, register_network, save_network, torch_network
    from leafwise.models.leaves import leaf
    from leafwise.models.units import Units, units_of
    from leafwise.search import Result, Search
    from leafwise.search.mcts import Mcts, MctsResult
    from leafwise.search.players import Player
    from leafwise.training.dataset import Dataset, collect_dataset, read_dataset, write_dataset
    from leafwise.training.evaluation.arena import Tournament, arena, evaluate
    from leafwise.training.evaluation.results import Evaluation
    from leafwise.training.execution import executor_for
    from leafwise.training.sb3 import Sb3VecEnv

__version__ = "0.1.0"

__all__ = [
    "ContractError",
    "Dataset",
    "Evaluation",
    "Evaluator",
    "Following",
    "Game",
    "GameEnv",
    "GameRecord",
    "GameVectorEnv",
    "MaskedObservation",
    "Mcts",
    "MctsResult",
    "Network",
    "NetworkKind",
    "Player",
    "Result",
    "Search",
    "State",
    "Tournament",
    "Units",
    "UserError",
    "aec",
    "arena",
    "check_game",
    "collect_dataset",
    "envs",
    "evaluate",
    "executor_for",
    "game",
    "games",
    "leaf",
    "load",
    "load_game",
    "player",
    "read_dataset",
    "reference",
    "register_game",
    "register_network",
    "save_network",
    "sb3_vec_env",
    "score",
    "torch_network",
    "train",
    "units_of",
    "write_dataset",
]
"""The public names, with those of `leafwise.authoring`. All other names may move from one version to the next."""

_HOMES = {
    "ContractError": "envs.core.check.checking",
    "Dataset": "training.dataset",
    "Evaluation": "training.evaluation.results",
    "Evaluator": "envs.core.contract.evaluator",
    "Following": "envs.core.play.companion",
    "Game": "envs.core.contract.game",
    "GameEnv": "envs.core.gym.env",
    "GameRecord": "envs.core.play.gamefile",
    "GameVectorEnv": "envs.core.gym.vector",
    "MaskedObservation": "envs.core.gym.masked",
    "Mcts": "search.mcts",
    "MctsResult": "search.mcts",
    "Network": "models",
    "NetworkKind": "models",
    "Player": "search.players",
    "Result": "search",
    "Search": "search",
    "State": "envs.core.contract.state",
    "Tournament": "training.evaluation.arena",
    "Units": "models.units",
    "UserError": "envs.core.errors",
    "arena": "training.evaluation.arena",
    "check_game": "envs.core.check.checking",
    "collect_dataset": "training.dataset",
    "evaluate": "training.evaluation.arena",
    "executor_for": "training.execution",
    "leaf": "models.leaves",
    "load_game": "envs.core.play.gamefile",
    "read_dataset": "training.dataset",
    "register_network": "models",
    "save_network": "models",
    "torch_network": "models",
    "units_of": "models.units",
    "write_dataset": "training.dataset",
}
"""Public names -> their modules, which are imported at first use because they import numba."""

register_when_there()


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        with loading():
            value = globals()[name] = getattr(importlib.import_module(f"leafwise.{_HOMES[name]}"), name)
        return value
    if name in ("authoring", "openspiel", "search", "models", "training", "experiments"):
        return importlib.import_module(f"leafwise.{name}")
    raise AttributeError(f"module 'leafwise' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)


def score(game_name: str, score_name: str | None = None, /, **options: object) -> Evaluator:
    """Returns a hand-made evaluator (default: the game's own); raises ValueError if there is no such score."""
    return game(game_name, **options).score(score_name)


def load(source: str | os.PathLike[str], game: str | Game = "") -> Evaluator:
    """Loads a trained model as a leaf evaluator.

    `source` is the name of a model that ships with leafwise (`threes`, `cassis8`), a run folder, a `.safetensors` file, or one of
    the Hugging Face Hub: `hf://OWNER/NAME`, optionally with `@REVISION` and `/FILE.safetensors` (extra `hub`). The file names its
    game and variant. If you pass `game`, it must be the same one. Raises ValueError in one line if the model does not fit.
    """
    from leafwise.models.files import game_of
    from leafwise.models.units import load_with_units

    return load_with_units(envs.registry.as_game(game) if game else game_of(source), source)


def player(text: str, game: str | Game, seed: int = 0) -> Player:
    """Returns the player that a text names: `random`, `greedy:LEAF`, `search:LEAF,depth=3,seconds=0.1`.

    `LEAF` is a hand-made score, `learned` (the model in the package), a run folder, a model file, `hf://OWNER/NAME`, or
    `sb3:FILE.zip`. Raises ValueError for a text that names no player.
    """
    from leafwise.models.players import player as named

    return named(text, envs.registry.as_game(game), seed)


def train(game: str | Game, method: str = "", **options: Any) -> Path:
    """Trains a model as `leafwise train GAME` does and returns its run folder, which `load` takes (extra `train`).

    A `Game` is trained in its variant. `method` is one that `leafwise train GAME --help` lists (default: the first of these).
    `options` are the options on the method's page. The others come from the game's recipe, or else are the method's defaults.
    Raises ValueError for a method or an option that does not exist.
    """
    from leafwise.training.runs.recipes import train

    return train(game, method, options)


def sb3_vec_env(game: str | Game, num_envs: int, **options: Any) -> Sb3VecEnv:
    """Returns a batch of environments as Stable-Baselines3 takes it: `PPO("MlpPolicy", leafwise.sb3_vec_env("threes", 256))`.

    All `num_envs` games are stepped in one compiled call. `options` are those of `GameVectorEnv`, and the game's own. Raises
    ValueError for wrong input, and ImportError where Stable-Baselines3 (extra `train`) is not installed.
    """
    try:
        from leafwise.training.sb3 import Sb3VecEnv
    except ModuleNotFoundError as missing:
        raise ImportError(f"leafwise.sb3_vec_env needs {missing.name}: pip install 'leafwise[train]'") from None
    from leafwise.envs.core.gym.vector import GameVectorEnv

    return Sb3VecEnv(GameVectorEnv(num_envs, game, autoreset_mode="SameStep", **options))


def _leaf(game: Game, name: str) -> Evaluator:
    from leafwise.models.leaves import named_leaf

    return named_leaf(game, name)


set_makers(player, _leaf)
