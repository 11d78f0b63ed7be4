"""Draws ships: a scene is a list of simple shapes that become PNG (by Pillow) and SVG; sheets of many ships and of the stages.

Coordinates are in pixels, at `CELL` pixels a cell, from the top left corner of the picture.
"""

from __future__ import annotations

import functools
import html
import io
import math
import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
from PIL import Image, ImageColor, ImageDraw, ImageFont

from leafwise.envs.core.arrays import Bytes
from leafwise.envs.starship.catalogue import ARMOUR_MASS, CORRIDOR_MASS, DX, DY, PARTS, UNLIMITED
from leafwise.envs.starship.ship import PlacedPart, Ship, ship_at
from leafwise.envs.starship.tables import REASON_NAMES, GameTables, Rows


class Rectangle(NamedTuple):
    """A filled rectangle; `outline` is None for none; opacity from 0 to 1."""

    x: float
    y: float
    w: float
    h: float
    fill: str
    outline: str | None = None
    opacity: float = 1.0

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

    def paint(self, pen: ImageDraw.ImageDraw, factor: float) -> None:
        pen.polygon([(x * factor, y * factor) for x, y in self.points], fill=self.fill)

    def svg(self) -> str:
        points = " ".join(f"{x:.2f},{y:.2f}" for x, y in self.points)
        return f'<polygon points="{points}" fill="{self.fill}"/>'


class TextShape(NamedTuple):
    """A line of text, `size` pixels high, its top left corner at (x, y)."""

    x: float
    y: float
    text: str
    size: int
    colour: str

    def paint(self, pen: ImageDraw.ImageDraw, factor: float) -> None:
        place = (self.x * factor, self.y * factor)
        pen.text(place, self.text, fill=self.colour, font=font(max(1, round(self.size * factor))))

    def svg(self) -> str:
        style = f'font-family="sans-serif" font-size="{self.size}" fill="{self.colour}"'
        return f'<text x="{self.x:g}" y="{self.y + 0.85 * self.size:g}" {style}>{html.escape(self.text)}</text>'


SceneShape = Rectangle | Polygon | TextShape


class Scene(NamedTuple):
    """A picture: its size in pixels, and its shapes from back to front."""

    width: int
    height: int
    shapes: list[SceneShape]

    def svg(self, scale: float = 1.0) -> str:
        """Returns the picture as SVG text, `scale` times as large."""
        size = f'width="{self.width * scale:g}" height="{self.height * scale:g}"'
        head = f'<svg xmlns="http://www.w3.org/2000/svg" {size} viewBox="0 0 {self.width} {self.height}">'
        return "\n".join([head, *(shape.svg() for shape in self.shapes), "</svg>"])

    def image(self, scale: float = 1.0) -> Image.Image:
        """Returns the picture as an RGB image; `scale` 1 is 12 pixels a cell."""
        width, height = max(1, round(self.width * scale)), max(1, round(self.height * scale))
        canvas = Image.new("RGB", (width * SMOOTH, height * SMOOTH), SPACE_COLOUR)
        pen = ImageDraw.Draw(canvas, "RGBA")
        for shape in self.shapes:
            shape.paint(pen, scale * SMOOTH)
        return canvas.reduce(SMOOTH)

    def rgb(self, width: int = 0) -> Bytes:
        """Returns the picture as uint8 [height, width, 3]; `width` in pixels, 0 for its own."""
        return np.array(self.image(width / self.width if width else 1.0), np.uint8)


@functools.cache
def font(size: int) -> ImageFont.FreeTypeFont | ImageFont.ImageFont:
    """Returns Pillow's default font in a size."""
    return ImageFont.load_default(size)


CELL = 12
"""Pixels of a cell's side."""
SMOOTH = 2
"""Pictures are drawn this many times as large and then scaled down."""

SPACE_COLOUR = "#0d1321"
STAR_COLOUR = "#1b2438"
PANEL_COLOUR = "#151d30"
INK, FAINT_INK, ALARM = "#e8ecf4", "#93a0b8", "#ff8f80"
CORRIDOR_COLOUR, ARMOUR_COLOUR = "#d9d4c5", "#5c6880"
OUTLINE, DOOR_COLOUR = "#10151f", "#ffffff"
EXHAUST, BARREL = "#ffd9a0", "#b9c4d8"
LANE_FIRE, LANE_EXHAUST = "#8fb8ff", "#ffa25e"
STYLES = {
    "cockpit": ("Cockpit", "#f4c542"),
    "reactor": ("Reactor", "#d93a4e"),
    "thruster_small": ("Small thruster", "#ffa25e"),
    "thruster_med": ("Medium thruster", "#f47f3c"),
    "thruster_large": ("Large thruster", "#d9601a"),
    "cannon_med": ("Medium cannon", "#8fb8ff"),
    "cannon_large": ("Large cannon", "#4a86e8"),
    "ammo_supply": ("Ammo supply", "#9b7ede"),
    "power_storage": ("Power storage", "#37c6c0"),
    "quarters": ("Quarters", "#5fb562"),
    "bunk": ("Bunk", "#a5d77f"),
}
"""The name in the legend and the colour of each part."""


Caption = Sequence[tuple[str, str]]
"""Texts with their colours; each starts a line."""
LETTER = 12
"""The height in pixels of the letters below a ship on a sheet."""
GAP = "   "
"""Separates the figures of a caption."""


class Box(NamedTuple):
    """The part of the grid that a picture shows, in cells; right and bottom are exclusive."""

    left: int
    top: int
    right: int
    bottom: int

    @property
    def width(self) -> int:
        """In pixels."""
        return (self.right - self.left) * CELL

    @property
    def height(self) -> int:
        """In pixels."""
        return (self.bottom - self.top) * CELL


def hull_box(ship: Ship, margin: int = 2) -> Box:
    """Returns the box round the hull with a margin, within the grid; the whole grid if there is no hull."""
    if not ship.hull_cells:
        return Box(0, 0, ship.grid, ship.grid)
    (left, right), (top, bottom) = ((min(along), max(along)) for along in zip(*ship.hull_cells, strict=True))
    first, last = (max(0, left - margin), max(0, top - margin)), (right + margin + 1, bottom + margin + 1)
    return Box(*first, *(min(ship.grid, end) for end in last))


def ship_shapes(
    ship: Ship, box: Box, *, lanes: bool = False, centre: bool = True, x: float = 0, y: float = 0
) -> list[SceneShape]:
    """Returns the shapes of the ship itself, with the corner of `box` at (x, y)."""
    ox, oy = x - box.left * CELL, y - box.top * CELL

    def cells(x: float, y: float, w: float, h: float, *style: Any) -> Rectangle:
        return Rectangle(x * CELL + ox, y * CELL + oy, w * CELL, h * CELL, *style)

    def polygon(part: PlacedPart, points: Iterable[tuple[float, float]], fill: str) -> Polygon:
        """Returns a polygon whose points are cells ahead of the middle of a part's front, and to the right of its facing."""
        (w, h), dx, dy = part.size, DX[part.r], DY[part.r]
        mx, my = part.x + w / 2 + dx * w / 2, part.y + h / 2 + dy * h / 2
        return Polygon(
            tuple(((mx + dx * a - dy * b) * CELL + ox, (my + dy * a + dx * b) * CELL + oy) for a, b in points), fill
        )

    # In space: a faint dot on every fourth grid corner, to read distances off; lanes; flames and barrels
    dots = [(i, j) for j in range(box.top, box.bottom) for i in range(box.left, box.right) if i % 4 == j % 4 == 0]
    shapes: list[SceneShape] = [Rectangle(i * CELL + ox - 1, j * CELL + oy - 1, 2, 2, STAR_COLOUR) for i, j in dots]
    if lanes:
        shapes += [cells(*lane, *style) for part in ship.parts for lane, style in _lane(part, box)]
    shapes += [polygon(part, points, fill) for part in ship.parts for points, fill in _nozzle_or_barrels(part)]
    # The ship: cells, parts, doors
    armour = set(ship.armour)
    for i, j in ship.hull_cells:
        colours = (ARMOUR_COLOUR, "#4b566c") if (i, j) in armour else (CORRIDOR_COLOUR, "#c6c0ae")
        shapes.append(cells(i, j, 1, 1, *colours))
    for part in ship.parts:
        shapes.append(cells(part.x, part.y, *part.size, STYLES[part.id][1], OUTLINE))
        if PARTS[part.number].directional:
            reach = 0.32 if min(part.size) == 1 else 0.5
            head = ((-0.18, 0.0), (-0.18 - reach, reach * 0.8), (-0.18 - reach, -reach * 0.8))
            shapes.append(polygon(part, head, OUTLINE))
    for door in ship.doors:
        left, top = door.x * CELL + ox, door.y * CELL + oy
        place = (left + CELL - 2, top + 2, 4, CELL - 4) if door.side == "E" else (left + 2, top + CELL - 2, CELL - 4, 4)
        shapes.append(Rectangle(*place, DOOR_COLOUR, OUTLINE))
    if centre and ship.hull_cells:
        across, down = centre_of_mass(ship)
        cx, cy = across * CELL + ox, down * CELL + oy
        for colour, width in ((OUTLINE, 4), ("#ffffff", 2)):
            shapes.append(Rectangle(cx - 7, cy - width / 2, 14, width, colour))
            shapes.append(Rectangle(cx - width / 2, cy - 7, width, 14, colour))
    return shapes


def scene(ship: Ship, *, lanes: bool = False, whole: bool = False) -> Scene:
    """Returns the picture of a ship with its legend and footer.

    `whole` shows the whole grid, so that all pictures of a preset have one size, and leaves out the seed.
    """
    box = Box(0, 0, ship.grid, ship.grid) if whole else hull_box(ship)
    legend = list(_legend(ship))
    width, total = box.width, max(box.height, 18 * (len(legend) + 1))
    shapes: list[SceneShape] = [Rectangle(0, 0, width + 190, total + 48, SPACE_COLOUR)]
    shapes += ship_shapes(ship, box, lanes=lanes, y=(total - box.height) // 2)
    shapes.append(Rectangle(width, 0, 190, total, PANEL_COLOUR))
    for k, (colour, name, count) in enumerate(legend):
        y = 12 + 18 * k
        shapes.append(Rectangle(width + 12, y, 12, 12, colour, OUTLINE))
        shapes.append(TextShape(width + 32, y - 1, name, 12, INK))
        shapes.append(TextShape(width + 152, y - 1, str(count), 12, FAINT_INK))
    shapes.append(Rectangle(0, total, width + 190, 48, PANEL_COLOUR))
    for k, (text, colour) in enumerate(footer(ship, seed=not whole)):
        shapes.append(TextShape(12, total + 6 + 19 * k, text, 12, colour))
    return Scene(width + 190, total + 48, shapes)


def sheet(
    ships: Sequence[Ship], boxes: Sequence[Box], captions: Sequence[Caption], columns: int, scale: float = 1.0
) -> Scene:
    """Returns the scene of a sheet of ships, each above its caption.

    Captions are complete, and `LETTER` pixels high in the picture at that `scale`: panels are as wide as they need.
    """
    columns, size = min(columns, len(ships)), math.ceil(LETTER / scale)
    widest = max(font(size).getlength(part) for caption in captions for text, _ in caption for part in parts_of(text))
    wide = math.ceil(max(max(box.width for box in boxes) + 36, widest + 2 * size))
    captions_wrapped = [
        [(line, ink) for text, ink in caption for line in wrapped(text, wide - 2 * size, size)] for caption in captions
    ]
    leading = math.ceil(1.35 * size)
    panel = leading * max(map(len, captions_wrapped)) + size // 2
    tall = max(box.height for box in boxes) + 30 + panel
    rows = -(-len(ships) // columns)
    shapes: list[SceneShape] = [Rectangle(0, 0, wide * columns, tall * rows, SPACE_COLOUR)]
    for k, (ship, box, lines) in enumerate(zip(ships, boxes, captions_wrapped, strict=True)):
        x, y = k % columns * wide, k // columns * tall
        dx = x + (wide - box.width) / 2
        dy = y + (tall - 6 - panel - box.height) / 2
        shapes += ship_shapes(ship, box, centre=False, x=dx, y=dy)
        shapes.append(Rectangle(x + 4, y + tall - panel - 4, wide - 8, panel, PANEL_COLOUR))
        for n, (line, ink) in enumerate(lines):
            shapes.append(TextShape(x + size * 0.7, y + tall - panel + n * leading, line, size, ink))
    return Scene(wide * columns, tall * rows, shapes)


def parts_of(text: str) -> list[str]:
    """Returns the pieces of a caption that stay on one line: they are separated by three blanks, reasons by commas."""
    return re.split(f"{GAP}|(?<=,) ", text)


def wrapped(text: str, width: float, size: int) -> list[str]:
    """Returns a caption as lines of at most `width` pixels."""
    lines: list[str] = []
    for part in parts_of(text):
        longer = f"{lines[-1]}{' ' if lines[-1].endswith(',') else GAP}{part}" if lines else part
        if lines and font(size).getlength(longer) <= width:
            lines[-1] = longer
        else:
            lines.append(part)
    return lines


def footer(ship: Ship, *, seed: bool = True) -> list[tuple[str, str]]:
    """Returns the two lines below a ship, with their colours."""
    s = ship.stats
    name = ship.parameters.preset + (f" seed {ship.seed}" if seed else "")
    first = GAP.join([f"quality {s['quality']:.3f}", name, f"price {s['price']:,}"])
    second = GAP.join(f"{word.replace('_', ' ')} {s[word]}" for word in ("thrust_score", "firepower", "seats"))
    if ship.reasons:
        return [(first, INK), ("not valid: " + ", ".join(sorted(ship.reasons, key=REASON_NAMES.index)), ALARM)]
    return [(first, INK), (second, FAINT_INK)]


def centre_of_mass(ship: Ship) -> tuple[float, float]:
    """Returns the centre of mass in cells from the left and the top of the grid."""
    masses = dict.fromkeys(ship.hull_cells, float(CORRIDOR_MASS))
    masses.update(dict.fromkeys(ship.armour, float(ARMOUR_MASS)))
    for part in ship.parts:
        masses.update(dict.fromkeys(part.cells, PARTS[part.number].mass / len(part.cells)))
    total = sum(masses.values())
    x, y = (sum(mass * (cell[axis] + 0.5) for cell, mass in masses.items()) / total for axis in (0, 1))
    return x, y


def _legend(ship: Ship) -> Iterator[tuple[str, str, int]]:
    """Yields (colour, name, count) of everything that a ship can hold, corridors, armour and doors last."""
    for name, (title, colour) in STYLES.items():
        yield colour, title, sum(part.id == name for part in ship.parts)
    rooms = sum(len(part.cells) for part in ship.parts)
    yield CORRIDOR_COLOUR, "Corridor", len(ship.hull_cells) - rooms - len(ship.armour)
    yield ARMOUR_COLOUR, "Armour", len(ship.armour)
    yield DOOR_COLOUR, "Door", len(ship.doors)


def _nozzle_or_barrels(part: PlacedPart) -> Iterator[tuple[Iterable[tuple[float, float]], str]]:
    """Yields what sticks out of a directional part into space: a flame, or a barrel for each point of firepower.

    Each is the points of a polygon, in cells ahead of the front and to the right, and its colour.
    """
    kind = PARTS[part.number]
    if kind.thrust:
        half = 0.5 if part.id == "thruster_large" else 0.32
        length = {"thruster_small": 0.7, "thruster_med": 1.0, "thruster_large": 1.5}[part.id]
        yield ((0, -half), (length, 0), (0, half)), EXHAUST
    for sideways in ((), (0.0,), (-0.6, 0.6))[kind.firepower]:
        yield [(a, sideways + b) for a, b in ((0, -0.16), (1.1, -0.16), (1.1, 0.16), (0, 0.16))], BARREL


def _lane(part: PlacedPart, box: Box) -> Iterator[tuple[tuple[int, int, int, int], tuple[str, None, float]]]:
    """Yields the translucent strip that a directional part needs clear, in cells, cut off at the edge of the picture."""
    clear, (w, h), dx, dy = PARTS[part.number].clear, part.size, DX[part.r], DY[part.r]
    left = part.x + (w if dx > 0 else -clear if dx < 0 else 0)
    top = part.y + (h if dy > 0 else -clear if dy < 0 else 0)
    right, bottom = left + (w if dx == 0 else clear), top + (h if dy == 0 else clear)
    left, top, right, bottom = max(left, box.left), max(top, box.top), min(right, box.right), min(bottom, box.bottom)
    if clear and right > left and bottom > top:
        colour = LANE_FIRE if clear == UNLIMITED else LANE_EXHAUST
        yield (left, top, right - left, bottom - top), (colour, None, 0.18)


def svg(ship: Ship, *, lanes: bool = False, scale: float = 1.0) -> str:
    """Returns the picture of a ship with its legend as SVG text; `scale` 1 is 12 pixels a cell."""
    return scene(ship, lanes=lanes).svg(scale) + "\n"


def png(ship: Ship, *, lanes: bool = False, scale: float = 1.0) -> bytes:
    """Returns the picture of a ship with its legend as the bytes of a PNG file; `scale` as in `svg`."""
    return png_bytes(scene(ship, lanes=lanes).image(scale))


def png_bytes(picture: Image.Image) -> bytes:
    """Returns an image as the bytes of a PNG file of at most 256 colours."""
    file = io.BytesIO()
    picture.quantize(256, dither=Image.Dither.NONE).save(file, "PNG", optimize=True)
    return file.getvalue()


def gallery(ships: Sequence[Ship], columns: int, scale: float = 0.5) -> Image.Image:
    """Returns a sheet of ships in rows of `columns`, each with its seed and quality."""
    boxes = [hull_box(ship, 1) for ship in ships]
    return sheet(ships, boxes, [footer(ship) for ship in ships], columns, scale).image(scale)


def story(stages: Sequence[tuple[str, Ship]], columns: int = 5, scale: float = 0.5) -> Image.Image:
    """Returns the ship after each stage, as `Generator.stages` returns them, side by side at the same place."""
    box = hull_box(stages[-1][1], 2)
    captions = [((f"{k}. {name}", INK), (change(stages, k - 1), FAINT_INK)) for k, (name, _) in enumerate(stages, 1)]
    ships = [ship for _, ship in stages]
    return sheet(ships, [box] * len(ships), captions, columns, scale).image(scale)


def change(stages: Sequence[tuple[str, Ship]], k: int) -> str:
    """Returns a short text of what stage number `k` of a story did."""
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


def picture(row: Rows, T: GameTables) -> Scene:
    """Returns the picture of the ship in a row of the building game, of one size for all ships of a preset."""
    return scene(ship_at(row, T), whole=True)
