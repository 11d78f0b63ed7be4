"""2048 (Gabriele Cirulli, 2014) on 4x4 cells: slide all tiles, equal ones merge once a slide, then a 2 or a 4 appears.

A row has two words. Word 0 is the board: sixteen ranks of four bits, cell (y, x) at bits 4*(4y + x); rank 0 is empty, rank r
the tile 2**r. Word 1: the phase (2 bits), and above it how many 4s have appeared: they are the difference between what the
tiles tell of the score and the score. The start is an empty board on which chance puts two tiles.

Rulings. The score is the sum of all tiles made by merging. Two 32768s do not merge (a cell has four bits). A typed board has
seen no 4s unless it says so.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import gymnasium as gym
import numpy as np

from leafwise.envs.core.compile.jit import jit
from leafwise.envs.core.contract.bits import count_bits
from leafwise.envs.core.contract.cells import CellFeatures, square_views
from leafwise.envs.core.contract.evaluator import Evaluator
from leafwise.envs.core.contract.game import Game
from leafwise.envs.core.contract.parts import Observation, Sizes, Text
from leafwise.envs.core.contract.rules import CHANCE, TERMINAL, Chance, Rules, Symmetries
from leafwise.envs.core.contract.stream import below, u64, uniform
from leafwise.envs.core.contract.words import need, whole_number, words_by_name
from leafwise.envs.core.pictures.canvas import Canvas

ACTIONS = ("up", "down", "left", "right")
DECISION, SPAWN, OVER = u64(0), u64(1), u64(2)
FOURS = u64(2)
FOUR = 0.1
"""Chance that a tile that appears is a 4."""
ZERO, ONE, TWO, THREE, S4, S8 = u64(0), u64(1), u64(2), u64(3), u64(4), u64(8)
S12, S16, S24, S32, S48 = u64(12), u64(16), u64(24), u64(32), u64(48)
LINE, NIBBLE, LOWEST = u64(0xFFFF), u64(15), u64(0x1111111111111111)


class Tables(NamedTuple):
    """What every line of four cells, [65536], slides to and is worth; line: lowest nibble first."""

    low: Any
    """After a slide towards its lowest nibble, uint16."""
    high: Any
    """After a slide towards its highest nibble, uint16."""
    ways: Any
    """Bit 0 set if it can slide low, bit 1 if it can slide high."""
    points: Any
    """What its tiles score, if only 2s appeared, int32."""
    stop: Any
    leaf: Any


def slid(cells: list[int]) -> list[int]:
    """Returns the ranks of a line after a slide towards its first cell."""
    made: list[int] = []
    free = False  # whether the last tile may still merge: a tile made by merging does not
    for rank in filter(None, cells):
        if free and made[-1] == rank and rank < 15:
            made[-1], free = rank + 1, False
        else:
            made, free = [*made, rank], True
    return made + [0] * (4 - len(made))


def make_tables(options: Any) -> Tables:
    """Returns the tables."""
    lines = [[line >> 4 * k & 15 for k in range(4)] for line in range(65536)]
    low = np.array([sum(r << 4 * k for k, r in enumerate(slid(cells))) for cells in lines], dtype=np.uint16)
    high = np.array(
        [sum(r << 4 * k for k, r in enumerate(slid(cells[::-1])[::-1])) for cells in lines], dtype=np.uint16
    )
    points = np.array([sum(POINTS[r] for r in cells) for cells in lines], dtype=np.int32)
    ways = (low != np.arange(65536)) | (high != np.arange(65536)) << 1
    return Tables(low, high, ways.astype(np.uint8), points, np.zeros(1, dtype=np.uint8), ())


POINTS = tuple((rank - 1) * 2**rank if rank else 0 for rank in range(16))


@jit(inline=True)
def transpose(b):
    a = (b & u64(0xF0F00F0FF0F00F0F)) | (b & u64(0x0000F0F00000F0F0)) << S12 | (b >> S12) & u64(0x0000F0F00000F0F0)
    return (a & u64(0xFF00FF0000FF00FF)) | (a & u64(0x00FF00FF00000000)) >> S24 | (a << S24) & u64(0x00FF00FF00000000)


@jit(inline=True)
def mirror(b):
    b = (b & u64(0x00FF00FF00FF00FF)) << S8 | (b >> S8) & u64(0x00FF00FF00FF00FF)
    return (b & u64(0x0F0F0F0F0F0F0F0F)) << S4 | (b >> S4) & u64(0x0F0F0F0F0F0F0F0F)


@jit(inline=True)
def flip(b):
    b = b << S32 | b >> S32
    return (b & u64(0x0000FFFF0000FFFF)) << S16 | (b >> S16) & u64(0x0000FFFF0000FFFF)


@jit(inline=True)
def occupied(b):
    """Returns one bit (the lowest of its nibble) per tile."""
    b |= b >> TWO
    return (b | b >> ONE) & LOWEST


@jit(inline=True)
def ways_of(b, T):
    return T.ways[b & LINE] | T.ways[b >> S16 & LINE] | T.ways[b >> S32 & LINE] | T.ways[b >> S48]


@jit(inline=True)
def slide(b, lines):
    return (
        u64(lines[b & LINE])
        | u64(lines[b >> S16 & LINE]) << S16
        | u64(lines[b >> S32 & LINE]) << S32
        | u64(lines[b >> S48]) << S48
    )


@jit(inline=True)
def initial_state(S, i, T):
    S[i, 0] = ZERO
    S[i, 1] = SPAWN


@jit(inline=True)
def current_player(S, i, T):
    phase = S[i, 1] & THREE
    return 0 if phase == DECISION else CHANCE if phase == SPAWN else TERMINAL


@jit(inline=True)
def stage(S, i, T):
    return 0 if S[i, 1] & THREE == DECISION else 1


@jit(inline=True)
def legal_actions(S, i, A, T):
    ways = ways_of(transpose(S[i, 0]), T) | ways_of(S[i, 0], T) << 2
    n = 0
    for a in range(4):
        if ways >> a & 1:
            A[n] = a
            n += 1
    return n


@jit(inline=True)
def apply_action(S, i, a, j, T):
    b = transpose(S[i, 0]) if a < 2 else S[i, 0]
    b = slide(b, T.high) if a & 1 else slide(b, T.low)
    S[j, 0] = transpose(b) if a < 2 else b
    S[j, 1] = S[i, 1] | SPAWN


@jit(inline=True)
def put(S, i, j, cell, rank, T):
    """Writes row i with a tile of a rank (1 or 2) more to row j."""
    b = S[i, 0] | rank << cell
    word = S[i, 1] & ~THREE
    tiles = occupied(b)
    if rank == TWO:
        word += ONE << FOURS
    if tiles & (tiles - ONE) == ZERO:
        word |= SPAWN  # the first tile of the start
    elif tiles == LOWEST and ways_of(b, T) | ways_of(transpose(b), T) == 0:
        word |= OVER
    S[j, 0], S[j, 1] = b, word


@jit(inline=True)
def chance_outcomes(S, j, P, o, T):
    empty = occupied(S[j, 0]) ^ LOWEST
    share = 1.0 / np.float64(count_bits(empty))
    n = u64(0)
    for k in range(16):
        cell = u64(4 * k)
        if empty >> cell & ONE:
            put(S, j, o + n, cell, ONE, T)
            put(S, j, o + n + ONE, cell, TWO, T)
            P[o + n] = share * (1.0 - FOUR)
            P[o + n + ONE] = share * FOUR
            n += TWO
    return np.int64(n)


@jit(inline=True)
def sample_outcome(S, j, R, T):
    empty = occupied(S[j, 0]) ^ LOWEST
    for _ in range(below(R, count_bits(empty))):
        empty &= empty - ONE
    cell = count_bits((empty & (ZERO - empty)) - ONE)
    put(S, j, j, cell, TWO if uniform(R) < FOUR else ONE, T)


@jit(inline=True)
def returns(S, i, T):
    b = S[i, 0]
    points = T.points[b & LINE] + T.points[b >> S16 & LINE] + T.points[b >> S32 & LINE] + T.points[b >> S48]
    return np.float64(points) - 4.0 * np.float64(S[i, 1] >> FOURS)


@jit(inline=True)
def observe(S, i, O, e, T):
    for k in range(16):
        O[e, k] = np.uint8(S[i, 0] >> u64(4 * k) & NIBBLE)


@jit(inline=True)
def transform(S, i, k, j, T):
    """Mirrors left-right (k & 1), then top-bottom (k & 2), then swaps rows and columns (k & 4)."""
    b = S[i, 0]
    b = mirror(b) if k & 1 else b
    b = flip(b) if k & 2 else b
    S[j, 0], S[j, 1] = transpose(b) if k & 4 else b, S[i, 1]


@jit(inline=True)
def transform_action(a, k, T):
    a ^= k >> 1 & 1 if a < 2 else k & 1
    return a ^ 2 if k & 4 else a


@jit(inline=True)
def boards(S, i, T):
    b = S[i, 0]
    m, f = mirror(b), flip(b)
    fm = flip(m)
    return b, m, f, fm, transpose(b), transpose(m), transpose(f), transpose(fm)


@jit(inline=True)
def score_and_room(S, i, T):
    """The hand-made score "room": the return, and 50 points for each empty cell."""
    return returns(S, i, T) + 50.0 * np.float64(count_bits(occupied(S[i, 0]) ^ LOWEST))


def to_text(row: Any, T: Tables) -> str:
    """Returns `2 4 0 0/0 0 0 0/... fours=1`, and ` spawn` where a tile is about to appear."""
    cells = [str(tile(int(row[0]) >> 4 * k & 15)) for k in range(16)]
    fours, spawn = int(row[1]) >> 2, int(row[1]) & 3 == 1
    rows = "/".join(" ".join(cells[k : k + 4]) for k in range(0, 16, 4))
    return rows + (f" fours={fours}" if fours else "") + (" spawn" if spawn else "")


def tile(rank: int) -> int:
    """Returns what a tile of a rank shows, 0 for an empty cell."""
    return 2**rank if rank else 0


RANKS = {tile(rank): rank for rank in range(16)}


def parse(text: str, T: Tables) -> Any:
    """Returns the row of `to_text`'s line."""
    words = text.replace("/", " ").split()
    given = words_by_name((w for w in words[16:] if w != "spawn"), ("fours",))
    values = [whole_number(word, "a tile") for word in words[:16]]
    need(len(values) == 16 and text.count("/") == 3, "4 rows of 4 tiles separated by '/'", text)
    for value in values:
        need(value in RANKS, "a tile 0, 2, 4, 8, ..., 32768", value)
    board = u64(sum(RANKS[value] << 4 * k for k, value in enumerate(values)))
    fours = whole_number(given.get("fours", "0"), "a number of 4s")
    word = u64(fours << 2)
    if "spawn" in words[16:] or sum(map(bool, values)) < 2:
        word |= SPAWN
        need(0 in values, "an empty cell with spawn", text)
    elif 0 not in values and ways_of(board, T) | ways_of(transpose(board), T) == 0:
        word |= OVER
    return np.array([board, word], dtype=np.uint64)


def draw(row: Any, T: Tables) -> Canvas:
    """Returns a drawing of a row."""
    canvas = Canvas(328, 328, "#bbada0")
    for k in range(16):
        rank = int(row[0]) >> 4 * k & 15
        x, y = 8 + k % 4 * 80, 8 + k // 4 * 80
        canvas.box(x, y, 72, 72, fill=f"#{238 - 8 * rank:02x}{228 - 11 * rank:02x}{218 - 14 * rank:02x}", radius=6)
        if rank:
            colour = "#776e65" if rank < 3 else "#ffffff"
            canvas.text(x + 36, y + 36, str(tile(rank)), size=30 if rank < 10 else 22, colour=colour)
    return canvas


def appeared(before: Any, after: Any, T: Tables) -> str:
    """Returns what chance did: `4@2,1` for a 4 at row 2, column 1 (from 0)."""
    new = int(before[0]) ^ int(after[0])
    k = (new.bit_length() - 1) // 4 if new else 0
    return f"{tile(new >> 4 * k)}@{k // 4},{k % 4}"


GAME = Game(
    name="2048",
    title="2048, sliding tiles that merge by twos (one player)",
    module=__name__,
    players=1,
    rules=Rules(
        initial_state=initial_state,
        current_player=current_player,
        legal_actions=legal_actions,
        apply_action=apply_action,
        returns=returns,
        observe=observe,
        chance=Chance(chance_outcomes, sample_outcome, 32, 2, stages=("decision", "spawn"), stage=stage),
    ),
    sizes=Sizes(width=2, max_actions=4),
    observation=Observation(gym.spaces.Box(0, 15, (16,), np.uint8)),
    make_tables=make_tables,
    action_names=ACTIONS,
    text=Text(to_text, parse, appeared),
    draw=draw,
    symmetries=Symmetries(8, transform, transform_action),
    scores={"room": lambda options: Evaluator("room", score_and_room, terminal="evaluate")},
    return_range=(0.0, 16.0 * POINTS[15]),
    features={
        "ntuple": CellFeatures(
            views=square_views(4),
            boards=boards,
            points=tuple(map(float, POINTS)),
            names=tuple(str(tile(rank)) for rank in range(16)),
            stages=("spawn",),
            stage_words=("afterstate",),
        )
    },
    ids={"2048": {}},
)
