"""One drawing, two pictures: shapes that become SVG text or an RGB array."""

from __future__ import annotations

from functools import cache
from html import escape
from textwrap import wrap
from typing import Any

import numpy as np
from numpy.typing import NDArray

SCALE = 2
"""Bitmaps are drawn this much larger and scaled down, for smooth edges."""

LINE_LENGTH = 60
"""Longest line of a drawing of text."""


class Canvas:
    """Collects shapes in draw order; lengths in pixels, colours as #rrggbb."""

    def __init__(self, width: int, height: int, background: str = "#ffffff") -> None:
        self.width, self.height, self.background = width, height, background
        self._shapes: list[tuple[str, dict[str, Any]]] = []

    def box(self, x: float, y: float, w: float, h: float, *, fill: str, edge: str = "", radius: float = 0) -> None:
        """Draws a rectangle with its top left corner at (x, y)."""
        self._shapes.append(("box", {"x": x, "y": y, "w": w, "h": h, "fill": fill, "edge": edge, "radius": radius}))

    def disc(self, x: float, y: float, r: float, *, fill: str, edge: str = "") -> None:
        """Draws a filled circle around (x, y)."""
        self._shapes.append(("disc", {"x": x, "y": y, "r": r, "fill": fill, "edge": edge}))

    def line(self, x: float, y: float, x2: float, y2: float, *, colour: str, width: float = 2) -> None:
        """Draws a straight line."""
        self._shapes.append(("line", {"x": x, "y": y, "x2": x2, "y2": y2, "colour": colour, "width": width}))

    def text(
        self, x: float, y: float, words: str, *, size: float = 14, colour: str = "#222222", anchor: str = "middle"
    ) -> None:
        """Writes one line, vertically centred on y; anchor is start, middle or end."""
        self._shapes.append(
            ("text", {"x": x, "y": y, "words": words, "size": size, "colour": colour, "anchor": anchor})
        )

    def svg(self) -> str:
        """Returns the drawing as an SVG document."""
        head = f'<svg xmlns="http://www.w3.org/2000/svg" width="{self.width}" height="{self.height}"'
        parts = [f'{head} viewBox="0 0 {self.width} {self.height}" font-family="sans-serif">']
        parts.append(f'<rect width="100%" height="100%" fill="{self.background}"/>')
        parts += [_SVG[kind](shape) for kind, shape in self._shapes]
        return "\n".join([*parts, "</svg>"])

    def rgb(self) -> NDArray[np.uint8]:
        """Returns the drawing as uint8 [height, width, 3]."""
        from PIL import Image, ImageDraw

        image = Image.new("RGB", (self.width * SCALE, self.height * SCALE), self.background)
        pen = ImageDraw.Draw(image)
        for kind, shape in self._shapes:
            _PIXELS[kind](pen, shape)
        return np.asarray(image.resize((self.width, self.height), Image.Resampling.BOX), dtype=np.uint8).copy()


def text_picture(text: str) -> Canvas:
    """Returns a drawing of some lines of text."""
    lines = [piece for line in text.splitlines() or [""] for piece in (wrap(line, LINE_LENGTH) or [""])]
    canvas = Canvas(20 + 9 * max(map(len, lines)), 20 + 20 * len(lines))
    for number, line in enumerate(lines):
        canvas.text(10, 20 + 20 * number, line, anchor="start")
    return canvas


def _edge(shape: dict[str, Any]) -> str:
    return f' stroke="{shape["edge"]}" stroke-width="2"' if shape["edge"] else ""


_SVG = {
    "box": lambda s: (
        f'<rect x="{s["x"]:g}" y="{s["y"]:g}" width="{s["w"]:g}" height="{s["h"]:g}" rx="{s["radius"]:g}" '
        f'fill="{s["fill"]}"{_edge(s)}/>'
    ),
    "disc": lambda s: f'<circle cx="{s["x"]:g}" cy="{s["y"]:g}" r="{s["r"]:g}" fill="{s["fill"]}"{_edge(s)}/>',
    "line": lambda s: (
        f'<line x1="{s["x"]:g}" y1="{s["y"]:g}" x2="{s["x2"]:g}" y2="{s["y2"]:g}" '
        f'stroke="{s["colour"]}" stroke-width="{s["width"]:g}" stroke-linecap="round"/>'
    ),
    "text": lambda s: (
        f'<text x="{s["x"]:g}" y="{s["y"]:g}" font-size="{s["size"]:g}" fill="{s["colour"]}" '
        f'text-anchor="{s["anchor"]}" dominant-baseline="central">{escape(s["words"])}</text>'
    ),
}


@cache
def _font(size: float) -> Any:
    from PIL import ImageFont

    return ImageFont.load_default(size)


def _box(pen: Any, s: dict[str, Any]) -> None:
    x, y = s["x"] * SCALE, s["y"] * SCALE
    corner = (x, y, x + s["w"] * SCALE - 1, y + s["h"] * SCALE - 1)
    pen.rounded_rectangle(corner, s["radius"] * SCALE, fill=s["fill"], outline=s["edge"] or None, width=2 * SCALE)


def _disc(pen: Any, s: dict[str, Any]) -> None:
    x, y, r = s["x"] * SCALE, s["y"] * SCALE, s["r"] * SCALE
    pen.ellipse((x - r, y - r, x + r, y + r), fill=s["fill"], outline=s["edge"] or None, width=2 * SCALE)


def _line(pen: Any, s: dict[str, Any]) -> None:
    ends = tuple(s[k] * SCALE for k in ("x", "y", "x2", "y2"))
    pen.line(ends, fill=s["colour"], width=max(1, round(s["width"] * SCALE)))


def _text(pen: Any, s: dict[str, Any]) -> None:
    anchor = {"start": "lm", "middle": "mm", "end": "rm"}[s["anchor"]]
    place = (s["x"] * SCALE, s["y"] * SCALE)
    pen.text(place, s["words"], fill=s["colour"], font=_font(s["size"] * SCALE), anchor=anchor)


_PIXELS = {"box": _box, "disc": _disc, "line": _line, "text": _text}
