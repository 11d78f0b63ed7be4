"""The features `sparse` that networks see of Trap, against the twin."""

from collections.abc import Iterable
from random import Random

import numpy as np
import pytest

from contract.cases import walk
from leafwise.envs.core.contract.game import Game
from leafwise.envs.core.contract.state import State
from leafwise.envs.trap import GAME
from leafwise.envs.trap.features import MOVES, SUMS
from twins.trap import Twin


def features(state: State) -> list[int]:
    F = np.full(60, -1, dtype=np.int64)
    sparse = state.game.features["sparse"]
    assert sparse is not None
    n = int(sparse.active(state.row[None], np.uint64(0), F, state.game.tables()))
    assert n == sparse.most(state.game.options)
    return F[:n].tolist()


def sampled(game: Game) -> list[State]:
    """Returns decisions of random games."""
    found: list[State] = []
    for k in range(3):
        walk(game.start(), k, 60, lambda s: found.append(s) if s.legal_actions else None)
    return Random(1).sample(found, min(25, len(found)))


def bits(flags: Iterable[bool]) -> int:
    return sum(1 << k for k, flag in enumerate(flags) if flag)


@pytest.mark.parametrize("game", [GAME, GAME.variant(size=3), GAME.variant(size=8), GAME.variant(size=9)], ids=repr)
def test_each_group_says_what_it_should(game: Game) -> None:
    size, twin = game.options.size, Twin(game.options)
    for state in sampled(game):
        p, F = twin.read(str(state)), features(state)
        throwing, me, other = int(p.due == "throw"), p.players[p.turn % 2], p.players[1 - p.turn % 2]
        free = [twin.free_around(p, player) for player in (p.turn % 2, 1 - p.turn % 2)]
        taken = {*p.traps, *p.players}
        groups = [throwing * size**2 + me[0] * size + me[1], (2 + throwing) * size**2 + other[0] * size + other[1]]
        first = 4 * size**2
        for y, x in (me, other):
            for row in range(y - 2, y + 3):
                blocked = ((row, c) not in twin.board or (row, c) in taken for c in range(x - 2, x + 3))
                groups.append(first + bits(blocked))
                first += 32
        for row in range(size):
            groups.append(first + bits((row, c) in p.traps for c in range(size)))
            first += 2**size
        span = 2 * size - 1
        groups.append(first + (other[0] - me[0] + size - 1) * span + other[1] - me[1] + size - 1)
        first += span**2
        groups.append(first + throwing * MOVES + len(free[0]) * 9 + len(free[1]))
        first += 2 * MOVES
        for k, line in enumerate(free):
            groups.append(first + k * SUMS + sum(d not in taken for c in line for d in twin.around(c)))
        assert groups == F
        assert max(F) < game.features["sparse"].size(game.options)
