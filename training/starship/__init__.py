"""Training methods of Starship."""
