"""A game as an animation: its states, and their pictures as a GIF."""

from __future__ import annotations

import io
from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from leafwise.envs.core.contract.game import Game
from leafwise.envs.core.contract.state import State
from leafwise.envs.core.contract.stream import new_stream

COLOURS = 32


def recorded(
    game: Game, choosers: Sequence[Callable[[State], int]], seed: int, moves: int = 0, chance: bool = False
) -> list[State]:
    """Returns every decision of a game, and its end, if it comes within so many moves (0: it does); with chance stages.

    `choosers` are what chooses the action of each player.
    """
    stream = new_stream(seed)
    states = [game.start().settle(stream)]
    played = 0
    while not states[-1].is_terminal and (moves == 0 or played < moves):
        state = states[-1]
        state = state.play(choosers[state.current_player](state))
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


def gif(states: Sequence[State], width: int, milliseconds: int) -> bytes:
    """Returns an animation in one palette, taken from frames spread over the game; the last frame stays longer."""
    spread = [states[k] for k in np.unique(np.linspace(0, len(states) - 1, 8, dtype=int))]
    samples = [np.asarray(frame(state.rgb(), width)) for state in spread]
    palette = Image.fromarray(np.concatenate(samples)).quantize(COLOURS)
    frames = [frame(state.rgb(), width).quantize(palette=palette, dither=Image.Dither.NONE) for state in states]
    durations = [milliseconds] * (len(frames) - 1) + [max(milliseconds, 2000)]
    file = io.BytesIO()
    frames[0].save(file, "GIF", save_all=True, append_images=frames[1:], duration=durations, loop=0, optimize=True)
    return file.getvalue()
