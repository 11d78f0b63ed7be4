"""Finds games by name, and registers their environments with Gymnasium.

`games.json` says what the package's games are called, their options and their ids, and a plug-in's data file what its games are
(`leafwise.envs.plugins`), so that nothing of a game is imported before it is asked for. The games of files that `--module`
names are imported at once; processes that are started from here are told the same of them by an environment variable.
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
"""The environment variable by which processes hear of games that were added by `--module`: JSON, name -> what is listed."""
NETWORKS = "LEAFWISE_INHERITED_NETWORKS"
"""The same for modules with classes of networks: JSON, a module's name -> the file, folder or module that `--module` named."""
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
"""Players of every game beside `random`, the greedy ones and the room's own: what messages list."""


@cache
def listed() -> dict[str, Listed]:
    """Returns what is known without importing them of the package's games and those of plug-ins, by name.

    A plug-in that cannot be used is one warning.
    """
    found = {
        name: told._replace(module=f"{told.module}.{name}")
        for name, told in read_listing(Path(__file__).with_name("games.json"), "leafwise.envs").items()
    }
    for point in entry_points():
        try:
            more = announced(point)
            taken = {short: name for name, game in found.items() for short in game.told["ids"]}
            for name, game in more.items():
                if name in found:
                    raise UserError(
                        f"expected a name of its own, {name!r} is taken by {found[name].plugin or 'leafwise'}"
                    )
                for short in set(game.told["ids"]) & set(taken):
                    raise UserError(f"expected an id of its own, {short!r} is taken by the game {taken[short]!r}")
        except UserError as problem:
            warnings.warn(f"{point} is left out: {problem}", PluginWarning, stacklevel=2)
        else:
            found |= more
    return found | {name: Listed(**told) for name, told in _inherited().items()}


def _inherited() -> dict[str, dict[str, Any]]:
    """Returns what the processes that are started from here hear of games."""
    return json.loads(os.environ.get(INHERITED, "{}"))


def games() -> tuple[str, ...]:
    """Returns the names of all games."""
    return tuple(sorted({*listed(), *_added}))


def check_name(name: str) -> None:
    """Raises ValueError for a game that there is not; imports none of those that are listed."""
    if name not in games():
        near = perhaps(name, games()) if isinstance(name, str) else ""
        raise UserError(f"expected a game among {', '.join(games())}, got {name!r}{near}")


def _told(name: str):
    """Returns what is known of a game, as `listing` has it; imports nothing for games that are listed."""
    check_name(name)
    return listing(_added[name]) if name in _added else listed()[name].told


def option_defaults(name: str) -> Mapping[str, Any]:
    """Returns the options of a game and their defaults; imports as little."""
    return _told(name)["options"]


def title_of(name: str) -> str:
    """Returns one line about a game, for people; imports as little."""
    return str(_told(name)["title"])


def option_types(name: str) -> Mapping[str, str]:
    """Returns the type of each option of a game, as `options_from_text` reads it; imports as little."""
    return _told(name)["option_types"]


def option_words(name: str) -> Mapping[str, str]:
    """Returns what each option of a game and its values mean, "" where that is not said; imports as little."""
    return _told(name)["option_words"]


def ids_of(name: str) -> Mapping[str, Mapping[str, Any]]:
    """Returns the ids of a game, without namespace and version, and their options; imports as little."""
    return _told(name)["ids"]


def position_words(name: str) -> Mapping[str, str]:
    """Returns the words of a position that a command takes as options, and what they say; imports as little."""
    return _told(name)["position_words"]


def game(name: str, /, **options: Any) -> Game:
    """Returns a game in a variant: `game("threes", hint="exact")`.

    Options may name files where they are texts of files; for options that others told, use `game(name).variant(**options)`, which
    opens none. Raises ValueError for a game or an option that there is not, and for a plug-in's game that cannot be imported.
    """
    check_name(name)
    found = _added[name] if name in _added else _listed_game(name)
    return found.variant(**with_files_read(name, found.options, options))


def as_game(given: str | Game) -> Game:
    """Returns the game of a name, or the `Game` itself; raises ValueError for anything else."""
    from leafwise.envs.core.contract.game import Game

    return given if isinstance(given, Game) else game(given)


@cache
def _listed_game(name: str) -> Game:
    """Imports a game that is listed; a plug-in's is refused if it cannot be, and a word is said if its data file is wrong."""
    told = listed()[name]
    if not told.plugin:
        with loading():
            return importlib.import_module(told.module).GAME
    try:
        found = imported(module_name(told.source) if told.source else told.module)
        if found.name != name:
            raise UserError(f"expected the game {name!r} in {told.module!r}, got {found.name!r}")
    except UserError as problem:
        raise UserError(f"{told.plugin}: {problem}") from problem
    if wrong := [field for field, value in listing(found).items() if told.told[field] != value]:
        what = f"{told.plugin}: its data file and the game {name!r} differ in {', '.join(wrong)}"
        warnings.warn(
            f"{what} (leafwise games {name} --listing prints what it should say)", PluginWarning, stacklevel=3
        )
    return found


def listing(game: Game) -> dict[str, Any]:
    """Returns what a data file says of a game: title, options, words of a position, ids, as JSON values."""
    ids = {short: dict(options) for short, options in game.ids.items()}
    told = {
        "title": game.title,
        "options": dict(game.defaults),
        "option_types": types_of(game.options),
        "option_words": {option: described(game, option) for option in game.defaults},
        "position_words": dict(game.text.words),
        "ids": ids,
    }
    return json.loads(json.dumps(told))


def described(game: Game, option: str) -> str:
    """Returns what an option of a game means, and what each of its values does; "" where neither is said."""
    limit = limits_of(type(game.options)).get(option)
    values = zip(limit.choices, limit.meanings, strict=False) if isinstance(limit, OneOf) else ()
    return "; ".join(
        filter(None, [game.text.about.options.get(option), *(f"{value}: {what}" for value, what in values)])
    )


def set_makers(make_player: Callable[[str, Game], Any], make_leaf: Callable[[Game, str], Any]) -> None:
    """Says what makes players and leaves of names: the front door, which knows searches and models."""
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
    """Returns a line that tells the rules of a variant that has options of its own and no id; "" of any other.

    Beside it stand the ids that have all the options that were given.
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
    """Adds a game of your own, and its environments; raises ValueError if the name or an id is taken by another."""
    from leafwise.envs.core.contract.game import check_is_game

    check_is_game(new, "register_game")
    if (new.name in listed() or new.name in _added) and game(new.name) != new:
        raise UserError(f"expected a new name for a game, {new.name!r} is taken")
    for name, told in listed().items():
        for short in set(told.told["ids"]) & set(new.ids):
            if name != new.name:
                raise UserError(f"{new.name}: expected new ids, {short!r} is one of {name!r}")
    _added[new.name] = new
    _register(new.name, new.ids)


def add_module(source: str) -> None:
    """Adds the game of a file, a package (its folder) or a module, here and in processes that are started from here.

    Classes of torch modules in there may be those of networks in files; a module with such classes needs no game.

    Raises ValueError, saying what was expected, if there is neither or it cannot be imported.
    """
    name = module_name(source)
    place = str(Path(source).resolve()) if Path(source).exists() else source
    has = vars(imported_module(name))
    if any(map(is_module_class, has.values())):
        os.environ[NETWORKS] = json.dumps({**named_modules(), name: place})
        if "GAME" not in has:
            return
    new = imported(name)
    register_game(new)
    told = Listed(new.module, listing(new), f"--module {source}", place)
    os.environ[INHERITED] = json.dumps({**_inherited(), new.name: told._asdict()})


def named_modules() -> dict[str, str]:
    """Returns the modules with classes of networks that `--module` named, and the places that it gave."""
    return json.loads(os.environ.get(NETWORKS, "{}"))


def take_modules(words: Sequence[str]) -> list[str]:
    """Returns a command line without its `--module FILE_OR_PACKAGE`, whose games it adds; raises ValueError as `add_module`."""
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
    """Returns the file, folder or module that `--module` named to bring a game, None for any other."""
    told = _inherited().get(name)
    return None if told is None else str(told["source"])


def register_envs() -> None:
    """Registers the environments of all games with Gymnasium."""
    for name, told in listed().items():
        _register(name, told.told["ids"])


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
