"""Pictures of Trap: lines for a terminal, and the board for SVG and RGB, with the odds of a trap in the air."""

from __future__ import annotations

from collections.abc import Mapping
from math import hypot

from leafwise.envs.core.arrays import Array
from leafwise.envs.core.pictures import Canvas
from leafwise.envs.trap import rules as r
from leafwise.envs.trap.tables import Tables
from leafwise.envs.trap.text import MARKS, cell_name, cells, fields

CELL, EDGE, FOOT, RULER = 52, 12, 44, 20
INK, PAPER, FREE, TRAP, FAINT = "#22313f", "#fafafa", "#e8eef4", "#4a4f57", "#7b8794"
BEST = "#1b8a3a"
PLAYERS = ("#d64541", "#2f6fb2")
ODDS = (0xF2, 0xA5, 0x3C)
"""Red, green and blue of a cell where the trap lands for certain."""


def landing_odds(row: Array, T: Tables) -> dict[int, float]:
    """Returns cell -> the probability that the trap in the air lands there; empty if none is."""
    seen = fields(row)
    if seen.target is None:
        return {}
    hit = float(T.accuracy[seen.me, seen.target])
    spill = [cell for cell in T.step[seen.target].tolist() if cell >= 0 and cell not in seen.players]
    odds = {seen.target: hit} | {cell: (1 - hit) / len(spill) for cell in spill}
    return {cell: p for cell, p in odds.items() if p > 0}


def status(row: Array, T: Tables) -> str:
    """Returns who won, or who acts how."""
    seen = fields(row)
    player = seen.turn % 2 + 1
    if seen.end:
        return "draw" if seen.end == r.DRAW else f"player {seen.end} wins"
    if seen.target is not None:
        return f"player {player} has thrown at {cell_name(seen.target, T)}"
    return f"player {player} to {'move' if seen.phase == r.MOVE else 'throw'}"


def to_board(row: Array, T: Tables) -> str:
    """Returns the board as a grid with the numbers of rows and columns, who acts, and the odds of a trap in the air."""
    marks = [MARKS[cell] for cell in cells(row, T)]
    lines = ["  " + " ".join(str(column) for column in range(T.size))]
    lines += [f"{y} " + " ".join(marks[y * T.size : (y + 1) * T.size]) for y in range(T.size)]
    odds = landing_odds(row, T)
    words = ", ".join(f"{cell_name(cell, T)} {100 * p:.3g} %" for cell, p in odds.items())
    return "\n".join([*lines, status(row, T) + (f": {words}" if words else "")])


def draw(row: Array, T: Tables, values: Mapping[str, float] | None = None) -> Canvas:
    """Returns a drawing of a row; `values` (throw -> value) writes a number on the cells thrown at, the best in green."""
    side = T.size * CELL
    canvas = Canvas(side + 2 * EDGE + RULER, side + 2 * EDGE + RULER + FOOT, PAPER)
    odds, what, seen = landing_odds(row, T), cells(row, T), fields(row)
    for cell in range(T.cells):
        x, y = (place - CELL / 2 for place in centre(cell, T))
        canvas.box(x + 1, y + 1, CELL - 2, CELL - 2, fill=shade(odds.get(cell, 0.0)), radius=6)
        if what[cell] == 1:
            canvas.box(x + 9, y + 9, CELL - 18, CELL - 18, fill=TRAP, radius=5)
        elif what[cell] > 1:
            canvas.disc(*centre(cell, T), CELL * 0.36, fill=PLAYERS[what[cell] - 2])
            canvas.text(*centre(cell, T), str(what[cell] - 1), size=22, colour="#ffffff")
    if seen.target is not None:  # from the rim of the thrower's disc to short of the number on the target
        (x, y), (x2, y2) = centre(seen.me, T), centre(seen.target, T)
        long = hypot(x2 - x, y2 - y) / CELL
        right, down = (x2 - x) / long, (y2 - y) / long
        canvas.line(x + 0.38 * right, y + 0.38 * down, x2 - 0.32 * right, y2 - 0.32 * down, colour="#e07b00", width=3)
    for cell, p in odds.items():
        canvas.text(*centre(cell, T), f"{100 * p:.3g}%", size=13, colour="#ffffff" if what[cell] == 1 else INK)
    at_cells = {name: value for name, value in (values or {}).items() if "," in name}
    for name, value in at_cells.items():
        y, x = map(int, name.split(","))
        colour = BEST if value == max(at_cells.values()) else FAINT
        canvas.text(*centre(y * T.size + x, T), f"{value:.2f}", size=13, colour=colour)
    for k in range(T.size):
        along = EDGE + RULER + (k + 0.5) * CELL
        canvas.text(along, EDGE + RULER / 2, str(k), size=13, colour=FAINT)
        canvas.text(EDGE + RULER / 2, along, str(k), size=13, colour=FAINT)
    text = f"turn {seen.turn + 1}: {status(row, T)}"
    canvas.text(EDGE + RULER, side + 2 * EDGE + RULER + FOOT / 2 - 6, text, size=16, colour=INK, anchor="start")
    return canvas


def centre(cell: int, T: Tables) -> tuple[float, float]:
    """Returns the middle of a cell in the picture."""
    corner = EDGE + RULER + CELL / 2
    return corner + cell % T.size * CELL, corner + cell // T.size * CELL


def shade(p: float) -> str:
    """Returns the colour of a free cell on which a trap lands with probability p."""
    strength = 0.25 + 0.75 * p if p else 0
    free = bytes.fromhex(FREE[1:])
    return "#" + "".join(f"{round(a + (b - a) * strength):02x}" for a, b in zip(free, ODDS, strict=True))
