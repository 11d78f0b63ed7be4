"""Draws Threes: lines for a terminal, and a drawing for SVG and RGB."""

from __future__ import annotations

from collections.abc import Mapping

from leafwise.envs.core.arrays import Array
from leafwise.envs.core.pictures import Canvas
from leafwise.envs.threes.rules import Tables
from leafwise.envs.threes.text import ACTIONS, deck, ranks, shown, tile_value

CELL, GAP, EDGE, HEAD = 72, 8, 44, 64
BOARD = 4 * CELL + 5 * GAP
INK, PAPER, BLANK = "#2b3a42", "#fafafa", "#d3e6ea"
BLUE, RED, WHITE = "#66ccff", "#ff6680", "#ffffff"


def to_board(row: Array, T: Tables) -> str:
    """Returns the board as a grid, with the tile shown and the deck."""
    cells = ranks(row)
    bar = "+" + "------+" * 4
    lines = [bar]
    for y in range(4):
        values = [tile_value(rank) for rank in cells[4 * y : 4 * y + 4]]
        lines += ["|" + "".join(f"{v or '':>5} |" for v in values), bar]
    ones, twos, threes = deck(row)
    tile = f"next {shown(row, T) or '-'}"
    lines.append(f"{tile:<12}deck 1:{ones} 2:{twos} 3:{threes}")
    return "\n".join(lines)


def tile_colours(rank: int) -> tuple[str, str]:
    """Returns the fill and the text colour of a tile."""
    if rank == 0:
        return BLANK, BLANK
    if rank < 3:
        return (BLUE, RED)[rank - 1], WHITE
    return WHITE, RED if rank >= 7 else INK


def draw(row: Array, T: Tables, values: Mapping[str, float] | None = None) -> Canvas:
    """Returns a drawing of a row; `values` are written at the sides of their swipes."""
    side = BOARD + 2 * EDGE
    canvas = Canvas(side, side + HEAD, PAPER)
    left, top = EDGE, HEAD + EDGE
    ones, twos, threes = deck(row)
    canvas.text(EDGE, HEAD / 2 + 8, f"next {shown(row, T) or '-'}", size=22, colour=INK, anchor="start")
    counts = f"deck  1: {ones}   2: {twos}   3: {threes}"
    canvas.text(side - EDGE, HEAD / 2 + 8, counts, size=15, colour=INK, anchor="end")
    canvas.box(left, top, BOARD, BOARD, fill="#bcd9df", radius=10)
    cells = ranks(row)
    for k, rank in enumerate(cells):
        x, y = left + GAP + k % 4 * (CELL + GAP), top + GAP + k // 4 * (CELL + GAP)
        fill, ink = tile_colours(rank)
        edge = "#ffcc33" if rank == max(cells) and rank >= 7 else ""
        canvas.box(x, y, CELL, CELL, fill=fill, edge=edge, radius=8)
        if rank:
            words = str(tile_value(rank))
            canvas.text(x + CELL / 2, y + CELL / 2, words, size=30 if len(words) < 4 else 22, colour=ink)
    centre, middle, far = left + BOARD / 2, top + BOARD / 2, EDGE / 2
    places = {
        "up": (centre, top - far),
        "down": (centre, top + BOARD + far),
        "left": (left - far, middle),
        "right": (left + BOARD + far, middle),
    }
    best = max(values.values()) if values else 0.0
    for name in ACTIONS if values else ():
        if name in values:  # type: ignore[operator]
            value = values[name]  # type: ignore[index]
            colour = "#1b8a3a" if value == best else INK
            canvas.text(*places[name], short(value), size=13, colour=colour)
    return canvas


def short(value: float) -> str:
    """Returns a value in at most six characters."""
    if abs(value) >= 99_950:
        return f"{value / 1000:.0f}k"
    if abs(value) >= 9_995:
        return f"{value / 1000:.1f}k"
    return f"{value:.0f}" if abs(value) >= 100 else f"{value:.1f}"
