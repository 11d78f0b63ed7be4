"""Holds a game to its contract: plays it in a process of its own, in three forms of which two check every index."""
