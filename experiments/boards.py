"""Draws a position of each game with its best move and value in the game's units: the README's first picture.

`python -m leafwise.experiments.boards` writes `boards.png`. Moves and values come from searches with the shipped networks.
"""

from __future__ import annotations

import io
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from PIL import Image, ImageDraw, ImageFont

from leafwise.envs.cassis import draw as cassis
from leafwise.envs.core.arrays import Bytes
from leafwise.envs.core.contract.state import State
from leafwise.envs.core.pictures import Canvas
from leafwise.envs.friday import draw as friday
from leafwise.envs.friday.cards import CARDS
from leafwise.envs.friday.figures import figures
from leafwise.envs.friday.text import number, table_cards
from leafwise.envs.registry import game as find_game
from leafwise.envs.threes import draw as threes
from leafwise.envs.trap import draw as trap
from leafwise.experiments.study import Study, command
from leafwise.models.files import write_atomically
from leafwise.models.leaves import named_leaf
from leafwise.models.units import units_of, written
from leafwise.search import Search

WIDTH, SIDE, TOP, FOOT = 266, 244, 50, 150
"""Pixels: width of a column, side of a board, space above and below. The picture is shown at half its size."""
INK, FAINT, PAPER, BEST = "#22313f", "#5f6b76", "#ffffff", "#1b8a3a"
UNITS = {"expected final score": "{} points", "expected quality": "quality {}"}
"""Text for a unit's name; any other unit is a chance to win."""

Pixels = Bytes
Box = tuple[float, float, float, float]


@dataclass(frozen=True)
class Config(Study):
    """Draws six boards with their best moves."""


@dataclass(frozen=True)
class Board:
    """A position, its search and its drawing."""

    title: str
    name: str
    position: str
    picture: Callable[[State, str], Pixels]
    """(state, best move) -> a picture with the move marked."""
    crop: Box | None
    """Left, top, right and bottom of the board in that picture; None: all of it."""
    search: Mapping[str, Any]
    options: Mapping[str, Any] = field(default_factory=dict)
    words: str = "{}"
    """Text for the move."""


def drawn(state: State) -> Canvas:
    """Returns a game's own drawing."""
    assert state.game.draw is not None
    canvas = state.game.draw(state.row, state.game.tables())
    assert isinstance(canvas, Canvas)
    return canvas


def swiped(state: State, move: str) -> Pixels:
    """Marks a swipe of Threes by an arrow."""
    canvas = drawn(state)
    x, y = {"left": (-1, 0), "right": (1, 0), "up": (0, -1), "down": (0, 1)}[move]
    middle = threes.EDGE + threes.BOARD / 2, threes.HEAD + threes.EDGE + threes.BOARD / 2
    reach, wing = 0.42 * threes.BOARD, 28
    tip = middle[0] + x * reach, middle[1] + y * reach
    canvas.line(middle[0] - x * reach, middle[1] - y * reach, *tip, colour=BEST, width=9)
    for side in (-1, 1):
        canvas.line(
            *tip, tip[0] - x * wing + side * y * wing, tip[1] - y * wing + side * x * wing, colour=BEST, width=9
        )
    return canvas.rgb()


def joined(state: State, move: str) -> Pixels:
    """Marks an edge of Cassis."""
    canvas, n = drawn(state), state.game.tables().n
    angles = [2 * np.pi * int(point) / n - np.pi / 2 for point in move.split("-")]
    ends = [cassis.SIDE / 2 + cassis.RADIUS * turn(angle) for angle in angles for turn in (np.cos, np.sin)]
    canvas.line(*ends, colour=BEST, width=9)
    return canvas.rgb()


def thrown(state: State, move: str) -> Pixels:
    """Marks the target of a throw of Trap."""
    canvas, T = drawn(state), state.game.tables()
    y, x = map(int, move.split(","))
    centre = trap.centre(y * T.size + x, T)
    canvas.disc(*centre, 0.34 * trap.CELL, fill=BEST)
    canvas.disc(*centre, 0.2 * trap.CELL, fill=PAPER)
    canvas.disc(*centre, 0.08 * trap.CELL, fill=BEST)
    return canvas.rgb()


def framed(state: State, move: str, board: Box) -> Pixels:
    """Frames the part of a board that a move changes: a disc of Trilobite, a part of a ship."""
    before, picture = state.rgb(), state.play(move).rgb()
    left, top, right, bottom = map(int, board)
    changed = (before != picture).any(axis=2)[top:bottom, left:right]
    (rows,), (columns,) = np.nonzero(changed.any(axis=1)), np.nonzero(changed.any(axis=0))
    image = Image.fromarray(picture)
    corner = (left + columns[0] - 5, top + rows[0] - 5, left + columns[-1] + 5, top + rows[-1] + 5)
    ImageDraw.Draw(image).rectangle(corner, outline="#39d353", width=5)
    return np.asarray(image)


def fought(state: State, move: str) -> Pixels:
    """Draws a fight of Friday: life, points made and needed, cards on the table."""
    row, T, side = state.row, state.game.tables(), 380
    canvas = Canvas(side, side, friday.PAPER)
    phase = number(row, "phase")
    canvas.box(0, 0, side, 62, fill=friday.PHASE_COLOURS[phase])
    canvas.text(18, 31, f"life {number(row, 'life')} of {int(T.max_life)}", size=30, colour=PAPER, anchor="start")
    now = figures(row, T)
    canvas.text(side / 2, 110, f"{now.total} of {now.asked} points", size=38)
    left = now.free - number(row, "free")
    canvas.text(side / 2, 156, f"{left} free card{'s' * (left != 1)} left", size=28, colour=FAINT)
    cards = table_cards(row)
    for k, (kind, _, used, _) in enumerate(cards):
        x = side / 2 + (k - (len(cards) - 1) / 2) * 106
        canvas.box(x - 46, 200, 92, 124, fill="#d7d7d7" if used else PAPER, edge=INK, radius=8)
        canvas.text(x, 262, f"{CARDS[kind].value:+d}", size=44, colour="#c0392b" if CARDS[kind].value < 0 else INK)
    canvas.text(side / 2, 352, "cards on the table", size=24, colour=FAINT)
    return canvas.rgb()


COLUMNS: Box = (16, 60, 408, 396)
GRID: Box = (0, 14, 272, 286)
BOARDS = (
    Board(
        "Threes", "threes", "1 2 3 12/6 6 12 192/1 12 96 384/2 24 48 768 next=1 deck=1,2,3 start=6",
        swiped, (44, 108, 372, 436), {"depth": 3},
    ),
    Board(
        "Trilobite", "trilobite", "......./......./...o.../...x.../...ox../xx.oox.", 
        lambda state, move: framed(state, move, COLUMNS), COLUMNS, {"depth": 6}, {"board": "7x6", "k": 4}, "column {}",
    ),
    Board("Cassis", "cassis", ".x...xo/..x.../o..../x.../o../o./x", joined, (30, 30, 350, 350), {"depth": 4}, {"n": 8}, "edge {}"),
    Board(
        "Trap", "trap", "......./......./....1../...#.../...#.../..#...#/.....2. turn=4 throw", thrown, (32, 32, 396, 396),
        {"depth": 4, "candidates": "near+traps", "rare": 0.25}, {}, "throw at {}",
    ),
    Board(
        "Friday", "friday",
        "turn=fight phase=yellow life=2 pirates=P4,P8 stack=S5,W3,E1,E7 discard=S3*2,S4,W1,W8,W10,E3*2,E8,N1,G7 "
        "hazards=W3,W5,W7,E5,E6,F2,F3,F6,N3 away=W1,W5,W9,F4,N2,N4,C1*2 aging=G1,G2,D1,D2,D3 active=F5 left=E1!,F1! "
        "free=2 uses=2",
        fought, None, {"depth": 2, "nodes": 2000}, {}, "{} card",
    ),
    Board(
        "Starship", "starship",
        "hull=24_/24_/24_/24_/24_/1_11.12_/1_11.12_/1_13.10_/1_13.10_/1_14.9_/1_14.9_/1_14.9_/2_13.9_/2_13.9_/4_11.9_/4_11.9_/"
        "5_10.9_/5_10.9_/5_10.9_/5_10.9_/5_9.10_/5_9.10_/24_/24_ "
        "parts=C7,12S;R10,12N;T8,20S;H6,20S;T13,20S;H9,20S;c11,21S;c2,12W;c4,5N;A4,10N;P7,15N;b7,8N targets=9/3 phase=crew "
        "skips=0 none=- next=b,Q,Q",
        lambda state, move: framed(state, move, GRID), GRID, {"depth": 2, "width": 8}, {}, "bunk at {}",
    ),
)  # fmt: skip


def column(board: Board) -> Image.Image:
    """Returns a game's column: title, board, best move, its value, and the search."""
    game = find_game(board.name).variant(**board.options)
    state = game.parse(board.position)
    result = Search(game, named_leaf(game, "learned"), **board.search)(state)
    units = units_of(game, "learned")
    assert result.name is not None
    assert units is not None
    picture = Image.fromarray(board.picture(state, result.name))
    picture = picture.crop(board.crop) if board.crop else picture
    scale = SIDE / max(picture.size)
    picture = picture.resize((int(scale * picture.width), int(scale * picture.height)), Image.Resampling.LANCZOS)
    worth = UNITS.get(units.name, "{} to win").format(written(result.value, units))
    whole = Image.new("RGB", (WIDTH, TOP + SIDE + FOOT), PAPER)
    whole.paste(picture, ((WIDTH - picture.width) // 2, TOP + (SIDE - picture.height) // 2))
    pen = ImageDraw.Draw(whole)
    lines = (
        (TOP / 2, 30, INK, board.title), (TOP + SIDE + 28, 28, BEST, board.words.format(result.name)),
        (TOP + SIDE + 68, 30, INK, worth), (TOP + SIDE + 112, 24, FAINT, f"learned, depth {board.search['depth']}"),
    )  # fmt: skip
    for y, size, colour, words in lines:
        pen.text((WIDTH / 2, y), words, fill=colour, font=ImageFont.load_default(size), anchor="mm")
    print(f"{board.title}: {result.name}, {worth}", flush=True)
    return whole


def study(config: Config) -> None:
    """Searches the six positions and writes the picture."""
    target = config.target("boards.png")
    whole = Image.new("RGB", (WIDTH * len(BOARDS), TOP + SIDE + FOOT), PAPER)
    for k, board in enumerate(BOARDS):
        whole.paste(column(board), (k * WIDTH, 0))
    data = io.BytesIO()
    whole.quantize(128, dither=Image.Dither.NONE).save(data, "PNG", optimize=True)
    write_atomically(target, data.getvalue())


main = command(Config, study)

if __name__ == "__main__":
    raise SystemExit(main())
