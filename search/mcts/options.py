"""The options of a Monte Carlo tree search, checked."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

Policy = Callable[[Any, Any], Any]
"""(rows [n, width], T) -> float [n, game.max_actions]: how good each action is thought to be, at least 0."""

MOST_SIMULATIONS = 1 << 40
PRIORS = ("uniform", "values", "policy")
CLOCKS = ("wall", "cpu")
SCALES = ("spread", "span")


def check(
    simulations: int | None,
    seconds: float | None,
    exploration: float,
    scale: str,
    prior: str | Policy,
    temperature: float,
    gumbel: int,
    memory_mb: float,
    at_once: int,
    clock: str,
) -> None:
    """Raises ValueError for options out of range."""
    if simulations is not None and (isinstance(simulations, bool) or not 1 <= simulations <= MOST_SIMULATIONS):
        raise ValueError(f"mcts: expected simulations of 1 to {MOST_SIMULATIONS}, got {simulations!r}")
    if seconds is not None and not 0 < seconds < float("inf"):
        raise ValueError(f"mcts: expected seconds above 0, got {seconds!r}")
    if not 0 <= exploration < float("inf"):
        raise ValueError(f"mcts: expected an exploration of at least 0, got {exploration!r}")
    if scale not in SCALES:
        raise ValueError(f"mcts: expected a scale among {', '.join(SCALES)}, got {scale!r}")
    if not callable(prior) and prior not in PRIORS:
        raise ValueError(f"mcts: expected a prior among {', '.join(PRIORS)} or a function of rows, got {prior!r}")
    if not 0 < temperature < float("inf"):
        raise ValueError(f"mcts: expected a temperature above 0, got {temperature!r}")
    if isinstance(gumbel, bool) or not isinstance(gumbel, int) or gumbel < 0 or (gumbel and simulations is None):
        raise ValueError(f"mcts: expected gumbel of at least 0, with simulations, got {gumbel!r}")
    if not 1 <= memory_mb <= 65536:
        raise ValueError(f"mcts: expected memory_mb of 1 to 65536, got {memory_mb!r}")
    if isinstance(at_once, bool) or not 1 <= at_once <= 1 << 16:
        raise ValueError(f"mcts: expected at_once of 1 to 65536, got {at_once!r}")
    if clock not in CLOCKS:
        raise ValueError(f"mcts: expected a clock among {', '.join(CLOCKS)}, got {clock!r}")
