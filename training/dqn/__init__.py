"""The method `dqn`: deep Q-learning by self-play."""
