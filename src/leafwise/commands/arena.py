"""Plays a round robin of a two-player game and rates the players: Elo with errors."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import tyro

from leafwise.cli import Interrupted, OutputFile, Report, check_different, command, progress_bar
from leafwise.envs.core.errors import UserError
from leafwise.envs.core.files import is_stream, read_text, write_named
from leafwise.training.runs import FINAL_SEED

if TYPE_CHECKING:
    from leafwise.envs.core.contract.game import Game
    from leafwise.training.evaluation.arena import Tournament


@dataclass(frozen=True)
class Config:
    """Plays a round robin: every pair of players meets, from random openings, each opening from both seats.

    Players: random, greedy:LEAF, search:LEAF,depth=3, search:LEAF,seconds=0.1 and the game's own (solver, minimax, dfs);
    a leaf is a hand-made score, `learned` (the shipped model), a run folder or a model file. A player that crashes, exceeds its
    time or chooses an illegal action loses that game and is named; the tournament goes on.

    Examples:
      leafwise arena cassis random greedy best --games 20
    """

    most_used: ClassVar[tuple[str, ...]] = ("games", "processes", "json")
    game: tyro.conf.Positional[str]
    """Name of the game."""
    players: tyro.conf.Positional[tuple[str, ...]]
    """Two players or more."""
    games: int = 200
    """Games of every pair of players; even."""
    openings: int = 0
    """Different openings (0: one per two games)."""
    plies: int = -1
    """Random moves of an opening (-1: 4, or none in games with chance)."""
    seed: int = FINAL_SEED
    """Seed of the first opening and its games' chance."""
    seconds: float = 60.0
    """Time limit of a move; the first move has two minutes more to load code."""
    processes: int = 1
    """Games played at the same time."""
    cluster: str = ""
    """Ray cluster that plays instead: auto (the one this machine belongs to), local (--processes cores of this machine, 1: all)
    or HOST:PORT."""
    json: str = ""
    """File for all results, updated after every game; - prints the figures as one JSON object."""
    resume: bool = False
    """Continue the tournament of the file of --json; it may have more games and players than before."""
    save: OutputFile = ""
    """File for the games: every move and outcome of chance, for `analyze --game`, `record --game` and `leafwise.load_game`; with
    --resume new games are added."""
    overwrite: bool = False
    """Overwrite the file of --save if it exists."""


def number(value: float | None, form: str) -> str:
    """Returns a number as text, "-" for None."""
    return "-" if value is None else format(value, form)


def mean_interval(line: dict[str, Any]) -> str:
    """Returns the interval of a mean as text."""
    return f"{number(line['ci_low'], '+.3f')} to {number(line['ci_high'], '+.3f')}"


def tables(tournament: Tournament, figures: dict[str, Any]) -> Iterator[str]:
    """Yields the lines of the tables for people."""
    variant = " ".join(f"{name}={value}" for name, value in tournament.game.given_options.items())
    done = len(tournament.played)
    yield (
        f"{' '.join([tournament.game.name, variant]).strip()}: {done} of {tournament.total} games, "
        f"{len(tournament.positions)} openings of {tournament.plies} plies, seeds from {tournament.seed}"
    )
    if len(tournament.positions) < tournament.openings:
        yield (
            f"  only {len(tournament.positions)} of the {tournament.openings} requested openings differ by more than a symmetry"
        )
    if figures["counted"] < done:
        yield (
            f"  {figures['counted']} games differ; the others are repetitions and do not count: their players draw nothing"
        )
    width = max(6, *(len(line["player"]) for line in figures["standings"]))
    pays = tournament.game.stake > 1
    yield (
        f"  {'player':<{width}}  {'games':>6} {'won':>6} {'drawn':>6} {'lost':>6}   {'elo':>5} {'95 %':>15} {'ms/move':>10}"
        + f"   {'points a game':>15} {'95 %':>18}" * pays
    )
    for line in figures["standings"]:
        milliseconds = None if line["seconds_per_move"] is None else 1000 * line["seconds_per_move"]
        interval = f"{line['elo_low']:+.0f} to {line['elo_high']:+.0f}"
        yield (
            f"  {line['player']:<{width}}  {line['games']:>6} {line['wins']:>6} {line['draws']:>6} {line['losses']:>6}   "
            f"{line['elo']:>+5.0f} {interval:>15} {number(milliseconds, ',.3f'):>10}"
            + (f"   {number(line['mean'], '+.3f'):>15} {mean_interval(line):>18}" if pays else "")
        )
    for pair in figures["pairs"]:
        yield (
            f"  {pair['player']} - {pair['opponent']}: {pair['wins']} won, {pair['draws']} drawn, {pair['losses']} lost, "
            f"{'points a game' if pays else 'mean'} {number(pair['mean'], '+.3f')} ({mean_interval(pair)}), "
            f"elo {pair['elo']:+.0f} +- {pair['elo_error']:.0f}"
        )
    for line in figures["standings"]:
        for kind, count in line["faults"].items():
            if count:
                some = next(f for f in figures["faults"] if (f["player"], f["kind"]) == (line["player"], kind))
                yield f"  {line['player']} lost {count} games by {kind}; the first: {some['what']}"


@command(Config)
def main(config: Config, game: Game) -> Iterator[Report]:
    """Runs the command."""
    from leafwise.training.evaluation.arena import ready, run

    file = Path(config.json) if config.json not in ("", "-") else None
    if config.resume and file is None:
        raise UserError("expected --resume with the file of --json, got none")
    check_different({"--json": config.json, "--save": config.save})
    tournament, makers = ready(
        game,
        config.players,
        config.games,
        openings=config.openings or None,
        plies=None if config.plies == -1 else config.plies,
        seed=config.seed,
        seconds=config.seconds,
        processes=config.processes,
        cluster=config.cluster,
        file=file,
        resume=config.resume,
    )
    kept = Path(config.save)
    going_on = config.save and config.resume and kept.exists() and not is_stream(kept)
    records = list(filter(None, [read_text(kept)])) if going_on else []
    interrupted = False
    bar = progress_bar(f"{game.name}, {len(tournament.players)} players", tournament.total)
    with bar as update:
        try:
            run(
                tournament,
                makers,
                config.seconds,
                config.processes,
                lambda now, played: update(len(now.played)),
                records.append if config.save else None,
                cluster=config.cluster,
            )
        except KeyboardInterrupt:
            interrupted = True
    if config.save:
        write_named(kept, "\n".join(records).encode())
    figures = tournament.figures()
    counts = {"openings": len(tournament.positions), "games": tournament.games, "complete": tournament.complete}
    yield {**tournament.settings(), **counts, **figures}, tables(tournament, figures)
    if interrupted:
        raise Interrupted(
            f"continue with --json {file} --resume" if file else "nothing was saved: --json FILE saves games"
        )
