"""The main job in a few minutes: learn Threes, plug the network into the search, compare it with a hand-made leaf.

python -m leafwise.experiments.demo
"""

from __future__ import annotations

import json
import sys
import time
from dataclasses import dataclass
from pathlib import Path

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table

from leafwise.envs.core.commandline import parse
from leafwise.envs.registry import game as find_game
from leafwise.models.files import write_atomically
from leafwise.training.evaluation.arena import FINAL_SEED, Evaluation, evaluate
from leafwise.training.methods import td


@dataclass(frozen=True)
class Config:
    """Options of the demo."""

    run: str = ""
    """Run folder (default: a new one under runs/)."""
    moves: int = 25_000_000
    """Moves to learn from (about a million a second on one core)."""
    hand_made: str = "openness"
    """The hand-made leaf to play against."""
    games: tuple[int, ...] = (300, 60)
    """Games per player at depth 1, 2, ..."""
    processes: int = 2
    """Processes that play."""


def compare(config: Config, run: Path) -> list[tuple[int, Evaluation, Evaluation]]:
    """Plays both leaves in the same search on the same seeds; returns (depth, hand-made, learned) rows."""
    game = find_game("threes")
    rows = []
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(*columns) as bar:
        for depth, games in enumerate(config.games, start=1):
            pair = []
            for leaf in (config.hand_made, f'"{run}"'):
                task = bar.add_task(f"depth {depth}, {leaf.strip(chr(34))}", total=games)
                pair.append(
                    evaluate(
                        game,
                        f"search:{leaf},depth={depth}",
                        games,
                        processes=config.processes,
                        progress=lambda done, task=task: bar.update(task, completed=done),  # type: ignore[misc]
                    )
                )
            rows.append((depth, pair[0], pair[1]))
    return rows


def described(evaluation: Evaluation) -> dict[str, float | int | str]:
    """Returns the figures of an evaluation by name."""
    low, high = evaluation.interval()
    return {
        "player": evaluation.player,
        "games": len(evaluation.scores),
        "first_seed": evaluation.first_seed,
        "mean": evaluation.mean,
        "ci_low": low,
        "ci_high": high,
        "seconds_per_move": evaluation.seconds_per_move,
    }


def main(arguments: list[str] | None = None) -> int:
    """Trains, compares, prints the table; returns 0 if the learned leaf wins at depth 1, intervals apart."""
    config = parse(Config, sys.argv[1:] if arguments is None else arguments, prog="leafwise demo")
    start = time.perf_counter()
    run = config.run or time.strftime("runs/demo-%Y%m%d-%H%M%S")
    console = Console()
    try:
        path = td.train(td.Config(game="threes", run=run, total_steps=config.moves))
        if not (path / "results.json").exists():
            return 130
        rows = compare(config, path)
    except ValueError as problem:
        print(f"error: {problem}", file=sys.stderr)
        return 2
    table = Table("depth", "leaf", "games", "mean score", "95 % interval", "ms per move", title="Threes, same search")
    results = []
    for depth, *pair in rows:
        for leaf, evaluation in zip((config.hand_made, "learned"), pair, strict=True):
            figures = described(evaluation)
            results.append({"depth": depth, "leaf": leaf, **figures})
            interval = f"{figures['ci_low']:,.0f} to {figures['ci_high']:,.0f}"
            mean, speed = f"{figures['mean']:,.0f}", f"{1000 * evaluation.seconds_per_move:.2f}"
            table.add_row(str(depth), leaf, str(figures["games"]), mean, interval, speed)
    console.print(table)
    last = FINAL_SEED + max(config.games) - 1
    console.print(f"seeds {FINAL_SEED:,} to {last:,}, paired; {time.perf_counter() - start:.0f} s in all")
    write_atomically(path / "comparison.json", json.dumps(results, indent=2).encode())
    console.print(f"run folder: {path}\nlook inside: tensorboard --logdir {path}", highlight=False, soft_wrap=True)
    _, hand_made, learned = rows[0]
    won = learned.interval()[0] > hand_made.interval()[1]
    verdict = "wins, intervals apart" if won else "does not win with intervals apart"
    console.print(f"at depth 1 the learned leaf {verdict}")
    return 0 if won else 1


if __name__ == "__main__":
    raise SystemExit(main())
