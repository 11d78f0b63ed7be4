"""Studies of Starship."""
