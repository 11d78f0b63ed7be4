"""Draws Trilobite: lines for a terminal, and a drawing for SVG and RGB."""

from __future__ import annotations

from collections.abc import Mapping

from leafwise.envs.core.arrays import Array
from leafwise.envs.core.contract.texts import SIDES
from leafwise.envs.core.pictures import Canvas
from leafwise.envs.trilobite.rules import has_line
from leafwise.envs.trilobite.tables import Tables
from leafwise.envs.trilobite.text import cells

CELL, EDGE, HEAD = 56, 16, 44
INK, PAPER, FRAME, HOLE = "#22313f", "#fafafa", "#3a6ea5", "#e8eef4"
COLOURS = (HOLE, "#d64541", "#f5c542")


def status(row: Array, T: Tables) -> str:
    """Returns who won, or who is to move."""
    for player, mark in enumerate("xo"):
        if has_line(row[player], T):
            return f"{mark} wins"
    chips = bin(int(row[0] | row[1])).count("1")
    if chips == T.width * T.height:
        return "draw"
    return f"{'xo'[chips % 2]} to move"


def to_board(row: Array, T: Tables) -> str:
    """Returns the board as a grid over the numbers of the columns, and who is to move."""
    lines = ["| " + " ".join(SIDES[cell] for cell in line) + " |" for line in cells(row, T)]
    lines.append("+" + "-" * (2 * T.width + 1) + "+")
    lines.append("  " + " ".join(str(c + 1) for c in range(T.width)))
    lines.append(status(row, T))
    return "\n".join(lines)


def draw(row: Array, T: Tables, values: Mapping[str, float] | None = None) -> Canvas:
    """Returns a drawing of a row; `values` are written above the columns, the best in green."""
    width, height = T.width * CELL, T.height * CELL
    canvas = Canvas(width + 2 * EDGE, height + 2 * EDGE + 2 * HEAD, PAPER)
    canvas.box(EDGE, EDGE + HEAD, width, height, fill=FRAME, radius=10)
    for y, line in enumerate(cells(row, T)):
        for x, cell in enumerate(line):
            centre = EDGE + (x + 0.5) * CELL, EDGE + HEAD + (y + 0.5) * CELL
            canvas.disc(*centre, CELL * 0.4, fill=COLOURS[cell])
            if cell:
                canvas.text(*centre, SIDES[cell], size=22, colour=INK)
    for x in range(T.width):
        name, x_centre = str(x + 1), EDGE + (x + 0.5) * CELL
        canvas.text(x_centre, EDGE + HEAD + height + 18, name, size=16, colour=INK)
        if values and name in values:
            best = values[name] == max(values.values())
            canvas.text(x_centre, EDGE + HEAD / 2, f"{values[name]:g}", size=15, colour="#1b8a3a" if best else INK)
    canvas.text(EDGE, EDGE + HEAD + height + 48, status(row, T), size=16, colour=INK, anchor="start")
    return canvas
