"""What learners see of Threes: observations, symmetric boards, and the eight symmetries."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from leafwise.envs.core.compile.jit import jit
from leafwise.envs.core.contract.bits import (
    FOUR,
    NIBBLES,
    ONE,
    S16,
    THREE,
    TWO,
    ZERO,
    count_bits,
    flip,
    highest_rank,
    mirror,
    occupied,
    symmetric_boards,
    transpose,
)
from leafwise.envs.core.contract.features import CellFeatures, SmallTable, square_views
from leafwise.envs.core.contract.game import Labels
from leafwise.envs.core.contract.stream import u64
from leafwise.envs.threes.rules import (
    DIRECTION,
    FIFTEEN,
    HIGH,
    HINT_PLUS,
    LANES,
    LOW,
    PLUS,
    SEVEN,
    SHOWN,
    deck_count,
    get,
)
from leafwise.envs.threes.scores import RIGHT_COLUMN, of_rank
from leafwise.envs.threes.tables import Options, tile_points
from leafwise.envs.threes.text import tile_value

if TYPE_CHECKING:
    import gymnasium as gym

FIVE, SIX, SIXTEEN = u64(5), u64(6), u64(16)
BOTTOM_ROW = u64(0x1111000000000000)

OBSERVATION = 20
"""Numbers of an observation: sixteen ranks, the tile shown, three deck counts."""


def observation_space(options: Options) -> gym.spaces.Box:
    """Returns a Box uint8 [20]: ranks 0..15 row by row, the tile shown, counts of 1s, 2s, 3s in the deck.

    The tile shown is 1, 2, 3, 4 for "+", 5 for white, and 16 * lowest + highest rank for a bonus whose window or value is
    known; 0 if none is shown.
    """
    import gymnasium as gym

    high = np.array([15] * 16 + [255] + [4] * 3, dtype=np.uint8)
    return gym.spaces.Box(np.zeros(OBSERVATION, dtype=np.uint8), high, dtype=np.uint8)


def labels(options: Options) -> dict[str, tuple[Labels, ...]]:
    """Returns the labels of the numbers that `observe` writes."""
    cells = tuple(f"row {y + 1}, column {x + 1}" for y in range(4) for x in range(4))
    return {
        "": (
            Labels(
                cells,
                "rank of the tile: 0 for an empty cell, 1 and 2 for the tiles 1 and 2, 3 for a 3, 4 for a 6, ...",
                "cells, row by row from the top",
            ),
            Labels(
                ("tile shown",),
                "0: none; 1, 2, 3: this tile; 4: a bonus tile; 5: a white tile (a 3 or a bonus tile); if the hint shows "
                "possible ranks: 16 * lowest rank + highest rank",
            ),
            Labels(("1s", "2s", "3s"), "how many of these cards are left in the deck; the tile shown is not counted"),
        )
    }


@jit(inline=True)
def observe(S, i, O, e, T):
    b, word = S[i, 0], S[i, 1]
    for cell in range(16):
        O[e, cell] = np.uint8((b >> u64(4 * cell)) & FIFTEEN)
    code = get(word, SHOWN)
    if code == PLUS and T.hint != HINT_PLUS:
        code = (get(word, LOW)) << FOUR | (get(word, HIGH))
    O[e, 16] = np.uint8(code)
    for card in range(1, 4):
        O[e, 16 + card] = np.uint8(deck_count(word, u64(card)))


SHOWN_AT, BONUS_AT, DECK_AT, PLANES = 16, 21, 33, 36
"""First planes of the tile shown, of possible bonuses and of the deck, and the number of planes."""
LEAST_BONUS = 4


def planes_space(options: Options) -> gym.spaces.Box:
    """Returns a Box float32 [36, 4, 4], 0 to 1: a plane for each rank, then the tile shown and the deck, the same everywhere."""
    import gymnasium as gym

    return gym.spaces.Box(0.0, 1.0, (PLANES, 4, 4), dtype=np.float32)


def tiles(rank: int) -> str:
    """Returns the tiles from a rank on as text, "6, 12, ..., 12288"."""
    return ", ".join((*CELLS.names[rank : rank + 3], "...", CELLS.names[-1]))


def planes_labels(options: Options) -> dict[str, tuple[Labels, ...]]:
    """Returns the labels of the planes that `planes_as` writes."""
    return {
        "": (
            Labels(
                ("empty", *CELLS.names[1:]),
                "1 at each cell that has this rank",
                f"one for each rank: empty, {tiles(1)}",
            ),
            Labels(
                tuple(f"{tile} shown" for tile in ("1", "2", "3", "+", "white")),
                "1 everywhere if this is the next tile shown; `+` is a bonus tile, `white` a 3 or a bonus tile",
            ),
            Labels(
                tuple(f"bonus {tile}" for tile in CELLS.names[LEAST_BONUS:]),
                "1 everywhere if the next tile may be this bonus tile",
                f"one for each bonus: {tiles(LEAST_BONUS)}",
            ),
            Labels(
                ("1s", "2s", "3s"), "how many of these cards are left in the deck, divided by 4; the same in every cell"
            ),
        )
    }


@jit(inline=True)
def planes_as(S, i, player, O, e, T):
    b, word = S[i, 0], S[i, 1]
    code, low, high = get(word, SHOWN), get(word, LOW), get(word, HIGH)
    is_window = code == PLUS and T.hint != HINT_PLUS
    for y in range(4):
        for x in range(4):
            rank = (b >> u64(16 * y + 4 * x)) & FIFTEEN
            for k in range(16):
                O[e, k, y, x] = np.float32(rank == u64(k))
            for k in range(LEAST_BONUS, 16):
                may_be = is_window and low <= u64(k) and u64(k) <= high
                O[e, BONUS_AT + k - LEAST_BONUS, y, x] = np.float32(may_be)
            for k in range(5):
                O[e, SHOWN_AT + k, y, x] = np.float32(code == u64(k + 1))
            for k in range(3):
                O[e, DECK_AT + k, y, x] = np.float32(deck_count(word, u64(k + 1))) / np.float32(4.0)


@jit(inline=True)
def transform(S, i, k, j, T):
    """Writes row i under symmetry k: mirrored left-right (k & 1), then top-bottom (k & 2), then with rows and columns swapped
    (k & 4).
    """
    b, word = S[i, 0], S[i, 1]
    lanes, direction = get(word, LANES), get(word, DIRECTION)
    entering = word & THREE == ONE
    if k & 1:
        b = mirror(b)
        if entering and direction < TWO:
            lanes = reverse_lanes(lanes)
    if k & 2:
        b = flip(b)
        if entering and direction >= TWO:
            lanes = reverse_lanes(lanes)
    if k & 4:
        b = transpose(b)
    if entering:
        direction = u64(transform_action(np.int64(direction), k, T))
    S[j, 0] = b
    S[j, 1] = (word & ~(u64(63) << LANES.shift)) | (lanes << LANES.shift) | (direction << DIRECTION.shift)


@jit(inline=True)
def reverse_lanes(lanes):
    return (lanes & ONE) << THREE | (lanes & TWO) << ONE | (lanes >> ONE) & TWO | lanes >> THREE


@jit(inline=True)
def transform_action(a, k, T):
    a ^= (k >> 1 if a < 2 else k) & 1
    if k & 4:
        a ^= 2
    return a


@jit(inline=True)
def deck_index(word):
    """Returns the number of the deck, 0..124."""
    return (deck_count(word, ONE) * FIVE + deck_count(word, TWO)) * FIVE + deck_count(word, THREE)


@jit(inline=True)
def merge_pairs(b):
    """Counts the pairs of neighbours that can merge."""
    tiles = occupied(b)
    rights, belows = b ^ (b >> FOUR), b ^ (b >> S16)  # each cell xor its right and lower neighbour
    small = of_rank(b, ONE) | of_rank(b, TWO)
    large = tiles & ~small
    across = (large & ~occupied(rights)) | (small & (small >> FOUR) & of_rank(rights, THREE))
    down = (large & ~occupied(belows)) | (small & (small >> S16) & of_rank(belows, THREE))
    return count_bits(across & ~RIGHT_COLUMN) + count_bits(down & ~BOTTOM_ROW)


@jit(inline=True)
def table_index(S, i, k, T):
    """Returns the index into small table k, in the order of `TABLES`."""
    b, word = S[i, 0], S[i, 1]
    empties = count_bits(occupied(b) ^ NIBBLES) % SIXTEEN
    if k == 1:
        return deck_index(word) * SIXTEEN + empties
    if k == 2:
        index = ZERO
        for rank in range(10, 15):
            index = (index << TWO) | min(count_bits(of_rank(b, u64(rank))), THREE)
        return index
    if k == 4:
        return empties << FOUR | min(merge_pairs(b), FIFTEEN)
    ones, twos = min(count_bits(of_rank(b, ONE)), SEVEN), min(count_bits(of_rank(b, TWO)), SEVEN)
    first = deck_index(word) if k == 0 else get(word, SHOWN)
    return (first << SIX) | (ones << THREE) | twos


def observed(obs, options: Options):
    """Returns the cells of observations [n, 20], and the indices into the small tables that an observation contains."""
    cells, deck = obs[:, :16], (obs[:, 17] * 5 + obs[:, 18]) * 5 + obs[:, 19]
    small_counts = [np.minimum((cells == rank).sum(axis=1), 7) for rank in (1, 2)]
    large = sum(np.minimum((cells == rank).sum(axis=1), 3) * 4 ** (14 - rank) for rank in range(10, 15))
    empties = (cells == 0).sum(axis=1) % 16
    return cells, {
        "deck": (deck * 8 + small_counts[0]) * 8 + small_counts[1],
        "deck_empties": deck * 16 + empties,
        "large": large,
    }


TABLES = {
    "deck": SmallTable(125 * 64, placed=False),  # deck x 1s x 2s on the board
    "deck_empties": SmallTable(125 * 16, placed=False),  # deck x empty cells
    "large": SmallTable(4**5, placed=False),  # counts of 384 to 6144
    "hint": SmallTable(
        8 * 64, usual=False, stage="enter", placed=False
    ),  # tile shown x 1s x 2s; unknown after it has entered
    "blank_merge": SmallTable(16 * 16, usual=False),  # empty cells x neighbours that can merge
}
CELLS = CellFeatures(
    views=square_views(4),
    boards=symmetric_boards,
    highest=highest_rank,
    tables=TABLES,
    index=table_index,
    points=tuple(float(p) for p in tile_points(np.arange(16))),
    names=tuple(str(tile_value(rank)) for rank in range(16)),
    stages=("draw", "enter"),
    stage_words=("entered", "afterstate"),  # after and before the tile shown enters
    observed=observed,
)
