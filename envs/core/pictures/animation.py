"""A game as an animation: its states, and their pictures as a GIF."""

from __future__ import annotations

import io
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageDraw, ImageFont

from leafwise.envs.core.contract.game import Game
from leafwise.envs.core.contract.state import State
from leafwise.envs.core.play.gamefile import GameRecord, play_game

COLOURS = 32
CAPTION, PAPER, INK = 24, "#fafafa", "#22313f"
"""Height of the strip below a picture that has a caption, and its colours."""


def recorded(game: Game, players: Sequence[Any], seed: int, moves: int = 0, chance: bool = False) -> list[State]:
    """Returns every decision of a game, and its end, if it comes within so many moves (0: it does); with chance stages.

    `players` are one a seat, with `name` and `choose(state)`.
    """
    return pictured(play_game(game, players, seed, moves).record(), chance)


def pictured(record: GameRecord, chance: bool = False) -> list[State]:
    """Returns every decision of a game, and its last position; with chance stages if asked for, but those of the beginning."""
    states = list(record.states)
    begun = next((k for k, state in enumerate(states) if not state.is_chance), len(states) - 1)
    return [state for state in states[begun:] if chance or not state.is_chance or state is states[-1]]


def frame(picture: NDArray[np.uint8], width: int) -> Image.Image:
    """Returns a picture scaled to a width."""
    image = Image.fromarray(picture)
    return image.resize((width, max(1, round(image.height * width / image.width))), Image.Resampling.LANCZOS)


def captioned(picture: Image.Image, caption: str) -> Image.Image:
    """Returns a picture with a line of text below."""
    whole = Image.new("RGB", (picture.width, picture.height + CAPTION), PAPER)
    whole.paste(picture, (0, 0))
    ImageDraw.Draw(whole).text((6, picture.height + 3), caption, fill=INK, font=ImageFont.load_default(CAPTION - 10))
    return whole


def gif(states: Sequence[State], width: int, milliseconds: int, captions: Sequence[str] = ()) -> bytes:
    """Returns an animation in one palette, taken from frames spread over the game; the last frame stays longer.

    `captions` are one a state, or none at all.
    """

    def picture(k: int) -> Image.Image:
        plain = frame(states[k].rgb(), width)
        return captioned(plain, captions[k]) if captions else plain

    spread = np.unique(np.linspace(0, len(states) - 1, 8, dtype=int))
    palette = Image.fromarray(np.concatenate([np.asarray(picture(int(k))) for k in spread])).quantize(COLOURS)
    frames = [picture(k).quantize(palette=palette, dither=Image.Dither.NONE) for k in range(len(states))]
    durations = [milliseconds] * (len(frames) - 1) + [max(milliseconds, 2000)]
    file = io.BytesIO()
    frames[0].save(file, "GIF", save_all=True, append_images=frames[1:], duration=durations, loop=0, optimize=True)
    return file.getvalue()
