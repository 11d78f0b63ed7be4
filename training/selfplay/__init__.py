"""Values of searches, learned from a network's own games: the method is `selfplay`."""
