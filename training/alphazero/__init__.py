"""AlphaZero: the method is `alphazero`, its compiled games by tree search `kernels`."""
