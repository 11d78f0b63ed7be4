"""Training runs in the browser: a list, curves while they run, and games of their networks."""

from __future__ import annotations

import re
import time
from pathlib import Path
from typing import Any

import msgspec

from leafwise.envs.core.errors import UserError, printable
from leafwise.envs.core.play.gamefile import play_game
from leafwise.envs.core.ranges import need_among
from leafwise.models.files import game_of
from leafwise.models.players import player
from leafwise.models.tensors import MODEL, load_metadata
from leafwise.search.players import load_code
from leafwise.training.runs.files import Curves, is_held, last_written, options_of, run_folders
from leafwise.web.games import reason, record_json, run_models, runs_folder
from leafwise.web.requests import RunGameRequest, RunRequest, RunsRequest
from leafwise.web.workers import JobContext, RecentCache

RESULTS = "results.json"
MOST_MOVES = 400
"""Maximum moves of a game that is shown: Threes may have thousands."""


class Score(msgspec.Struct):
    """The score of a run's network."""

    mean: float | None = None


class RunSummary(msgspec.Struct):
    """Entries of the list of runs that come from files."""

    game: str | None
    variant: str
    total_steps: float | None
    model_steps: float | None
    score: Score | list[Any] | None


_curves: RecentCache[Curves] = RecentCache(8)
"""Recently requested curves, which are read on from their last position."""


def need_run(name: str) -> Path:
    """Returns the folder of a run that is listed; raises ValueError for another name."""
    root = runs_folder()
    known = run_folders(root) if root else {}
    need_among(name, known, "a run")
    return known[name]


def tell_runs(request: RunsRequest, context: JobContext) -> dict[str, Any]:
    """Lists the runs, newest first, and broken model files beside them with the problem."""
    listed, root = [], runs_folder()
    known = run_folders(root) if root else {}
    for folder in {**{folder.name: folder for folder in run_models().values()}, **known}.values():
        try:
            if folder.name in known:
                listed.append(run_summary(folder.name, folder))
            else:
                model_of(folder)
        except (UserError, OSError) as problem:
            wrong = reason(problem, folder / MODEL)
            listed.append({"name": printable(folder.name), "wrong": wrong, "written": last_written(folder)})
    return {
        "folder": None if root is None else printable(root.name),
        "runs": sorted(listed, key=lambda one: -one["written"]),
    }


def run_summary(name: str, folder: Path) -> dict[str, Any]:
    """Returns the list entry of a run; raises ValueError for broken files."""
    options = options_of(folder)
    model = model_of(folder)
    method = re.search(r"^leafwise train \S+ --method ([a-z-]+)", str(model.get("command", "")))
    written = last_written(folder)
    quiet = max(0.0, time.time() - written)
    finished = (folder / RESULTS).is_file()
    info = {
        "name": name,
        "game": options.get("game"),
        "variant": options.get("variant", ""),
        "method": method[1] if method else None,
        "total_steps": options.get("total_steps"),
        "state": "running" if is_held(folder) else "finished" if finished else "stopped",
        "written": written,
        "quiet": quiet,
        "has_model": bool(model),
        "model_steps": model.get("steps"),
        "score": model.get("score") or None,
    }
    try:
        msgspec.json.encode({**options, **info})
        msgspec.convert(info, RunSummary)
    except (msgspec.MsgspecError, ValueError, TypeError, OverflowError) as problem:  # no run writes such values
        raise UserError(
            f"expected the options and the model of a run in {name!r}, got others: {problem!s:.120}"
        ) from None
    return info


def model_of(folder: Path) -> dict[str, Any]:
    """Returns the metadata of a run's model, {} if there is none yet; raises ValueError for a broken file."""
    file = folder / MODEL
    try:
        return load_metadata(file) if file.is_file() else {}
    except UserError as problem:
        raise UserError(
            f"expected a model in {MODEL!r} of {folder.name!r}, got none: {reason(problem, file)}"
        ) from None


def tell_run(request: RunRequest, context: JobContext) -> dict[str, Any]:
    """Returns a run's options and its curves so far."""
    folder = need_run(request.name)
    first = min((path.stat().st_ino for path in folder.glob("events.out.tfevents.*")), default=0)
    # a new run in an old folder has other files of events
    curves = _curves.of((folder, first), lambda: Curves(folder), context).read()
    steps = max((points[-1][0] for points in curves.values() if points), default=0)
    return {**run_summary(request.name, folder), "steps": steps, "options": options_of(folder), "curves": curves}


def play_run(request: RunGameRequest, context: JobContext) -> dict[str, Any]:
    """Plays a game of a run's network, greedily by its values; in a two-player game against itself."""
    folder = need_run(request.name)
    if not model_of(folder):
        raise UserError(f"expected a run with a model, got {request.name!r}, which has none yet")
    game = game_of(folder)
    with context.loading():
        players = [player(f'greedy:"{folder}"', game, request.seed) for _ in range(game.players)]
        for who in players:
            who.name = f"run {request.name}"
        load_code(who, game.new(request.seed))
    record = play_game(game, players, request.seed, MOST_MOVES).record()
    return {
        **record_json(record),
        "file": str(record),
        "cut": record.result is None,
        "model_steps": run_summary(request.name, folder)["model_steps"],
    }
