"""Which leaves and players a page may name: a list made here, so that no request makes a process read any other file.

A run is named `run:NAME`; NAME is a folder of `RUNS_FOLDER` with a model in it.
"""

from __future__ import annotations

import os
from functools import lru_cache
from pathlib import Path
from typing import Any

import msgspec

from leafwise.envs.core.contract.game import Game
from leafwise.envs.core.errors import UserError, printable, short
from leafwise.envs.core.play.players import named_ai, own_programs
from leafwise.envs.core.play.solver import LEVELS, exact_solver
from leafwise.envs.core.ranges import need_among
from leafwise.models.files import LEARNED, is_for, shipped_model
from leafwise.models.tensors import MODEL, WEIGHTS, load_metadata
from leafwise.models.units import units_of, why_no_units
from leafwise.training.runs.files import config_file, read_table
from leafwise.web.control import RUNS_VARIABLE

RUN = "run:"
PACES = {"0.01": "10 ms", "0.1": "100 ms", "1": "1 s"}
"""Seconds that a player may think, and how people say it."""
NO_TABLE_MB = 1e-6
"""Memory that no solver can do with: it refuses before it loads any code."""
VARIANTS = 16
"""Variants of games that a process remembers answers about, with their tables."""


def runs_folder() -> Path | None:
    """Returns the folder of runs, None where the server was given none."""
    named = os.environ.get(RUNS_VARIABLE, "")
    return Path(named).resolve() if named and Path(named).is_dir() else None


def run_models(folder: Path | None = None) -> dict[str, Path]:
    """Returns the runs that hold a model: `run:NAME` -> its folder. Links that lead out of the folder of runs are left out."""
    folder = folder or runs_folder()
    if folder is None:
        return {}
    found = {f"{RUN}{one.name}": Path(os.path.realpath(one / MODEL)) for one in sorted(folder.iterdir())}
    return {name: file.parent for name, file in found.items() if os.path.isfile(file) and file.is_relative_to(folder)}


def leaves(game: Game) -> list[dict[str, Any]]:
    """Returns the leaves of a game, the best first: `name`, `title`, and the `unit` of their values (None: a plain score; where
    only other rule options were measured, `no_unit` says so)."""
    return listed_leaves(game)[0]


def listed_leaves(game: Game) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """Returns the leaves of a game, and the model files that cannot be used: `name`, `title`, and what is `wrong`."""
    found: list[dict[str, Any]] = []
    wrong: list[dict[str, Any]] = []

    def add(name: str, title: str, file: Path | None = None) -> None:
        try:
            if file is None or is_for(game, load_metadata(file)):
                leaf = {"name": name, "title": title, "unit": unit_name(game, name)}
                leaf["no_unit"] = why_no_units(game, leaf_source(game, name))
                msgspec.json.encode(leaf)  # refuses what no answer can hold
                found.append(leaf)
        except (ValueError, OSError) as problem:
            if file is None or meant_for(file) in ("", game.name):
                wrong.append({"name": printable(name), "title": printable(title), "wrong": reason(problem, file)})

    if shipped_model(game) is not None:
        add(LEARNED, "shipped network")
        for file in sorted(WEIGHTS.glob(f"{game.name}*-*.safetensors")):
            add(file.stem, f"shipped network {file.stem}", file)
    for name in game.scores:
        add(name, f"hand-made: {name}")
    for name, folder in run_models().items():
        add(name, f"run {folder.name}", folder / MODEL)
    return found, wrong


def reason(problem: Exception, file: Path | None) -> str:
    """Returns what is wrong with a file in one line, without the folders above its own, which are nobody's business."""
    told = str(problem) if file is None else str(problem).replace(str(file.parent), file.parent.name)
    return printable(short(told, 240))


def meant_for(model: Path) -> str:
    """Returns the game that the options of a model's run name, "" where nothing does: then it is told in every game."""
    try:
        options = config_file(model.parent)
        return str(read_table(options).get("game", "")) if options else ""
    except (UserError, OSError):
        return ""


def unit_name(game: Game, leaf: str) -> str | None:
    """Returns what the values of a listed leaf are; None where that is not known."""
    units = units_of(game, leaf_source(game, leaf))
    return None if units is None else units.name


def leaf_source(game: Game, leaf: str) -> str:
    """Returns what `leafwise.load` calls a leaf that a page names."""
    models = run_models() if leaf.startswith(RUN) else {}
    return str(models[leaf]) if leaf in models else leaf


def checked_leaf(game: Game, leaf: str) -> str:
    """Returns the name of a listed leaf, the first for `best`; raises ValueError for one that is not listed."""
    listed = [one["name"] for one in leaves(game)]
    need_among(leaf, ("best", *listed), "a leaf")
    return str(listed[0]) if leaf == "best" else leaf


@lru_cache(VARIANTS)
def has_solver(game: Game) -> bool:
    """Whether the game's exact solver, if it has one, takes this variant; asked without the memory that it needs."""
    if not (game.room / "solver.py").exists():
        return False
    try:
        exact_solver(game, NO_TABLE_MB)
    except UserError as problem:
        return "exact solver" not in str(problem)  # else it is the memory that is refused
    return True


@lru_cache(VARIANTS)
def programs(game: Game) -> tuple[str, ...]:
    """Returns the texts of the game's own programs that need nothing said besides.

    In games without chance some walk through the whole game, which would never end on a larger board, so there they are for
    the default variant alone.
    """
    if game.given_options and not game.max_outcomes:
        return ()
    own = {name: texts for name, texts in own_programs(game).items() if name != "solver"}
    return tuple(text for name, texts in own.items() for text in texts if text != name or is_ready(game, name))


def is_ready(game: Game, name: str) -> bool:
    """Whether a program of a game's room plays without options."""
    try:
        return named_ai(game, name) is not None
    except UserError:
        return False


def players(game: Game) -> list[dict[str, Any]]:
    """Returns who a page may let play, `name` and `title`, the strongest pace first."""
    found = []
    if game.players == 2:
        found += [{"name": f"level:{level}", "title": f"level {level}"} for level in LEVELS]
    if "solver" in game.ais and has_solver(game):
        found.append({"name": "solver", "title": "exact solver"})
    found += [{"name": name, "title": f"program {name}"} for name in programs(game)]
    for leaf in leaves(game):
        for pace, words in PACES.items():
            found.append({"name": f"search:{leaf['name']},seconds={pace}", "title": f"{leaf['title']}, {words}"})
    return [*found, {"name": "random", "title": "random moves"}]


def player_text(game: Game, player: str) -> str:
    """Returns what `leafwise.player` calls a listed player; raises ValueError for one that is not listed."""
    listed = [one["name"] for one in players(game)]
    need_among(player, listed, "a player")
    kind, _, rest = player.partition(":")
    if kind == "search" and rest.startswith(RUN):
        leaf, _, pace = rest.rpartition(",")
        return f'search:"{leaf_source(game, leaf)}",{pace}'
    return player
