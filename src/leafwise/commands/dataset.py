"""Plays games and writes every decision to a file, for your own learners."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import tyro

from leafwise.cli import Interrupted, Report, command, progress_bar

if TYPE_CHECKING:
    from leafwise.envs.core.contract.game import Game


@dataclass(frozen=True)
class Config:
    """Plays games and writes observations, masks, actions, rewards, search values and results, one row a decision.

    numpy.load reads a .npz file, and any reader of Parquet a .parquet file. Both hold `about`, which describes the games and
    the arrays. minari:NAME-v0 writes to Minari's store, one episode for each player of a game. Parquet and Minari need the extra
    `data`. In a two-player game the player plays both sides unless there is an opponent.

    Examples:
      leafwise dataset trap --player greedy --games 10 --out games.npz
    """

    most_used: ClassVar[tuple[str, ...]] = ("games", "out", "player")
    game: tyro.conf.Positional[str]
    """Name of the game."""
    out: str = "dataset.npz"
    """New file to write, .npz or .parquet, or minari:NAME-v0 (minari.load_dataset finds it)."""
    player: str = "best"
    """The player: best, random, search:LEAF,depth=2, sb3:FILE.zip, ..."""
    opponent: str = ""
    """In two-player games, the player of the other side; its decisions are not written."""
    games: int = 100
    """Games to play."""
    seed: int = 0
    """Seed of the first game; seeds for training are below 900,000."""
    exploration: float | None = None
    """Share of the player's moves that are random (default: 0, or 0.1 in a game without chance)."""
    processes: int = 1
    """Processes that play at the same time."""
    cluster: str = ""
    """Ray cluster that plays instead: auto (the one this machine belongs to), local (--processes cores of this machine, 1: all)
    or HOST:PORT."""
    json: bool = False
    """Print one JSON object."""


@command(Config)
def main(config: Config, game: Game) -> Iterator[Report]:
    """Runs the command."""
    from leafwise.training.dataset import check, check_file, collect_dataset, default_exploration, write_dataset

    share = default_exploration(game) if config.exploration is None else config.exploration
    check_file(config.out)
    check(game, config.player, config.games, config.seed, config.opponent, share, config.processes, config.cluster)
    with progress_bar(f"{game.name}, {config.player}", config.games) as progress:
        dataset = collect_dataset(
            game,
            config.player,
            config.games,
            config.seed,
            opponent=config.opponent,
            exploration=share,
            processes=config.processes,
            cluster=config.cluster,
            progress=progress,
            partial_on_interrupt=True,
        )
    games = len(dataset.arrays["seeds"])
    out = write_dataset(config.out, dataset)
    size = sum(file.stat().st_size for file in (out.rglob("*") if out.is_dir() else [out]) if file.is_file())
    yield (
        {"file": str(out), "games": games, "decisions": len(dataset), "bytes": size, **dataset.about},
        (
            f"{out}: {len(dataset):,} decisions of {games:,} games of {game.name}, {size / 1e6:,.1f} MB",
            f"  player {config.player}, seeds {config.seed} to {config.seed + games - 1}, {share:.0%} random moves",
        ),
    )
    if games < config.games:
        raise Interrupted(f"{out} holds the first {games:,} of {config.games:,} games")
