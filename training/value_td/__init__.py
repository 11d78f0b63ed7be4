"""Temporal differences on a network's own values: the method is `value_td`."""
