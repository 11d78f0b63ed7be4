"""The shapes that pictures are made of: each can be moved, written as SVG and painted by Pillow; lengths in pixels."""

from __future__ import annotations

import functools
import html
from typing import NamedTuple

from PIL import ImageColor, ImageDraw, ImageFont


class Rectangle(NamedTuple):
    """A filled rectangle; `outline` None for none; opacity from 0 to 1."""

    x: float
    y: float
    w: float
    h: float
    fill: str
    outline: str | None = None
    opacity: float = 1.0

    def moved(self, dx: float, dy: float) -> Rectangle:
        return self._replace(x=self.x + dx, y=self.y + dy)

    def paint(self, pen: ImageDraw.ImageDraw, factor: float) -> None:
        colour = (*ImageColor.getrgb(self.fill)[:3], round(255 * self.opacity))
        x0, y0 = round(self.x * factor), round(self.y * factor)
        x1, y1 = round((self.x + self.w) * factor) - 1, round((self.y + self.h) * factor) - 1
        if x1 >= x0 and y1 >= y0:
            pen.rectangle((x0, y0, x1, y1), fill=colour, outline=self.outline, width=max(1, round(factor / 2)))

    def svg(self) -> str:
        inset = 0.5 if self.outline else 0.0
        edge = f' stroke="{self.outline}"' if self.outline else ""
        opacity = f' opacity="{self.opacity:g}"' if self.opacity < 1 else ""
        size = f'width="{self.w - 2 * inset:g}" height="{self.h - 2 * inset:g}"'
        return f'<rect x="{self.x + inset:g}" y="{self.y + inset:g}" {size} fill="{self.fill}"{edge}{opacity}/>'


class Polygon(NamedTuple):
    """A filled polygon."""

    points: tuple[tuple[float, float], ...]
    fill: str

    def moved(self, dx: float, dy: float) -> Polygon:
        return self._replace(points=tuple((x + dx, y + dy) for x, y in self.points))

    def paint(self, pen: ImageDraw.ImageDraw, factor: float) -> None:
        pen.polygon([(x * factor, y * factor) for x, y in self.points], fill=self.fill)

    def svg(self) -> str:
        points = " ".join(f"{x:.2f},{y:.2f}" for x, y in self.points)
        return f'<polygon points="{points}" fill="{self.fill}"/>'


class Line(NamedTuple):
    """A straight line."""

    x0: float
    y0: float
    x1: float
    y1: float
    colour: str
    width: float

    def moved(self, dx: float, dy: float) -> Line:
        return self._replace(x0=self.x0 + dx, y0=self.y0 + dy, x1=self.x1 + dx, y1=self.y1 + dy)

    def paint(self, pen: ImageDraw.ImageDraw, factor: float) -> None:
        ends = (self.x0 * factor, self.y0 * factor, self.x1 * factor, self.y1 * factor)
        pen.line(ends, fill=self.colour, width=max(1, round(self.width * factor)))

    def svg(self) -> str:
        ends = f'x1="{self.x0:.2f}" y1="{self.y0:.2f}" x2="{self.x1:.2f}" y2="{self.y1:.2f}"'
        return f'<line {ends} stroke="{self.colour}" stroke-width="{self.width:g}"/>'


class Text(NamedTuple):
    """A line of text, its left top corner at (x, y), `size` pixels high."""

    x: float
    y: float
    text: str
    size: int
    colour: str

    def moved(self, dx: float, dy: float) -> Text:
        return self._replace(x=self.x + dx, y=self.y + dy)

    def paint(self, pen: ImageDraw.ImageDraw, factor: float) -> None:
        place = (self.x * factor, self.y * factor)
        pen.text(place, self.text, fill=self.colour, font=font(max(1, round(self.size * factor))))

    def svg(self) -> str:
        style = f'font-family="sans-serif" font-size="{self.size}" fill="{self.colour}"'
        return f'<text x="{self.x:g}" y="{self.y + 0.85 * self.size:g}" {style}>{html.escape(self.text)}</text>'


Shape = Rectangle | Polygon | Line | Text


class Scene(NamedTuple):
    """A picture: its size in pixels, and its shapes from back to front."""

    width: int
    height: int
    shapes: list[Shape]

    def svg(self, scale: float = 1.0) -> str:
        """Returns the picture as SVG text, so many times as large."""
        size = f'width="{self.width * scale:g}" height="{self.height * scale:g}"'
        head = f'<svg xmlns="http://www.w3.org/2000/svg" {size} viewBox="0 0 {self.width} {self.height}">'
        return "\n".join([head, *(shape.svg() for shape in self.shapes), "</svg>"]) + "\n"


@functools.cache
def font(size: int) -> ImageFont.FreeTypeFont | ImageFont.ImageFont:
    """Returns Pillow's own font."""
    return ImageFont.load_default(size)
