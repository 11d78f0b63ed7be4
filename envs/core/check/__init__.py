"""Checks that a game keeps its contract, by playing it in a separate process."""
