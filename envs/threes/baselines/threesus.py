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
    u64,
)
from leafwise.envs.threes.row import ONE, lanes_that_moved, transpose


def make_value(game: Game, score: str) -> Compiled:
    """Returns `threesus_value(b, deck, moves, counted, counts)`.

    It is the value (float32) of a board `moves` slides deep; in the first `counted` of them cards enter. `counts` [1 or more]:
    leaves valued.
    """
    functions = make_board_functions(game, score)
    moved, score_of = functions.moved, functions.score_of

    @bind(score, game.room)
    def threesus_value(b, deck, moves, counted, counts):
        if moves == 0:
            counts[LEAVES] += 1
            return score_of(b, transpose(b))
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
                            total += count * threesus_value(below, rest, moves - 1, counted - 1, counts)
                            weight += count
            elif moves == 1:
                counts[LEAVES] += 1
                total = score_of(transpose(after), after) if a < LEFT else score_of(after, transpose(after))
                weight = f32(1)
            else:
                total = threesus_value(transpose(after) if a < LEFT else after, deck, moves - 1, counted, counts)
                weight = f32(1)
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
        if score not in ("openness", "openness_wegner"):
            raise ValueError(f"threesus: expected openness or openness_wegner, got {score!r}")
        super().__init__(game, f"threesus:{score}")
        self.depth, self.counted = depth, counted
        self._value = make_value(self.game, score)

    def _entered(self, state: State, rows: list[NDArray[np.uint64]]) -> Iterator[Any]:
        for b, word in rows:
            yield self._value(b, deck_of(word), self.depth - 1, self.counted - 1, self._counts)


def named(game: Game, name: str, words: list[str]) -> Threesus:
    """Returns `threesus` (word: a score); raises ValueError for other words."""
    if len(words) > 1:
        raise ValueError(f"expected threesus:SCORE, got {','.join(words)!r}")
    return Threesus(game, words[0]) if words else Threesus(game)
