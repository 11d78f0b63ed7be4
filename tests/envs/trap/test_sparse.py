"""The features of Trap that networks see, against the twin."""

from __future__ import annotations

from random import Random

import numpy as np
import pytest

from contract.cases import walk
from leafwise.envs.core.contract.game import Game
from leafwise.envs.core.contract.state import State
from leafwise.envs.trap import GAME
from leafwise.envs.trap.features import AROUND, MOVES, REACHED, STRIPS, SUMS, WINDOWS
from twins.trap import Cell, Position, Twin


def features(state: State, name: str = "sparse") -> list[int]:
    F = np.full(60, -1, dtype=np.int64)
    sparse = state.game.features[name]
    assert sparse is not None
    n = int(sparse.active(state.row[None], np.uint64(0), F, state.game.tables()))
    assert n == sparse.most(state.game.options)
    return F[:n].tolist()


@pytest.mark.parametrize("game", [GAME, GAME.variant(size=3), GAME.variant(size=8), GAME.variant(size=9)], ids=repr)
def test_each_group_says_what_it_should(game: Game) -> None:
    size, twin = game.options.size, Twin(game.options)
    visited: list[State] = []
    for seed in range(3):
        walk(game.start(), seed, 60, lambda s: visited.append(s) if s.legal_actions else None)
    for state in Random(1).sample(visited, min(40, len(visited))):
        p, F = twin.read(str(state)), features(state)
        throwing, me, other = int(p.due == "throw"), p.players[p.turn % 2], p.players[1 - p.turn % 2]
        assert F[0] == throwing * size**2 + me[0] * size + me[1]
        assert F[1] == (2 + throwing) * size**2 + other[0] * size + other[1]
        first = 4 * size**2
        for k, centre in enumerate((me, other)):
            for down in range(5):
                row = centre[0] + down - 2
                cells = [(row, centre[1] + right - 2) for right in range(5)]
                taken = [c not in twin.board or c in p.traps or c in p.players for c in cells]
                assert F[2 + 5 * k + down] == first + (5 * k + down) * 32 + sum(
                    1 << b for b, t in enumerate(taken) if t
                )
        first += WINDOWS
        for row in range(size):
            assert F[12 + row] == first + row * 2**size + sum(1 << c for c in range(size) if (row, c) in p.traps)
        first += size * 2**size
        apart = other[0] - me[0] + size - 1, other[1] - me[1] + size - 1
        assert F[12 + size] == first + apart[0] * (2 * size - 1) + apart[1]
        first += (2 * size - 1) ** 2
        free = [twin.free_around(p, player) for player in (p.turn % 2, 1 - p.turn % 2)]
        assert F[13 + size] == first + throwing * MOVES + len(free[0]) * 9 + len(free[1])
        first += 2 * MOVES
        sums = [
            sum(len([d for d in twin.around(c) if d not in p.traps and d not in p.players]) for c in line)
            for line in free
        ]
        assert F[14 + size :] == [first + sums[0], first + SUMS + sums[1]]
        assert max(F) < game.features["sparse"].size(game.options)


def steps_to(twin: Twin, p: Position, start: Cell) -> dict[Cell, int]:
    """Returns how many king steps over free cells lead to each free cell."""
    steps_by_cell, last = {start: 0}, [start]
    while last:
        last = [
            d
            for c in last
            for d in twin.around(c)
            if d not in p.traps and d not in p.players and d not in steps_by_cell
        ]
        steps_by_cell |= dict.fromkeys(last, max(steps_by_cell.values()) + 1)
    return {cell: steps for cell, steps in steps_by_cell.items() if steps}


@pytest.mark.parametrize("game", [GAME, GAME.variant(size=9)], ids=repr)
def test_reach_says_how_far_both_get_and_what_is_blocked_around_them(game: Game) -> None:
    size, twin = game.options.size, Twin(game.options)
    visited: list[State] = []
    for seed in range(3):
        walk(game.start(), seed, 60, lambda s: visited.append(s) if s.legal_actions else None)
    for state in Random(2).sample(visited, min(40, len(visited))):
        p, F, known = twin.read(str(state)), features(state, "reach"), features(state)
        players = p.players[p.turn % 2], p.players[1 - p.turn % 2]
        first = 4 * size**2
        for k in range(2):
            rows = [known[2 + 5 * k + down] - 4 * size**2 & 31 for down in range(5)]
            assert [f - first for f in F[2 + 5 * k : 6 + 5 * k]] == [
                down * 1024 + rows[down] * 32 + rows[down + 1] for down in range(4)
            ]
            ring = [row >> 1 & 7 for row in rows[1:4]]
            assert F[6 + 5 * k] == first + STRIPS + ring[0] * 64 + ring[1] * 8 + ring[2]
            first += AROUND
        assert [f - first for f in F[12:-3]] == [f - 4 * size**2 - WINDOWS for f in known[12:]]
        first = game.features["reach"].size(game.options) - (2 - int(p.due == "throw")) * REACHED
        own_steps, other_steps = (steps_to(twin, p, cell) for cell in players)
        for within, numbers in ((2, 25), (3, 49)):
            counts = [sum(steps <= within for steps in way.values()) for way in (own_steps, other_steps)]
            assert F[-3 if within == 2 else -2] == first + counts[0] * numbers + counts[1]
            first += numbers**2
        sooner = [
            sum(steps <= 3 and steps < theirs.get(cell, 99) for cell, steps in mine.items())
            for mine, theirs in ((own_steps, other_steps), (other_steps, own_steps))
        ]
        assert F[-1] == first + sooner[0] * 49 + sooner[1]
