"""Training runs in the browser: which there are, their curves while they go on, and games of the network that they keep."""

from __future__ import annotations

import re
import time
from collections import OrderedDict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec

from leafwise.envs.core.errors import UserError, printable
from leafwise.envs.core.play.gamefile import GameRecord, play_game
from leafwise.envs.core.ranges import need_among
from leafwise.models.files import game_of
from leafwise.models.players import player
from leafwise.models.tensors import MODEL, load_metadata
from leafwise.search.players import load_code
from leafwise.training.runs.files import Curves, last_written, options_of, run_folders
from leafwise.web.asks import RunAsk, RunGameAsk, RunsAsk
from leafwise.web.choices import reason, run_models, runs_folder
from leafwise.web.control import Control
from leafwise.web.games_as_text import told

RESULTS = "results.json"
QUIET = 300.0
"""Seconds without anything written after which a run that is not finished counts as standing still."""
REMEMBERED = 8
"""Runs whose curves are read on from where they were."""
MOST_MOVES = 400
"""Moves of a game that is shown: one of Threes may have thousands."""


class Score(msgspec.Struct):
    """How good a run's network is."""

    mean: float | None = None


class Brief(msgspec.Struct):
    """What a list says of a run that comes from its files."""

    game: str | None
    variant: str
    total_steps: float | None
    model_steps: float | None
    score: Score | list[Any] | None


_curves: OrderedDict[tuple[Path, int], Curves] = OrderedDict()


def folders() -> dict[str, Path]:
    """Returns the run folders that may be read, by name."""
    root = runs_folder()
    return {} if root is None else run_folders(root)


def need_run(name: str) -> Path:
    """Returns the folder of a run that is listed; raises ValueError for another name."""
    known = folders()
    need_among(name, known, "a run")
    return known[name]


def tell_runs(ask: RunsAsk, control: Control) -> Iterator[dict[str, Any]]:
    """Tells the runs, the one written last first, and the model files beside them that are none, with what is wrong."""
    found, known = [], folders()
    for name, folder in known.items():
        try:
            found.append(brief(name, folder))
        except (UserError, OSError) as problem:
            found.append(
                {"name": printable(name), "wrong": reason(problem, folder / MODEL), "written": last_written(folder)}
            )
    for folder in run_models().values():
        if folder.name not in known:
            try:
                model_of(folder)
            except UserError as problem:
                wrong = reason(problem, folder / MODEL)
                found.append({"name": printable(folder.name), "wrong": wrong, "written": last_written(folder)})
    root = runs_folder()
    yield {
        "folder": None if root is None else printable(root.name),
        "runs": sorted(found, key=lambda one: -one["written"]),
    }


def brief(name: str, folder: Path) -> dict[str, Any]:
    """Returns what a list says of a run; raises ValueError for files that are none of a run's."""
    options = options_of(folder)
    model = model_of(folder)
    method = re.search(r"^leafwise train \S+ --method ([a-z-]+)", str(model.get("command", "")))
    written = last_written(folder)
    quiet = max(0.0, time.time() - written)
    finished = (folder / RESULTS).is_file()
    told = {
        "name": name,
        "game": options.get("game"),
        "variant": options.get("variant", ""),
        "method": method[1] if method else None,
        "total_steps": options.get("total_steps"),
        "state": "finished" if finished else "running" if quiet < QUIET else "stopped",
        "written": written,
        "quiet": quiet,
        "has_model": bool(model),
        "model_steps": model.get("steps"),
        "score": model.get("score") or None,
    }
    try:
        msgspec.json.encode({**options, **told})
        msgspec.convert(told, Brief)
    except (msgspec.MsgspecError, ValueError, TypeError, OverflowError) as problem:  # what no run writes
        raise UserError(f"expected the options and the model of a run in {name!r}: {problem!s:.120}") from None
    return told


def model_of(folder: Path) -> dict[str, Any]:
    """Returns what the model file of a run says, {} where there is none yet; raises ValueError for a broken one."""
    file = folder / MODEL
    try:
        return load_metadata(file) if file.is_file() else {}
    except UserError as problem:
        raise UserError(f"expected a model in {MODEL!r} of {folder.name!r}: {reason(problem, file)}") from None


def tell_run(ask: RunAsk, control: Control) -> Iterator[dict[str, Any]]:
    """Tells a run: its options, and its curves up to now."""
    folder = need_run(ask.name)
    found = curves_of(folder).read()
    steps = max((points[-1][0] for points in found.values() if points), default=0)
    yield {**brief(ask.name, folder), "steps": steps, "options": options_of(folder), "curves": found}


def curves_of(folder: Path) -> Curves:
    """Returns the curves of a run, read on from where they were; those of a new run in an old one's folder begin anew."""
    first = min((path.stat().st_ino for path in folder.glob("events.out.tfevents.*")), default=0)
    key = (folder, first)
    if key not in _curves:
        _curves[key] = Curves(folder)
        if len(_curves) > REMEMBERED:
            _curves.popitem(last=False)
    _curves.move_to_end(key)
    return _curves[key]


def play_run(ask: RunGameAsk, control: Control) -> Iterator[dict[str, Any]]:
    """Tells a game that the network of a run plays, each move by its values alone; for two, against itself."""
    folder = need_run(ask.name)
    if not model_of(folder):
        raise UserError(f"expected a run with a model, {ask.name!r} has none yet")
    game = game_of(folder)
    with control.loading():
        players = [player(f'greedy:"{folder}"', game, ask.seed) for _ in range(game.players)]
        for who in players:
            who.name = f"run {ask.name}"
        load_code(who, game.new(ask.seed))
    record: GameRecord = play_game(game, players, ask.seed, MOST_MOVES).record()
    yield {
        **told(record),
        "file": str(record),
        "cut": record.result is None,
        "model_steps": brief(ask.name, folder)["model_steps"],
    }
