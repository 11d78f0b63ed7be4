"""Ways to learn: one readable file each, run as `python -m leafwise.training.methods.NAME`."""
