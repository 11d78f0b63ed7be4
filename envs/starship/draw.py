"""Pictures of ships: PNG through Pillow, SVG as text, a gallery of many, and the stages one after another."""

from __future__ import annotations

import io
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageDraw

from leafwise.envs.starship.scene import FAINT_INK, INK, SPACE_COLOUR, footer, hull_box, scene, sheet
from leafwise.envs.starship.shapes import Scene
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
        shape.paint(pen, factor)
    return canvas.resize((width, height), Image.Resampling.BOX)


def svg(ship: Ship, *, lanes: bool = False, whole: bool = False, scale: float = 1.0) -> str:
    """Returns the picture of a ship with its legend as SVG text; `whole` shows the whole grid; `scale` as in `image`."""
    return scene(ship, lanes=lanes, whole=whole).svg(scale)


def png(ship: Ship, *, lanes: bool = False, scale: float = 1.0) -> bytes:
    """Returns the picture of a ship with its legend as the bytes of a PNG file; `scale` as in `image`."""
    return png_bytes(image(scene(ship, lanes=lanes), scale))


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
    return image(sheet(ships, boxes, [footer(ship) for ship in ships], columns, scale), scale)


def story(stages: Sequence[tuple[str, Ship]], columns: int = 5, scale: float = 0.5) -> Image.Image:
    """Returns the ship after each stage, as `Generator.stages` gives them, side by side at the same place."""
    box = hull_box(stages[-1][1], 2)
    captions = [((f"{k}. {name}", INK), (change(stages, k - 1), FAINT_INK)) for k, (name, _) in enumerate(stages, 1)]
    ships = [ship for _, ship in stages]
    return image(sheet(ships, [box] * len(ships), captions, columns, scale), scale)


def change(stages: Sequence[tuple[str, Ship]], k: int) -> str:
    """Returns in a few words what stage number `k` of a story did."""
    ship, area = stages[k][1], len(stages[k][1].hull_cells)
    if k == 0:
        return f"{area} cells"
    before = stages[k - 1][1]
    if area != len(before.hull_cells):
        return f"{area - len(before.hull_cells):+d} cells"
    parts, armour = len(ship.parts) - len(before.parts), len(ship.armour) - len(before.armour)
    doors = len(ship.doors) - len(before.doors)
    if parts:
        return f"{parts} part{'s' * (parts > 1)}"
    return f"{armour} armour" if armour else f"{doors} door{'s' * (doors != 1)}"
