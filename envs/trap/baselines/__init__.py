"""Other people's programs for Trap, reproduced."""
