"""Prefetching, and the vector loops of networks: as LLVM's own, as loops that any numba compiles, and in plain Python.

A build that checks indices has the loops, so that nothing is read or written by an address that was not checked.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from leafwise.envs.core.compile import emitted
from leafwise.envs.core.compile.jit import BOUNDSCHECK, DISABLED, PLAIN, jit


def prefetch_nothing(array: Any, index: Any) -> None:
    """Starts to load `array[index]` into the cache; nothing where it cannot."""


def prefetch_checked(array: Any, index: Any) -> None:
    """Reads `array[index]`, so that the index is checked."""
    array[index]


def sum_rows_plain(out: Any, bias: Any, rows: Any, which: Any, n: int) -> None:
    """Writes `bias` plus the rows numbered by the first n of `which` to `out`; float32, whole arrays."""
    out[: len(bias)] = bias + rows[which[:n]].sum(axis=0)


def dense_plain(out: Any, x: Any, weights: Any, start: int, n: int, columns: int) -> None:
    """Writes `columns` outputs of a dense layer: max(x, 0) [n] times weights, from `start` on [n, columns], plus the biases
    that follow; float32, n a multiple of 4."""
    matrix = weights[start : start + n * columns].reshape(n, columns)
    out[:columns] = np.maximum(x[:n], 0) @ matrix + weights[start + n * columns : start + (n + 1) * columns]


@jit(inline=True)
def sum_rows_loops(out, bias, rows, which, n):
    """Writes `bias` [columns] plus the rows [*, columns] numbered by the first n of `which` to `out`; float32."""
    for c in range(rows.shape[1]):
        total = bias[c]
        for k in range(n):
            total += rows[which[k], c]
        out[c] = total


@jit(inline=True)
def dense_loops(out, x, weights, start, n, columns):
    """Writes `columns` outputs of a dense layer: max(x, 0) [n] times weights, from `start` on [n, columns], plus the biases
    that follow; float32."""
    for c in range(columns):
        out[c] = weights[start + n * columns + c]
    for k in range(n):
        if x[k] > 0:
            for c in range(columns):
                out[c] += x[k] * weights[start + k * columns + c]


EXTRACTS = emitted.EXTRACTS and not DISABLED and not PLAIN
"""Whether `extract_bits(word, mask)` can be called: it gathers the bits that a mask names in one instruction."""

extract_bits: Any = emitted.extract_bits
prefetch: Any = emitted.prefetch
sum_rows: Any = emitted.sum_rows
dense: Any = emitted.dense
if DISABLED:
    prefetch, sum_rows, dense = prefetch_nothing, sum_rows_plain, dense_plain
elif BOUNDSCHECK:
    prefetch, sum_rows, dense = jit(inline=True)(prefetch_checked), sum_rows_loops, dense_loops
elif PLAIN:
    prefetch, sum_rows, dense = jit(inline=True)(prefetch_nothing), sum_rows_loops, dense_loops
