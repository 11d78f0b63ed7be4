"""The method `ppo`: proximal policy optimization with masked actions."""
