"""Records a game as a GIF."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

import tyro

from leafwise.cli import one_line_errors, parse_with_game, patiently, say
from leafwise.envs.core.pictures.animation import gif, recorded
from leafwise.models.files import write_atomically
from leafwise.models.players import player


@dataclass(frozen=True)
class Config:
    """Plays a game and writes it as a GIF, one frame per decision, and where asked for one before each act of chance."""

    game: tyro.conf.Positional[str]
    """Name of the game."""
    player: str = "greedy"
    """Player; in games for two, of the first seat."""
    opponent: str = "greedy"
    """In games for two, the player of the second seat."""
    seed: int = 0
    """Seed of the game's chance."""
    out: str = "game.gif"
    """File to write."""
    width: int = 240
    """Width of the picture, in pixels."""
    milliseconds: int = 150
    """Time per frame."""
    moves: int = 0
    """Decisions to play (0: to the end)."""
    chance: bool = False
    """Show what chance may do, before it does."""


def main(arguments: list[str]) -> int:
    """Runs the command."""
    config, game = parse_with_game(Config, arguments, "leafwise record")
    out = Path(config.out)
    with one_line_errors():
        limits = (("seed", 0, 2**63 - 1), ("width", 32, 2000), ("milliseconds", 20, 60_000), ("moves", 0, 10**6))
        for name, low, high in limits:
            if not low <= getattr(config, name) <= high:
                raise ValueError(f"expected --{name} of {low} to {high}, got {getattr(config, name)}")
        if out.suffix != ".gif":
            raise ValueError(f"expected a file name that ends with .gif for --out, got {config.out!r}")
        if out.is_dir() or not os.access(out.parent, os.W_OK):
            raise ValueError(f"expected a file in a folder that can be written to for --out, got {config.out!r}")
        names = [config.player, config.opponent][: game.players]
        choosers = [player(name, game, config.seed + seat).choose for seat, name in enumerate(names)]
        states = patiently(lambda: recorded(game, choosers, config.seed, config.moves, config.chance))
    data = patiently(lambda: gif(states, config.width, config.milliseconds))
    with one_line_errors():
        write_atomically(out, data)
    say(f"{out}: {len(states)} frames, {len(data) / 1000:,.0f} kB; ends at {states[-1]}")
    return 0
