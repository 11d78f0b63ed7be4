"""What a game's room says of learning it, in its `recipes.toml`: options that were seen to work, and methods of its own.

    method = "values"              # the method unless another is named
    easier = "start_life=31"       # what makes a variant that is asked for an easier one, for `easy`
    [modules]                      # methods of the game's own, and its `publish`: modules like those of training.methods
    values = "leafwise.training.starship.values"
    [selfplay]                     # options of a method, by their names in a run's config.toml
    exploration = 0.01
    [td]
    as = "selfplay"                # the same as another's
    [units]                        # how what a model's values mean to people is fitted (training.publish.units), their name
    name = "expected quality"

A game in a single file has them beside it, `solitaire.toml` beside `solitaire.py`.
"""

from __future__ import annotations

import dataclasses
import importlib
from collections.abc import Iterator, Mapping, Sequence, Set
from pathlib import Path
from typing import Any, get_type_hints

import msgspec

from leafwise.envs.core.errors import UserError
from leafwise.envs.core.lines import perhaps
from leafwise.envs.registry import game as find_game
from leafwise.training.runs.options import code_in, file_of, flag_of, read_table, take_option

METHODS = {name: f"leafwise.training.methods.{name}" for name in ("td", "selfplay", "alphazero", "dqn", "ppo")}
"""Methods for all games, and their modules."""
PUBLISH = "publish"


def recipes(name: str) -> dict[str, Any]:
    """Returns what the room of a game says; {} where it says nothing."""
    room = find_game(name).room
    file = room / "recipes.toml" if room.is_dir() else room.with_suffix(".toml")
    return read_table(file) if file.exists() else {}


def modules(name: str) -> dict[str, str]:
    """Returns the methods of a game, with the module of each: its own where there is one."""
    own = {method: module for method, module in recipes(name).get("modules", {}).items() if method != PUBLISH}
    return METHODS | own


def default_method(name: str) -> str:
    """Returns the method that learns a game unless another is named: its recipe's, else `td` where that fits, else `dqn`."""
    game = find_game(name)
    fits = "ntuple" in game.features or game.players == 2 or game.return_range == (0.0, 1.0)
    method: str = recipes(name).get("method", "td" if fits else "dqn")
    return method


def class_of(name: str, method: str) -> type:
    """Returns the class of the options with which a method learns a game."""
    module = importlib.import_module(modules(name)[method])
    found: type = module.class_of(name) if hasattr(module, "class_of") else module.Config
    return found


def recipe(name: str, method: str, variant: str | None) -> Mapping[str, Any]:
    """Returns the options that a game's recipe has for a method, in the variant asked for (None: in none, or in all)."""
    said = recipes(name)
    own = said.get(method, {})
    found = {option: value for option, value in {**said.get(own.get("as"), {}), **own}.items() if option != "as"}
    if variant is not None and "mix" in found:  # learned alone, and easier games are those of this variant
        easier = said.get("easier", "")
        found = {option: value for option, value in found.items() if option not in ("mix", "shares", "easy")}
        if easier and easier.partition("=")[0] not in variant:
            found["easy"] = [f"{variant},{easier}"]
    return found


def with_recipe(name: str, method: str, words: Sequence[str]) -> list[str]:
    """Returns a command line with the options that a game's recipe adds: those that were not given.

    Raises ValueError for a recipe that names what runs code.
    """
    added = list(words)
    given = {word.partition("=")[0] for word in added}
    if file := file_of(added):
        given |= set(map(flag_of, read_table(file)))
    for option, value in missing(name, method, take_option(added, "--variant")[0], given):
        if isinstance(value, bool):
            added.append(flag_of(option) if value else flag_of(option).replace("--", "--no-", 1))
        else:
            added += [flag_of(option), *(map(str, value) if isinstance(value, list) else [str(value)])]
    return added


def missing(name: str, method: str, variant: str | None, given: Set[str]) -> Iterator[tuple[str, Any]]:
    """Yields the options that a game's recipe adds to those given, which are told as flags.

    Raises ValueError for a recipe that names what runs code.
    """
    for option, value in recipe(name, method, variant).items():
        if flag_of(option) not in given and value != []:
            if code_in(value, name):
                raise UserError(f"{name}: expected a recipe that names nothing that runs code, got {option} {value!r}")
            yield option, value


def train(name: str, method: str, options: Mapping[str, Any]) -> Path:
    """Trains a model, with what the game's recipe adds to these options, and returns its run folder.

    Raises ValueError for a method or an option that does not exist.
    """
    found, method = modules(name), method or default_method(name)
    if method not in found:
        raise UserError(f"expected a method among {', '.join(found)}, got {method!r}{perhaps(method, found)}")
    config_class = class_of(name, method)
    types, chosen = get_type_hints(config_class), dict(options)
    known = [field.name for field in dataclasses.fields(config_class) if field.name != "game"]
    for option in chosen:
        if option not in known:
            raise UserError(
                f"expected an option of {method} ({', '.join(known)}), got {option!r}{perhaps(option, known)}"
            )
    for option, value in missing(name, method, chosen.get("variant"), {flag_of(option) for option in chosen}):
        chosen[option] = msgspec.convert(value, types[option])
    folder: Path = importlib.import_module(found[method]).train(config_class(game=name, **chosen))
    return folder
