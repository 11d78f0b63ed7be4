"""The games: one room each, over the contract in `leafwise.envs.core`."""
