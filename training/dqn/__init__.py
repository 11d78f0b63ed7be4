"""Deep Q-learning: the method is `dqn`; what plays, what is remembered and what is learned stand beside it."""
