"""Networks as torch modules, and their adapters for Stable-Baselines3."""
