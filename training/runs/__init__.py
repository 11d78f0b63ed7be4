"""What every run has: its folder, loop, checkpoints, gating and recipes; and which seeds games have.

Training stays below the first, the best network is chosen by the next, figures come after.
"""

from __future__ import annotations

SELECTION_SEED, SELECTION_SEEDS = 900_000, 100_000
"""First seed of the games that choose among networks, and how many there are."""
CALIBRATION_SEED = PACKING_SEED = SELECTION_SEED + 50_000
"""First seed of the games of a publication that set what chances are multiplied by, or tell what packing costs."""
REMATCH_SEED = SELECTION_SEED + 70_000
"""First seed of the games in which a run's best and newest network meet again; its own matches begin at the first of all."""
FINAL_SEED = SELECTION_SEED + SELECTION_SEEDS
"""First seed of games whose figures are reported."""
