"""Other people's programs for Friday, reproduced."""
