"""The source's own solver, reproduced."""
