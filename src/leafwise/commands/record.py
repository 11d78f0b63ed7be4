"""Records a game as a GIF."""

from __future__ import annotations

import io
import os
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import tyro
from numpy.typing import NDArray
from PIL import Image

from leafwise.cli import one_line_errors, parse_with_game, patiently, say
from leafwise.envs.core.contract.game import Game
from leafwise.envs.core.contract.state import State
from leafwise.envs.core.contract.stream import new_stream
from leafwise.models.files import leaf, write_atomically
from leafwise.search.players import Player, player

COLOURS = 32


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


def play(game: Game, players: list[Player], seed: int, moves: int, chance: bool = False) -> list[State]:
    """Returns every decision of a game, and its end, if it comes within so many moves (0: it does); with chance stages."""
    stream = new_stream(seed)
    states = [game.start().settle(stream)]
    played = 0
    while not states[-1].is_terminal and (moves == 0 or played < moves):
        state = states[-1]
        state = state.play(players[state.current_player].choose(state))
        while state.is_chance:
            if chance:
                states.append(state)
            state = state.sample(stream)
        states.append(state)
        played += 1
    return states


def frame(picture: NDArray[np.uint8], width: int) -> Image.Image:
    """Returns a picture scaled to a width."""
    image = Image.fromarray(picture)
    return image.resize((width, max(1, round(image.height * width / image.width))), Image.Resampling.LANCZOS)


def gif(states: list[State], width: int, milliseconds: int) -> bytes:
    """Returns an animation in one palette, taken from frames spread over the game; the last frame stays longer."""
    spread = [states[k] for k in np.unique(np.linspace(0, len(states) - 1, 8, dtype=int))]
    samples = [np.asarray(frame(state.rgb(), width)) for state in spread]
    palette = Image.fromarray(np.concatenate(samples)).quantize(COLOURS)
    frames = [frame(state.rgb(), width).quantize(palette=palette, dither=Image.Dither.NONE) for state in states]
    durations = [milliseconds] * (len(frames) - 1) + [max(milliseconds, 2000)]
    file = io.BytesIO()
    frames[0].save(file, "GIF", save_all=True, append_images=frames[1:], duration=durations, loop=0, optimize=True)
    return file.getvalue()


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
        players = [player(name, game, config.seed + seat, leaf) for seat, name in enumerate(names)]
        states = patiently(lambda: play(game, players, config.seed, config.moves, config.chance))
    data = patiently(lambda: gif(states, config.width, config.milliseconds))
    with one_line_errors():
        write_atomically(out, data)
    say(f"{out}: {len(states)} frames, {len(data) / 1000:,.0f} kB; ends at {states[-1]}")
    return 0
