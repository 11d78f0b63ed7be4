"""The search of the Threesus bot (Walt Destler, 2014)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from leafwise.envs.core.compile.jit import bind
from leafwise.envs.core.contract.game import Game
from leafwise.envs.core.contract.rules import Compiled
from leafwise.envs.core.contract.state import State
from leafwise.envs.core.contract.stream import mix
from leafwise.envs.core.errors import UserError
from leafwise.envs.core.ranges import need_among
from leafwise.envs.threes.baselines.program import (
    DOWN,
    LEAVES,
    LEFT,
    NO_VALUE,
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
    make_whole_score,
    u64,
)
from leafwise.envs.threes.row import ONE, lanes_that_moved, transpose

SLOTS, NO_BOARD = 1 << 12, u64((1 << 64) - 1)
"""Boards that are remembered for each number of slides."""
HALVES_AT, OFFSET, LOW_HALF = u64(32), 1 << 30, u64((1 << 32) - 1)
"""How a value stands above the number of its leaves: in halves, and OFFSET more."""


def make_slides(game: Game, score: str) -> Compiled:
    """Returns `threesus_slides(b, moves, memory, counts)`.

    It is the value (float32) of a board so many slides deep, at least one, where no tile enters. Two slides often lead to the same
    board in either order: `memory` [moves * SLOTS, 2] holds boards, and what they are worth with how many leaves.
    """
    slid, score_of = make_board_functions(game, score).slid, make_whole_score(game, score)

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


def make_value(game: Game, score: str) -> Compiled:
    """Returns `threesus_value(b, deck, moves, counted, memory, counts)`.

    It is the value (float32) of a board `moves` slides deep; in the first `counted` of them cards enter. `counts` [1 or more]:
    leaves valued; `memory`: as of `make_slides`.
    """
    slid, score_of = make_board_functions(game, score).slid, make_whole_score(game, score)
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
            total, weight = NOTHING, NOTHING
            lanes = lanes_that_moved(before, after)
            for card in range(1, 4):
                count = f32(cards_in(deck, u64(card)))
                if count == NOTHING:
                    continue
                rest = draw_card(deck, u64(card))
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


class Threesus(Program):
    """Looks `depth` slides ahead: the tile shown, then counted cards, and after `counted` slides no tile at all.

    Bonus tiles enter at the first slide only. A dead board is worth what the score says of it.
    """

    order = (LEFT, RIGHT, UP, DOWN)

    def __init__(self, game: Game, score: str = "openness", depth: int = 6, counted: int = 3) -> None:
        """Compiles; raises ValueError for a score that the program does not have."""
        need_among(score, ("openness", "openness_wegner"), "a score", "threesus")
        super().__init__(game, f"threesus:{score}")
        self.depth, self.counted = depth, counted
        self._value = make_value(self.game, score)
        self._memory = np.full((max(1, depth - counted) * SLOTS, 2), NO_BOARD)

    def _entered(self, state: State, rows: list[NDArray[np.uint64]]) -> Iterator[Any]:
        for b, word in rows:
            yield self._value(b, deck_of(word), self.depth - 1, self.counted - 1, self._memory, self._counts)


def named(game: Game, name: str, words: list[str]) -> Threesus:
    """Returns `threesus` (word: a score); raises ValueError for other words."""
    if len(words) > 1:
        raise UserError(f"expected threesus:SCORE, got {','.join(words)!r}")
    return Threesus(game, words[0]) if words else Threesus(game)
