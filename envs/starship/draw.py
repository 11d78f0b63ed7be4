"""Pictures of ships: PNG through Pillow, SVG as text, a gallery of many, and the stages one after another."""

from __future__ import annotations

import functools
import html
import io
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageColor, ImageDraw, ImageFont

from leafwise.envs.starship.scene import (
    CELL,
    FAINT_INK,
    INK,
    PANEL_COLOUR,
    SPACE_COLOUR,
    Box,
    Line,
    Polygon,
    Rectangle,
    Scene,
    Shape,
    Text,
    footer,
    hull_box,
    moved,
    scene,
    ship_shapes,
)
from leafwise.envs.starship.ship import Ship

SMOOTH = 2
"""Pictures are drawn this many times as large and scaled down."""


def image(picture: Scene, scale: float = 1.0) -> Image.Image:
    """Returns a scene as an RGB image; `scale` 1 means 12 pixels a cell."""
    factor = scale * SMOOTH
    width, height = max(1, round(picture.width * scale)), max(1, round(picture.height * scale))
    canvas = Image.new("RGB", (width * SMOOTH, height * SMOOTH), SPACE_COLOUR)
    pen = ImageDraw.Draw(canvas, "RGBA")
    for shape in picture.shapes:
        _paint(pen, shape, factor)
    return canvas.resize((width, height), Image.Resampling.BOX)


def svg(ship: Ship, *, lanes: bool = False, whole: bool = False) -> str:
    """Returns the picture of a ship with its legend as SVG text; `whole` shows the whole grid."""
    return _svg_text(scene(ship, lanes=lanes, whole=whole))


def png(ship: Ship, *, lanes: bool = False) -> bytes:
    """Returns the picture of a ship with its legend as the bytes of a PNG file."""
    return png_bytes(image(scene(ship, lanes=lanes)))


def rgb(ship: Ship, *, whole: bool = False) -> NDArray[np.uint8]:
    """Returns the picture of a ship with its legend as pixels, shape [height, width, 3]; `whole` as in `svg`."""
    return np.array(image(scene(ship, whole=whole)), dtype=np.uint8)


def png_bytes(picture: Image.Image) -> bytes:
    """Returns an image as the bytes of a PNG file of at most 256 colours."""
    file = io.BytesIO()
    picture.quantize(256, dither=Image.Dither.NONE).save(file, "PNG", optimize=True)
    return file.getvalue()


def gallery(ships: Sequence[Ship], columns: int, scale: float = 0.5) -> Image.Image:
    """Returns a contact sheet: the ships in rows of `columns`, each with its seed and quality."""
    boxes = [hull_box(ship, 1) for ship in ships]
    captions = [[footer(ship)[0][0], footer(ship)[1][0]] for ship in ships]
    return image(_sheet(ships, boxes, captions, columns), scale)


def story(stages: Sequence[tuple[str, Ship]], columns: int = 5, scale: float = 0.5) -> Image.Image:
    """Returns the ship after each stage, as `Generator.stages` gives them, side by side at the same place."""
    box = hull_box(stages[-1][1], 2)
    captions = [[f"{k}. {name}", _change(stages, k - 1)] for k, (name, _) in enumerate(stages, 1)]
    ships = [ship for _, ship in stages]
    return image(_sheet(ships, [box] * len(ships), captions, columns), scale)


def _change(stages: Sequence[tuple[str, Ship]], k: int) -> str:
    """Returns in a few words what stage number `k` of a story did."""
    ship, before = stages[k][1], stages[k - 1][1] if k else None
    area = sum(line.count(".") for line in ship.hull)
    if before is None:
        return f"{area} cells"
    was = sum(line.count(".") for line in before.hull)
    if area != was:
        return f"{area - was:+d} cells"
    parts, armour = len(ship.parts) - len(before.parts), len(ship.armour) - len(before.armour)
    doors = len(ship.doors) - len(before.doors)
    if parts:
        return f"{parts} part{'s' * (parts > 1)}"
    return f"{armour} armour" if armour else f"{doors} door{'s' * (doors != 1)}"


def _sheet(ships: Sequence[Ship], boxes: Sequence[Box], captions: Sequence[Sequence[str]], columns: int) -> Scene:
    """Returns the scene of a contact sheet; captions are twice as large as in a single picture."""
    columns = min(columns, len(ships))
    wide = max((box.right - box.left) * CELL for box in boxes) + 36
    tall = max((box.bottom - box.top) * CELL for box in boxes) + 100
    rows = -(-len(ships) // columns)
    shapes: list[Shape] = [Rectangle(0, 0, wide * columns, tall * rows, SPACE_COLOUR)]
    for k, (ship, box, lines) in enumerate(zip(ships, boxes, captions, strict=True)):
        x, y = k % columns * wide, k // columns * tall
        dx = x + (wide - (box.right - box.left) * CELL) / 2
        dy = y + (tall - 76 - (box.bottom - box.top) * CELL) / 2
        shapes += [moved(shape, dx, dy) for shape in ship_shapes(ship, box, centre=False)]
        shapes.append(Rectangle(x + 4, y + tall - 70, wide - 8, 66, PANEL_COLOUR))
        size = 24
        while size > 12 and max(_text_width(line, size) for line in lines) > wide - 24:
            size -= 1
        shapes.append(Text(x + 14, y + tall - 66, lines[0], size, INK))
        shapes.append(Text(x + 14, y + tall - 36, lines[1], size, FAINT_INK))
    return Scene(wide * columns, tall * rows, shapes)


@functools.cache
def _font(size: int) -> ImageFont.FreeTypeFont | ImageFont.ImageFont:
    return ImageFont.load_default(size)


def _text_width(text: str, size: int) -> float:
    return _font(size).getlength(text)


def _paint(pen: ImageDraw.ImageDraw, shape: Shape, factor: float) -> None:
    """Draws one shape, `factor` times as large."""
    if isinstance(shape, Rectangle):
        colour = (*ImageColor.getrgb(shape.fill)[:3], round(255 * shape.opacity))
        x0, y0 = round(shape.x * factor), round(shape.y * factor)
        x1, y1 = round((shape.x + shape.w) * factor) - 1, round((shape.y + shape.h) * factor) - 1
        if x1 >= x0 and y1 >= y0:
            pen.rectangle((x0, y0, x1, y1), fill=colour, outline=shape.outline, width=max(1, round(factor / 2)))
    elif isinstance(shape, Polygon):
        pen.polygon([(x * factor, y * factor) for x, y in shape.points], fill=shape.fill)
    elif isinstance(shape, Line):
        ends = (shape.x0 * factor, shape.y0 * factor, shape.x1 * factor, shape.y1 * factor)
        pen.line(ends, fill=shape.colour, width=max(1, round(shape.width * factor)))
    else:
        place = (shape.x * factor, shape.y * factor)
        pen.text(place, shape.text, fill=shape.colour, font=_font(max(1, round(shape.size * factor))))


def _svg_text(picture: Scene) -> str:
    size = f'width="{picture.width}" height="{picture.height}"'
    head = f'<svg xmlns="http://www.w3.org/2000/svg" {size} viewBox="0 0 {picture.width} {picture.height}">'
    return "\n".join([head, *(_svg_shape(shape) for shape in picture.shapes), "</svg>"]) + "\n"


def _svg_shape(shape: Shape) -> str:
    if isinstance(shape, Rectangle):
        inset = 0.5 if shape.outline else 0.0
        edge = f' stroke="{shape.outline}"' if shape.outline else ""
        opacity = f' opacity="{shape.opacity:g}"' if shape.opacity < 1 else ""
        at = f'x="{shape.x + inset:g}" y="{shape.y + inset:g}"'
        return (
            f'<rect {at} width="{shape.w - 2 * inset:g}" height="{shape.h - 2 * inset:g}" '
            f'fill="{shape.fill}"{edge}{opacity}/>'
        )
    if isinstance(shape, Polygon):
        points = " ".join(f"{x:.2f},{y:.2f}" for x, y in shape.points)
        return f'<polygon points="{points}" fill="{shape.fill}"/>'
    if isinstance(shape, Line):
        ends = f'x1="{shape.x0:.2f}" y1="{shape.y0:.2f}" x2="{shape.x1:.2f}" y2="{shape.y1:.2f}"'
        return f'<line {ends} stroke="{shape.colour}" stroke-width="{shape.width:g}"/>'
    at = f'x="{shape.x:g}" y="{shape.y + 0.85 * shape.size:g}"'
    text = html.escape(shape.text)
    return f'<text {at} font-family="sans-serif" font-size="{shape.size}" fill="{shape.colour}">{text}</text>'
