"""What benchmarks of searches measure in Threes: three boards, and the same search written by hand.

The hand-written expectimax searches the same tree, by the same rules (the default variant) and leaves, as the engine's
depth-first search, but everything that generality costs is gone: recursion over plain integers, tables frozen into the
machine code, a board that stays transposed after a vertical slide, no rows, no stages, no options. Nobody plays with it.
"""

from __future__ import annotations

from time import process_time
from typing import Any

import numpy as np

from leafwise.envs.core.compile.jit import bind
from leafwise.envs.core.contract.bits import (
    ONE,
    S12,
    S16,
    THREE,
    ZERO,
    count_bits,
    highest_rank,
    looked_up,
    sum_of_rows,
    transpose,
)
from leafwise.envs.core.contract.evaluator import Evaluator
from leafwise.envs.core.contract.game import Game
from leafwise.envs.core.contract.rules import Compiled
from leafwise.envs.core.contract.state import State
from leafwise.envs.core.errors import UserError
from leafwise.envs.core.ranges import need_among
from leafwise.envs.registry import game as find_game
from leafwise.envs.threes.rules import SEVEN, deck_count, has_12288, is_dead, lanes_that_moved, without_card

u64 = np.uint64
BONUS = 1.0 / 21.0

POSITIONS = {
    "s18": "48 24 12 6/3 1 2 0/3 0 1 0/2 0 0 0 next=1 deck=0,2,1",
    "s20": "96 3 2 1/12 6 1 0/3 2 0 0/1 0 0 0 next=3 deck=2,2,2",
    "s19": "768 384 192 96/12 24 48 96/6 3 2 1/1 2 0 3 next=+ deck=0,1,2",
}
"""Three boards: early, with a bonus to come, and crowded, on which the options of searches are measured."""


def make_leaf(game: Game, evaluator: Evaluator) -> Compiled:
    """Compiles `leaf(b)`, the value of a board by the evaluator's line tables; a lost board is worth 0 if the evaluator says so."""
    T: Any = game.tables(evaluator)
    ways, values, twice, twice_bonus = T.ways, T.leaf.value, T.leaf.twice, T.leaf.twice_bonus
    loses = evaluator.terminal != "evaluate"

    @bind(game.room, inline=True)
    def leaf(b):
        t = transpose(b)
        if loses and is_dead(b, ways):
            return 0.0
        total = np.float64(sum_of_rows(b, values)) + np.float64(sum_of_rows(t, values))
        if twice_bonus == 0.0:
            return total
        return total + twice_bonus * np.float64(count_bits(looked_up(b, twice) | transpose(looked_up(t, twice))))

    return leaf


def make_expectimax(game: Game, evaluator: Evaluator) -> Compiled:
    """Compiles `entered(b, deck, depth, counts)`, which is not cached on disk, since it calls itself.

    It returns the value of a board in which a tile has just entered, `depth` slides deep; counts[0] counts leaves.
    """
    T: Any = game.tables()
    slide_low, slide_high, leaf = T.slide_low, T.slide_high, make_leaf(game, evaluator)

    @bind(game.room, cache=False)
    def entered(b, deck, depth, counts):
        t = transpose(b)
        # A leaf: deep enough, or the game is over.
        if depth == 0 or has_12288(b):
            counts[0] += 1
            return leaf(b)
        # The four slides, up and down on the transposed board.
        up, down = looked_up(t, slide_low), looked_up(t, slide_high)
        left, right = looked_up(b, slide_low), looked_up(b, slide_high)
        if up == t and down == t and left == b and right == b:
            counts[0] += 1
            return leaf(b)
        highest = highest_rank(b)
        mean, size = 0.0, 0.0
        for card in range(1, 5):
            # The next card: 1 to 3 in proportion to the deck, 4 for the bonus tiles of all ranks.
            low, high, weight, rest = u64(card), u64(card), 0.0, deck
            if card < 4:
                weight, rest = np.float64(deck_count(deck, low)), without_card(deck, low)
                size += weight
            elif highest >= SEVEN:
                high = highest - THREE
                mean *= (1.0 - BONUS) / size
                size, weight = 1.0, BONUS
            if weight == 0.0:
                continue
            # The best slide, by the mean over ranks and over the lanes that moved.
            best = -np.inf
            for a in range(4):
                before, after, first = t, up, S12
                if a == 1:
                    after, first = down, ZERO
                elif a == 2:
                    before, after = b, left
                elif a == 3:
                    before, after, first = b, right, ZERO
                if before == after:
                    continue
                # Every tile in every lane that moved.
                lanes = lanes_that_moved(before, after)
                total, n = 0.0, 0
                for tile in range(low, high + ONE):
                    for lane in range(4):
                        if (lanes >> u64(lane)) & ONE:
                            board = after | (u64(tile) << (first + S16 * u64(lane)))
                            n += 1
                            if depth == 1:
                                total += leaf(board)
                            else:
                                total += entered(board, rest, depth - 1, counts)
                if depth == 1:
                    counts[0] += n
                best = max(best, total / n)
            mean += weight * best
        return mean / size

    return entered


class ScalarSearch:
    """Searches Threes (the default variant) with one of the hand-made scores that are sums of line tables."""

    def __init__(self, game: Game, evaluator: Evaluator) -> None:
        """Compiles the search; raises ValueError for another variant or evaluator."""
        if game.name != "threes" or game.given_options:
            raise UserError(f"scalar search: expected leafwise.game('threes'), got {game!r}")
        need_among(evaluator.name, ("openness", "rows", "rows_cli"), "a score", "scalar search")
        self._run = make_expectimax(game, evaluator)
        self._leaves = np.zeros(1, dtype=np.int64)

    def __call__(self, state: State, depth: int) -> tuple[dict[int, float], int]:
        """Returns the value of every legal action at a decision, and the number of leaves."""
        self._leaves[0] = 0
        values = {}
        for a in state.legal_actions:
            outcomes = state.play(a).outcomes()
            values[a] = sum(
                p * float(self._run(after.row[0], after.row[1], depth - 1, self._leaves)) for p, after in outcomes
            )
        return values, int(self._leaves[0])


def reference_searches(game: Game) -> dict[str, ScalarSearch]:
    """Returns the hand-written search with each leaf that the engine is held against, by the leaf's name."""
    return {name: ScalarSearch(game, game.score(name)) for name in ("openness", "rows")}


def bench_baselines(seconds: float) -> dict[str, float]:
    """Returns leaves per second of other people's programs, each over all positions."""
    from leafwise.envs.threes.baselines import Nneonneo, Threesus

    game, rates = find_game("threes"), {}
    for program in (Threesus(game), Threesus(game, "openness_wegner"), Nneonneo(game)):
        leaves, seconds_spent, runs = 0, 0.0, 0
        while runs <= 1 or seconds_spent < seconds:
            for text in POSITIONS.values():
                state, start = game.parse(text), process_time()
                program.values(state)
                if runs:  # the first compiles
                    leaves, seconds_spent = leaves + program.leaves, seconds_spent + process_time() - start
            runs += 1
        rates[f"{program.name} leaves/s"] = leaves / seconds_spent
    return rates
