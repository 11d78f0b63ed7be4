"""What hand-made play of Threes is worth: random, every score at depths 1 to 3, and the two public programs.

`python -m leafwise.experiments.threes.baselines` plays every player of `PLAN` on the same seeds, from 1,000,000 on,
and writes `baselines.json` after each; what stands there already is not played again, so a stopped study goes on where it
was. `baselines.md` is the table of the results.
"""

from __future__ import annotations

import json
import os
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from leafwise.envs.core.commandline import parse
from leafwise.envs.registry import game
from leafwise.training.arena import FINAL_SEED, Evaluation, evaluate

GAMES_AT_DEPTH = {1: 1000, 2: 400, 3: 120}
SCORES = ("openness", "openness_wegner", "rows", "rows_cli", "total_score", "empty_spaces")
PLAN: dict[str, int] = (
    {"random": 1000}
    | {f"search:{score},depth={depth}": games for depth, games in GAMES_AT_DEPTH.items() for score in SCORES}
    | {"threesus:openness": 50, "threesus:openness_wegner": 50, "nneonneo": 10}
)
"""Players and how many games each plays."""

MILESTONES = (384, 768, 1536, 3072, 6144)
FOLDER = Path(__file__).resolve().parent


@dataclass(frozen=True)
class Config:
    """Plays the hand-made players of Threes on paired seeds and writes baselines.json and baselines.md."""

    processes: int = 1
    """Processes that play at the same time."""
    folder: Path = FOLDER
    """Where the results are, and go."""


def figures(evaluation: Evaluation) -> dict[str, Any]:
    """Returns what is kept of an evaluation."""
    low, high = evaluation.interval()
    values = 3 * 2.0 ** (evaluation.best_cells - 3)
    return {
        "games": len(evaluation.scores),
        "first_seed": evaluation.first_seed,
        "mean": evaluation.mean,
        "ci_low": low,
        "ci_high": high,
        "median": float(np.median(evaluation.scores)),
        "reached": {str(tile): float((values >= tile).mean()) for tile in MILESTONES},
        "moves": evaluation.moves,
        "seconds_per_move": evaluation.seconds_per_move,
        "scores": evaluation.scores.tolist(),
    }


def table(results: dict[str, Any]) -> str:
    """Returns the results as a markdown table."""
    head = ["player", "games", "mean", "95 % interval", "median", *(f"{tile}" for tile in MILESTONES), "s/move"]
    lines = ["| " + " | ".join(head) + " |", "|---|" + "---:|" * (len(head) - 1)]
    for name in PLAN:
        if name in results:
            r = results[name]
            row = [f"`{name}`", f"{r['games']}", f"{r['mean']:,.0f}", f"{r['ci_low']:,.0f} to {r['ci_high']:,.0f}"]
            row += [f"{r['median']:,.0f}", *(f"{100 * share:.0f} %" for share in r["reached"].values())]
            lines.append("| " + " | ".join([*row, f"{r['seconds_per_move']:.2g}"]) + " |")
    return "\n".join(lines) + "\n"


def write(path: Path, text: str) -> None:
    """Writes a file under a temporary name and renames it."""
    temporary = path.with_name(path.name + ".part")
    temporary.write_text(text, encoding="utf-8")
    os.replace(temporary, path)


def study(folder: Path, processes: int, plan: dict[str, int]) -> dict[str, Any]:
    """Plays what is missing of `plan` and returns all results by player."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / "baselines.json"
    results: dict[str, Any] = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
    for name, games in plan.items():
        if name not in results or results[name]["games"] < games:
            results[name] = figures(evaluate(game("threes"), name, games, FINAL_SEED, processes=processes))
            write(path, json.dumps(results) + "\n")
            write(folder / "baselines.md", table(results))
            print(
                f"{name}: {results[name]['mean']:,.0f}, {results[name]['seconds_per_move']:.2g} s per move", flush=True
            )
    return results


def main(arguments: list[str] | None = None) -> int:
    """Runs the study."""
    given = sys.argv[1:] if arguments is None else arguments
    config = parse(Config, given, "python -m leafwise.experiments.threes.baselines")
    print(table(study(config.folder, config.processes, PLAN)))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
