"""The two public Threes programs, their searches reproduced: baselines of Threes alone.

`Threesus` is the framework of the Threesus bot (Walt Destler, 2014); `Nneonneo` is the search of threes-ai (Robert Xiao,
"nneonneo", 2014). Both compute in 32-bit floats, as the originals do. Compiled recursion over plain integers; `compile_for`
injects the line tables, which end up in the machine code.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from leafwise.envs.core.compile.jit import jit, specialise
from leafwise.envs.core.contract.game import Game
from leafwise.envs.core.contract.state import State
from leafwise.envs.core.contract.stream import mix
from leafwise.envs.threes.row import (
    DECK,
    FIFTEEN,
    FOUR,
    FULL_DECK,
    HIGH,
    LINE,
    LOW,
    ONE,
    S12,
    S16,
    S32,
    S48,
    SEVEN,
    THREE,
    TWO,
    ZERO,
    highest_rank,
    lanes_that_moved,
    transpose,
)
from leafwise.envs.threes.scores import big_tiles, count_bits

u64, f32 = np.uint64, np.float32
SIX = u64(6)
NINE_BITS = u64(511)
BONUS = f32(1 / 21)
NO_VALUE = f32(-np.inf)
NOTHING = f32(0)

UP, DOWN, LEFT, RIGHT = 0, 1, 2, 3

LEAST_REACH = f32(0.0001)
"""A decision that chance reaches with a smaller probability is a leaf of nneonneo's search."""
CACHED_DEPTH = 6
"""Decisions this deep and deeper are not cached in nneonneo's search."""
SLOTS = 1 << 22
LEAVES, ENTRIES = 0, 1


@jit(inline=True)
def slide(b, lines):
    """Looks every row of a board up in a line table."""
    return (
        u64(lines[b & LINE])
        | (u64(lines[(b >> S16) & LINE]) << S16)
        | (u64(lines[(b >> S32) & LINE]) << S32)
        | (u64(lines[b >> S48]) << S48)
    )


@jit(inline=True)
def draw_card(deck, card):
    """Takes a card out of the deck; an empty deck is refilled at once."""
    deck -= ONE << (THREE * (card - ONE))
    return FULL_DECK if deck == ZERO else deck


@jit(inline=True)
def cards_in(deck, card):
    return (deck >> (THREE * (card - ONE))) & SEVEN


@jit(inline=True)
def lane_count(lanes):
    return f32((lanes & ONE) + ((lanes >> ONE) & ONE) + ((lanes >> TWO) & ONE) + (lanes >> THREE))


def moved(b, a):
    """Returns the board after a slide, in lines (columns for up and down), and before it."""
    before = transpose(b) if a < LEFT else b
    return before, slide(before, SLIDE_HIGH) if a & 1 else slide(before, SLIDE_LOW)


@jit(inline=True)
def entered(after, a, lane, tile):
    """Returns the board, rows again, in which a tile has entered."""
    b = after | (tile << (S16 * lane + (ZERO if a & 1 else S12)))
    return transpose(b) if a < LEFT else b


def score_of(b):
    """Values a board by the frozen line tables."""
    t = transpose(b)
    v = VALUE
    total = v[b & LINE] + v[(b >> S16) & LINE] + v[(b >> S32) & LINE] + v[b >> S48]
    total += v[t & LINE] + v[(t >> S16) & LINE] + v[(t >> S32) & LINE] + v[t >> S48]
    if TWICE_BONUS != 0.0:
        total += f32(TWICE_BONUS) * f32(count_bits(slide(b, TWICE) | transpose(slide(t, TWICE))))
    if BIG_TILES:
        total += f32(big_tiles(b))
    return f32(total)


def threesus_value(b, deck, moves, counted, N):
    """Returns the value of a board `moves` slides deep; in the first `counted` of them cards enter."""
    if moves == 0:
        N[LEAVES] += 1
        return score_of(b)
    best = NO_VALUE
    for a in range(4):
        before, after = moved(b, a)
        if after == before:
            continue
        total, weight = NOTHING, NOTHING
        if counted > 0:
            lanes = lanes_that_moved(before, after)
            for card in range(1, 4):
                count = f32(cards_in(deck, u64(card)))
                if count == NOTHING:
                    continue
                rest = draw_card(deck, u64(card))
                for lane in range(4):
                    if (lanes >> u64(lane)) & ONE:
                        below = entered(after, a, u64(lane), u64(card))
                        total += count * threesus_value(below, rest, moves - 1, counted - 1, N)
                        weight += count
        else:
            total = threesus_value(transpose(after) if a < LEFT else after, deck, moves - 1, counted, N)
            weight = f32(1)
        best = max(best, f32(total / weight))
    if best == NO_VALUE:
        N[LEAVES] += 1
        return score_of(b)
    return best


def nneonneo_value(b, deck, depth, limit, reach, highest, search, K, V, N):
    """Returns the value of a board after `depth` slides below the root's, reached with probability `reach`.

    `highest` is the root's highest rank. K [SLOTS, 2] holds (board, number of the search), V the values: a hash map of
    boards, which takes no more once it is 7/8 full.
    """
    if depth >= limit or reach < LEAST_REACH:
        N[LEAVES] += 1
        return score_of(b)
    slot = mix(b) & u64(SLOTS - 1)
    if depth < CACHED_DEPTH:
        while K[slot, 1] == search:
            if K[slot, 0] == b:
                return V[slot]
            slot = (slot + ONE) & u64(SLOTS - 1)
    best = NOTHING
    for a in range(4):
        before, after = moved(b, a)
        if after == before:
            continue
        lanes = lanes_that_moved(before, after)
        cells = lane_count(lanes)
        base = f32(1)
        value = NOTHING
        if highest >= SEVEN:
            base -= BONUS
            share = f32(BONUS / f32(highest - SIX) / cells)
            for rank in range(FOUR, highest - THREE + ONE):
                for lane in range(4):
                    if (lanes >> u64(lane)) & ONE:
                        below = entered(after, a, u64(lane), u64(rank))
                        value += share * nneonneo_value(
                            below, deck, depth + 1, limit, f32(reach * share), highest, search, K, V, N
                        )
        size = f32(cards_in(deck, ONE) + cards_in(deck, TWO) + cards_in(deck, THREE))
        for card in range(1, 4):
            count = f32(cards_in(deck, u64(card)))
            if count == NOTHING:
                continue
            share = f32(base * count / size / cells)
            rest = draw_card(deck, u64(card))
            for lane in range(4):
                if (lanes >> u64(lane)) & ONE:
                    below = entered(after, a, u64(lane), u64(card))
                    value += share * nneonneo_value(
                        below, rest, depth + 1, limit, f32(reach * share), highest, search, K, V, N
                    )
        best = max(best, value)
    if depth < CACHED_DEPTH:
        slot = mix(b) & u64(SLOTS - 1)
        while K[slot, 1] == search:
            slot = (slot + ONE) & u64(SLOTS - 1)
        if N[ENTRIES] < SLOTS - SLOTS // 8:  # a fuller map would crawl, a full one never end
            K[slot, 0], K[slot, 1] = b, search
            V[slot] = best
        N[ENTRIES] += 1
    return best


def compile_for(game: Game, score: str, template: Any) -> Any:
    """Returns `template` compiled with the tables of a score and of the slides frozen in."""
    T: Any = game.tables(game.score(score))
    frozen: dict[str, Any] = {
        "SLIDE_LOW": T.slide_low,
        "SLIDE_HIGH": T.slide_high,
        "VALUE": T.leaf.value,
        "TWICE": T.leaf.twice,
        "TWICE_BONUS": T.leaf.twice_bonus,
        "BIG_TILES": score == "openness_wegner",
    }
    name = f"{score}_{template.__name__}"
    for helper in (moved, score_of):
        frozen[helper.__name__] = specialise(helper, name, frozen, game.room, inline=True)
    return specialise(template, name, frozen, game.room)


class Program(ABC):
    """A public program as a player: `values` of the legal slides, the first best of `order` is played."""

    order: tuple[int, ...]

    def __init__(self, game: Game, name: str) -> None:
        """Raises ValueError for a variant whose tile shown or entry the programs do not know."""
        if game.options["hint"] == "colour" or game.options["entry"] != "moved_lane":
            raise ValueError(
                f"{name}: expected a variant with a hint other than colour and entry='moved_lane', got {game!r}"
            )
        self.name = name
        self.game = game.variant(top="continue")  # both play on after a 12288
        self.leaves = 0
        """Leaves valued for the last move."""
        self._N: NDArray[np.int64] = np.zeros(2, dtype=np.int64)

    def values(self, state: State) -> dict[int, float]:
        """Returns the value of every legal slide; raises ValueError if nobody decides here.

        Every tile that the one shown may be, and every cell that it may enter, counts the same.
        """
        if not state.legal_actions:
            raise ValueError(f"{self.name}: expected a position to play, got {state}")
        self._N[:] = 0
        found = {}
        for a in state.legal_actions:
            rows = [after.row for _, after in State(self.game, state.row).play(a).outcomes()]
            found[a] = float(sum(self._entered(state, rows), f32(0)) / f32(len(rows)))
        self.leaves = int(self._N[LEAVES])
        return found

    def choose(self, state: State) -> int:
        """Returns the id of the slide that the program plays."""
        found = self.values(state)
        return max((a for a in self.order if a in found), key=found.__getitem__)

    @abstractmethod
    def _entered(self, state: State, rows: list[NDArray[np.uint64]]) -> Iterator[Any]:
        """Yields the value (float32) of each board in which the tile shown has entered."""


class Threesus(Program):
    """Looks `depth` slides ahead: the tile shown, then counted cards, and after `counted` slides no tile at all.

    Bonus tiles enter at the first slide only. A dead board is worth what the score says of it.
    """

    order = (LEFT, RIGHT, UP, DOWN)

    def __init__(self, game: Game, score: str = "openness", depth: int = 6, counted: int = 3) -> None:
        """Compiles; raises ValueError for a score that the program does not have."""
        if score not in ("openness", "openness_wegner"):
            raise ValueError(f"threesus: expected openness or openness_wegner, got {score!r}")
        super().__init__(game, f"threesus:{score}")
        self.depth, self.counted = depth, counted
        self._value = compile_for(self.game, score, threesus_value)

    def _entered(self, state: State, rows: list[NDArray[np.uint64]]) -> Iterator[Any]:
        for b, word in rows:
            yield self._value(b, deck_of(word), self.depth - 1, self.counted - 1, self._N)


class Nneonneo(Program):
    """Looks deeper the more kinds of tiles there are, drops improbable lines, and caches values by the board alone.

    The score is `rows_cli`; a board without a legal slide is worth 0.
    """

    order = (UP, DOWN, LEFT, RIGHT)

    def __init__(self, game: Game) -> None:
        """Compiles, and takes 80 MB for the cache."""
        super().__init__(game, "nneonneo")
        self._value = compile_for(self.game, "rows_cli", nneonneo_value)
        self._keys = np.zeros((SLOTS, 2), dtype=np.uint64)
        self._cached = np.zeros(SLOTS, dtype=np.float32)
        self._searches = 0

    def _entered(self, state: State, rows: list[NDArray[np.uint64]]) -> Iterator[Any]:
        self._searches += 1  # empties the cache: entries of older searches are not seen
        self._N[ENTRIES] = 0
        search, limit, highest = u64(self._searches), depth_limit(int(state.row[0])), highest_rank(state.row[0])
        tiles = int((state.row[1] >> HIGH) & FIFTEEN) - int((state.row[1] >> LOW) & FIFTEEN) + 1
        reach = f32(tiles) / f32(
            len(rows)
        )  # the cells of this entry count, its tiles do not: so the known values come out
        for b, word in rows:
            yield self._value(b, deck_of(word), 0, limit, reach, highest, search, self._keys, self._cached, self._N)


def deck_of(word: np.uint64) -> np.uint64:
    """Returns the deck that the searches carry along."""
    return (word >> DECK) & NINE_BITS


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


def named(game: Game, name: str, words: list[str]) -> Program:
    """Returns `threesus` (word: a score) or `nneonneo`; raises ValueError for other words."""
    if name == "nneonneo":
        if words:
            raise ValueError(f"expected nneonneo without options, got {','.join(words)!r}")
        return Nneonneo(game)
    if len(words) > 1:
        raise ValueError(f"expected threesus:SCORE, got {','.join(words)!r}")
    return Threesus(game, words[0]) if words else Threesus(game)
