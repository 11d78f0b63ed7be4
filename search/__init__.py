"""Searches over any game."""

from leafwise.search.engine import Result, Search, Stopped

__all__ = ["Result", "Search", "Stopped"]
