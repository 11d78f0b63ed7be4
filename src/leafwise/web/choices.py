"""Which leaves and players a page may name: a list made here, so that no request makes a process read any other file.

A run is named `run:NAME`; NAME is a folder of `RUNS_FOLDER` with a model in it.
"""

from __future__ import annotations

import os
from functools import lru_cache
from pathlib import Path
from typing import Any

from leafwise.envs.core.contract.game import Game
from leafwise.envs.core.play.named import named_ai, own_programs
from leafwise.envs.core.play.solver import LEVELS, exact_solver
from leafwise.models.shipped import LEARNED, shipped_model
from leafwise.models.tensors import WEIGHTS, load_metadata
from leafwise.models.units import units_of
from leafwise.web.worker import RUNS_VARIABLE

RUN = "run:"
PACES = {"0.01": "10 ms", "0.1": "100 ms", "1": "1 s"}
"""Seconds that a player may think, and how people say it."""
NO_TABLE_MB = 1e-6
"""Memory that no solver can do with: it refuses before it loads any code."""
VARIANTS = 64
"""Variants of games that a process remembers answers about."""


def runs_folder() -> Path | None:
    """Returns the folder of runs, None where the server was given none."""
    named = os.environ.get(RUNS_VARIABLE, "")
    return Path(named).resolve() if named and Path(named).is_dir() else None


def run_models(folder: Path | None = None) -> dict[str, Path]:
    """Returns the runs that hold a model: `run:NAME` -> its folder. Links that lead out of the folder of runs are left out."""
    folder = folder or runs_folder()
    if folder is None:
        return {}
    found = {f"{RUN}{one.name}": (one / "model.safetensors").resolve() for one in sorted(folder.iterdir())}
    return {name: file.parent for name, file in found.items() if file.is_file() and file.is_relative_to(folder)}


def fits(game: Game, file: Path) -> bool:
    """Whether a model file says that it is for a game in this variant."""
    try:
        told = load_metadata(file)
    except (ValueError, OSError):
        return False
    seen = {name: value for name, value in dict(told.get("options", {})).items() if name not in game.rule_options}
    own = {name: value for name, value in game.given_options.items() if name not in game.rule_options}
    return told.get("game") == game.name and seen == own


def leaves(game: Game) -> list[dict[str, Any]]:
    """Returns the leaves of a game, the best first: `name`, `title`, and the `unit` of their values (None: a plain score)."""
    named: dict[str, str] = {}
    if shipped_model(game) is not None:
        named[LEARNED] = "shipped network"
        named |= {
            file.stem: f"shipped network {file.stem}"
            for file in sorted(WEIGHTS.glob(f"{game.name}*-*.safetensors"))
            if fits(game, file)
        }
    named |= {name: f"hand-made: {name}" for name in game.scores}
    named |= {
        name: f"run {folder.name}" for name, folder in run_models().items() if fits(game, folder / "model.safetensors")
    }
    return [{"name": name, "title": title, "unit": unit_name(game, name)} for name, title in named.items()]


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
    if leaf == "best":
        return str(listed[0])
    if leaf not in listed:
        raise ValueError(f"expected a leaf among best, {', '.join(listed)}, got {leaf!r}")
    return leaf


@lru_cache(VARIANTS)
def has_solver(game: Game) -> bool:
    """Whether the game's exact solver, if it has one, takes this variant; asked without the memory that it needs."""
    if not (game.room / "solver.py").exists():
        return False
    try:
        exact_solver(game, NO_TABLE_MB)
    except ValueError as problem:
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
    except ValueError:
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
    if player not in listed:
        raise ValueError(f"expected a player among {', '.join(listed)}, got {player!r}")
    kind, _, rest = player.partition(":")
    if kind == "search" and rest.startswith(RUN):
        leaf, _, pace = rest.rpartition(",")
        return f'search:"{leaf_source(game, leaf)}",{pace}'
    return player
