"""What Q-learning remembers and learns towards; the method is `leafwise.training.methods.dqn`."""
