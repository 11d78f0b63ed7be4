"""Compiles plain Python: the only room that knows numba and llvmlite."""
