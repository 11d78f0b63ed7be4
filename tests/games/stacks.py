"""Five stacks of up to five tiles for tests: 25 cells of four bits in two words, and a score that the board does not show.

Chance turns up a tile of rank 1, 2 or 3 (1/2, 1/3, 1/6); the player drops it on a stack. While the two tiles on top are equal
they merge into the next rank, up to 15, which earns 2**rank. The game is over when no stack has room: a full stack takes a tile
only where it merges at once.
"""

from __future__ import annotations

import re
from typing import Any, NamedTuple

import gymnasium as gym
import numpy as np
from numpy.typing import NDArray

from leafwise.authoring import (
    CHANCE,
    TERMINAL,
    CellFeatures,
    Chance,
    Evaluator,
    Game,
    Observation,
    Rules,
    Sizes,
    SmallTable,
    Symmetries,
    Text,
    jit,
    rectangle_views,
    u64,
    uniform,
)

STACKS, HEIGHT, CELLS, TOP = 5, 5, 25, 15
# Words 0 and 1: cell 5 * stack + place, place 0 at the bottom, at bits 4 * (cell % 16) of word cell // 16. Word 2: the tile
# turned up (4 bits, 0 if none), points above it.
TILE, POINTS = u64(15), u64(4)


class Tables(NamedTuple):
    stop: NDArray[np.uint8]
    leaf: Any


@jit(inline=True)
def get(S, i, k):
    return (S[i, k // 16] >> u64(4 * (k % 16))) & TILE


@jit(inline=True)
def put(S, i, k, rank):
    shift = u64(4 * (k % 16))
    S[i, k // 16] = (S[i, k // 16] & ~(TILE << shift)) | rank << shift


@jit(inline=True)
def height(S, i, stack):
    n = 0
    while n < HEIGHT and get(S, i, HEIGHT * stack + n):
        n += 1
    return n


@jit(inline=True)
def takes(S, i, stack, rank):
    n = height(S, i, stack)
    return n < HEIGHT or (rank < TOP and get(S, i, HEIGHT * stack + n - 1) == rank)


@jit(inline=True)
def initial_state(S, i, T):
    S[i, 0] = S[i, 1] = S[i, 2] = u64(0)


@jit(inline=True)
def current_player(S, i, T):
    tile = S[i, 2] & TILE
    if tile == u64(0):
        return CHANCE
    for stack in range(STACKS):
        if takes(S, i, stack, tile):
            return 0
    return TERMINAL


@jit(inline=True)
def stage(S, i, T):
    return 0 if S[i, 2] & TILE else 1


@jit(inline=True)
def legal_actions(S, i, A, T):
    n = 0
    for stack in range(STACKS):
        if takes(S, i, stack, S[i, 2] & TILE):
            A[n] = stack
            n += 1
    return n


@jit(inline=True)
def apply_action(S, i, a, j, T):
    tile = S[i, 2] & TILE
    for w in range(3):
        S[j, w] = S[i, w]
    S[j, 2] &= ~TILE
    n = height(S, j, a)
    while n and tile < TOP and get(S, j, HEIGHT * a + n - 1) == tile:
        n -= 1
        put(S, j, HEIGHT * a + n, u64(0))
        tile += u64(1)
        S[j, 2] += u64(1) << (POINTS + tile)
    put(S, j, HEIGHT * a + n, tile)


@jit(inline=True)
def chance_outcomes(S, j, P, o, T):
    for k in range(3):
        for w in range(3):
            S[o + u64(k), w] = S[j, w]
        S[o + u64(k), 2] |= u64(k + 1)
        P[o + u64(k)] = (3 - k) / 6
    return 3


@jit(inline=True)
def sample_outcome(S, j, R, T):
    x = uniform(R) * 6
    S[j, 2] |= u64(1) if x < 3 else u64(2) if x < 5 else u64(3)


@jit(inline=True)
def returns(S, i, T):
    return np.float64(S[i, 2] >> POINTS)


@jit(inline=True)
def observe(S, i, O, e, T):
    for k in range(CELLS):
        O[e, k] = np.uint8(get(S, i, k))
    O[e, CELLS] = np.uint8(S[i, 2] & TILE)


@jit(inline=True)
def cell(S, i, k, T):
    """The same cells, read one by one."""
    return get(S, i, np.int64(k))


@jit(inline=True)
def table_index(S, i, k, T):
    """Counts empty cells, and tops that are equal to another."""
    empty = pairs = 0
    for stack in range(STACKS):
        n = height(S, i, stack)
        empty += HEIGHT - n
        for other in range(stack):
            m = height(S, i, other)
            if n and m and get(S, i, HEIGHT * stack + n - 1) == get(S, i, HEIGHT * other + m - 1):
                pairs += 1
    return u64(empty) if k == 0 else u64(pairs)


@jit(inline=True)
def score(S, i, T):
    return returns(S, i, T)


@jit(inline=True)
def transform(S, i, k, j, T):
    """Mirrors the stacks (k & 1)."""
    a, b, c = S[i, 0], S[i, 1], S[i, 2]
    S[j, 0], S[j, 1], S[j, 2] = a, b, c
    if k:
        for stack in range(STACKS // 2):
            for n in range(HEIGHT):
                cell, mirrored_cell = HEIGHT * stack + n, HEIGHT * (STACKS - 1 - stack) + n
                x, y = get(S, j, cell), get(S, j, mirrored_cell)
                put(S, j, cell, y)
                put(S, j, mirrored_cell, x)


@jit(inline=True)
def transform_action(a, k, T):
    return STACKS - 1 - a if k else a


def text(row: NDArray[Any], T: Tables) -> str:
    ranks = [int(row[k // 16]) >> 4 * (k % 16) & 15 for k in range(CELLS)]
    stacks = "/".join("".join(f"{rank:x}" for rank in ranks[k : k + HEIGHT]) for k in range(0, CELLS, HEIGHT))
    return f"{stacks} tile={int(row[2]) & 15} points={int(row[2]) >> 4}"


def parse_row(line: str, T: Tables) -> NDArray[np.uint64]:
    match = re.fullmatch(r"((?:[0-9a-f]{5}/){4}[0-9a-f]{5}) tile=([0-3]) points=(\d{1,9})", line, re.ASCII)
    if match is None or re.search("0[1-9a-f]", match[1]):
        raise ValueError(f"expected 'RRRRR/RRRRR/RRRRR/RRRRR/RRRRR tile=R points=N', zeros on top, got {line!r}")
    row = np.zeros((1, 3), dtype=np.uint64)
    for k, digit in enumerate(match[1].replace("/", "")):
        put(row, 0, k, u64(int(digit, 16)))
    row[0, 2] = u64(int(match[2]) | int(match[3]) << 4)
    return row[0]


FEATURES = CellFeatures(
    cells=CELLS,
    words=(0, 1),
    views=rectangle_views(STACKS, HEIGHT)[::2],
    tables={"empty": SmallTable(26), "pairs": SmallTable(11, usual=False)},
    index=table_index,
    stages=("tile",),
    stage_words=("afterstate",),
)

GAME = Game(
    name="stacks",
    title="Five stacks of tiles that merge (one player)",
    module=__name__,
    players=1,
    rules=Rules(
        initial_state=initial_state,
        current_player=current_player,
        legal_actions=legal_actions,
        apply_action=apply_action,
        returns=returns,
        observe=observe,
        chance=Chance(chance_outcomes, sample_outcome, max_outcomes=3, stages=("decision", "tile"), stage=stage),
    ),
    sizes=Sizes(width=3, max_actions=STACKS),
    observation=Observation(gym.spaces.Box(0, 15, (CELLS + 1,), np.uint8)),
    make_tables=lambda options: Tables(np.zeros(1, dtype=np.uint8), ()),
    action_names=tuple(str(k + 1) for k in range(STACKS)),
    text=Text(text, parse_row),
    symmetries=Symmetries(2, transform, transform_action),
    scores={"points": lambda options: Evaluator("points", score, terminal="evaluate")},
    return_range=(0.0, 1e9),
    features={"ntuple": FEATURES},
)
