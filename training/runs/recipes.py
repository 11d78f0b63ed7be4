"""Training recipes of a game, from its `recipes.toml`: proven options, and methods of its own.

    method = "ship-values"         # the default method
    easier = "start_life=31"       # options that make a variant easier, for `easy_variants`
    [modules]                      # the game's own methods and its own `publish`: modules like training/dqn/dqn.py
    ship-values = "leafwise.training.starship.ship_values"
    [selfplay]                     # options of a method, by their names in a run's config.toml
    exploration = 0.01
    [value-td]
    as = "selfplay"                # the same options as another method
    [units]                        # how the units of a model's values are fitted (training.publish.units), and their name
    name = "expected quality"

A game in a single file has them beside it, `solitaire.toml` beside `solitaire.py`.
"""

from __future__ import annotations

import dataclasses
import importlib
from collections.abc import Callable, Iterator, Sequence, Set
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, get_type_hints

import msgspec

from leafwise.envs.core.commandline import flag_of
from leafwise.envs.core.errors import UserError, perhaps
from leafwise.envs.core.waiting import loading
from leafwise.envs.registry import as_game
from leafwise.envs.registry import game as find_game
from leafwise.training.runs.files import read_table
from leafwise.training.runs.run_options import code_in, file_of, take_option, variant_text

if TYPE_CHECKING:
    from leafwise.envs.core.contract.game import Game
    from leafwise.training.types import Json


class Method(NamedTuple):
    """A training method: a module with `Config` (its options) and `train`; its docstring's first line describes it."""

    name: str
    module: str
    fits: Callable[[Game], bool]
    """Whether the method can train on a game."""

    @property
    def code(self) -> Any:
        """The imported module."""
        with loading():
            return importlib.import_module(self.module)

    @property
    def options(self) -> type:
        """The class of the method's options."""
        return self.code.Config

    @property
    def line(self) -> str:
        """One line about the method."""
        return (self.code.__doc__ or "").partition("\n")[0]


def has_cells(game: Game) -> bool:
    """Whether the game has cells for n-tuples."""
    return "ntuple" in game.features


def has_outcomes(game: Game) -> bool:
    """Whether values are mean outcomes or win probabilities: two-player games, and games that are won or lost."""
    return game.players == 2 or game.return_range == (0.0, 1.0)


BY_SELFPLAY = (("value-td", "value_td"), ("selfplay", "selfplay"))
"""Methods for all games; in games with a score other methods are the default."""
METHODS = (
    Method("ntuple-td", "leafwise.training.ntuple_td.ntuple_td", has_cells),
    *(Method(name, f"leafwise.training.selfplay.{code}", has_outcomes) for name, code in BY_SELFPLAY),
    Method("alphazero", "leafwise.training.alphazero.alphazero", lambda game: game.players == 2),
    Method("dqn", "leafwise.training.dqn.dqn", lambda game: True),
    Method("ppo", "leafwise.training.ppo.ppo", lambda game: True),
    Method("ntuple-q", "leafwise.training.ntuple_td.ntuple_q", has_cells),
    *(Method(name, f"leafwise.training.selfplay.{code}", lambda game: True) for name, code in BY_SELFPLAY),
)
"""Methods for all games. The first that fits a game is its default, unless its recipe names another."""
RENAMED = {"td": ("ntuple-td", "value-td"), "values": ("ship-values",)}
"""Former names of methods, and their present names: the first that fits the game."""
PUBLISH = "publish"
OF_SEVERAL_VARIANTS = ("variants", "easy_variants", "extra_variants", "variant_shares")
"""Options of a recipe that a command with --variant does not take."""


def recipes(name: str) -> Json:
    """Returns the recipes of a game; {} if it has none."""
    room = find_game(name).room
    file = room / "recipes.toml" if room.is_dir() else room.with_suffix(".toml")
    return read_table(file) if file.exists() else {}


def methods(name: str) -> dict[str, Method]:
    """Returns the methods that fit a game, including its own; the default is the first."""
    game, recipe_table = find_game(name), recipes(name)
    fitting = {method.name: method for method in METHODS if method.fits(game)}
    for own_name, module in recipe_table.get("modules", {}).items():
        if own_name != PUBLISH:
            fitting[own_name] = Method(own_name, module, lambda game: True)
    first = recipe_table.get("method", next(iter(fitting)))
    return {first: fitting[first], **fitting}


def method_of(name: str, method: str = "") -> Method:
    """Returns a method of a game by its name, or the default method.

    Raises ValueError for a method that does not exist, does not fit the game, or has a new name.
    """
    fitting = methods(name)
    if not method:
        return next(iter(fitting.values()))
    if method not in fitting:
        for now in RENAMED.get(method, ()):
            if now in fitting:
                raise UserError(f"expected {now}, the new name of the method in {name.capitalize()}, got {method!r}")
        expected = f"a method that fits {name}" if method in {one.name for one in METHODS} else "a method"
        raise UserError(f"expected {expected} among {', '.join(fitting)}, got {method!r}{perhaps(method, fitting)}")
    return fitting[method]


def recipe(name: str, method: str, variant: str | None) -> Json:
    """Returns the options of a game's recipe for a method, in a variant (None: no variant was given)."""
    table = recipes(name)
    entry = table.get(method, {})
    options = {option: value for option, value in {**table.get(entry.get("as"), {}), **entry}.items() if option != "as"}
    if variant is not None and {"variants", "extra_variants"} & options.keys():
        # The run learns this variant alone; its easier games are easier games of this variant
        easier = table.get("easier", "")
        options = {option: value for option, value in options.items() if option not in OF_SEVERAL_VARIANTS}
        if easier and easier.partition("=")[0] not in variant:
            options["easy_variants"] = [f"{variant},{easier}"]
    return options


def with_recipe(name: str, method: str, words: Sequence[str]) -> list[str]:
    """Returns a command line with the options of the game's recipe that it does not give.

    Raises ValueError for a recipe with players or leaves that run code.
    """
    added = list(words)
    given, network = {word.partition("=")[0] for word in added}, take_option(added, "--network")[0]
    if file := file_of(added):
        table = read_table(file)
        given |= set(map(flag_of, table))
        network = network or table.get("network")
    for option, value in missing(name, method, take_option(added, "--variant")[0], given, network):
        if isinstance(value, bool):
            added.append(flag_of(option) if value else flag_of(option).replace("--", "--no-", 1))
        else:
            added += [flag_of(option), *(map(str, value) if isinstance(value, list) else [str(value)])]
    return added


def missing(
    name: str, method: str, variant: str | None, given: Set[str], network: str | None = None
) -> Iterator[tuple[str, Any]]:
    """Yields the options of a game's recipe that are not among the flags `given`.

    With a torch module as `network` it leaves out the options of sparse networks.

    Raises ValueError for a recipe with players or leaves that run code.
    """
    left_out: tuple[str, ...] = ()
    if network not in (None, "sparse"):
        left_out = ("sees", *getattr(method_of(name, method).options, "sparse_only", ()))
    for option, value in recipe(name, method, variant).items():
        if flag_of(option) not in given and value != [] and option not in left_out:
            if code_in(value, name):
                raise UserError(f"{name}: expected a recipe that names nothing that runs code, got {option} {value!r}")
            yield option, value


def train(game: str | Game, method: str, options: Json) -> Path:
    """Trains a model with these options and those of the game's recipe; returns the run folder.

    Raises ValueError for an unknown method or option, and for the option `variant` beside a game that is a variant.
    """
    named = as_game(game)
    name, values = named.name, dict(options)
    chosen = method_of(name, method)
    types = get_type_hints(chosen.options)
    if named.given_options:
        if "variant" in values:
            raise UserError(f"expected a game or the option variant, got {named} and variant={values['variant']!r}")
        values["variant"] = variant_text(named)
    if isinstance(values.get("network"), type):
        from leafwise.models.network import text_of

        values["network"] = text_of(values["network"])
    known = [field.name for field in dataclasses.fields(chosen.options) if field.name != "game"]
    for option in values:
        if option not in known:
            raise UserError(
                f"expected an option of {chosen.name} ({', '.join(known)}), got {option!r}{perhaps(option, known)}"
            )
    flags = {flag_of(option) for option in values}
    for option, value in missing(name, chosen.name, values.get("variant"), flags, values.get("network")):
        values[option] = msgspec.convert(value, types[option])
    return chosen.code.train(chosen.options(game=name, **values))
