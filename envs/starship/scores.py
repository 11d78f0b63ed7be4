"""Hand-made evaluators of unfinished ships."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from leafwise.envs.core.compile.jit import jit
from leafwise.envs.core.contract.evaluator import Evaluator, Speed
from leafwise.envs.starship import tables as at
from leafwise.envs.starship.quality import TERM_WEIGHTS, potential
from leafwise.envs.starship.rules import OVER, returns

MEAN_TERMS = (0.59, 0.87, 0.77, 0.51, 0.71, 0.96)
"""Means of the terms over hand-made ships of the preset classic, in the order of `quality.TERMS`."""
THRUST, COCKPIT, SUPPLY, CREW, FIRE, _ = (w * mean for w, mean in zip(TERM_WEIGHTS, MEAN_TERMS, strict=True))
BUDGETS = (
    *((at.STAGE_THRUSTERS, THRUST), (at.STAGE_COCKPIT, COCKPIT), (at.STAGE_AMMO, SUPPLY / 2)),
    *((at.STAGE_POWER, SUPPLY / 2), (at.STAGE_CREW, CREW), (at.STAGE_WEAPONS, FIRE)),
)
"""Stages, and what their parts add to the quality of an ordinary ship."""


@jit
def outlook(S, i, T):
    """Returns the potential plus what an ordinary ship gains by the parts still to come, at most 1."""
    if S[i, at.REASONS] != 0:
        return 0.0
    value = potential(S, i, T)
    if S[i, at.TURN] == OVER:
        return value
    for k in range(len(BUDGETS)):
        budget, worth = BUDGETS[k]
        target = max(np.int64(S[i, at.TARGET + budget]), T.stages[budget, at.LOW])
        missing = target - np.int64(S[i, at.POINTS + budget])
        if missing > 0:
            value += worth * missing / target
    return min(1.0, value)


@jit(inline_source=True)
def hopeful(S, i, T):
    """Returns the potential plus what an ordinary ship gains by the parts still to come, at most 1."""
    return outlook(S, i, T.ship)


def _evaluator(name: str, value: Callable[..., Any]) -> Callable[[Any], Evaluator]:
    """Returns a maker of the evaluator with this name and value function."""
    return lambda options: Evaluator(
        name=name, value=value, stage="request", low=0.0, high=1.0, speed=Speed(cache_values=True)
    )


SCORES = {"hopeful": _evaluator("hopeful", hopeful), "potential": _evaluator("potential", returns)}
