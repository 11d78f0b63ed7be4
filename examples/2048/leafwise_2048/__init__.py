"""2048 (Gabriele Cirulli, 2014) on 4x4 cells: slide all tiles, equal ones merge once a slide, then a 2 or a 4 appears.

A row has two words. Word 0 is the board: sixteen ranks of four bits, cell (y, x) at bits 4*(4y + x); rank 0 is empty, rank r
the tile 2**r. Word 1: the phase (2 bits), and above it the number of 4s that have appeared, which merged tiles do not show. The
score is the sum of all tiles made by merging. Two 32768s do not merge: a cell has four bits. A typed board has no 4s unless it
says so.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import gymnasium as gym
import numpy as np

from leafwise.authoring import (
    CHANCE,
    NIBBLES,
    TERMINAL,
    Canvas,
    CellFeatures,
    Chance,
    Evaluator,
    Game,
    Observation,
    Rules,
    Sizes,
    Symmetries,
    Text,
    below,
    count_bits,
    jit,
    looked_up,
    need,
    occupied,
    square_views,
    sum_of_rows,
    symmetric_boards,
    transpose,
    u64,
    uniform,
    whole_number,
    words_by_name,
)

DECISION, SPAWN, OVER = u64(0), u64(1), u64(2)
FOURS, FOUR = u64(2), 0.1  # first bit of the count of 4s in word 1, and the probability of a 4
ZERO, ONE, TWO, THREE, NIBBLE = u64(0), u64(1), u64(2), u64(3), u64(15)


class Tables(NamedTuple):
    """Slides and points of all lines of four cells, [65536]."""

    low: Any  # after a slide towards its lowest nibble, uint16
    high: Any  # after a slide towards its highest nibble, uint16
    ways: Any  # 1 if it can slide low, and 16 if it can slide high, uint8
    points: Any  # score of its tiles, if only 2s appeared, int32
    stop: Any
    leaf: Any


def slid(cells: list[int]) -> list[int]:
    """Returns the ranks of a line after a slide towards its first cell."""
    made: list[int] = []
    free = False  # whether the last tile may still merge; a merged tile may not
    for rank in filter(None, cells):
        if free and made[-1] == rank and rank < 15:
            made[-1], free = rank + 1, False
        else:
            made, free = [*made, rank], True
    return made + [0] * (4 - len(made))


def make_tables(options: Any) -> Tables:
    """Returns the tables."""
    lines, all_lines = [[line >> 4 * k & 15 for k in range(4)] for line in range(65536)], np.arange(65536)
    after = [slid(cells) for cells in lines], [slid(cells[::-1])[::-1] for cells in lines]
    low, high = (np.array(slides, dtype=np.uint16) @ np.array([1, 16, 256, 4096], dtype=np.uint16) for slides in after)
    points = np.array(POINTS)[np.array(lines)].sum(axis=1).astype(np.int32)
    ways = ((low != all_lines) + 16 * (high != all_lines)).astype(np.uint8)
    return Tables(low, high, ways, points, np.zeros(1, dtype=np.uint8), ())


POINTS = tuple((rank - 1) * 2**rank if rank else 0 for rank in range(16))
RANKS = {2**rank if rank else 0: rank for rank in range(16)}
SHOWN = tuple(RANKS)


def tiles(row: Any) -> list[int]:
    """Returns the tiles of the cells, 0 for an empty one."""
    return [SHOWN[int(row[0]) >> 4 * k & 15] for k in range(16)]


@jit(inline=True)
def initial_state(S, i, T):
    S[i, 0], S[i, 1] = ZERO, SPAWN


@jit(inline=True)
def current_player(S, i, T):
    phase = S[i, 1] & THREE
    return 0 if phase == DECISION else CHANCE if phase == SPAWN else TERMINAL


@jit(inline=True)
def legal_actions(S, i, A, T):
    columns, rows = sum_of_rows(transpose(S[i, 0]), T.ways), sum_of_rows(S[i, 0], T.ways)
    n = 0
    for a in range(4):
        ways = columns if a < 2 else rows
        if (ways >> 4 if a & 1 else ways & 15) > 0:
            A[n] = a
            n += 1
    return n


@jit(inline=True)
def is_stuck(b, T):
    return occupied(b) == NIBBLES and sum_of_rows(b, T.ways) == 0 and sum_of_rows(transpose(b), T.ways) == 0


@jit(inline=True)
def apply_action(S, i, a, j, T):
    b = transpose(S[i, 0]) if a < 2 else S[i, 0]
    b = looked_up(b, T.high) if a & 1 else looked_up(b, T.low)
    S[j, 0] = transpose(b) if a < 2 else b
    S[j, 1] = S[i, 1] | SPAWN


@jit(inline=True)
def put(S, i, j, cell, rank, T):
    """Writes row i with a new tile of a rank (1 or 2) to row j."""
    b, word = S[i, 0] | rank << cell, (S[i, 1] & ~THREE) + ((rank >> ONE) << FOURS)
    taken = occupied(b)
    if taken & (taken - ONE) == ZERO:
        word |= SPAWN  # the first tile of the start
    elif is_stuck(b, T):
        word |= OVER
    S[j, 0], S[j, 1] = b, word


@jit(inline=True)
def chance_outcomes(S, j, P, o, T):
    empty = occupied(S[j, 0]) ^ NIBBLES
    share = 1.0 / np.float64(count_bits(empty))
    n = u64(0)
    for k in range(16):
        cell = u64(4 * k)
        if empty >> cell & ONE:
            put(S, j, o + n, cell, ONE, T)
            put(S, j, o + n + ONE, cell, TWO, T)
            P[o + n], P[o + n + ONE] = share * (1.0 - FOUR), share * FOUR
            n += TWO
    return np.int64(n)


@jit(inline=True)
def sample_outcome(S, j, R, T):
    empty = occupied(S[j, 0]) ^ NIBBLES
    for _ in range(below(R, count_bits(empty))):
        empty &= empty - ONE
    cell = count_bits((empty & (ZERO - empty)) - ONE)
    put(S, j, j, cell, TWO if uniform(R) < FOUR else ONE, T)


@jit(inline=True)
def returns(S, i, T):
    return np.float64(sum_of_rows(S[i, 0], T.points)) - 4.0 * np.float64(S[i, 1] >> FOURS)


@jit(inline=True)
def observe(S, i, O, e, T):
    for k in range(16):
        O[e, k] = np.uint8(S[i, 0] >> u64(4 * k) & NIBBLE)


@jit(inline=True)
def transform(S, i, k, j, T):
    """Mirrors left-right (k & 1), then top-bottom (k & 2), then swaps rows and columns (k & 4)."""
    S[j, 0], S[j, 1] = symmetric_boards(S, i, T)[k], S[i, 1]


@jit(inline=True)
def transform_action(a, k, T):
    a ^= k >> 1 & 1 if a < 2 else k & 1
    return a ^ 2 if k & 4 else a


@jit(inline=True)
def room(S, i, T):
    """Returns the hand-made score: the return plus 50 points for each empty cell."""
    return returns(S, i, T) + 50.0 * np.float64(count_bits(occupied(S[i, 0]) ^ NIBBLES))


def to_text(row: Any, T: Tables) -> str:
    """Returns `2 4 0 0/0 0 0 0/... fours=1`, and ` spawn` where a tile is about to appear."""
    fours, spawn = int(row[1]) >> 2, int(row[1]) & 3 == 1
    rows = "/".join(" ".join(map(str, tiles(row)[k : k + 4])) for k in range(0, 16, 4))
    return rows + (f" fours={fours}" if fours else "") + (" spawn" if spawn else "")


def parse(text: str, T: Tables) -> Any:
    """Returns the row of a text of `to_text`."""
    words = text.replace("/", " ").split()
    given = words_by_name((word for word in words[16:] if word != "spawn"), ("fours",))
    values = [whole_number(word, "a tile") for word in words[:16]]
    need(len(values) == 16 and text.count("/") == 3, "4 rows of 4 tiles separated by '/'", text)
    need(set(values) <= set(RANKS), "tiles 0, 2, 4, 8, ..., 32768", text)
    board = u64(sum(RANKS[value] << 4 * k for k, value in enumerate(values)))
    spawn = "spawn" in words[16:] or len(values) - values.count(0) < 2
    need(not spawn or 0 in values, "an empty cell with spawn", text)
    phase = SPAWN if spawn else OVER if is_stuck(board, T) else DECISION
    fours = whole_number(given.get("fours", "0"), "a number of 4s")
    need(fours < 2**32, "fewer than 2**32 fours", fours)
    return np.array([board, u64(fours) << FOURS | phase], dtype=np.uint64)


def draw(row: Any, T: Tables) -> Canvas:
    """Returns a drawing of a row."""
    canvas = Canvas(328, 328, "#bbada0")
    for k, tile in enumerate(tiles(row)):
        x, y, rank = 8 + k % 4 * 80, 8 + k // 4 * 80, RANKS[tile]
        canvas.box(x, y, 72, 72, fill=f"#{238 - 8 * rank:02x}{228 - 11 * rank:02x}{218 - 14 * rank:02x}", radius=6)
        canvas.text(x + 36, y + 36, str(tile or ""), size=22, colour="#776e65" if rank < 3 else "#ffffff")
    return canvas


def appeared(before: Any, after: Any, T: Tables) -> str:
    """Returns the outcome of chance: `4@2,1` for a 4 at row 2, column 1 (from 0)."""
    pairs = enumerate(zip(tiles(before), tiles(after), strict=True))
    return next((f"{new}@{k // 4},{k % 4}" for k, (old, new) in pairs if old != new), "")


CELLS = CellFeatures(
    views=square_views(4),
    boards=symmetric_boards,
    points=tuple(map(float, POINTS)),
    names=tuple(map(str, SHOWN)),
    stages=("spawn",),
    stage_words=("afterstate",),
)

GAME = Game(
    name="game2048",
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
        chance=Chance(chance_outcomes, sample_outcome, 32, 2, stages=("decision", "spawn")),
    ),
    sizes=Sizes(2, max_actions=4),
    observation=Observation(gym.spaces.Box(0, 15, (16,), np.uint8)),
    make_tables=make_tables,
    action_names=("up", "down", "left", "right"),
    text=Text(to_text, parse, appeared),
    draw=draw,
    symmetries=Symmetries(8, transform, transform_action),
    scores={"room": lambda options: Evaluator("room", room, terminal="evaluate")},
    return_range=(0.0, 16.0 * POINTS[15]),
    features={"ntuple": CELLS},
    ids={"Game2048": {}},
)
