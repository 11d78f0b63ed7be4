"""Draws pictures as SVG or RGB arrays, makes animations of games, and shows environments in a window."""

from __future__ import annotations

import io
from collections.abc import Callable, Sequence
from functools import cache
from html import escape
from textwrap import wrap
from typing import TYPE_CHECKING, Any

import numpy as np

from leafwise.envs.core.arrays import Bytes

if TYPE_CHECKING:
    from PIL.Image import Image as Picture

    from leafwise.envs.core.contract.game import Game
    from leafwise.envs.core.contract.state import State


SCALE = 2
"""Bitmaps are drawn at this factor and scaled down, for smooth edges."""

LINE_LENGTH = 60
"""The longest line in a drawing of text."""


class Canvas:
    """Collects shapes in draw order; lengths in pixels, colours as #rrggbb."""

    def __init__(self, width: int, height: int, background: str = "#ffffff") -> None:
        self.width, self.height, self.background = width, height, background
        self._shapes: list[tuple[str, Callable[[Any, float], object]]] = []
        """Each shape as an SVG element, and as a function that draws it with a Pillow pen at a scale."""

    def box(self, x: float, y: float, w: float, h: float, *, fill: str, edge: str = "", radius: float = 0) -> None:
        """Draws a rectangle with its top left corner at (x, y)."""

        def draw(pen: Any, k: float) -> None:
            corners = k * x, k * y, k * x + max(0, k * w - 1), k * y + max(0, k * h - 1)
            pen.rounded_rectangle(corners, k * radius, fill=fill, outline=edge or None, width=max(1, round(2 * k)))

        self._shapes.append((
            f'<rect x="{x:g}" y="{y:g}" width="{w:g}" height="{h:g}" rx="{radius:g}" fill="{fill}"{_edge(edge)}/>',
            draw,
        ))  # fmt: skip

    def disc(self, x: float, y: float, r: float, *, fill: str, edge: str = "") -> None:
        """Draws a filled circle around (x, y)."""

        def draw(pen: Any, k: float) -> None:
            corners = k * (x - r), k * (y - r), k * (x + r), k * (y + r)
            pen.ellipse(corners, fill=fill, outline=edge or None, width=max(1, round(2 * k)))

        self._shapes.append((
            f'<circle cx="{x:g}" cy="{y:g}" r="{r:g}" fill="{fill}"{_edge(edge)}/>',
            draw,
        ))  # fmt: skip

    def line(self, x: float, y: float, x2: float, y2: float, *, colour: str, width: float = 2) -> None:
        """Draws a straight line."""
        self._shapes.append((
            f'<line x1="{x:g}" y1="{y:g}" x2="{x2:g}" y2="{y2:g}" stroke="{colour}" stroke-width="{width:g}" '
            'stroke-linecap="round"/>',
            lambda pen, k: pen.line([k * x, k * y, k * x2, k * y2], fill=colour, width=max(1, round(k * width))),
        ))  # fmt: skip

    def text(
        self, x: float, y: float, words: str, *, size: float = 14, colour: str = "#222222", anchor: str = "middle"
    ) -> None:
        """Writes one line, vertically centred on y; anchor is start, middle or end."""
        side = {"start": "lm", "middle": "mm", "end": "rm"}[anchor]
        self._shapes.append((
            f'<text x="{x:g}" y="{y:g}" font-size="{size:g}" fill="{colour}" text-anchor="{anchor}" '
            f'dominant-baseline="central">{escape(words)}</text>',
            lambda pen, k: pen.text((k * x, k * y), words, fill=colour, font=_font(max(1, k * size)), anchor=side),
        ))  # fmt: skip

    def svg(self) -> str:
        """Returns the drawing as an SVG document."""
        head = f'<svg xmlns="http://www.w3.org/2000/svg" width="{self.width}" height="{self.height}"'
        parts = [f'{head} viewBox="0 0 {self.width} {self.height}" font-family="sans-serif">']
        parts.append(f'<rect width="100%" height="100%" fill="{self.background}"/>')
        return "\n".join([*parts, *(element for element, _ in self._shapes), "</svg>"])

    def rgb(self, width: int = 0) -> Bytes:
        """Returns the drawing as uint8 [height, width, 3]; 0 means its own width."""
        from PIL import Image, ImageDraw

        factor = (width or self.width) / self.width
        size = SCALE * max(1, round(self.width * factor)), SCALE * max(1, round(self.height * factor))
        image = Image.new("RGB", size, self.background)
        pen = ImageDraw.Draw(image)
        for _, draw in self._shapes:
            draw(pen, SCALE * factor)
        return np.array(image.reduce(SCALE), np.uint8)


def _edge(colour: str) -> str:
    return f' stroke="{colour}" stroke-width="2"' if colour else ""


@cache
def _font(size: float) -> Any:
    from PIL import ImageFont

    return ImageFont.load_default(size)


def text_picture(text: str) -> Canvas:
    """Returns a drawing of some lines of text."""
    lines = [piece for line in text.splitlines() or [""] for piece in (wrap(line, LINE_LENGTH) or [""])]
    canvas = Canvas(20 + 9 * max(map(len, lines)), 20 + 20 * len(lines))
    for number, line in enumerate(lines):
        canvas.text(10, 20 + 20 * number, line, anchor="start")
    return canvas


COLOURS = 32
CAPTION, PAPER, INK = 24, "#fafafa", "#22313f"
"""Height of the strip below a picture with a caption, and its colours."""


def captioned(picture: Picture, caption: str) -> Picture:
    """Returns a picture with a line of text below."""
    from PIL import Image, ImageDraw, ImageFont

    whole = Image.new("RGB", (picture.width, picture.height + CAPTION), PAPER)
    whole.paste(picture, (0, 0))
    ImageDraw.Draw(whole).text((6, picture.height + 3), caption, fill=INK, font=ImageFont.load_default(CAPTION - 10))
    return whole


def gif(states: Sequence[State], width: int, milliseconds: int, captions: Sequence[str] = ()) -> bytes:
    """Returns an animation of positions as a GIF; the last frame stays longer.

    One palette, made of frames spread over the game, serves all frames. `captions` has one text for each state, or is empty.
    """
    from PIL import Image

    def picture(k: int) -> Picture:
        image = Image.fromarray(states[k].rgb(width))
        return captioned(image, captions[k]) if captions else image

    spread = np.unique(np.linspace(0, len(states) - 1, 8, dtype=int))
    palette = Image.fromarray(np.concatenate([np.asarray(picture(int(k))) for k in spread])).quantize(COLOURS)
    frames = [picture(k).quantize(palette=palette, dither=Image.Dither.NONE) for k in range(len(states))]
    durations = [milliseconds] * (len(frames) - 1) + [max(milliseconds, 2000)]
    file = io.BytesIO()
    frames[0].save(file, "GIF", save_all=True, append_images=frames[1:], duration=durations, loop=0, optimize=True)
    return file.getvalue()


FPS = 4
"""Frames a second in a window or a film."""


class Display:
    """Shows positions of a game in a render mode; "human" opens a window at the first position.

    Raises gymnasium's DependencyNotInstalled for a window if pygame is not installed.
    """

    def __init__(self, game: Game, render_mode: str | None) -> None:
        self._game, self._render_mode = game, render_mode
        self._screen: Any = None
        self.has_window = render_mode == "human"
        if self.has_window:
            try:
                import pygame
            except ModuleNotFoundError:
                from gymnasium.error import DependencyNotInstalled

                raise DependencyNotInstalled(
                    f"{game.name}: expected pygame for render_mode 'human', found none: pip install 'leafwise[human]'"
                ) from None
            self._pygame, self._clock = pygame, pygame.time.Clock()

    def show(self, state: State) -> None:
        """Shows a position in the window, if there is one, and waits for the time of a frame."""
        if not self.has_window:
            return
        pygame, picture = self._pygame, state.rgb().transpose(1, 0, 2)
        size = picture.shape[:2]
        if self._screen is None:
            pygame.display.init()
        if self._screen is None or self._screen.get_size() != size:
            self._screen = pygame.display.set_mode(size)
            pygame.display.set_caption(self._game.title)
        pygame.surfarray.blit_array(self._screen, picture)
        pygame.event.pump()  # otherwise the desktop considers the window frozen
        pygame.display.flip()
        self._clock.tick(FPS)

    def frame(self, state: State) -> Any:
        """Returns a position as text for "ansi", or as uint8 [height, width, 3] for "rgb_array"; a window shows it again."""
        self.show(state)
        if self._render_mode is None or self.has_window:
            return None
        return state.board() if self._render_mode == "ansi" else state.rgb()

    def close(self) -> None:
        """Closes the window, if one is open."""
        if self._screen is not None:
            self._pygame.display.quit()
            self._screen = None

    def __reduce__(self) -> Any:
        return Display, (self._game, self._render_mode)  # a copy has a window of its own
