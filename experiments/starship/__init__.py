"""Studies of the ship generator."""
