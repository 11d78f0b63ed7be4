"""All ways to learn, in all games, at equal processor time: `python -m leafwise.experiments.methods` compares them."""
