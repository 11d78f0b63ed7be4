"""What an evaluator says of its values, as the numbers that compiled code is bound to."""

from __future__ import annotations

from typing import NamedTuple

from leafwise.envs.core.compile.jit import jit
from leafwise.envs.core.contract.evaluator import Evaluator

EVALUATE, RETURNS, TRIPLE = 0, 1, 2
"""What a finished game is worth: asked like any leaf, the return, or a number for won, drawn, lost."""


class LeafSpec(NamedTuple):
    """An evaluator's fields `stage`, `to_go` and `terminal`."""

    stage: int
    """Index of the stage at which it is asked."""
    to_go: bool
    rule: int
    """EVALUATE, RETURNS or TRIPLE."""
    win: float
    draw: float
    loss: float


def leaf_spec(evaluator: Evaluator, stages: tuple[str, ...]) -> LeafSpec:
    """Returns what an evaluator says to a game with these stages; raises ValueError for a stage that the game lacks."""
    if evaluator.stage not in stages:
        expected = ", ".join(stages)
        raise ValueError(f"evaluator {evaluator.name!r}: expected a stage among {expected}, got {evaluator.stage!r}")
    rule = {"evaluate": EVALUATE, "returns": RETURNS}.get(str(evaluator.terminal), TRIPLE)
    win, draw, loss = evaluator.terminal if isinstance(evaluator.terminal, tuple) else (0.0, 0.0, 0.0)
    return LeafSpec(stages.index(evaluator.stage), evaluator.to_go, rule, float(win), float(draw), float(loss))


@jit(inline=True)
def finished_value(rule, win, draw, loss, outcome):
    """Returns what a finished game of a return `outcome` is worth to a leaf that is not asked: `rule` is RETURNS or TRIPLE."""
    if rule == RETURNS:
        return outcome
    return win if outcome > 0 else loss if outcome < 0 else draw
