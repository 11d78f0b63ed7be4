"""Reproductions of other people's programs for Trap."""
