"""The options of a Monte Carlo tree search, checked."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from leafwise.envs.core.contract.numbers import Reals, Wholes, checked_options
from leafwise.search.settings import SECONDS

Policy = Callable[[Any, Any], Any]
"""(rows [n, width], T) -> float [n, game.max_actions]: how good each action is thought to be, at least 0."""

MOST_SIMULATIONS = 1 << 40
MOST_EXPLORATION = 1e100
PRIORS = ("uniform", "values", "policy")
CLOCKS = ("wall", "cpu")
SCALES = ("spread", "span")
WHOLE: Wholes = {
    "simulations": (1, MOST_SIMULATIONS, f"simulations of 1 to {MOST_SIMULATIONS}"),
    "gumbel": (0, MOST_SIMULATIONS, "gumbel of at least 0, with simulations"),
    "at_once": (1, 1 << 16, "at_once of 1 to 65536"),
    "seed": (0, 2**64 - 1, "a seed of 0 to 2**64 - 1"),
}
REAL: Reals = {
    "seconds": SECONDS,
    "exploration": (lambda x: 0 <= x <= MOST_EXPLORATION, f"an exploration of 0 to {MOST_EXPLORATION:g}"),
    "temperature": (lambda x: 0 < x < math.inf, "a temperature above 0"),
    "memory_mb": (lambda x: 1 <= x <= 65536, "memory_mb of 1 to 65536"),
}
SWITCHES = {"proofs", "reuse"}
OPEN = ("simulations", "seconds")
"""Options that may be None: no limit."""


@dataclass(frozen=True)
class MctsSettings:
    """The options of `Mcts`, which documents them."""

    simulations: int | None
    seconds: float | None
    exploration: float
    scale: str
    prior: str | Policy
    temperature: float
    gumbel: int
    proofs: bool
    reuse: bool
    memory_mb: float
    at_once: int
    candidates: str | None
    clock: str
    seed: int

    def checked(self) -> MctsSettings:
        """Returns the options in one type each; raises ValueError for those out of range."""
        given = {name: value for name, value in vars(self).items() if value is not None or name not in OPEN}
        found = checked_options("mcts", given, WHOLE, REAL, SWITCHES)
        if self.scale not in SCALES:
            raise ValueError(f"mcts: expected a scale among {', '.join(SCALES)}, got {self.scale!r}")
        if not callable(self.prior) and self.prior not in PRIORS:
            expected = f"a prior among {', '.join(PRIORS)} or a function of rows"
            raise ValueError(f"mcts: expected {expected}, got {self.prior!r}")
        if found["gumbel"] and self.simulations is None:
            raise ValueError(f"mcts: expected gumbel of at least 0, with simulations, got {self.gumbel!r}")
        if self.clock not in CLOCKS:
            raise ValueError(f"mcts: expected a clock among {', '.join(CLOCKS)}, got {self.clock!r}")
        return replace(self, **found)
