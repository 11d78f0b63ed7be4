"""The drawings of the documentation, made by the package when the site is built."""

from __future__ import annotations

import leafwise
from leafwise.envs.core.pictures import Canvas

INK, CHANCE_COLOUR, LEAF_COLOUR = "#444444", "#e0a030", "#4070c0"


def drawings() -> dict[str, str]:
    """Returns SVG text by name."""
    return {"threes": position().svg(), "tree": tree()}


def position() -> leafwise.State:
    """Returns the position of Threes that the pages speak of."""
    return leafwise.game("threes").parse("48 24 12 6/3 1 2 0/3 0 1 0/2 0 0 0 next=1 deck=0,2,1")


def tree() -> str:
    """Draws one decision of that position: its swipes, what chance may do after one of them, and where a leaf is asked."""
    state = position()
    canvas = Canvas(900, 330)
    canvas.text(450, 20, "a decision: max over actions", size=15)
    canvas.disc(450, 45, 10, fill=INK)
    names = state.legal_names
    shown = names[len(names) // 2]
    for k, name in enumerate(names):
        x = 450 + (k - (len(names) - 1) / 2) * 200
        canvas.line(450, 55, x, 120, colour=INK)
        canvas.text(x + 18, 130, name, size=14, anchor="start")
        canvas.disc(x, 130, 10, fill=CHANCE_COLOUR)
        if name == shown:
            _outcomes(canvas, state.play(name), x)
    canvas.text(450, 318, "where the leaf is asked: after the last stage of chance", size=15)
    return canvas.svg()


def _outcomes(canvas: Canvas, chance: leafwise.State, x: float) -> None:
    """Draws the two stages of chance after a swipe: where the tile enters, and which card comes next."""
    canvas.text(x, 165, f"chance: {chance.stage}", size=13)
    first = chance.outcomes()
    for k, (probability, after) in enumerate(first):
        middle = x + (k - (len(first) - 1) / 2) * 220
        canvas.line(x, 140, middle, 200, colour=CHANCE_COLOUR)
        canvas.text(middle + 14, 210, f"{chance.outcome_name(after)}, {probability:.2f}", size=12, anchor="start")
        canvas.disc(middle, 210, 8, fill=CHANCE_COLOUR)
        if not after.is_chance:
            continue
        second = after.outcomes()
        for m, (_, leaf) in enumerate(second):
            at = middle + (m - (len(second) - 1) / 2) * 30
            canvas.line(middle, 218, at, 262, colour=LEAF_COLOUR, width=1)
            canvas.disc(at, 268, 6, fill=LEAF_COLOUR)
            canvas.text(at, 290, after.outcome_name(leaf), size=11)
