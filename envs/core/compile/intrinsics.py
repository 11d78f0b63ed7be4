"""Functions for compiled code beyond NumPy: prefetching, loops of networks, system clocks, exponentials that do not overflow.

Each exists as LLVM instructions, as loops that any numba compiles, or as plain Python. A build that checks indices uses the
loops, so that it accesses no unchecked address.
"""

from __future__ import annotations

import math
import time
from typing import Any

import numpy as np

from leafwise.envs.core.arrays import Array, Floats
from leafwise.envs.core.compile import emitted
from leafwise.envs.core.compile.emitted import NANOSECONDS
from leafwise.envs.core.compile.jit import BOUNDSCHECK, DISABLED, PLAIN, jit


def prefetch_nothing(array, index) -> None:
    """Does nothing; replaces `prefetch` where there is none."""


@jit(inline=True)
def prefetch_and_check(array, index):
    """Reads `array[index]`, so that the index is checked."""
    array[index]


def extract_bits_plain(word, mask):
    """Returns the bits of `word` (uint64) that `mask` (uint64) selects, side by side from bit 0 on."""
    bits, result, target = int(word), 0, 0
    for bit in range(int(mask).bit_length()):
        if int(mask) >> bit & 1:
            result |= (bits >> bit & 1) << target
            target += 1
    return np.uint64(result)


def sum_rows_plain(out, bias, rows, which, n: int) -> None:
    """Writes `bias` plus the rows of `rows` listed in `which[:n]` to `out`, in float32 on whole arrays."""
    out[: len(bias)] = bias + rows[which[:n]].sum(axis=0)


def dense_plain(out, x, weights, start: int, n: int, columns: int) -> None:
    """Writes `columns` outputs of a dense layer, in float32; n is a multiple of 4.

    They are max(x, 0) [n] times the weights [n, columns] that begin at `start`, plus the biases after these.
    """
    matrix = weights[start : start + n * columns].reshape(n, columns)
    out[:columns] = np.maximum(x[:n], 0) @ matrix + weights[start + n * columns : start + (n + 1) * columns]


@jit(inline=True)
def sum_rows_loops(out, bias, rows, which, n):
    """Writes `bias` [columns] plus the rows [*, columns] of `rows` listed in `which[:n]` to `out`, in float32."""
    for c in range(rows.shape[1]):
        total = bias[c]
        for k in range(n):
            total += rows[which[k], c]
        out[c] = total


@jit(inline=True)
def add_runs_loops(total, share, table, i, first, j, second, more):
    """Returns four totals (float64), each raised by its `share` of a sum.

    The sum has three float64 terms: two runs of `table` [*] (float32), four entries from i on and four from j on, and `more`.
    The first of the four float32 of `first` is added to the run from i on, then the other three to that; likewise `second` to
    the run from j on.
    """
    return (
        total[0] + share[0] * one_of_runs(table[i], first, table[j], second, more[0]),
        total[1] + share[1] * one_of_runs(table[i + 1], first, table[j + 1], second, more[1]),
        total[2] + share[2] * one_of_runs(table[i + 2], first, table[j + 2], second, more[2]),
        total[3] + share[3] * one_of_runs(table[i + 3], first, table[j + 3], second, more[3]),
    )


@jit(inline=True)
def one_of_runs(a, first, b, second, more):
    """Returns one of the sums of `add_runs_loops`."""
    a, b = first[0] + a + first[1] + first[2] + first[3], second[0] + b + second[1] + second[2] + second[3]
    return np.float64(a) + np.float64(b) + more


@jit(inline=True)
def dense_loops(out, x, weights, start, n, columns):
    """Writes `columns` outputs of a dense layer, in float32.

    They are max(x, 0) [n] times the weights [n, columns] that begin at `start`, plus the biases after these.
    """
    for c in range(columns):
        out[c] = weights[start + n * columns + c]
    for k in range(n):
        if x[k] > 0:
            for c in range(columns):
                out[c] += x[k] * weights[start + k * columns + c]


EXTRACTS = emitted.EXTRACTS and not DISABLED and not PLAIN
"""Whether `extract_bits(word, mask)` may be called: it gathers the selected bits in one instruction."""

extract_bits: Any = emitted.extract_bits
prefetch: Any = emitted.prefetch
sum_rows: Any = emitted.sum_rows
dense: Any = emitted.dense
add_runs: Any = emitted.add_runs
if DISABLED:
    prefetch, sum_rows, dense, add_runs = prefetch_nothing, sum_rows_plain, dense_plain, add_runs_loops
elif BOUNDSCHECK:
    prefetch, sum_rows, dense = prefetch_and_check, sum_rows_loops, dense_loops
    add_runs = add_runs_loops
elif PLAIN:
    prefetch, sum_rows, dense = jit(inline=True)(prefetch_nothing), sum_rows_loops, dense_loops
    add_runs = add_runs_loops


HAS_CLOCKS = emitted.HAS_CLOCKS and not PLAIN
"""Whether compiled code can read a clock here."""
CLOCKS: dict[str, int] = {"wall": time.CLOCK_MONOTONIC, "cpu": time.CLOCK_THREAD_CPUTIME_ID} if HAS_CLOCKS else {}
"""The system's numbers of the clocks: elapsed time, and the computing time of the calling thread."""


def _read_clock_plain(number: int) -> int:
    """Returns the time of a clock in nanoseconds."""
    return time.clock_gettime_ns(int(number))


@jit(inline=True)
def _read_no_clock(number):
    """Replaces `read_clock` where compiled code cannot read a clock; never called."""
    return 0


read_clock: Any = _read_clock_plain if DISABLED else emitted.read_clock if HAS_CLOCKS else _read_no_clock


@jit(inline=True)
def is_late(deadline):
    """Whether a deadline, the number of a clock and its time in nanoseconds, has passed; time 0 means no deadline."""
    return deadline[1] > 0 and read_clock(deadline[0]) >= deadline[1]


def deadline_in(seconds: float, clock: str) -> tuple[int, int]:
    """Returns the deadline in `seconds` from now, at least a nanosecond; the clock "cpu" is the calling thread's."""
    number = CLOCKS[clock]
    return number, time.clock_gettime_ns(number) + max(1, int(NANOSECONDS * seconds))


LARGEST = 709.0
"""The largest number with a finite exponential, rounded down."""
FAR = 1e300
"""Replaces infinity in differences."""


@jit(inline=True)
def softmax_term(x, greatest):
    """Returns exp(x - greatest) for the greatest number of a softmax, in 0..1; 1 if both are infinite."""
    return 1.0 if x == greatest else math.exp(x - greatest)


@jit(inline=True)
def logistic(x):
    """Returns 1 / (1 + exp(-x))."""
    return 1.0 / (1.0 + math.exp(min(-x, LARGEST)))


def logistic_of(x: Array) -> Floats:
    """Returns `logistic` of every number of an array."""
    return np.asarray(1.0 / (1.0 + np.exp(np.minimum(-x, LARGEST))), dtype=np.float64)


@jit(inline=True)
def win_less_loss(win, draw, loss):
    """Returns the probability of a win minus that of a loss, from three logits of a softmax.

    Where no exponential can overflow, the first logit is subtracted from all, otherwise the greatest. Both give the same
    probabilities; the first gives those of published figures to the last bit.
    """
    greatest = max(win, draw, loss)
    shift = win if greatest < win + 0.5 * LARGEST else greatest
    won, drawn, lost = softmax_term(win, shift), softmax_term(draw, shift), softmax_term(loss, shift)
    return (won - lost) / (won + drawn + lost)


def win_less_loss_of(x: Array) -> Floats:
    """Returns `win_less_loss` of every row of an array [n, 3]."""
    x = np.clip(x.astype(np.float64), -FAR, FAR)
    win, greatest = x[:, :1], x.max(axis=1, keepdims=True)
    won, drawn, lost = np.exp(x - np.where(greatest < win + 0.5 * LARGEST, win, greatest)).T
    return np.asarray((won - lost) / (won + drawn + lost), dtype=np.float64)
