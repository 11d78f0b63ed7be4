"""Shared parts of all runs: folder, loop, checkpoints, gating, recipes; and the seeds of games.

Training games have seeds below SELECTION_SEED, matches that select networks the seeds from there on, and reported figures the
seeds from FINAL_SEED on.
"""

from __future__ import annotations

SELECTION_SEED, SELECTION_SEEDS = 900_000, 100_000
"""First seed of the games that select networks, and the number of these seeds."""
CALIBRATION_SEED = PACKING_SEED = SELECTION_SEED + 50_000
"""First seed of the games that calibrate a published network or measure the loss by packing."""
REMATCH_SEED = SELECTION_SEED + 70_000
"""First seed of the rematch between a run's best and newest network; the matches of a run start at SELECTION_SEED."""
FINAL_SEED = SELECTION_SEED + SELECTION_SEEDS
"""First seed of the games behind reported figures."""
