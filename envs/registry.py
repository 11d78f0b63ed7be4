"""Finds games by name, and registers their environments with Gymnasium."""

from __future__ import annotations

import importlib
import importlib.util
import pkgutil
from collections.abc import Callable
from functools import cache
from typing import Any

import gymnasium as gym

import leafwise.envs
from leafwise.envs.core.contract.game import Game

NAMESPACE = "leafwise"
_added: dict[str, Game] = {}
_player_makers: list[Callable[[str, Game], Any]] = []


@cache
def _rooms() -> tuple[str, ...]:
    """Returns the names of the package's games: every folder of leafwise.envs with rules that is not `core`."""
    names = [m.name for m in pkgutil.iter_modules(leafwise.envs.__path__) if m.ispkg and m.name != "core"]
    return tuple(sorted(n for n in names if importlib.util.find_spec(f"leafwise.envs.{n}.rules")))


def games() -> tuple[str, ...]:
    """Returns the names of all games."""
    return tuple(sorted({*_rooms(), *_added}))


def game(name: str, **options: Any) -> Game:
    """Returns a game in a variant: `game("threes", hint="exact")`.

    Raises ValueError for a game or an option that there is not.
    """
    if name in _added:
        return _added[name].variant(**options)
    if name not in _rooms():
        raise ValueError(f"expected a game among {', '.join(games())}, got {name!r}")
    found: Game = importlib.import_module(f"leafwise.envs.{name}").GAME
    return found.variant(**options)


def set_player_maker(make: Callable[[str, Game], Any]) -> None:
    """Says what makes players of names: the front door, which knows searches and models."""
    _player_makers[:] = [make]


def player(text: str, game: Game) -> Any:
    """Returns the player that a text names, for rooms, which know no search; raises ValueError as `leafwise.player` does."""
    return _player_makers[0](text, game)


def register_game(new: Game) -> None:
    """Adds a game of your own, and its environments; raises ValueError if the name is taken by another."""
    if new.name in games() and game(new.name) != new:
        raise ValueError(f"expected a new name for a game, {new.name!r} is taken")
    _added[new.name] = new
    _register(new)


def register_envs() -> None:
    """Registers the environments of all rooms with Gymnasium."""
    for name in _rooms():
        _register(game(name))


def _register(found: Game) -> None:
    for short, options in found.ids.items():
        full = f"{NAMESPACE}/{short}-v0"
        if full not in gym.registry:
            gym.register(
                id=full,
                entry_point="leafwise.envs.core.gym.env:GameEnv",
                vector_entry_point="leafwise.envs.core.gym.vector:GameVectorEnv",
                kwargs={"game": found.name, **options},
            )
