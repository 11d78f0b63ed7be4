"""Q-learning on n-tuple tables: the method is `ntuple_q`."""
