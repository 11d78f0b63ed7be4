"""Draws Trap: lines for a terminal, and the board for SVG and RGB, with the probabilities of a trap in the air."""

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
"""Red, green and blue of a cell where the trap is certain to land."""


def landing_odds(row: Array, T: Tables) -> dict[int, float]:
    """Returns cell -> the probability that the trap in the air lands there; empty if there is none."""
    state = fields(row)
    if state.target is None:
        return {}
    hit = float(T.accuracy[state.me, state.target])
    spill = [cell for cell in T.step[state.target].tolist() if cell >= 0 and cell not in state.players]
    odds = {state.target: hit} | {cell: (1 - hit) / len(spill) for cell in spill}
    return {cell: p for cell, p in odds.items() if p > 0}


def status(row: Array, T: Tables) -> str:
    """Returns who won, or who has to do what."""
    state = fields(row)
    player = state.turn % 2 + 1
    if state.end:
        return "draw" if state.end == r.DRAW else f"player {state.end} wins"
    if state.target is not None:
        return f"player {player} has thrown at {cell_name(state.target, T)}"
    return f"player {player} to {'move' if state.phase == r.MOVE else 'throw'}"


def to_board(row: Array, T: Tables) -> str:
    """Returns the board as a grid with numbers of rows and columns, who acts, and the probabilities of a trap in the air."""
    marks = [MARKS[cell] for cell in cells(row, T)]
    lines = ["  " + " ".join(str(column) for column in range(T.size))]
    lines += [f"{y} " + " ".join(marks[y * T.size : (y + 1) * T.size]) for y in range(T.size)]
    odds = landing_odds(row, T)
    words = ", ".join(f"{cell_name(cell, T)} {100 * p:.3g} %" for cell, p in odds.items())
    return "\n".join([*lines, status(row, T) + (f": {words}" if words else "")])


def draw(row: Array, T: Tables, values: Mapping[str, float] | None = None) -> Canvas:
    """Returns a drawing of a row; `values` (throw -> value) are written on the cells of the throws, the best in green."""
    side = T.size * CELL
    canvas = Canvas(side + 2 * EDGE + RULER, side + 2 * EDGE + RULER + FOOT, PAPER)
    odds, contents, state = landing_odds(row, T), cells(row, T), fields(row)
    for cell in range(T.cells):
        x, y = (middle - CELL / 2 for middle in centre(cell, T))
        canvas.box(x + 1, y + 1, CELL - 2, CELL - 2, fill=shade(odds.get(cell, 0.0)), radius=6)
        if contents[cell] == 1:
            canvas.box(x + 9, y + 9, CELL - 18, CELL - 18, fill=TRAP, radius=5)
        elif contents[cell] > 1:
            canvas.disc(*centre(cell, T), CELL * 0.36, fill=PLAYERS[contents[cell] - 2])
            canvas.text(*centre(cell, T), str(contents[cell] - 1), size=22, colour="#ffffff")
    if state.target is not None:  # from the rim of the thrower's disc almost to the number on the target
        (x, y), (x2, y2) = centre(state.me, T), centre(state.target, T)
        distance = hypot(x2 - x, y2 - y) / CELL
        right, down = (x2 - x) / distance, (y2 - y) / distance
        canvas.line(x + 0.38 * right, y + 0.38 * down, x2 - 0.32 * right, y2 - 0.32 * down, colour="#e07b00", width=3)
    for cell, p in odds.items():
        canvas.text(*centre(cell, T), f"{100 * p:.3g}%", size=13, colour="#ffffff" if contents[cell] == 1 else INK)
    at_cells = {name: value for name, value in (values or {}).items() if "," in name}
    for name, value in at_cells.items():
        y, x = map(int, name.split(","))
        colour = BEST if value == max(at_cells.values()) else FAINT
        canvas.text(*centre(y * T.size + x, T), f"{value:.2f}", size=13, colour=colour)
    for k in range(T.size):
        along = EDGE + RULER + (k + 0.5) * CELL
        canvas.text(along, EDGE + RULER / 2, str(k), size=13, colour=FAINT)
        canvas.text(EDGE + RULER / 2, along, str(k), size=13, colour=FAINT)
    text = f"turn {state.turn + 1}: {status(row, T)}"
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
