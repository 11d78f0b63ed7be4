"""Players that need no search: greedy, exact solvers, a room's own; and help for people who follow a game."""
