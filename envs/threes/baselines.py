"""The public Threes programs with their searches reproduced: Threesus (Walt Destler 2014), threes-ai (Robert Xiao, "nneonneo",
2014).

The common parts come first: boards as plain integers, line tables as constants, a search as a player. Both compute in 32-bit
floats, like the originals. Searches recurse over plain integers: a board `b` is one uint64, a `deck` is word 1 of a row, of
which only the deck is read. The line tables become part of the machine code.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from typing import Any

import numpy as np

from leafwise.envs.core.arrays import Ints, Words
from leafwise.envs.core.compile.jit import bind, jit
from leafwise.envs.core.contract.bits import (
    FOUR,
    LINE,
    ONE,
    S12,
    S16,
    S32,
    S48,
    THREE,
    TWO,
    ZERO,
    count_bits,
    highest_rank,
    looked_up,
    sum_of_rows,
    transpose,
)
from leafwise.envs.core.contract.game import Game
from leafwise.envs.core.contract.rules import Compiled
from leafwise.envs.core.contract.state import State
from leafwise.envs.core.contract.stream import mix
from leafwise.envs.core.errors import UserError
from leafwise.envs.core.play.players import ByName
from leafwise.envs.core.ranges import need_among
from leafwise.envs.threes.rules import (
    EIGHT,
    HIGH,
    LOW,
    SEVEN,
    deck_count,
    deck_size,
    get,
    lanes_that_moved,
    without_card,
)
from leafwise.envs.threes.scores import big_tiles

u64, f32 = np.uint64, np.float32
NO_VALUE = f32(-np.inf)
ZERO32 = f32(0)

UP, DOWN, LEFT, RIGHT = 0, 1, 2, 3

LEAVES = 0
"""Index of the counter of valued leaves; each search may have further counters."""


@jit(inline=True)
def entered(after, a, lane, tile):
    """Returns the board, in rows again, after a tile has entered."""
    b = after | (tile << (S16 * lane + (ZERO if a & 1 else S12)))
    return transpose(b) if a < LEFT else b


BIAS = 1 << 13
"""Added to a line's value in halves, to make it positive."""


def make_whole_score(game: Game, score: str) -> Compiled:
    """Compiles `whole_score(b, t)` for a score whose lines have values in whole halves, so that the order of additions does not
    matter.

    One lookup of a line gives its value and its cells with a neighbour of twice their value. Raises ValueError for other
    scores.
    """
    leaf: Any = game.score(score).weights
    halves, twice_bonus, likes_big_tiles = (
        2 * leaf.value.astype(np.float64),
        leaf.twice_bonus,
        score == "openness_wegner",
    )
    if (halves % 1 != 0).any() or np.abs(halves).max() >= BIAS:
        raise UserError(f"{score}: expected scores of lines in multiples of 0.5, got others")
    packed = ((halves.astype(np.int64) + BIAS) << 16 | leaf.twice).astype(np.uint32)

    @bind(game.room, inline=True)
    def whole_score(b, t):
        along = across = lines = ZERO
        for k in range(4):
            shift = S16 * u64(k)
            row, column = u64(packed[(b >> shift) & LINE]), u64(packed[(t >> shift) & LINE])
            along |= (row & LINE) << shift
            across |= (column & LINE) << shift
            lines += (row >> S16) + (column >> S16)
        total = 0.5 * np.float64(np.int64(lines) - 8 * BIAS) + twice_bonus * np.float64(
            count_bits(along | transpose(across))
        )
        if likes_big_tiles:
            total += big_tiles(b)
        return f32(total)

    return whole_score


def make_slid(game: Game) -> Compiled:
    """Compiles `slid(before, a)`, lines after slide a, with the tables of the slides as constants."""
    T: Any = game.tables()
    slide_low, slide_high = T.slide_low, T.slide_high

    @bind(game.room, inline=True)
    def slid(before, a):
        return looked_up(before, slide_high) if a & 1 else looked_up(before, slide_low)

    return slid


def make_board_functions(game: Game, score: str) -> tuple[Compiled, Compiled, Compiled, Compiled]:
    """Compiles the board functions of a search, with the tables of the slides and of a hand-made score without `twice` as
    constants.

    `moved(b, a)`: the board before and after slide a, in lines (columns for up and down). `score_of(b, t)`: the value, float32,
    of a board b with transpose t. `shared(after, a)`: the common part of the boards in which a tile enters after slide a, in
    lines. `add_leaves(shared, lanes, tile, share, total)`: the total plus `share` times the values of those boards, lane by
    lane.
    """
    slid, weights = make_slid(game), game.score(score).weights
    values: Any = weights.value

    @bind(game.room, inline=True)
    def moved(b, a):
        before = transpose(b) if a < LEFT else b
        return before, slid(before, a)

    @bind(game.room, inline=True)
    def score_of(b, t):
        return f32(sum_of_rows(b, values) + sum_of_rows(t, values))

    @bind(game.room, inline=True)
    def shared(after, a):
        y = transpose(after)
        v, x0, x1, x2, x3 = values, after & LINE, (after >> S16) & LINE, (after >> S32) & LINE, after >> S48
        r0, r1, r2, r3 = v[x0], v[x1], v[x2], v[x3]
        c0, c1, c2, c3 = v[y & LINE], v[(y >> S16) & LINE], v[(y >> S32) & LINE], v[y >> S48]
        first = a & 1 != 0
        edge, end = (y & LINE, ZERO) if first else (y >> S48, S12)
        lines, rows = (x0, x1, x2, x3, edge, end), (r0, r1, r2, r3, r0 + r1, r0 + r1 + r2)
        return lines, rows, (c0 + c1 + c2, c1, c2, c3), first

    @bind(game.room, inline=True)
    def columns_with(shared, tile, k):
        (_, _, _, _, edge, _), _, (before, c1, c2, c3), first = shared
        column = values[edge | (tile << (FOUR * k))]
        return column + c1 + c2 + c3 if first else before + column

    @bind(game.room, inline=True)
    def add_leaves(shared, lanes, tile, share, total):
        (x0, x1, x2, x3, _, end), (r0, r1, r2, r3, r01, r012), _, _ = shared
        cell = tile << end
        if lanes & ONE:
            total += share * ((values[x0 | cell] + r1 + r2 + r3) + columns_with(shared, tile, ZERO))
        if lanes & TWO:
            total += share * ((r0 + values[x1 | cell] + r2 + r3) + columns_with(shared, tile, ONE))
        if lanes & FOUR:
            total += share * ((r01 + values[x2 | cell] + r3) + columns_with(shared, tile, TWO))
        if lanes & EIGHT:
            total += share * ((r012 + values[x3 | cell]) + columns_with(shared, tile, THREE))
        return total

    return moved, score_of, shared, add_leaves


class BaselinePlayer(ByName, ABC):
    """A public program as a player: it values the legal slides and plays the first best in `order`."""

    order: tuple[int, ...]

    def __init__(self, game: Game, name: str) -> None:
        """Raises ValueError for a variant whose hint or entry the programs do not support."""
        if game.options.hint == "colour" or game.options.entry != "moved_lane":
            raise UserError(
                f"{name}: expected a variant with a hint other than colour and entry='moved_lane', got {game!r}"
            )
        self.name = name
        self.game = game.variant(top="continue")  # both play on after a 12288
        self.leaves = 0
        """Leaves valued for the last move."""
        self._counts: Ints = np.zeros(2, dtype=np.int64)

    def values(self, state: State) -> dict[int, float]:
        """Returns the value of every legal slide; raises ValueError if nobody decides here.

        All tiles that the tile shown may be, and all cells in which it may enter, are equally likely.
        """
        if not state.legal_actions:
            raise UserError(f"{self.name}: expected a position to play, got {state}")
        self._counts[:] = 0
        values = {}
        for a in state.legal_actions:
            rows = [after.row for _, after in State.unchecked(self.game, state.row).play(a).outcomes()]
            values[a] = float(sum(self._entered(state, rows), f32(0)) / f32(len(rows)))
        self.leaves = int(self._counts[LEAVES])
        return values

    def choose(self, state: State) -> int:
        """Returns the id of the slide that the program plays."""
        values = self.values(state)
        return max((a for a in self.order if a in values), key=values.__getitem__)

    @abstractmethod
    def _entered(self, state: State, rows: list[Words]) -> Iterator[Any]:
        """Yields the value (float32) of each board after the tile shown has entered."""


# Threesus.

SLOTS, NO_BOARD = 1 << 12, u64((1 << 64) - 1)
"""Slots of the memory for each number of slides, and the key of an empty slot."""
HALVES_AT, OFFSET, LOW_HALF = u64(32), 1 << 30, u64((1 << 32) - 1)
"""Layout of a stored value: halves plus OFFSET above the number of its leaves."""


def make_slides(game: Game, score: str) -> Compiled:
    """Compiles `threesus_slides(b, moves, memory, counts)`.

    It returns the value (float32) of a board after `moves` slides, at least one, without entering tiles. Two slides often give
    the same board in either order, so `memory` [moves * SLOTS, 2] holds boards, with their values and numbers of leaves.
    """
    slid, score_of = make_slid(game), make_whole_score(game, score)

    @bind(game.room)
    def threesus_slides(b, moves, memory, counts):
        slot = u64(moves - 1) * u64(SLOTS) + (mix(b) & u64(SLOTS - 1))
        if memory[slot, 0] == b:
            known = memory[slot, 1]
            counts[LEAVES] += np.int64(known & LOW_HALF)
            return f32(0.5) * f32(np.int64(known >> HALVES_AT) - OFFSET)
        t, best, leaves = transpose(b), NO_VALUE, counts[LEAVES]
        for a in range(4):
            before = t if a < LEFT else b
            after = slid(before, a)
            if after == before:
                continue
            if moves == 1:
                counts[LEAVES] += 1
                value = score_of(transpose(after), after) if a < LEFT else score_of(after, transpose(after))
            else:
                value = threesus_slides(transpose(after) if a < LEFT else after, moves - 1, memory, counts)
            best = max(best, value)
        if best == NO_VALUE:
            counts[LEAVES] += 1
            best = score_of(b, t)
        memory[slot, 0] = b
        memory[slot, 1] = (u64(np.int64(f32(2) * best) + OFFSET) << HALVES_AT) | u64(counts[LEAVES] - leaves)
        return best

    return threesus_slides


def make_threesus(game: Game, score: str) -> Compiled:
    """Compiles `threesus_value(b, deck, moves, counted, memory, counts)`.

    It returns the value (float32) of a board `moves` slides deep; in the first `counted` of them cards enter. `counts` [1 or
    more]: leaves valued; `memory`: as in `make_slides`.
    """
    slid, score_of = make_slid(game), make_whole_score(game, score)
    threesus_slides = make_slides(game, score)

    @bind(game.room)
    def threesus_value(b, deck, moves, counted, memory, counts):
        if moves == 0:
            counts[LEAVES] += 1
            return score_of(b, transpose(b))
        if counted == 0:
            return threesus_slides(b, moves, memory, counts)
        t, best = transpose(b), NO_VALUE
        for a in range(4):
            before = t if a < LEFT else b
            after = slid(before, a)
            if after == before:
                continue
            total, weight = ZERO32, ZERO32
            lanes = lanes_that_moved(before, after)
            for card in range(1, 4):
                count = f32(deck_count(deck, u64(card)))
                if count == ZERO32:
                    continue
                rest = without_card(deck, u64(card))
                for lane in range(4):
                    if (lanes >> u64(lane)) & ONE:
                        below = entered(after, a, u64(lane), u64(card))
                        total += count * threesus_value(below, rest, moves - 1, counted - 1, memory, counts)
                        weight += count
            best = max(best, f32(total / weight))
        if best == NO_VALUE:
            counts[LEAVES] += 1
            return score_of(b, transpose(b))
        return best

    return threesus_value


class Threesus(BaselinePlayer):
    """Searches `depth` slides deep: first the tile shown, then cards of the deck, and after `counted` slides no tiles.

    Bonus tiles enter at the first slide only. A dead board gets its score like any other.
    """

    order = (LEFT, RIGHT, UP, DOWN)

    def __init__(self, game: Game, score: str = "openness", depth: int = 6, counted: int = 3) -> None:
        """Compiles the search; raises ValueError for a score that the program does not have."""
        need_among(score, ("openness", "openness_wegner"), "a score", "threesus")
        super().__init__(game, f"threesus:{score}")
        self.depth, self.counted = depth, counted
        self._value = make_threesus(self.game, score)
        self._memory = np.full((max(1, depth - counted) * SLOTS, 2), NO_BOARD)

    def _entered(self, state: State, rows: list[Words]) -> Iterator[Any]:
        for b, word in rows:
            yield self._value(b, word, self.depth - 1, self.counted - 1, self._memory, self._counts)


def threesus_player(game: Game, name: str, words: list[str]) -> Threesus:
    """Returns the player `threesus` (word: a score); raises ValueError for other words."""
    if len(words) > 1:
        raise UserError(f"expected threesus:SCORE, got {','.join(words)!r}")
    return Threesus(game, words[0]) if words else Threesus(game)


# nneonneo.

SIX = u64(6)
BONUS = f32(1 / 21)

SCORE = "rows_cli"
"""The hand-made score of its leaves."""
LEAST_REACH = f32(0.0001)
"""A decision with a smaller probability is a leaf."""
CACHED_DEPTH = 6
"""Decisions at this depth or deeper are not cached."""
CACHE_SLOTS = 1 << 22
ENTRIES = 1
"""Index of the counter of cached entries."""


@jit(inline=True)
def remember(b, value, search, keys, cached, counts):
    """Stores a value in the first free slot of the hash map, unless the map is 7/8 full."""
    slot = mix(b) & u64(CACHE_SLOTS - 1)
    while keys[slot, 1] == search:
        slot = (slot + ONE) & u64(CACHE_SLOTS - 1)
    if counts[ENTRIES] < CACHE_SLOTS - CACHE_SLOTS // 8:  # a fuller map would be slow, and a full one an endless loop
        keys[slot, 0], keys[slot, 1] = b, search
        cached[slot] = value
    counts[ENTRIES] += 1


def make_nneonneo(game: Game) -> Compiled:
    """Compiles `nneonneo_value(b, deck, depth, limit, reach, highest, search, keys, cached, counts)`.

    It returns the value (float32) of a board `depth` slides below the root's, reached with probability `reach`. `highest` is
    the root's highest rank. `keys` [CACHE_SLOTS, 2] holds (board, number of the search), `cached` [CACHE_SLOTS] the values: a
    hash map of boards. `counts` [2]: leaves, and entries of that map.
    """
    moved, score_of, shared, add_leaves = make_board_functions(game, SCORE)

    @bind(game.room)
    def nneonneo_value(b, deck, depth, limit, reach, highest, search, keys, cached, counts):
        # A leaf: deep enough, or too improbable.
        if depth >= limit or reach < LEAST_REACH:
            counts[LEAVES] += 1
            return score_of(b, transpose(b))
        # The board may have been valued earlier in this search, at any depth and with any deck.
        slot = mix(b) & u64(CACHE_SLOTS - 1)
        if depth < CACHED_DEPTH:
            while keys[slot, 1] == search:
                if keys[slot, 0] == b:
                    return cached[slot]
                slot = (slot + ONE) & u64(CACHE_SLOTS - 1)
        # The value of a slide is the mean over entering tiles and lanes.
        best = ZERO32
        for a in range(4):
            before, after = moved(b, a)
            if after == before:
                continue
            lanes = lanes_that_moved(before, after)
            cells = f32(count_bits(lanes))
            value = ZERO32
            common = shared(after, a)
            # Bonus tiles first, all ranks equally likely; then the other tiles, in proportion to their number in the deck.
            bonuses = highest - SIX if highest >= SEVEN else ZERO
            base = f32(1) - BONUS if bonuses else f32(1)
            size = f32(deck_size(deck))
            for n in range(bonuses + THREE):
                if n < bonuses:
                    tile, rest = u64(n) + FOUR, deck
                    share = f32(BONUS / f32(bonuses) / cells)
                else:  # a card leaves the deck
                    tile = u64(n) - bonuses + ONE
                    count = f32(deck_count(deck, tile))
                    if count == ZERO32:
                        continue
                    rest = without_card(deck, tile)
                    share = f32(base * count / size / cells)
                # At the last depth all lanes are valued together.
                if depth + 1 >= limit or f32(reach * share) < LEAST_REACH:
                    counts[LEAVES] += np.int64(cells)
                    value = add_leaves(common, lanes, tile, share, value)
                    continue
                for lane in range(4):
                    if (lanes >> u64(lane)) & ONE:
                        below = entered(after, a, u64(lane), tile)
                        value += share * nneonneo_value(
                            below, rest, depth + 1, limit, f32(reach * share), highest, search, keys, cached, counts
                        )
            best = max(best, value)
        if depth < CACHED_DEPTH:
            remember(b, best, search, keys, cached, counts)
        return best

    return nneonneo_value


class Nneonneo(BaselinePlayer):
    """Searches deeper the more kinds of tiles there are, drops improbable lines, and caches values by the board alone.

    The score is `rows_cli`; a board without a legal slide is worth 0.
    """

    order = (UP, DOWN, LEFT, RIGHT)

    def __init__(self, game: Game) -> None:
        """Compiles the search, and allocates 80 MB for the cache."""
        super().__init__(game, "nneonneo")
        self._value = make_nneonneo(self.game)
        self._keys = np.zeros((CACHE_SLOTS, 2), dtype=np.uint64)
        self._cached = np.zeros(CACHE_SLOTS, dtype=np.float32)
        self._searches = 0

    def _entered(self, state: State, rows: list[Words]) -> Iterator[Any]:
        self._searches += 1  # empties the cache, since entries of older searches do not match
        self._counts[ENTRIES] = 0
        search, limit, highest = u64(self._searches), depth_limit(int(state.row[0])), u64(highest_rank(state.row[0]))
        tiles = int(get(state.row[1], HIGH)) - int(get(state.row[1], LOW)) + 1
        # Only the number of cells counts, not the number of tiles: this reproduces the program's values.
        reach = f32(tiles) / f32(len(rows))
        for b, word in rows:
            yield self._value(b, word, 0, limit, reach, highest, search, self._keys, self._cached, self._counts)


def depth_limit(board: int) -> int:
    """Returns the depth in slides of nneonneo's search below the root."""
    ranks = [board >> (4 * cell) & 15 for cell in range(16)]
    highest = max(ranks)
    limit = max(3, len({r for r in ranks if r >= 3}) - 2)
    corners = [[ranks[4 * (y + j) + x + k] for j in (0, 1) for k in (0, 1)] for y in (0, 2) for x in (0, 2)]
    home = next(k for k, corner in enumerate(corners) if highest in corner)
    if highest >= 9 and highest - max(corners[3 - home]) <= 4:
        limit += 2
    return limit


def nneonneo_player(game: Game, name: str, words: list[str]) -> Nneonneo:
    """Returns the player `nneonneo`; raises ValueError for any words."""
    if words:
        raise UserError(f"expected nneonneo without options, got {','.join(words)!r}")
    return Nneonneo(game)
