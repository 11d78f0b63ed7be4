"""Runs a program of the course in a process of its own: one line of JSON asks, one answers.

`python -m leafwise.envs.trap.baselines.course.child PATH/PlayerAI.py` reads requests from standard input: {"number": 1}
starts a game, {"call": "getMove" or "getTrap", "position": [row, column], "map": [[...]]} asks for a cell. It answers
{"ready": true}, {"cell": [row, column]} or {"error": "..."}. Whatever the program prints goes to standard error.
"""

from __future__ import annotations

import importlib
import importlib.util
import json
import os
import sys
import types
from operator import index
from pathlib import Path
from typing import Any

import numpy as np

from leafwise.envs.trap.baselines.course.grid import Grid


def manhattan_distance(position: Any, target: Any) -> Any:
    """Returns |rows apart| + |columns apart|, as the course's Utils has it."""
    return np.abs(target[0] - position[0]) + np.abs(target[1] - position[1])


class BaseAI:
    """What the course's players derive from; a player brings getMove(grid) and getTrap(grid)."""


def supply(folder: Path) -> None:
    """Makes the course's modules importable: those beside the program, else ours."""
    sys.path.insert(0, str(folder))
    ours: dict[str, dict[str, Any]] = {
        "BaseAI": {"BaseAI": BaseAI},
        "Grid": {"Grid": Grid},
        "Utils": {"manhattan_distance": manhattan_distance},
    }
    for name, contents in ours.items():
        if importlib.util.find_spec(name) is None:
            module = types.ModuleType(name)
            module.__dict__.update(contents)
            sys.modules[name] = module


def new_grid(cells: list[list[int]]) -> Any:
    """Returns a board, of the program's own class where it brings one."""
    grid = importlib.import_module("Grid").Grid(len(cells))
    grid.map = np.array(cells, dtype=np.float64)
    return grid


def answer(ai: Any, request: dict[str, Any]) -> dict[str, Any]:
    """Returns the answer to a request for a cell."""
    ai.setPosition(tuple(request["position"]))
    cell = getattr(ai, request["call"])(new_grid(request["map"]))
    try:
        row, column = cell
        return {"cell": [index(row), index(column)]}
    except (TypeError, ValueError):
        return {"error": f"expected a cell (row, column) from {request['call']}, got {cell!r}"}


def main(path: str) -> None:
    """Answers until standard input ends."""
    replies = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    supply(Path(path).parent)
    ai: Any = None
    for line in sys.stdin:
        request = json.loads(line)
        try:
            if "number" in request:
                spec = importlib.util.spec_from_file_location("PlayerAI", path)
                if spec is None or spec.loader is None:
                    raise ImportError(f"expected a Python file, got {path!r}")
                module = importlib.util.module_from_spec(spec)
                spec.loader.exec_module(module)
                ai = module.PlayerAI()
                ai.setPlayerNum(request["number"])
                reply: dict[str, Any] = {"ready": True}
            else:
                reply = answer(ai, request)
        except Exception as problem:
            reply = {"error": f"{type(problem).__name__}: {problem}"}
        replies.write(json.dumps(reply) + "\n")
        replies.flush()


if __name__ == "__main__":
    main(sys.argv[1])
