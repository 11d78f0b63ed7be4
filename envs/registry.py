"""Finds games by name, and registers their environments with Gymnasium.

`games.json` says what the package's games are called, their options and their ids, so that nothing of a game is imported before it
is asked for.
"""

from __future__ import annotations

import importlib
import json
from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from leafwise.envs.core.contract.options import types_of

if TYPE_CHECKING:
    from leafwise.envs.core.contract.game import Game

NAMESPACE = "leafwise"
_added: dict[str, Game] = {}
_makers: dict[str, Callable[..., Any]] = {}
MORE_PLAYERS = ("best", "greedy:learned", "search:LEAF,depth=3", "rollout:n=20", "sb3:FILE.zip")
"""Players of every game beside `random`, the greedy ones and the room's own: what messages list."""


@cache
def listed() -> dict[str, dict[str, Any]]:
    """Returns what is known of the package's games without importing them: name -> title, options (defaults) and
    their types, words of a position, ids."""
    told: dict[str, dict[str, Any]] = json.loads(Path(__file__).with_name("games.json").read_text(encoding="utf-8"))
    return told


def games() -> tuple[str, ...]:
    """Returns the names of all games."""
    return tuple(sorted({*listed(), *_added}))


def check_name(name: str) -> None:
    """Raises ValueError for a game that there is not; imports none."""
    if name not in games():
        raise ValueError(f"expected a game among {', '.join(games())}, got {name!r}")


def option_defaults(name: str) -> Mapping[str, Any]:
    """Returns the options of a game and their defaults; imports nothing for the package's games."""
    check_name(name)
    return _added[name].defaults if name in _added else listed()[name]["options"]


def option_types(name: str) -> Mapping[str, str]:
    """Returns the type of each option of a game, as `options_from_text` reads it; imports as little."""
    check_name(name)
    return types_of(_added[name].options) if name in _added else listed()[name]["option_types"]


def position_words(name: str) -> Mapping[str, str]:
    """Returns the words of a position that a command takes as options, and what they say; imports as little."""
    check_name(name)
    return _added[name].text.words if name in _added else listed()[name]["position_words"]


def game(name: str, **options: Any) -> Game:
    """Returns a game in a variant: `game("threes", hint="exact")`.

    Raises ValueError for a game or an option that there is not.
    """
    if name in _added:
        return _added[name].variant(**options)
    check_name(name)
    found: Game = importlib.import_module(f"leafwise.envs.{name}").GAME
    return found.variant(**options)


def set_makers(make_player: Callable[[str, Game], Any], make_leaf: Callable[[Game, str], Any]) -> None:
    """Says what makes players and leaves of names: the front door, which knows searches and models."""
    _makers.update(player=make_player, leaf=make_leaf)


def player(text: str, game: Game) -> Any:
    """Returns the player that a text names, for rooms, which know no search; raises ValueError as `leafwise.player` does."""
    return _makers["player"](text, game)


def leaf(name: str, game: Game) -> Any:
    """Returns the leaf evaluator that a text names, for rooms, which know no models; raises ValueError if there is none."""
    return _makers["leaf"](game, name)


def register_game(new: Game) -> None:
    """Adds a game of your own, and its environments; raises ValueError if the name is taken by another."""
    if new.name in games() and game(new.name) != new:
        raise ValueError(f"expected a new name for a game, {new.name!r} is taken")
    _added[new.name] = new
    _register(new.name, new.ids)


def register_envs() -> None:
    """Registers the environments of the package's games with Gymnasium."""
    for name, told in listed().items():
        _register(name, told["ids"])


def _register(name: str, ids: Mapping[str, Mapping[str, Any]]) -> None:
    import gymnasium as gym

    for short, options in ids.items():
        full = f"{NAMESPACE}/{short}-v0"
        if full not in gym.registry:
            gym.register(
                id=full,
                entry_point="leafwise.envs.core.gym.env:GameEnv",
                vector_entry_point="leafwise.envs.core.gym.vector:GameVectorEnv",
                kwargs={"game": name, **options},
            )
