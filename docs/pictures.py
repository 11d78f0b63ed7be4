"""The drawings of the documentation, made by the package when the site is built."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import leafwise
from leafwise.envs.core.pictures import Canvas
from leafwise.experiments.boards import BOARDS

PAGES = Path(__file__).parent
INK, FAINT, PAPER = "#444444", "#9a9a9a", "#ffffff"
CHANCE_COLOUR, LEAF_COLOUR, PALE = "#e0a030", "#4070c0", "#b8cbe8"


def drawings() -> dict[str, str]:
    """Returns SVG text by name."""
    explained = {f.__name__: f() for f in (tree, star, row, linking, targets, pairs, searches)}
    played = {board.name: leafwise.game(board.name, **board.options).parse(board.position).svg() for board in BOARDS}
    return {**played, **explained}


def names_of(page: str) -> dict[str, Any]:
    """Returns what the first block of Python of a page defines: a picture and the page show the same numbers."""
    block = re.search(r"```python\n(.*?)```", (PAGES / page).read_text(encoding="utf-8"), re.DOTALL)
    assert block is not None, page
    names: dict[str, Any] = {}
    exec(block[1].partition("\n\n\nfor ")[0], names)  # what follows prints
    return names


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


def star() -> str:
    """Draws the tree of the page on chance, and which of its leaves each method asks for."""
    names = names_of("explanation/chance.md")
    asked = {method: names["search"](*options)[1] for method, options in names["METHODS"].items()}
    canvas = Canvas(900, 330)
    canvas.text(465, 24, "you", size=14, anchor="start")
    canvas.disc(440, 24, 10, fill=INK)
    first = 70.0
    for action, outcomes in names["TREE"].items():
        x = first + 90 * (sum(len(replies) for _, replies in outcomes) - 1) / 2
        canvas.line(440, 34, x, 92, colour=INK)
        canvas.disc(x, 92, 10, fill=CHANCE_COLOUR)
        canvas.text(x + 18, 104, f"{action}: chance", size=14, anchor="start")
        for k, (probability, replies) in enumerate(outcomes):
            middle = first + 90 * (len(replies) - 1) / 2
            canvas.line(x, 102, middle, 168, colour=CHANCE_COLOUR)
            canvas.disc(middle, 168, 8, fill=INK)
            canvas.text(middle + 14, 168, f"{probability:g}", size=13, anchor="start")
            for reply, value in enumerate(replies):
                at, leaf = first + 90 * reply, (action, k, reply)
                canvas.line(middle, 176, at, 228, colour=INK, width=1)
                fill = next(
                    c for m, c in (("Star2", LEAF_COLOUR), ("Star1", PALE), ("plain", PAPER)) if leaf in asked[m]
                )
                canvas.disc(at, 236, 8, fill=fill, edge=LEAF_COLOUR)
                canvas.text(at, 260, f"{value:g}", size=13)
            first += 90 * len(replies)
    canvas.text(40, 168, "opponent", size=13)
    labels = {LEAF_COLOUR: "evaluated by all three", PALE: "by Star1 and plain search", PAPER: "only by plain search"}
    for k, (fill, words) in enumerate(labels.items()):
        canvas.disc(150 + 220 * k, 304, 7, fill=fill, edge=LEAF_COLOUR)
        canvas.text(164 + 220 * k, 304, words, size=13, anchor="start")
    return canvas.svg()


def label(canvas: Canvas, x: float, y: float, w: float, lines: tuple[str, ...], fill: str = PAPER) -> None:
    """Draws a box around (x, y) with lines of text, the first one larger."""
    h = 16 + 19 * len(lines)
    canvas.box(x - w / 2, y - h / 2, w, h, fill=fill, edge=INK, radius=6)
    for k, line in enumerate(lines):
        canvas.text(x, y + 19 * (k - (len(lines) - 1) / 2), line, size=12 if k else 15)


def arrow(canvas: Canvas, x: float, y: float, x2: float, y2: float, colour: str = INK, width: float = 2) -> None:
    """Draws a line with a head at its end."""
    canvas.line(x, y, x2, y2, colour=colour, width=width)
    length = ((x2 - x) ** 2 + (y2 - y) ** 2) ** 0.5
    along, across = ((x2 - x) / length, (y2 - y) / length), ((y2 - y) / length, (x - x2) / length)
    for side in (-5, 5):
        tip = x2 - 10 * along[0] + side * across[0], y2 - 10 * along[1] + side * across[1]
        canvas.line(*tip, x2, y2, colour=colour, width=width)


def row() -> str:
    """Draws what is made of a row of Threes."""
    game = leafwise.game("threes")
    seen = game.observation_space()
    canvas = Canvas(900, 250)
    label(canvas, 110, 125, 170, ("row", f"{game.width} words of 64 bits"), PALE)
    label(canvas, 400, 45, 210, ("observation", f"{seen.dtype} {list(seen.shape)}"))
    label(canvas, 400, 125, 210, ("successors", "rows with probabilities"))
    label(canvas, 400, 205, 210, ("features", "what its networks see"))
    label(canvas, 760, 45, 220, ("a learner", "Gymnasium, PettingZoo"))
    label(canvas, 760, 125, 220, ("search", "best action, mean over chance"))
    label(canvas, 760, 205, 220, ("leaf", "a value, in its own unit"), PALE)
    for y in (45, 125, 205):
        arrow(canvas, 195, 125, 290, y)
        arrow(canvas, 505, y, 645, y)
    arrow(canvas, 760, 178, 760, 153)
    return canvas.svg()


def linking() -> str:
    """Draws what numba compiles for two kinds of leaf, and what is linked instead."""
    canvas = Canvas(900, 250)
    canvas.text(220, 24, "by numba alone: every caller has a copy", size=14)
    canvas.text(680, 24, "linked: rules once, on disk", size=14)
    for k, caller in enumerate(("search, hand-made leaf", "search, network", "environment")):
        y = 70 + 65 * k
        label(canvas, 150, y, 190, (caller,))
        label(canvas, 330, y, 150, ("copy of the rules",), PALE)
        label(canvas, 590, y, 190, (caller,))
        arrow(canvas, 690, y, 762, 135)
    label(canvas, 820, 135, 110, ("rules",), PALE)
    return canvas.svg()


def targets() -> str:
    """Draws where four methods take the target of one position from: the others of its game, a search, or its end."""
    canvas = Canvas(900, 380)
    rows = (
        ("TD(0)", "the value of the next position"), ("Q-learning", "the best action's value in the next position"),
        ("self-play", "the root value of a search below it"), ("outcome", "how the game ended"),
    )  # fmt: skip
    for k, (method, words) in enumerate(rows):
        y = 50 + 90 * k
        canvas.text(20, y - 10, method, size=15, anchor="start")
        canvas.text(20, y + 12, words, size=12, anchor="start")
        canvas.line(340, y, 840, y, colour=FAINT, width=1)
        for m in range(6):
            source = (method == "TD(0)" and m == 2) or (method == "outcome" and m == 5)
            fill = INK if m == 1 else LEAF_COLOUR if source else PAPER
            canvas.disc(340 + 100 * m, y, 9, fill=fill, edge=INK)
        if method == "Q-learning":
            for m in (-1, 0, 1):
                canvas.line(548, y + 4, 590, y + 26 + 14 * m, colour=INK, width=1)
                canvas.disc(590, y + 26 + 14 * m, 5, fill=LEAF_COLOUR if m == 0 else PAPER, edge=INK)
        elif method == "self-play":
            for m in (-1, 1):
                canvas.line(440, y + 9, 440 + 26 * m, y + 30, colour=INK, width=1)
                for n in (-1, 1):
                    canvas.line(440 + 26 * m, y + 30, 440 + 26 * m + 12 * n, y + 48, colour=INK, width=1)
                    canvas.disc(440 + 26 * m + 12 * n, y + 50, 5, fill=LEAF_COLOUR)
    canvas.text(840, 26, "end", size=12)
    canvas.text(440, 26, "position", size=12)
    return canvas.svg()


def pairs() -> str:
    """Draws a pair of games: one opening, both seats, one number."""
    canvas = Canvas(900, 210)
    label(canvas, 120, 105, 170, ("opening", "from one seed"), PALE)
    for y, words in ((50, "A moves first, B second"), (160, "B moves first, A second")):
        arrow(canvas, 205, 105, 295, y)
        label(canvas, 410, y, 230, ("game", words))
        arrow(canvas, 525, y, 605, 105)
    label(canvas, 710, 105, 200, ("one number", "what A gets of both games"), PALE)
    return canvas.svg()


def searches() -> str:
    """Draws a tree of two decisions that is looked at whole, and one that goes on where it pays."""
    canvas = Canvas(900, 300)
    canvas.text(220, 24, "to a depth: everything, in a fixed order", size=14)
    canvas.text(680, 24, "simulations: likely and good lines, deeper", size=14)
    canvas.disc(220, 60, 9, fill=INK)
    for k in (-1, 0, 1):
        canvas.line(220, 69, 220 + 130 * k, 120, colour=INK)
        canvas.disc(220 + 130 * k, 126, 7, fill=INK)
        for m in (-1, 0, 1):
            canvas.line(220 + 130 * k, 133, 220 + 130 * k + 38 * m, 180, colour=INK, width=1)
            canvas.disc(220 + 130 * k + 38 * m, 186, 6, fill=LEAF_COLOUR)
    canvas.disc(680, 60, 9, fill=INK)
    x, y = 680.0, 60.0
    for depth in range(5):
        ahead = x + (44 if depth % 2 else -34)
        for at in (ahead - 60, ahead + 60, ahead):
            canvas.line(x, y + 8, at, y + 40, colour=INK, width=3 - depth / 2 if at == ahead else 1)
            canvas.disc(at, y + 46, 6, fill=INK if at == ahead and depth < 4 else LEAF_COLOUR)
        x, y = ahead, y + 46
    return canvas.svg()
