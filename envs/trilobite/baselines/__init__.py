"""The source's own player, reproduced."""
