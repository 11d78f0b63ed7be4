"""Which entries of an n-tuple network its own games look up: the others can be left out of its file."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from leafwise.envs.core.interrupts import stoppable
from leafwise.models.ntuple import NTupleNetwork
from leafwise.training.ntuple_td.kernels import kernels, new_trainer

RESTART = 100
"""As in training: a trajectory longer than this is followed by one from its middle, so that late positions come often."""


def looked_up(network: NTupleNetwork, moves: int, seed: int = 0) -> NDArray[np.bool_]:
    """Returns which entries so many moves of the network's own games look up, [weights]; nothing is learned meanwhile."""
    errors, sizes = (np.zeros(len(network.weights.table), dtype=np.float32) for _ in range(2))
    actor = new_trainer(network.game, seed, coherence=(errors, sizes))
    T = network.game.tables(network.evaluator("games"))
    stoppable(lambda: kernels(network, coherent=True).td_games(actor, moves, 0.0, 0.0, RESTART, T), T.stop)
    return sizes > 0
