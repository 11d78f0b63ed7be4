"""Players of a game without a search: greedy, exact solvers, the room's own."""
