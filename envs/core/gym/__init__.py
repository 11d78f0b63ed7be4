"""Turns any game into an environment of Gymnasium or PettingZoo, single or in batches."""
