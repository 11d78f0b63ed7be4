"""The search of threes-ai (Robert Xiao, "nneonneo", 2014)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from leafwise.envs.core.compile.jit import bind, jit
from leafwise.envs.core.contract.game import Game
from leafwise.envs.core.contract.rules import Compiled
from leafwise.envs.core.contract.state import State
from leafwise.envs.core.contract.stream import mix
from leafwise.envs.core.errors import UserError
from leafwise.envs.threes.baselines.program import (
    DOWN,
    LEAVES,
    LEFT,
    NOTHING,
    RIGHT,
    UP,
    Program,
    cards_in,
    deck_of,
    draw_card,
    entered,
    f32,
    make_board_functions,
    u64,
)
from leafwise.envs.threes.row import (
    FIFTEEN,
    FOUR,
    HIGH,
    LOW,
    ONE,
    SEVEN,
    THREE,
    TWO,
    highest_rank,
    lanes_that_moved,
    transpose,
)

SIX = u64(6)
BONUS = f32(1 / 21)

SCORE = "rows_cli"
"""The hand-made score that it values leaves by."""
LEAST_REACH = f32(0.0001)
"""A decision that chance reaches with a smaller probability is a leaf."""
CACHED_DEPTH = 6
"""Decisions this deep and deeper are not cached."""
SLOTS = 1 << 22
ENTRIES = 1
"""Where the search counts what it caches."""


@jit(inline=True)
def lane_count(lanes):
    return f32((lanes & ONE) + ((lanes >> ONE) & ONE) + ((lanes >> TWO) & ONE) + (lanes >> THREE))


@jit(inline=True)
def remember(b, value, search, keys, cached, counts):
    """Puts a value into the first free slot of the hash map, which takes no more once it is 7/8 full."""
    slot = mix(b) & u64(SLOTS - 1)
    while keys[slot, 1] == search:
        slot = (slot + ONE) & u64(SLOTS - 1)
    if counts[ENTRIES] < SLOTS - SLOTS // 8:  # a fuller map would crawl, a full one never end
        keys[slot, 0], keys[slot, 1] = b, search
        cached[slot] = value
    counts[ENTRIES] += 1


def make_value(game: Game) -> Compiled:
    """Returns `nneonneo_value(b, deck, depth, limit, reach, highest, search, keys, cached, counts)`.

    It is the value (float32) of a board after `depth` slides below the root's, reached with probability `reach`. `highest` is
    the root's highest rank. `keys` [SLOTS, 2] holds (board, number of the search), `cached` [SLOTS] the values: a hash map of
    boards. `counts` [2]: leaves, and entries of that map.
    """
    moved, _, score_of, shared, add_leaves = make_board_functions(game, SCORE)

    @bind(game.room)
    def nneonneo_value(b, deck, depth, limit, reach, highest, search, keys, cached, counts):
        # A leaf: deep enough, or too improbable
        if depth >= limit or reach < LEAST_REACH:
            counts[LEAVES] += 1
            return score_of(b, transpose(b))
        # The board may have been valued earlier in this search, at any depth and with any deck
        slot = mix(b) & u64(SLOTS - 1)
        if depth < CACHED_DEPTH:
            while keys[slot, 1] == search:
                if keys[slot, 0] == b:
                    return cached[slot]
                slot = (slot + ONE) & u64(SLOTS - 1)
        # Each slide by its mean over the tiles that enter and their lanes
        best = NOTHING
        for a in range(4):
            before, after = moved(b, a)
            if after == before:
                continue
            lanes = lanes_that_moved(before, after)
            cells = lane_count(lanes)
            base = f32(1)
            value = NOTHING
            common = shared(after, a)
            # Bonus tiles, all ranks equally likely
            if highest >= SEVEN:
                base -= BONUS
                share = f32(BONUS / f32(highest - SIX) / cells)
                last = depth + 1 >= limit or f32(reach * share) < LEAST_REACH
                for rank in range(FOUR, highest - THREE + ONE):
                    if last:
                        counts[LEAVES] += np.int64(cells)
                        value = add_leaves(common, lanes, u64(rank), share, value)
                        continue
                    for lane in range(4):
                        if (lanes >> u64(lane)) & ONE:
                            below = entered(after, a, u64(lane), u64(rank))
                            value += share * nneonneo_value(
                                below, deck, depth + 1, limit, f32(reach * share), highest, search, keys, cached, counts
                            )
            # The other tiles by how many of them the deck holds
            size = f32(cards_in(deck, ONE) + cards_in(deck, TWO) + cards_in(deck, THREE))
            for card in range(1, 4):
                count = f32(cards_in(deck, u64(card)))
                if count == NOTHING:
                    continue
                # The next search has one card less; the last tiles are valued together
                share = f32(base * count / size / cells)
                rest = draw_card(deck, u64(card))
                if depth + 1 >= limit or f32(reach * share) < LEAST_REACH:
                    counts[LEAVES] += np.int64(cells)
                    value = add_leaves(common, lanes, u64(card), share, value)
                    continue
                for lane in range(4):
                    if (lanes >> u64(lane)) & ONE:
                        below = entered(after, a, u64(lane), u64(card))
                        value += share * nneonneo_value(
                            below, rest, depth + 1, limit, f32(reach * share), highest, search, keys, cached, counts
                        )
            best = max(best, value)
        if depth < CACHED_DEPTH:
            remember(b, best, search, keys, cached, counts)
        return best

    return nneonneo_value


class Nneonneo(Program):
    """Looks deeper the more kinds of tiles there are, drops improbable lines, and caches values by the board alone.

    The score is `rows_cli`; a board without a legal slide is worth 0.
    """

    order = (UP, DOWN, LEFT, RIGHT)

    def __init__(self, game: Game) -> None:
        """Compiles, and takes 80 MB for the cache."""
        super().__init__(game, "nneonneo")
        self._value = make_value(self.game)
        self._keys = np.zeros((SLOTS, 2), dtype=np.uint64)
        self._cached = np.zeros(SLOTS, dtype=np.float32)
        self._searches = 0

    def _entered(self, state: State, rows: list[NDArray[np.uint64]]) -> Iterator[Any]:
        self._searches += 1  # empties the cache: entries of older searches are not seen
        self._counts[ENTRIES] = 0
        search, limit, highest = u64(self._searches), depth_limit(int(state.row[0])), highest_rank(state.row[0])
        tiles = int((state.row[1] >> HIGH) & FIFTEEN) - int((state.row[1] >> LOW) & FIFTEEN) + 1
        # the cells of this entry count, its tiles do not: so the known values come out
        reach = f32(tiles) / f32(len(rows))
        for b, word in rows:
            yield self._value(
                b, deck_of(word), 0, limit, reach, highest, search, self._keys, self._cached, self._counts
            )


def depth_limit(board: int) -> int:
    """Returns how many slides below the root's nneonneo's search looks."""
    ranks = [board >> (4 * cell) & 15 for cell in range(16)]
    highest = max(ranks)
    limit = max(3, len({r for r in ranks if r >= 3}) - 2)
    corners = [[ranks[4 * (y + j) + x + k] for j in (0, 1) for k in (0, 1)] for y in (0, 2) for x in (0, 2)]
    home = next(k for k, corner in enumerate(corners) if highest in corner)
    if highest >= 9 and highest - max(corners[3 - home]) <= 4:
        limit += 2
    return limit


def named(game: Game, name: str, words: list[str]) -> Nneonneo:
    """Returns `nneonneo`; raises ValueError for any words."""
    if words:
        raise UserError(f"expected nneonneo without options, got {','.join(words)!r}")
    return Nneonneo(game)
