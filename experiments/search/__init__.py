"""Searches against each other, and against perfect play."""
