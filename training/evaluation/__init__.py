"""How strong players are: arenas, tournaments, Elo, sequential tests, agreement with solvers. Imports no method."""
