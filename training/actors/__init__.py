"""What plays for a learner, here or elsewhere: pieces of games, with the network of their generation and a seed of their own."""
