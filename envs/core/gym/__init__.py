"""Any game as an environment of Gymnasium or PettingZoo, alone or in batches."""
