"""Players of a game without a search: greedy, exact solvers, the room's own; and what helps people to follow a game."""
