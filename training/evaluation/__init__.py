"""Measures the strength of players: arenas, tournaments, Elo, sequential tests, agreement with solvers. Imports no method."""
