"""What hand-made play of Threes is worth: random, every score at depths 1 to 3, and the two public programs.

`python -m leafwise.experiments.threes.baselines` plays every player of `PLAN` on the same seeds, from 1,000,000 on,
and writes `baselines.json` after every tenth of a player's games; what stands there already is not played again, so a
stopped study goes on where it was. `baselines.md` is the table of the results.
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
from leafwise.training.evaluation.arena import FINAL_SEED, Evaluation, bootstrap_interval, evaluate

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


def figures(evaluations: list[Evaluation]) -> dict[str, Any]:
    """Returns what is kept of one player's games, played in parts."""
    scores, best_cells = (np.concatenate([getattr(e, name) for e in evaluations]) for name in ("scores", "best_cells"))
    moves = sum(e.moves for e in evaluations)
    low, high = bootstrap_interval(scores)
    values = 3 * 2.0 ** (best_cells - 3)
    return {
        "games": len(scores),
        "first_seed": FINAL_SEED,
        "mean": float(scores.mean()),
        "ci_low": low,
        "ci_high": high,
        "median": float(np.median(scores)),
        "reached": {str(tile): float((values >= tile).mean()) for tile in MILESTONES},
        "moves": moves,
        "seconds_per_move": sum(e.seconds_per_move * e.moves for e in evaluations) / moves,
        "scores": scores.tolist(),
        "best_cells": best_cells.tolist(),
    }


def played_before(name: str, result: dict[str, Any]) -> Evaluation:
    """Returns the games that stand in the results as an evaluation to be added to."""
    scores, best_cells = (np.array(result[key]) for key in ("scores", "best_cells"))
    return Evaluation(name, FINAL_SEED, scores, best_cells, result["moves"], result["seconds_per_move"])


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
        done = results[name]["games"] if name in results else 0
        parts = [played_before(name, results[name])] if 0 < done < games else []
        while done < games:
            part = min(max(games // 10, 1), games - done)
            parts.append(evaluate(game("threes"), name, part, FINAL_SEED + done, processes=processes))
            done += part
            results[name] = figures(parts)
            write(path, json.dumps(results) + "\n")
            write(folder / "baselines.md", table(results))
            seconds = results[name]["seconds_per_move"]
            print(f"{name}: {results[name]['mean']:,.0f}, {done} games, {seconds:.2g} s per move", flush=True)
    return results


def main(arguments: list[str] | None = None) -> int:
    """Runs the study."""
    given = sys.argv[1:] if arguments is None else arguments
    config = parse(Config, given, "python -m leafwise.experiments.threes.baselines")
    print(table(study(config.folder, config.processes, PLAN)))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
