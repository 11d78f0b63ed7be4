"""Finds games by name, and registers their environments with Gymnasium.

`games.json` has the names, options and ids of the package's games, and a plug-in's data file those of its games
(`leafwise.envs.plugins`), so that no game is imported before it is used. Games of files named by `--module` are imported at
once; an environment variable passes them on to child processes.
"""

from __future__ import annotations

import importlib
import json
import os
import warnings
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from leafwise.envs.core.errors import UserError, perhaps
from leafwise.envs.core.fields import types_of, values_of, with_files_read
from leafwise.envs.core.ranges import OneOf, limits_of
from leafwise.envs.core.waiting import loading
from leafwise.envs.plugins import (
    Listed,
    PluginWarning,
    announced,
    entry_points,
    imported,
    imported_module,
    is_module_class,
    module_name,
    read_listing,
)

if TYPE_CHECKING:
    from leafwise.envs.core.contract.game import Game

NAMESPACE = "leafwise"
INHERITED = "LEAFWISE_INHERITED_GAMES"
"""Environment variable that passes games added by `--module` to child processes: JSON, name -> `Listed`."""
NETWORKS = "LEAFWISE_INHERITED_NETWORKS"
"""The same for modules with classes of networks: JSON, a module's name -> the file, folder or module of `--module`."""
_added: dict[str, Game] = {}
_makers: dict[str, Callable[..., Any]] = {}
MORE_PLAYERS = (
    "best",
    "greedy:learned",
    "search:LEAF,depth=3",
    "mcts:LEAF,seconds=0.01",
    "rollout:n=20",
    "sb3:FILE.zip",
    "program:COMMAND",
)
"""Players of every game besides `random`, the greedy ones and the room's own, for messages."""


@cache
def listed() -> dict[str, Listed]:
    """Returns what is known without importing them of the package's games and those of plug-ins, by name.

    A plug-in that cannot be used gets one warning.
    """
    games_by_name = {
        name: entry._replace(module=f"{entry.module}.{name}")
        for name, entry in read_listing(Path(__file__).with_name("games.json"), "leafwise.envs").items()
    }
    for point in entry_points():
        try:
            new = announced(point)
            ids = {short: name for name, game in games_by_name.items() for short in game.fields["ids"]}
            for name, game in new.items():
                if name in games_by_name:
                    raise UserError(f"expected a new name, got {name!r} of {games_by_name[name].plugin or 'leafwise'}")
                for short in set(game.fields["ids"]) & set(ids):
                    raise UserError(f"expected a new id, got {short!r} of the game {ids[short]!r}")
        except UserError as problem:
            warnings.warn(f"{point} is left out: {problem}", PluginWarning, stacklevel=2)
        else:
            games_by_name |= new
    return games_by_name | {name: Listed(**entry) for name, entry in _inherited().items()}


def _inherited() -> dict[str, dict[str, Any]]:
    """Returns the games that the parent process passed on."""
    return json.loads(os.environ.get(INHERITED, "{}"))


def games() -> tuple[str, ...]:
    """Returns the names of all games."""
    return tuple(sorted({*listed(), *_added}))


def check_name(name: str) -> None:
    """Raises ValueError for an unknown game; imports no listed game."""
    if not isinstance(name, str) or name not in games():
        near = perhaps(name, games()) if isinstance(name, str) else ""
        raise UserError(f"expected a game among {', '.join(games())}, got {name!r}{near}")


def _fields_of(name: str):
    """Returns what is known of a game, in the form of `listing`; imports nothing for listed games."""
    check_name(name)
    return listing(_added[name]) if name in _added else listed()[name].fields


def option_defaults(name: str) -> Mapping[str, Any]:
    """Returns the options of a game and their defaults, without importing a listed game."""
    return _fields_of(name)["options"]


def title_of(name: str) -> str:
    """Returns the title of a game, one line for people, without importing a listed game."""
    return str(_fields_of(name)["title"])


def option_types(name: str) -> Mapping[str, str]:
    """Returns the type of each option of a game, as `options_from_text` reads it, without importing a listed game."""
    return _fields_of(name)["option_types"]


def option_words(name: str) -> Mapping[str, str]:
    """Returns the meaning of each option of a game and its values, "" if unknown, without importing a listed game."""
    return _fields_of(name)["option_words"]


def ids_of(name: str) -> Mapping[str, Mapping[str, Any]]:
    """Returns the ids of a game, without namespace and version, and their options, without importing a listed game."""
    return _fields_of(name)["ids"]


def position_words(name: str) -> Mapping[str, str]:
    """Returns the words of a position that are options of commands, and their meanings, without importing a listed game."""
    return _fields_of(name)["position_words"]


def game(name: str, /, **options: Any) -> Game:
    """Returns a game in a variant: `game("threes", hint="exact")`.

    If an option is the text of a file, you can give the path of the file instead. For options that come from other people, use
    `game(name).variant(**options)`, which opens no file. Raises ValueError for an unknown game or option, and for a plug-in's
    game that cannot be imported.
    """
    check_name(name)
    default = _added[name] if name in _added else _listed_game(name)
    return default.variant(**with_files_read(name, default.options, options))


def as_game(given: str | Game) -> Game:
    """Returns the game with a name, or the given `Game`; raises ValueError for anything else."""
    from leafwise.envs.core.contract.game import Game

    return given if isinstance(given, Game) else game(given)


@cache
def _listed_game(name: str) -> Game:
    """Imports a listed game; raises ValueError if a plug-in's game fails, and warns if its data file is wrong."""
    entry = listed()[name]
    if not entry.plugin:
        with loading():
            return importlib.import_module(entry.module).GAME
    try:
        game = imported(module_name(entry.source) if entry.source else entry.module)
        if game.name != name:
            raise UserError(f"expected the game {name!r} in {entry.module!r}, got {game.name!r}")
    except UserError as problem:
        raise UserError(f"{entry.plugin}: {problem}") from problem
    if wrong := [field for field, value in listing(game).items() if entry.fields[field] != value]:
        what = f"{entry.plugin}: its data file and the game {name!r} differ in {', '.join(wrong)}"
        warnings.warn(
            f"{what} (leafwise games {name} --listing prints what it should say)", PluginWarning, stacklevel=3
        )
    return game


def listing(game: Game) -> dict[str, Any]:
    """Returns a game's entry in a data file: title, options, words of a position, ids, as JSON values."""
    ids = {short: dict(options) for short, options in game.ids.items()}
    fields = {
        "title": game.title,
        "options": dict(game.defaults),
        "option_types": types_of(game.options),
        "option_words": {option: described(game, option) for option in game.defaults},
        "position_words": dict(game.text.words),
        "ids": ids,
    }
    return json.loads(json.dumps(fields))


def described(game: Game, option: str) -> str:
    """Returns the meaning of a game's option and of each of its values; "" if neither is known."""
    limit = limits_of(type(game.options)).get(option)
    values = zip(limit.choices, limit.meanings, strict=False) if isinstance(limit, OneOf) else ()
    return "; ".join(
        filter(None, [game.text.about.options.get(option), *(f"{value}: {what}" for value, what in values)])
    )


def set_makers(make_player: Callable[[str, Game], Any], make_leaf: Callable[[Game, str], Any]) -> None:
    """Sets the functions that make players and leaves from names; the front door calls it, which knows searches and models."""
    _makers.update(player=make_player, leaf=make_leaf)


def player(text: str, game: Game) -> Any:
    """Returns the player that a text names, for rooms, which know no search; raises ValueError as `leafwise.player` does."""
    return _makers["player"](text, game)


def leaf(name: str, game: Game) -> Any:
    """Returns the leaf evaluator that a text names, for rooms, which know no models; raises ValueError if there is none."""
    return _makers["leaf"](game, name)


def variant_id(game: Game) -> str | None:
    """Returns the Gymnasium id of a variant, without namespace and version; None if it has none."""
    ids = (short for short, options in game.ids.items() if game.variant(**{**game.defaults, **options}) == game)
    return next(ids, None)


def unregistered(game: Game) -> str:
    """Returns a line about the rules of a variant without an id; "" if it has default options or an id.

    The line also names the ids that have all the given options.
    """
    given = game.given_options
    if not given or variant_id(game) is not None:
        return ""
    full = {short: {**game.defaults, **options} for short, options in game.ids.items()}
    near = {short: options for short, options in full.items() if given.items() <= options.items()}
    named = "; ".join(f"{short} is {_written(options)}" for short, options in near.items())
    return (
        f"rules: {game.name} with {_written(values_of(game.options))}, a variant without an id{named and f' ({named})'}"
    )


def _written(options: Mapping[str, Any]) -> str:
    return ", ".join(f"{name}={value}" for name, value in options.items())


def register_game(new: Game) -> None:
    """Adds a game of your own, and its environments; raises ValueError if another game has its name or one of its ids."""
    from leafwise.envs.core.contract.game import check_is_game

    check_is_game(new, "register_game")
    if (new.name in listed() or new.name in _added) and game(new.name) != new:
        raise UserError(f"expected a new name for a game, got {new.name!r}, which is taken")
    for name, entry in listed().items():
        for short in set(entry.fields["ids"]) & set(new.ids):
            if name != new.name:
                raise UserError(f"{new.name}: expected new ids, got {short!r} of the game {name!r}")
    _added[new.name] = new
    _register(new.name, new.ids)


def add_module(source: str) -> None:
    """Adds the game of a file, a package (its folder) or a module, in this process and its child processes.

    Classes of torch modules in it may be the networks of model files; a module with such classes needs no game.

    Raises ValueError if it has neither, or cannot be imported.
    """
    name = module_name(source)
    source_path = str(Path(source).resolve()) if Path(source).exists() else source
    contents = vars(imported_module(name))
    if any(map(is_module_class, contents.values())):
        os.environ[NETWORKS] = json.dumps({**named_modules(), name: source_path})
        if "GAME" not in contents:
            return
    new = imported(name)
    register_game(new)
    entry = Listed(new.module, listing(new), f"--module {source}", source_path)
    os.environ[INHERITED] = json.dumps({**_inherited(), new.name: entry._asdict()})


def named_modules() -> dict[str, str]:
    """Returns the modules with classes of networks that `--module` named, and their paths or names."""
    return json.loads(os.environ.get(NETWORKS, "{}"))


def take_modules(words: Sequence[str]) -> list[str]:
    """Adds the games of `--module FILE_OR_PACKAGE` and returns the other words; raises ValueError as `add_module`."""
    kept: list[str] = []
    rest = iter(words)
    for word in rest:
        flag, equals, source = word.partition("=")
        if word == "--":
            return [*kept, word, *rest]
        if flag != "--module":
            kept.append(word)
        elif source := source if equals else next(rest, ""):
            add_module(source)
        else:
            raise UserError("expected a file, package or module after --module, got nothing")
    return kept


def source_of(name: str) -> str | None:
    """Returns the file, folder or module of `--module` that brought a game; None for other games."""
    entry = _inherited().get(name)
    return None if entry is None else str(entry["source"])


def register_envs() -> None:
    """Registers the environments of all games with Gymnasium."""
    for name, entry in listed().items():
        _register(name, entry.fields["ids"])


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
