"""The method `alphazero`: a network with policy and value learns from Monte Carlo tree search."""
