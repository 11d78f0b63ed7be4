"""Holds a game to its contract: plays it in builds that check every index, in a process of their own."""
