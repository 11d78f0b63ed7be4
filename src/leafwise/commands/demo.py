"""Learns Threes in a few minutes and compares the learned leaf with a hand-made one."""

from __future__ import annotations

import json
import shutil
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, ClassVar, NamedTuple

from leafwise.cli import WithStatus, command, progress_bar
from leafwise.commands.eval import figures
from leafwise.envs.core.errors import UserError
from leafwise.envs.core.interrupts import INTERRUPTED
from leafwise.envs.core.ranges import Range
from leafwise.envs.registry import game
from leafwise.training.runs import FINAL_SEED

CUTOFF = 0.003
"""Less probable decisions are leaves in the searches with a time limit."""
PICTURED_MOVES = 300
"""Moves of the game in game.gif, from its beginning."""


@dataclass(frozen=True)
class Config:
    """Learns Threes and compares the network with hand-made leaves in the same search, at equal depth and at equal time.

    Writes the first moves of a game that the network plays, game.gif, to the run folder.

    Examples:
      leafwise demo
    """

    most_used: ClassVar[tuple[str, ...]] = ("run", "moves", "games")
    run: str = ""
    """Run folder (default: a new one under runs/)."""
    moves: Annotated[int, Range(1, 10**13)] = 25_000_000
    """Moves to learn from (about a million a second on one core)."""
    hand_made: str = "openness"
    """The hand-made leaf to play against at equal depth."""
    games: tuple[int, ...] = (300, 60)
    """Games per player at depth 1, 2, ..."""
    milliseconds: Annotated[float, Range(0, 10**9, above=True)] = 1.0
    """Processor time of a move at equal time, in milliseconds."""
    timed_hand_made: str = "rows"
    """The hand-made leaf to play against at equal time: the best of them at 1 ms a move."""
    timed_games: Annotated[int, Range(1)] = 16
    """Games per player at equal time."""
    processes: Annotated[int, Range(1)] = 2
    """Processes that play."""


class LeafComparison(NamedTuple):
    """Two leaves in the same search."""

    title: str
    """The search's limit, in words."""
    limit: str
    """The limit as options of the search."""
    hand_made: str
    games: int


def matches(config: Config) -> list[LeafComparison]:
    """Returns the comparisons: at equal depths, and at equal time."""
    by_depth = [
        LeafComparison(f"depth {depth}", f"depth={depth}", config.hand_made, games)
        for depth, games in enumerate(config.games, start=1)
    ]
    limit = f"seconds={config.milliseconds / 1000:g},clock=cpu,cutoff={CUTOFF}"
    return [*by_depth, LeafComparison(f"{config.milliseconds:g} ms", limit, config.timed_hand_made, config.timed_games)]


def program(name: str, module: str) -> str:
    """Returns the command for a program of this installation, also if its environment is not activated."""
    if shutil.which(name):
        return name
    beside = Path(sys.executable).with_name(name)
    if not beside.exists():
        return f"{sys.executable} -m {module}"
    return str(beside.relative_to(Path.cwd()) if beside.is_relative_to(Path.cwd()) else beside)


def ways_on(run: Path) -> list[str]:
    """Returns three lines on what to do next; each ends with a command that works in this folder."""
    leafwise = program("leafwise", "leafwise")
    return [
        f"watch it learn:      {program('tensorboard', 'tensorboard.main')} --logdir {run}",
        f"play with its help:  {leafwise} play threes --leaf {run}",
        f"train it otherwise:  {leafwise} train threes --method ntuple-q",
    ]


@command(Config)
def main(config: Config) -> WithStatus:
    """Trains, compares and prints the table; returns 0 if the learned leaf wins at depth 1 with separate intervals."""
    if not config.games:
        raise UserError("expected --games, one number for each depth, got none")
    start, run = time.perf_counter(), config.run or time.strftime("runs/demo-%Y%m%d-%H%M%S")
    yield f"learning Threes from {config.moves:,} moves, in {run}"  # before anything is loaded
    from leafwise.envs.core.pictures import gif
    from leafwise.envs.core.play.gamefile import pictured, play_game
    from leafwise.models.files import write_atomically
    from leafwise.models.players import player
    from leafwise.training.evaluation.arena import check, evaluate
    from leafwise.training.evaluation.statistics import interval_text
    from leafwise.training.ntuple_td import ntuple_td as td

    threes = game("threes")
    for _, limit, hand_made, games in matches(config):  # before it trains
        check(threes, f"search:{hand_made},{limit}", games, FINAL_SEED, None, config.processes)
    path = td.train(td.Config(game="threes", run=run, total_steps=config.moves))
    if not (path / "results.json").exists():
        return INTERRUPTED
    row = "{:<8} {:<10} {:>5} {:>10}   {:>20} {:>11}"
    yield "Threes, same search\n" + row.format("limit", "leaf", "games", "mean score", "95 % interval", "ms per move")
    played, results, most = [], [], 0
    for title, limit, hand_made, games in matches(config):
        most = max(most, games)
        for leaf, source in ((hand_made, hand_made), ("learned", f'"{path}"')):
            with progress_bar(f"{title}, {leaf}", games) as progress:
                evaluation = evaluate(
                    threes, f"search:{source},{limit}", games, processes=config.processes, progress=progress
                )
            interval, ms = interval_text(*evaluation.interval(), ",.0f"), 1000 * evaluation.seconds_per_move
            yield row.format(title, leaf, games, f"{evaluation.mean:,.0f}", interval, f"{ms:.2f}")
            played.append(evaluation)
            results.append({"limit": title, "leaf": leaf, **figures(threes, evaluation)})
    write_atomically(path / "comparison.json", json.dumps(results, indent=2).encode())
    learned = player(f'search:"{path}",depth=1', threes)
    animation = gif(pictured(play_game(threes, [learned], FINAL_SEED, PICTURED_MOVES).record()), 240, 100)
    write_atomically(path / "game.gif", animation)
    won = played[1].interval()[0] > played[0].interval()[1]
    verdict = "wins with separate intervals" if won else "does not win with separate intervals"
    yield f"time limits are processor time, ms per move are wall time; decisions less probable than {CUTOFF} are leaves there"
    yield f"seeds {FINAL_SEED:,} to {FINAL_SEED + most - 1:,}, paired; {time.perf_counter() - start:.0f} s in all"
    yield f"at depth 1 the learned leaf {verdict}"
    yield f"the first moves of a game that it plays: {path / 'game.gif'}"
    yield from ways_on(path)
    return int(not won)
