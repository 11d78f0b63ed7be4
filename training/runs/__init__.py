"""What every run has: its folder, loop, checkpoints, seeds, gating and recipes."""
