"""The main job in a few minutes: learn Threes, plug the network into the search, compare it with hand-made leaves.

`python -m leafwise.experiments.demo` compares them at equal depth and at equal time, and writes `game.gif`, a game of the
network that it trained, to the run folder.
"""

from __future__ import annotations

import json
import shutil
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from leafwise.envs.core.commandline import parse
from leafwise.envs.core.interrupts import as_command
from leafwise.envs.registry import game
from leafwise.training.runs import FINAL_SEED

if TYPE_CHECKING:
    from rich.console import Console

    from leafwise.training.evaluation.arena import Evaluation

CUTOFF = 0.003
"""Decisions less probable than this are leaves where the search has a clock, whatever the leaf."""
PICTURED_MOVES = 300
"""Moves of the game in game.gif, from its beginning."""


@dataclass(frozen=True)
class Config:
    """Options of the demo."""

    run: str = ""
    """Run folder (default: a new one under runs/)."""
    moves: int = 25_000_000
    """Moves to learn from (about a million a second on one core)."""
    hand_made: str = "openness"
    """The hand-made leaf to play against at equal depth."""
    games: tuple[int, ...] = (300, 60)
    """Games per player at depth 1, 2, ..."""
    milliseconds: float = 1.0
    """Processor time of a move at equal time."""
    timed_hand_made: str = "rows"
    """The hand-made leaf to play against at equal time: the best of them at 1 ms a move."""
    timed_games: int = 16
    """Games per player at equal time."""
    processes: int = 2
    """Processes that play."""


class Match(NamedTuple):
    """Two leaves in the same search."""

    title: str
    """The search's limit, in words."""
    limit: str
    """The same as options of the search."""
    hand_made: str
    games: int


def matches(config: Config) -> list[Match]:
    """Returns what is compared: equal depths, and equal time."""
    found = [
        Match(f"depth {depth}", f"depth={depth}", config.hand_made, games)
        for depth, games in enumerate(config.games, start=1)
    ]
    limit = f"seconds={config.milliseconds / 1000:g},clock=cpu,cutoff={CUTOFF}"
    return [*found, Match(f"{config.milliseconds:g} ms", limit, config.timed_hand_made, config.timed_games)]


def compare(config: Config, run: Path) -> list[tuple[Match, Evaluation, Evaluation]]:
    """Plays both leaves in the same search on the same seeds; returns (match, hand-made, learned) rows."""
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    from leafwise.training.evaluation.arena import evaluate

    rows = []
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(*columns) as bar:
        for match in matches(config):
            pair = []
            for source in (match.hand_made, f'"{run}"'):
                task = bar.add_task(f"{match.title}, {source.strip(chr(34))}", total=match.games)
                pair.append(
                    evaluate(
                        game("threes"),
                        f"search:{source},{match.limit}",
                        match.games,
                        processes=config.processes,
                        progress=lambda done, task=task: bar.update(task, completed=done),  # type: ignore[misc]
                    )
                )
            rows.append((match, pair[0], pair[1]))
    return rows


def described(evaluation: Evaluation) -> dict[str, Any]:
    """Returns the figures of an evaluation by name."""
    from leafwise.training.evaluation.statistics import bounds

    return {
        "player": evaluation.player,
        "games": len(evaluation.scores),
        "first_seed": evaluation.first_seed,
        "mean": evaluation.mean,
        **bounds(evaluation.interval()),
        "seconds_per_move": evaluation.seconds_per_move,
    }


def tell(console: Console, rows: list[tuple[Match, Evaluation, Evaluation]], path: Path) -> None:
    """Prints the table and writes its figures to a file."""
    from rich.table import Table

    from leafwise.models.files import write_atomically
    from leafwise.training.evaluation.statistics import interval_text

    table = Table("limit", "leaf", "games", "mean score", "95 % interval", "ms per move", title="Threes, same search")
    results = []
    for match, *pair in rows:
        for name, evaluation in zip((match.hand_made, "learned"), pair, strict=True):
            figures = described(evaluation)
            results.append({"limit": match.title, "leaf": name, **figures})
            interval = interval_text(*evaluation.interval(), ",.0f")
            mean, speed = f"{figures['mean']:,.0f}", f"{1000 * evaluation.seconds_per_move:.2f}"
            table.add_row(match.title, name, str(figures["games"]), mean, interval, speed)
    console.print(table)
    write_atomically(path, json.dumps(results, indent=2).encode())


def record(run: Path) -> Path:
    """Writes the beginning of a game that the network plays, one decision deep; returns the file."""
    from leafwise.envs.core.pictures import gif
    from leafwise.envs.core.play.gamefile import pictured, play_game
    from leafwise.models.files import write_atomically
    from leafwise.models.leaves import named_leaf
    from leafwise.search.players import player

    threes = game("threes")
    own = player(f'search:"{run}",depth=1', threes, leaf=named_leaf)
    path = run / "game.gif"
    write_atomically(path, gif(pictured(play_game(threes, [own], FINAL_SEED, PICTURED_MOVES).record()), 240, 100))
    return path


def program(name: str, module: str) -> str:
    """Returns how a program of this installation is called from here, also where its environment is not activated."""
    if shutil.which(name):
        return name
    beside = Path(sys.executable).with_name(name)
    if not beside.exists():
        return f"{sys.executable} -m {module}"
    return str(beside.relative_to(Path.cwd()) if beside.is_relative_to(Path.cwd()) else beside)


def ways_on(run: Path) -> list[str]:
    """Returns three lines to go on; each ends with a command that works where the demo ran."""
    leafwise = program("leafwise", "leafwise")
    return [
        f"watch it learn:      {program('tensorboard', 'tensorboard.main')} --logdir {run}",
        f"play with its help:  {leafwise} play threes --leaf {run}",
        f"train another game:  {leafwise} train cassis --method selfplay",
    ]


def main(arguments: list[str] | None = None) -> int:
    """Trains, compares, prints the table; returns 0 if the learned leaf wins at depth 1, intervals apart."""
    return as_command(_run, arguments)


def _run(arguments: list[str]) -> int:
    config = parse(Config, arguments, prog="leafwise demo")
    from rich.console import Console

    from leafwise.training.ntuple_td import ntuple_td as td

    start = time.perf_counter()
    run = config.run or time.strftime("runs/demo-%Y%m%d-%H%M%S")
    console = Console()
    path = td.train(td.Config(game="threes", run=run, total_steps=config.moves))
    if not (path / "results.json").exists():
        return 130
    rows = compare(config, path)
    tell(console, rows, path / "comparison.json")
    last = FINAL_SEED + max(match.games for match, *_ in rows) - 1
    animation = record(path)
    _, hand_made, learned = rows[0]
    won = learned.interval()[0] > hand_made.interval()[1]
    verdict = "wins, intervals apart" if won else "does not win with intervals apart"
    for line in (
        f"limits of time are of the processor, ms per move the wall's; decisions less probable than {CUTOFF} are leaves there",
        f"seeds {FINAL_SEED:,} to {last:,}, paired; {time.perf_counter() - start:.0f} s in all",
        f"at depth 1 the learned leaf {verdict}",
        f"the first moves of a game that it plays: {animation}",
        *ways_on(path),
    ):
        console.print(line, highlight=False, soft_wrap=True, markup=False)
    return 0 if won else 1


if __name__ == "__main__":
    raise SystemExit(main())
