"""What the public Threes programs share: boards as plain integers, line tables frozen in, a search as a player.

Both compute in 32-bit floats, as the originals do. Compiled recursion over plain integers: a board `b` is one uint64, a deck
three counts of three bits. The line tables end up in the machine code.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from leafwise.envs.core.compile.jit import bind, jit
from leafwise.envs.core.contract.bits import count_bits
from leafwise.envs.core.contract.game import Game
from leafwise.envs.core.contract.rules import Compiled
from leafwise.envs.core.contract.state import State
from leafwise.envs.core.errors import UserError
from leafwise.envs.core.play.players import ByName
from leafwise.envs.threes import row
from leafwise.envs.threes.row import (
    EIGHT,
    FOUR,
    FULL_DECK,
    LINE,
    ONE,
    S12,
    S16,
    S32,
    S48,
    SEVEN,
    THREE,
    TWO,
    ZERO,
    looked_up,
    sum_of_rows,
    transpose,
)
from leafwise.envs.threes.scores import big_tiles

u64, f32 = np.uint64, np.float32
NINE_BITS = u64(511)
NO_VALUE = f32(-np.inf)
NOTHING = f32(0)

UP, DOWN, LEFT, RIGHT = 0, 1, 2, 3

LEAVES = 0
"""Where a search counts the leaves that it values; what stands behind it is its own."""


@jit(inline=True)
def draw_card(deck, card):
    """Takes a card out of the deck; an empty deck is refilled at once."""
    deck -= ONE << (THREE * (card - ONE))
    return FULL_DECK if deck == ZERO else deck


@jit(inline=True)
def cards_in(deck, card):
    return (deck >> (THREE * (card - ONE))) & SEVEN


@jit(inline=True)
def entered(after, a, lane, tile):
    """Returns the board, rows again, in which a tile has entered."""
    b = after | (tile << (S16 * lane + (ZERO if a & 1 else S12)))
    return transpose(b) if a < LEFT else b


BIAS = 1 << 13
"""Added to a line's value in halves, so that it is no negative number."""


def make_whole_score(game: Game, score: str) -> Compiled:
    """Returns `score_of(b, t)` for a score whose lines are worth whole halves: they add up to the same in any order.

    One look-up tells of a line its value and which of its cells have a neighbour of twice their value. Raises ValueError for
    another score.
    """
    leaf: Any = game.score(score).weights
    halves, twice_bonus, likes_big_tiles = (
        2 * leaf.value.astype(np.float64),
        leaf.twice_bonus,
        score == "openness_wegner",
    )
    if (halves % 1 != 0).any() or np.abs(halves).max() >= BIAS:
        raise UserError(f"{score}: expected lines that are worth whole halves, got others")
    told = ((halves.astype(np.int64) + BIAS) << 16 | leaf.twice).astype(np.uint32)

    @bind(game.room, inline=True)
    def whole_score(b, t):
        b0, b1, b2, b3 = (
            u64(told[b & LINE]),
            u64(told[(b >> S16) & LINE]),
            u64(told[(b >> S32) & LINE]),
            u64(told[b >> S48]),
        )
        t0, t1, t2, t3 = (
            u64(told[t & LINE]),
            u64(told[(t >> S16) & LINE]),
            u64(told[(t >> S32) & LINE]),
            u64(told[t >> S48]),
        )
        along = (b0 & LINE) | ((b1 & LINE) << S16) | ((b2 & LINE) << S32) | ((b3 & LINE) << S48)
        across = (t0 & LINE) | ((t1 & LINE) << S16) | ((t2 & LINE) << S32) | ((t3 & LINE) << S48)
        lines = (b0 >> S16) + (b1 >> S16) + (b2 >> S16) + (b3 >> S16)
        lines += (t0 >> S16) + (t1 >> S16) + (t2 >> S16) + (t3 >> S16)
        total = 0.5 * np.float64(np.int64(lines) - 8 * BIAS) + twice_bonus * np.float64(
            count_bits(along | transpose(across))
        )
        if likes_big_tiles:
            total += big_tiles(b)
        return f32(total)

    return whole_score


class BoardFunctions(NamedTuple):
    """What a search asks of boards; the line tables are frozen in."""

    moved: Compiled
    """`(b, a)` -> the board before slide a and after it, in lines (columns for up and down)."""
    slid: Compiled
    """`(before, a)` -> lines after slide a."""
    score_of: Compiled
    """`(b, t)` -> the value, float32, of a board b whose transpose is t."""
    shared: Compiled
    """`(after, a)` -> what boards have in common in which a tile enters after slide a, in lines; of scores without `twice`."""
    add_leaves: Compiled
    """`(shared, lanes, tile, share, total)` -> the total with `share` times the values of those boards, lane by lane."""


def make_board_functions(game: Game, score: str) -> BoardFunctions:
    """Freezes in the tables of the slides and of a hand-made score."""
    T: Any = game.tables(game.score(score))
    slide_low, slide_high, values, twice = T.slide_low, T.slide_high, T.leaf.value, T.leaf.twice
    twice_bonus, likes_big_tiles = T.leaf.twice_bonus, score == "openness_wegner"

    @bind(game.room, inline=True)
    def slid(before, a):
        return looked_up(before, slide_high) if a & 1 else looked_up(before, slide_low)

    @bind(game.room, inline=True)
    def moved(b, a):
        before = transpose(b) if a < LEFT else b
        return before, slid(before, a)

    @bind(game.room, inline=True)
    def score_of(b, t):
        total = sum_of_rows(b, values)
        total += sum_of_rows(t, values)
        if twice_bonus != 0.0:
            total += f32(twice_bonus) * f32(count_bits(looked_up(b, twice) | transpose(looked_up(t, twice))))
        if likes_big_tiles:
            total += f32(big_tiles(b))
        return f32(total)

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
        found = values[edge | (tile << (FOUR * k))]
        return found + c1 + c2 + c3 if first else before + found

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

    return BoardFunctions(moved, slid, score_of, shared, add_leaves)


class Program(ByName, ABC):
    """A public program as a player: `values` of the legal slides, the first best of `order` is played."""

    order: tuple[int, ...]

    def __init__(self, game: Game, name: str) -> None:
        """Raises ValueError for a variant whose tile shown or entry the programs do not know."""
        if game.options.hint == "colour" or game.options.entry != "moved_lane":
            raise UserError(
                f"{name}: expected a variant with a hint other than colour and entry='moved_lane', got {game!r}"
            )
        self.name = name
        self.game = game.variant(top="continue")  # both play on after a 12288
        self.leaves = 0
        """Leaves valued for the last move."""
        self._counts: NDArray[np.int64] = np.zeros(2, dtype=np.int64)

    def values(self, state: State) -> dict[int, float]:
        """Returns the value of every legal slide; raises ValueError if nobody decides here.

        Every tile that the one shown may be, and every cell that it may enter, counts the same.
        """
        if not state.legal_actions:
            raise UserError(f"{self.name}: expected a position to play, got {state}")
        self._counts[:] = 0
        found = {}
        for a in state.legal_actions:
            rows = [after.row for _, after in State.unchecked(self.game, state.row).play(a).outcomes()]
            found[a] = float(sum(self._entered(state, rows), f32(0)) / f32(len(rows)))
        self.leaves = int(self._counts[LEAVES])
        return found

    def choose(self, state: State) -> int:
        """Returns the id of the slide that the program plays."""
        found = self.values(state)
        return max((a for a in self.order if a in found), key=found.__getitem__)

    @abstractmethod
    def _entered(self, state: State, rows: list[NDArray[np.uint64]]) -> Iterator[Any]:
        """Yields the value (float32) of each board in which the tile shown has entered."""


def deck_of(word: np.uint64) -> np.uint64:
    """Returns the deck that the searches carry along."""
    return (word >> row.DECK) & NINE_BITS
