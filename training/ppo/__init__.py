"""Masked PPO: the method is `ppo`."""
