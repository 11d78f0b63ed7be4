"""Temporal differences on n-tuple tables: the method is `ntuple_td`, its compiled games and learning `kernels`."""
