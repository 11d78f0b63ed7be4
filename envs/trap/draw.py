"""Pictures of Trap: lines for a terminal, and the board for SVG and RGB, with the odds of a trap in the air."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from leafwise.envs.core.pictures import Canvas
from leafwise.envs.trap import rules as r
from leafwise.envs.trap.tables import Tables
from leafwise.envs.trap.text import MARKS, cell_name, cells, target

CELL, EDGE, FOOT, RULER = 52, 12, 44, 20
INK, PAPER, FREE, TRAP, FAINT = "#22313f", "#fafafa", "#e8eef4", "#4a4f57", "#7b8794"
BEST = "#1b8a3a"
PLAYERS = ("#d64541", "#2f6fb2")
ODDS = (0xF2, 0xA5, 0x3C)
"""Red, green and blue of a cell where the trap lands for certain."""


def landing_odds(row: NDArray[Any], T: Tables) -> dict[int, float]:
    """Returns cell -> the probability that the trap in the air lands there; empty if none is."""
    aim = target(row)
    if aim is None:
        return {}
    word = row[1]
    me = int(r.cell_of(word, int(r.turn_of(word)) % 2))
    hit = float(T.accuracy[me, aim])
    spill = [int(cell) for cell in T.step[aim] if cell >= 0 and not r.is_player(word, int(cell))]
    odds = {aim: hit} | {cell: (1 - hit) / len(spill) for cell in spill}
    return {cell: p for cell, p in odds.items() if p > 0}


def status(row: NDArray[Any], T: Tables) -> str:
    """Returns who won, or who acts how."""
    word = row[1]
    end, player = int(word >> r.END), int(r.turn_of(word)) % 2 + 1
    if end:
        return "draw" if end == r.DRAW else f"player {end} wins"
    aim = target(row)
    if aim is not None:
        return f"player {player} has thrown at {cell_name(aim, T)}"
    return f"player {player} to {'move' if r.phase_of(word) == r.MOVE else 'throw'}"


def to_board(row: NDArray[Any], T: Tables) -> str:
    """Returns the board as a grid with the numbers of rows and columns, who acts, and the odds of a trap in the air."""
    marks = [MARKS[cell] for cell in cells(row, T)]
    lines = ["  " + " ".join(str(column) for column in range(T.size))]
    lines += [f"{y} " + " ".join(marks[y * T.size : (y + 1) * T.size]) for y in range(T.size)]
    odds = landing_odds(row, T)
    words = ", ".join(f"{cell_name(cell, T)} {100 * p:.3g} %" for cell, p in odds.items())
    return "\n".join([*lines, status(row, T) + (f": {words}" if words else "")])


def draw(row: NDArray[Any], T: Tables, values: Mapping[str, float] | None = None) -> Canvas:
    """Returns a drawing of a row; `values` (throw -> value) writes a number on the cells thrown at, the best in green."""
    side = T.size * CELL
    canvas = Canvas(side + 2 * EDGE + RULER, side + 2 * EDGE + RULER + FOOT, PAPER)
    odds, what = landing_odds(row, T), cells(row, T)
    for cell in range(T.cells):
        x, y = (place - CELL / 2 for place in centre(cell, T))
        canvas.box(x + 1, y + 1, CELL - 2, CELL - 2, fill=shade(odds.get(cell, 0.0)), radius=6)
        if what[cell] == 1:
            canvas.box(x + 9, y + 9, CELL - 18, CELL - 18, fill=TRAP, radius=5)
        elif what[cell] > 1:
            canvas.disc(*centre(cell, T), CELL * 0.36, fill=PLAYERS[what[cell] - 2])
            canvas.text(*centre(cell, T), str(what[cell] - 1), size=22, colour="#ffffff")
    aim = target(row)
    if aim is not None:
        at = int(r.cell_of(row[1], int(r.turn_of(row[1])) % 2))
        canvas.line(*path(at, aim, T), colour="#e07b00", width=3)
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
    text = f"turn {int(r.turn_of(row[1])) + 1}: {status(row, T)}"
    canvas.text(EDGE + RULER, side + 2 * EDGE + RULER + FOOT / 2 - 6, text, size=16, colour=INK, anchor="start")
    return canvas


def centre(cell: int, T: Tables) -> tuple[float, float]:
    """Returns the middle of a cell in the picture."""
    corner = EDGE + RULER + CELL / 2
    return corner + cell % T.size * CELL, corner + cell // T.size * CELL


def shade(p: float) -> str:
    """Returns the colour of a free cell on which a trap lands with probability p."""
    if p == 0:
        return FREE
    strength = 0.25 + 0.75 * p
    free = [int(FREE[k : k + 2], 16) for k in (1, 3, 5)]
    return "#" + "".join(f"{round(a + (b - a) * strength):02x}" for a, b in zip(free, ODDS, strict=True))


def path(at: int, aim: int, T: Tables) -> tuple[float, float, float, float]:
    """Returns the ends of a throw's line: from the rim of the thrower's disc to short of the number on the target."""
    ends = np.array([centre(at, T), centre(aim, T)])
    way = (ends[1] - ends[0]) / np.linalg.norm(ends[1] - ends[0])
    x, y = ends[0] + way * CELL * 0.38
    x2, y2 = ends[1] - way * CELL * 0.32
    return float(x), float(y), float(x2), float(y2)
