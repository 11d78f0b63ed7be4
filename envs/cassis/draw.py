"""Draws Cassis: lines for a terminal, and the points on a circle for SVG and RGB."""

from __future__ import annotations

from collections.abc import Mapping
from math import cos, pi, sin

from leafwise.envs.cassis.rules import LOST
from leafwise.envs.cassis.tables import Tables, edges
from leafwise.envs.cassis.text import colours
from leafwise.envs.core.arrays import Array
from leafwise.envs.core.contract.texts import SIDES
from leafwise.envs.core.pictures import Canvas

SIDE, RADIUS, FOOT = 380, 140, 40
INK, PAPER, FAINT = "#22313f", "#fafafa", "#d5dde5"
COLOURS = (FAINT, "#d64541", "#2f6fb2")


def status(row: Array, T: Tables) -> str:
    """Returns who lost, or who is to move."""
    for mark, edges_of_player in zip("xo", row, strict=True):
        if edges_of_player & LOST:
            return f"{mark} closed a triangle and loses"
    coloured = int(row[0] | row[1]).bit_count()
    if coloured == T.edges:
        return "draw"
    return f"{'xo'[coloured % 2]} to move"


def to_board(row: Array, T: Tables) -> str:
    """Returns the colour of each edge as a triangle of marks, and who is to move."""
    colour = colours(row, T)
    lines = ["  " + " ".join(str(b) for b in range(1, T.n))]
    for a in range(T.n - 1):
        marks = ["  "] * a + [f"{SIDES[colour[int(T.edge_of[a, b])]]} " for b in range(a + 1, T.n)]
        lines.append(f"{a} {''.join(marks)}".rstrip())
    lines.append(status(row, T))
    return "\n".join(lines)


def draw(row: Array, T: Tables, values: Mapping[str, float] | None = None) -> Canvas:
    """Returns a drawing of a row; `values` colours the free edges: green keeps the best value, red does not."""
    canvas = Canvas(SIDE, SIDE + FOOT, PAPER)
    angle = [2 * pi * point / T.n - pi / 2 for point in range(T.n)]
    centres = [(SIDE / 2 + RADIUS * cos(a), SIDE / 2 + RADIUS * sin(a)) for a in angle]
    colour = colours(row, T)
    best = max(values.values()) if values else 0.0
    for e, (a, b) in sorted(enumerate(edges(T.n)), key=lambda item: colour[item[0]] > 0):
        shade = COLOURS[colour[e]]
        if values and f"{a}-{b}" in values:
            shade = "#8fd19e" if values[f"{a}-{b}"] == best else "#f0b8b5"
        canvas.line(*centres[a], *centres[b], colour=shade, width=5 if colour[e] else 2)
    for point in range(T.n):
        canvas.disc(*centres[point], 13, fill="#ffffff", edge=INK)
        canvas.text(*centres[point], str(point), size=15, colour=INK)
    canvas.text(SIDE / 2, SIDE, status(row, T), size=16, colour=INK)
    canvas.text(SIDE / 2, SIDE + 22, "x red, o blue: a triangle of one's own loses", size=13, colour=INK)
    return canvas
