"""Compiles plain Python with numba; no other folder uses numba or llvmlite."""
