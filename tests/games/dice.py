"""The dice race of `examples/race`: the tests' two-player game, with chance in two stages and an action without cost."""

import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from leafwise.authoring import Game, SparseFeatures, jit

sys.path.append(str(Path(__file__).resolve().parents[2] / "examples" / "race"))  # last: it hides nothing

from leafwise_race import GAME, HOLD, LEFT, lead, turn, way, with_face  # type: ignore[import-not-found]

__all__ = ["GAME", "HOLD", "LEFT", "lead", "seen", "side_in_turn", "turn", "way", "with_face"]


@jit(inline=True)
def side_in_turn(S, i, T):
    return np.int64(turn(S[i, 0]) & np.uint64(1))


@jit(inline=True)
def ways(S, i, F, T):
    """Writes how far each runner has come, those of the acting player first."""
    player = np.uint64(side_in_turn(S, i, T))
    for k in range(4):
        lane = np.uint64(k % 2)
        F[k] = 8 * k + np.int64(way(S[i, 0], player if k < 2 else np.uint64(1) - player, lane))
    return 4


def seen(side: Any) -> Game:
    """Returns the dice race with features of the player about to throw."""
    features = SparseFeatures(ways, lambda options: 32, lambda options: 4, stage="die", side=side)
    return replace(GAME, features={"sparse": features})
