"""What a picture of a ship shows, as a list of simple shapes: PNG and SVG draw the same list.

Coordinates are in pixels at a scale of `CELL` pixels a cell, the top left corner of the picture at (0, 0).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from leafwise.envs.starship.catalogue import ARMOUR_MASS, CORRIDOR_MASS, DX, DY, PARTS, UNLIMITED, Part
from leafwise.envs.starship.ship import PlacedPart, Ship
from leafwise.envs.starship.tables import REASON_NAMES

CELL = 12
"""Pixels a cell."""

SPACE_COLOUR = "#0d1321"
STAR_COLOUR = "#1b2438"
PANEL_COLOUR = "#151d30"
INK, FAINT_INK, ALARM = "#e8ecf4", "#93a0b8", "#ff8f80"
CORRIDOR_COLOUR, ARMOUR_COLOUR = "#d9d4c5", "#5c6880"
COLOURS = {
    "cockpit": "#f4c542",
    "reactor": "#d93a4e",
    "thruster_small": "#ffa25e",
    "thruster_med": "#f47f3c",
    "thruster_large": "#d9601a",
    "cannon_med": "#8fb8ff",
    "cannon_large": "#4a86e8",
    "ammo_supply": "#9b7ede",
    "power_storage": "#37c6c0",
    "quarters": "#5fb562",
    "bunk": "#a5d77f",
}
OUTLINE, DOOR_COLOUR, ARROW = "#10151f", "#ffffff", "#10151f"
EXHAUST, BARREL = "#ffd9a0", "#b9c4d8"
LANE_FIRE, LANE_EXHAUST = "#8fb8ff", "#ffa25e"
TITLES = {
    "cockpit": "Cockpit",
    "reactor": "Reactor",
    "thruster_small": "Small thruster",
    "thruster_med": "Medium thruster",
    "thruster_large": "Large thruster",
    "cannon_med": "Medium cannon",
    "cannon_large": "Large cannon",
    "ammo_supply": "Ammo supply",
    "power_storage": "Power storage",
    "quarters": "Quarters",
    "bunk": "Bunk",
}


class Rectangle(NamedTuple):
    """A filled rectangle; `outline` None for none; opacity from 0 to 1."""

    x: float
    y: float
    w: float
    h: float
    fill: str
    outline: str | None = None
    opacity: float = 1.0


class Polygon(NamedTuple):
    """A filled polygon."""

    points: tuple[tuple[float, float], ...]
    fill: str


class Line(NamedTuple):
    """A straight line."""

    x0: float
    y0: float
    x1: float
    y1: float
    colour: str
    width: float


class Text(NamedTuple):
    """A line of text, its left top corner at (x, y), `size` pixels high."""

    x: float
    y: float
    text: str
    size: int
    colour: str


Shape = Rectangle | Polygon | Line | Text


class Scene(NamedTuple):
    """A picture: its size in pixels, and its shapes from back to front."""

    width: int
    height: int
    shapes: list[Shape]


class Box(NamedTuple):
    """The part of the grid that a picture shows, in cells; right and bottom exclusive."""

    left: int
    top: int
    right: int
    bottom: int


def hull_box(ship: Ship, margin: int = 2) -> Box:
    """Returns the box round the hull with a margin, within the grid; the whole grid without a hull."""
    rows = [y for y, line in enumerate(ship.hull) if "." in line]
    columns = [x for line in ship.hull for x, c in enumerate(line) if c == "."]
    if not rows:
        return Box(0, 0, ship.grid, ship.grid)
    return Box(
        max(0, min(columns) - margin),
        max(0, min(rows) - margin),
        min(ship.grid, max(columns) + margin + 1),
        min(ship.grid, max(rows) + margin + 1),
    )


def ship_shapes(ship: Ship, box: Box, *, lanes: bool = False, centre: bool = True) -> list[Shape]:
    """Returns the shapes of the ship itself, the corner of `box` at (0, 0)."""
    ox, oy = -box.left * CELL, -box.top * CELL
    shapes: list[Shape] = list(_stars(box))
    if lanes:
        shapes += [shape for part in ship.parts for shape in _lane(part, box, ox, oy)]
    shapes += [shape for part in ship.parts for shape in _nozzle_or_barrel(part, ox, oy)]
    armour = set(ship.armour)
    for y, line in enumerate(ship.hull):
        for x, c in enumerate(line):
            if c == "." and (x, y) not in armour:
                shapes.append(Rectangle(x * CELL + ox, y * CELL + oy, CELL, CELL, CORRIDOR_COLOUR, "#c6c0ae"))
            elif c == ".":
                shapes.append(Rectangle(x * CELL + ox, y * CELL + oy, CELL, CELL, ARMOUR_COLOUR, "#4b566c"))
    for part in ship.parts:
        w, h = part.size
        x, y = part.x * CELL + ox, part.y * CELL + oy
        shapes.append(Rectangle(x, y, w * CELL, h * CELL, COLOURS[part.id], OUTLINE))
        if PARTS[part.number].directional:
            shapes.append(_arrow(part, ox, oy))
    for door in ship.doors:
        x, y = door.x * CELL + ox, door.y * CELL + oy
        if door.side == "E":
            shapes.append(Rectangle(x + CELL - 2, y + 2, 4, CELL - 4, DOOR_COLOUR, OUTLINE))
        else:
            shapes.append(Rectangle(x + 2, y + CELL - 2, CELL - 4, 4, DOOR_COLOUR, OUTLINE))
    if centre and any("." in line for line in ship.hull):
        across, down = centre_of_mass(ship)
        cx, cy = across * CELL + ox, down * CELL + oy
        for colour, width in ((OUTLINE, 4), ("#ffffff", 2)):
            shapes.append(Line(cx - 7, cy, cx + 7, cy, colour, width))
            shapes.append(Line(cx, cy - 7, cx, cy + 7, colour, width))
    return shapes


def scene(ship: Ship, *, lanes: bool = False, whole: bool = False) -> Scene:
    """Returns the picture of a ship with its legend and footer.

    `whole` shows the whole grid, so that all pictures of a preset are of one size, and leaves the seed out.
    """
    box = Box(0, 0, ship.grid, ship.grid) if whole else hull_box(ship)
    legend = list(_legend(ship))
    width, height = (box.right - box.left) * CELL, (box.bottom - box.top) * CELL
    legend_height = 18 * (len(legend) + 1)
    total = max(height, legend_height)
    drop = (total - height) // 2
    shapes: list[Shape] = [Rectangle(0, 0, width + 190, total + 48, SPACE_COLOUR)]
    shapes += [moved(shape, 0, drop) for shape in ship_shapes(ship, box, lanes=lanes)]
    shapes.append(Rectangle(width, 0, 190, total, PANEL_COLOUR))
    for k, (colour, name, count) in enumerate(legend):
        y = 12 + 18 * k
        shapes.append(Rectangle(width + 12, y, 12, 12, colour, OUTLINE))
        shapes.append(Text(width + 32, y - 1, name, 12, INK))
        shapes.append(Text(width + 152, y - 1, str(count), 12, FAINT_INK))
    shapes.append(Rectangle(0, total, width + 190, 48, PANEL_COLOUR))
    for k, (text, colour) in enumerate(footer(ship, seed=not whole)):
        shapes.append(Text(12, total + 6 + 19 * k, text, 12, colour))
    return Scene(width + 190, total + 48, shapes)


def footer(ship: Ship, *, seed: bool = True) -> list[tuple[str, str]]:
    """Returns the two lines below a ship, with their colours."""
    s = ship.stats
    name = ship.parameters.preset + (f", seed {ship.seed}" if seed else "")
    first = f"quality {s['quality']:.3f}   {name}   price {s['price']:,}"
    second = f"thrust score {s['thrust_score']}   firepower {s['firepower']}   seats {s['seats']}"
    if ship.reasons:
        return [(first, INK), ("not valid: " + ", ".join(sorted(ship.reasons, key=REASON_NAMES.index)), ALARM)]
    return [(first, INK), (second, FAINT_INK)]


def centre_of_mass(ship: Ship) -> tuple[float, float]:
    """Returns the centre of mass in cells from the left and top of the grid."""
    masses: dict[tuple[int, int], float] = {
        (x, y): float(CORRIDOR_MASS) for y, line in enumerate(ship.hull) for x, c in enumerate(line) if c == "."
    }
    masses.update(dict.fromkeys(ship.armour, float(ARMOUR_MASS)))
    for part in ship.parts:
        masses.update(dict.fromkeys(part.cells, PARTS[part.number].mass / len(part.cells)))
    total = sum(masses.values())
    return (
        sum(mass * (x + 0.5) for (x, _), mass in masses.items()) / total,
        sum(mass * (y + 0.5) for (_, y), mass in masses.items()) / total,
    )


def moved(shape: Shape, dx: float, dy: float) -> Shape:
    """Returns a shape moved right and down."""
    if isinstance(shape, Polygon):
        return shape._replace(points=tuple((x + dx, y + dy) for x, y in shape.points))
    if isinstance(shape, Line):
        return shape._replace(x0=shape.x0 + dx, y0=shape.y0 + dy, x1=shape.x1 + dx, y1=shape.y1 + dy)
    return shape._replace(x=shape.x + dx, y=shape.y + dy)


def _stars(box: Box) -> Iterator[Shape]:
    """Yields a faint dot on every fourth grid corner, so that distances can be read off empty space."""
    for y in range(box.top, box.bottom):
        for x in range(box.left, box.right):
            if x % 4 == 0 and y % 4 == 0:
                yield Rectangle((x - box.left) * CELL - 1, (y - box.top) * CELL - 1, 2, 2, STAR_COLOUR)


def _legend(ship: Ship) -> Iterator[tuple[str, str, int]]:
    """Yields (colour, name, count) of everything a ship can hold, corridors and armour last."""
    counts = {part.name: sum(placed.id == part.name for placed in ship.parts) for part in PARTS}
    for name, title in TITLES.items():
        yield COLOURS[name], title, counts[name]
    hull = sum(line.count(".") for line in ship.hull)
    rooms = sum(len(part.cells) for part in ship.parts)
    yield CORRIDOR_COLOUR, "Corridor", hull - rooms - len(ship.armour)
    yield ARMOUR_COLOUR, "Armour", len(ship.armour)
    yield DOOR_COLOUR, "Door", len(ship.doors)


def _middle_front(part: PlacedPart) -> tuple[float, float]:
    """Returns the middle of the side that a part faces, in cells."""
    w, h = part.size
    return part.x + w / 2 + DX[part.r] * w / 2, part.y + h / 2 + DY[part.r] * h / 2


def _along(part: PlacedPart, forward: float, sideways: float, ox: float, oy: float) -> tuple[float, float]:
    """Returns the pixel `forward` cells ahead of a part's front and `sideways` cells to the right of its facing."""
    x, y = _middle_front(part)
    dx, dy = DX[part.r], DY[part.r]
    return (x + dx * forward - dy * sideways) * CELL + ox, (y + dy * forward + dx * sideways) * CELL + oy


def _arrow(part: PlacedPart, ox: float, oy: float) -> Polygon:
    """Returns the arrowhead on a directional part, pointing where it shoots or its exhaust goes."""
    reach = 0.32 if min(part.size) == 1 else 0.5
    points = ((-0.18, 0.0), (-0.18 - reach, reach * 0.8), (-0.18 - reach, -reach * 0.8))
    return Polygon(tuple(_along(part, a, b, ox, oy) for a, b in points), ARROW)


def _nozzle_or_barrel(part: PlacedPart, ox: float, oy: float) -> Iterator[Shape]:
    """Yields what sticks out of a directional part into space: a flame, or one barrel for each point of firepower."""
    kind: Part = PARTS[part.number]
    if kind.thrust:
        half = 0.5 if part.id == "thruster_large" else 0.32
        length = {"thruster_small": 0.7, "thruster_med": 1.0, "thruster_large": 1.5}[part.id]
        yield Polygon(tuple(_along(part, a, b, ox, oy) for a, b in ((0, -half), (length, 0), (0, half))), EXHAUST)
    elif kind.firepower:
        for sideways in (0.0,) if kind.firepower == 1 else (-0.6, 0.6):
            corners = ((0, -0.16), (1.1, -0.16), (1.1, 0.16), (0, 0.16))
            yield Polygon(tuple(_along(part, a, sideways + b, ox, oy) for a, b in corners), BARREL)


def _lane(part: PlacedPart, box: Box, ox: float, oy: float) -> Iterator[Shape]:
    """Yields the translucent strip that a directional part needs clear, cut off at the edge of the picture."""
    kind = PARTS[part.number]
    if not kind.directional:
        return
    w, h = part.size
    dx, dy = DX[part.r], DY[part.r]
    left = part.x + (w if dx > 0 else -kind.clear if dx < 0 else 0)
    top = part.y + (h if dy > 0 else -kind.clear if dy < 0 else 0)
    right, bottom = left + (w if dx == 0 else kind.clear), top + (h if dy == 0 else kind.clear)
    left, top = max(left, box.left), max(top, box.top)
    right, bottom = min(right, box.right), min(bottom, box.bottom)
    if right > left and bottom > top:
        colour = LANE_FIRE if kind.clear == UNLIMITED else LANE_EXHAUST
        area = (left * CELL + ox, top * CELL + oy, (right - left) * CELL, (bottom - top) * CELL)
        yield Rectangle(*area, colour, None, 0.18)
