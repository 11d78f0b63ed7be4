"""Building a ship as a game for one: chance draws the hull and the requests, the builder says where each part goes.

A decision places the current request: action `(rotation * grid + y) * grid + x`, its footprint's top-left cell. The
request and the two after it are in sight, as far as the running stage reaches; a request without a legal place is
skipped. Armour and the extra doors come by themselves, as in the generator, whose requests and rules these are: the
generator's own choices (`hand.HandBuilder`) on the stream of a seed give the generator's ship of that seed.

The return is the potential: the quality as it would be if the ship stood as it is, missing terms 0. It is 0 at the
start and, at the end, the quality, which is 0 if a stage fell short of its minimum. Such a failure ends the game.
"""

from __future__ import annotations

import numpy as np

from leafwise.envs.core.compile.jit import jit
from leafwise.envs.core.contract.rules import CHANCE, TERMINAL, copy_row
from leafwise.envs.starship import tables as at
from leafwise.envs.starship.quality import potential
from leafwise.envs.starship.turns import DECISION, DRAW_HULL, DRAW_REQUEST, OVER, open_given, take_place, write_places

CHANCE_STAGES = ("decision", "hull", "target", "request")
"""The contract's stages: what comes next, a decision or a draw. Everywhere else in this room a stage is one of the source's 14."""


@jit
def initial_state(S, i, T):
    """Writes the start: no hull yet, or the one that is given and the first decision on it."""
    for word in range(S.shape[1]):
        S[i, word] = 0
    open_given(S, i, T.ship)


@jit(inline=True)
def current_player(S, i, T):
    """Returns 0 at a decision, else CHANCE or TERMINAL."""
    turn = S[i, at.TURN]
    if turn == DECISION:
        return 0
    return TERMINAL if turn == OVER else CHANCE


@jit(inline=True)
def stage(S, i, T):
    """Returns the index of the contract's stage in CHANCE_STAGES; 0 at the end."""
    turn = np.int64(S[i, at.TURN])
    return turn + 1 if DRAW_HULL <= turn <= DRAW_REQUEST else 0


@jit(inline_source=True)
def legal_actions(S, i, A, T):
    """Writes the legal places of the current request to `A`, ascending; returns how many."""
    return write_places(S, i, A, T.ship)


@jit(inline_source=True)
def apply_action(S, i, a, j, T):
    """Copies row `i` to row `j` and places the current request there."""
    copy_row(S, i, j)
    take_place(S, j, T.ship, np.int64(a))


@jit(inline_source=True)
def returns(S, i, T):
    """Returns the potential; at the end the quality."""
    return potential(S, i, T.ship)


@jit(inline_source=True)
def final_quality(S, i, j, k, T):
    """Reward "terminal": the quality when the ship is finished, else 0."""
    return potential(S, k, T.ship) if S[k, at.TURN] == OVER else 0.0
