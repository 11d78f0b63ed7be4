"""Games from outside the package: announced by installed distributions, or in a file that a person names.

A distribution announces its games by an entry point of the group `leafwise.games`. The entry point names the module with the
`GAME`, and a data file beside it with what the package would import the game for, in the form of `games.json`:

    [project.entry-points."leafwise.games"]
    pig = "leafwise_pig:games.json"

So no game is imported before it is used. A file with several games has the `module` of each.
"""

from __future__ import annotations

import importlib.util
import json
import os
import re
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any, NamedTuple

from leafwise.envs.core.errors import UserError
from leafwise.envs.core.files import read_text

if TYPE_CHECKING:
    from leafwise.envs.core.contract.game import Game

GROUP = "leafwise.games"
FIELDS = {"title": str} | dict.fromkeys(("options", "option_types", "option_words", "position_words", "ids"), dict)
"""The fields of a game in a data file, and their types."""
NAME, ID = r"[a-z][a-z0-9_]*", r"[A-Za-z][A-Za-z0-9]*"


class PluginWarning(UserWarning):
    """A game from outside cannot be used, or differs from its data file; other games are not affected."""


class EntryPoint(NamedTuple):
    """An entry point of a distribution in the group `leafwise.games`."""

    name: str
    value: str
    distribution: str

    def __str__(self) -> str:
        return f"the plug-in {self.name!r} of {self.distribution}"


class Listed(NamedTuple):
    """What is known of a game without importing it."""

    module: str
    """The module with the game as attribute GAME."""
    fields: dict[str, Any]
    """title, options (defaults), their types and meanings, words of a position, ids."""
    plugin: str = ""
    """The plug-in that brings it, in words; "" for a game of the package."""
    source: str = ""
    """The file, folder or module that a person named for it."""


def entry_points() -> Iterator[EntryPoint]:
    """Yields the entry points of all distributions on `sys.path`; the first of equal names counts.

    It does not use `importlib.metadata`, whose import takes a third of a command line's start.
    """
    seen = set()
    for folder in dict.fromkeys(sys.path):
        try:
            paths = sorted(
                entry.path for entry in os.scandir(folder or ".") if entry.name.endswith((".dist-info", ".egg-info"))
            )
        except OSError:  # not a folder: an archive, or nothing
            continue
        for path in paths:
            distribution = os.path.basename(path).rpartition(".")[0]
            project = re.sub("[-_.]+", "-", distribution.partition("-")[0]).lower()
            if project not in seen:
                seen.add(project)
                yield from _entry_points_of(path, distribution)


def _entry_points_of(path: str, distribution: str) -> Iterator[EntryPoint]:
    """Yields the entry points of one distribution."""
    try:
        with open(os.path.join(path, "entry_points.txt"), encoding="utf-8", errors="replace") as file:
            text = file.read()
    except OSError:
        return
    inside = False
    for line in map(str.strip, text.splitlines()) if GROUP in text else ():
        if line.startswith("["):
            inside = line == f"[{GROUP}]"
        elif inside and line and line[0] not in "#;":
            name, _, value = line.partition("=")
            yield EntryPoint(name.strip(), value.strip(), distribution)


def announced(point: EntryPoint) -> dict[str, Listed]:
    """Returns the games that an entry point announces, by name; raises ValueError for a wrong entry point."""
    module, _, file = point.value.partition(":")
    if not file:
        raise UserError(f"expected a module and its data file like 'pig:games.json', got {point.value!r}")
    return read_listing(_folder(module) / file, module, str(point))


def _folder(module: str) -> Path:
    """Returns the folder of a module's sources, without importing it; raises ValueError if it is not installed."""
    top, *inner = module.split(".")
    try:
        spec = importlib.util.find_spec(top)
    except (ImportError, ValueError):
        spec = None
    if spec is None or (not spec.submodule_search_locations and spec.origin is None):
        raise UserError(f"expected an installed module, got {module!r}")
    if not spec.submodule_search_locations:
        return Path(str(spec.origin)).parent
    folder = Path(next(iter(spec.submodule_search_locations)))
    for part in inner:
        folder = folder / part if (folder / part).is_dir() else folder
    return folder


def read_listing(path: Path, module: str, plugin: str = "") -> dict[str, Listed]:
    """Returns the games in a data file by name; `module` is their module unless the file names another.

    Raises ValueError for a file that is missing or incomplete.
    """
    try:
        table = json.loads(read_text(path))
    except OSError as problem:
        raise UserError(f"expected a data file, got {str(path)!r}: {problem.strerror}") from None
    except ValueError as problem:
        raise UserError(f"expected JSON in {str(path)!r}, got {problem}") from None
    if not isinstance(table, dict) or not table:
        raise UserError(f"expected games by name in {str(path)!r}, got {table!r:.80}")
    games = {}
    for name, entry in table.items():
        fields = dict(entry) if isinstance(entry, dict) else {}
        game_module = fields.pop("module", module)
        _check(name, fields, f"{str(path)!r}, {name!r}")
        games[name] = Listed(game_module, fields, plugin)
    return games


def _check(name: str, fields: Mapping[str, Any], where: str) -> None:
    """Raises ValueError if a field of a game in a data file is missing, or has another type."""
    if not re.fullmatch(NAME, name):
        raise UserError(f"{where}: expected a name of small letters, digits and _, got {name!r}")
    if set(fields) != set(FIELDS):
        raise UserError(f"{where}: expected {', '.join(FIELDS)}, got {', '.join(fields) or 'nothing'}")
    for field, kind in FIELDS.items():
        if not isinstance(fields[field], kind):
            raise UserError(f"{where}: expected {field} of type {kind.__name__}, got {fields[field]!r:.80}")
    for short, options in fields["ids"].items():
        if not re.fullmatch(ID, short) or not isinstance(options, dict) or not set(options) <= set(fields["options"]):
            raise UserError(
                f"{where}: expected ids of letters and digits with options of the game, got {short!r}: {options!r}"
            )


def module_name(source: str) -> str:
    """Returns the import name of a file, a package (its folder) or a module, and makes it importable.

    Its folder is added at the end of `sys.path`, so that nothing in it hides what is installed. Raises ValueError for anything
    else, and for the name of another module.
    """
    path = Path(source)
    if not path.exists() and re.fullmatch(r"[^\W\d]\w*(\.[^\W\d]\w*)*", source) and not source.endswith(".py"):
        return source
    if path.name == "__init__.py":
        path = path.parent
    file = path / "__init__.py" if path.is_dir() else path
    if not file.is_file() or file.suffix != ".py" or not path.stem.isidentifier():
        raise UserError(f"expected a Python file, a folder with __init__.py or a module's name, got {source!r}")
    name, folder = path.stem, str(path.resolve().parent)
    if folder not in sys.path:
        sys.path.append(folder)
        importlib.invalidate_caches()
    try:
        spec = importlib.util.find_spec(name)
    except ValueError:  # a module that has no spec, like __main__
        spec = None
    if spec is None or spec.origin is None or not Path(spec.origin).exists() or not os.path.samefile(spec.origin, file):
        other = f": {name!r} is {spec.origin}" if spec is not None else ""
        raise UserError(f"expected a file with a new module name, got {source!r}{other}")
    return name


def imported_module(module: str) -> ModuleType:
    """Imports a module; raises ValueError, naming the line, if that fails."""
    try:
        return importlib.import_module(module)
    except (Exception, SystemExit) as problem:
        raise UserError(
            f"expected a module that imports, got {module!r}: {type(problem).__name__}{_place(problem)}: {problem}"
        ) from problem


def imported(module: str) -> Game:
    """Imports a module and returns its GAME; raises ValueError, naming the line, if that fails."""
    module_object = imported_module(module)
    from leafwise.envs.core.contract.game import Game

    game = getattr(module_object, "GAME", None)
    if not isinstance(game, Game):
        raise UserError(f"expected a Game called GAME in the module {module!r}, got {game!r:.80}")
    return game


def is_module_class(thing: object) -> bool:
    """Whether an object is a class of torch modules; False if torch is not imported."""
    torch = sys.modules.get("torch")
    return torch is not None and isinstance(thing, type) and issubclass(thing, torch.nn.Module)


def _place(problem: BaseException) -> str:
    """Returns the file and line that an exception comes from."""
    if isinstance(problem, SyntaxError):  # its message has the line
        return ""
    trace = problem.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    file = trace is not None and trace.tb_frame.f_code.co_filename
    return f" at {os.path.basename(file)}:{trace.tb_lineno}" if file and trace is not None and file[0] != "<" else ""
