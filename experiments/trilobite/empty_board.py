"""Solves the empty board of Connect Four (Trilobite 7 x 6, k = 4) and records score, nodes and seconds.

`python -m leafwise.experiments.trilobite.empty_board` takes some minutes on one core and writes `empty_board.json`.
"""

from __future__ import annotations

import platform
import sys
import threading
from dataclasses import dataclass

from leafwise.envs.core.play.solver import Solution
from leafwise.envs.registry import game
from leafwise.envs.trilobite.solver import Solver
from leafwise.experiments.study import Study, command, write_json


@dataclass(frozen=True)
class Config(Study):
    """Solves an empty board."""

    board: str = "7x6"
    """Width x height."""
    k: int = 4
    """Chips in a row that win."""
    table_mb: float = 1024
    """Most memory for the table, in MB."""
    report_seconds: float = 60
    """Seconds between two lines of progress."""


def solve(solver: Solver, report_seconds: float) -> Solution:
    """Solves the start of the solver's game in a thread of its own and tells on standard error what is known."""
    answer: list[Solution] = []
    thread = threading.Thread(target=lambda: answer.append(solver.solve(solver.game.start(), "none")), daemon=True)
    thread.start()
    while thread.is_alive():
        thread.join(report_seconds)
        known = solver.known()
        low, high = known["bounds"]
        print(f"score {low} to {high}, {known['nodes']:,} nodes", file=sys.stderr, flush=True)
    return answer[0]


def study(config: Config) -> None:
    """Solves the board and writes what was found."""
    config.target("empty_board.json")  # says at once if there is no folder
    variant = game("trilobite", board=config.board, k=config.k)
    solution = solve(Solver(variant, config.table_mb, by_heart=False), config.report_seconds)
    result = {
        "command": config.repeated_by,
        "board": config.board,
        "k": config.k,
        "table_mb": config.table_mb,
        "value": solution.value,
        "score": solution.score,
        "line": "".join(solution.line),
        "nodes": solution.nodes,
        "seconds": round(solution.seconds, 1),
        "processor": platform.machine(),
    }
    write_json(config, "empty_board.json", result, indent=2)
    print(result)


main = command(Config, study)

if __name__ == "__main__":
    raise SystemExit(main())
