"""Uses once what is used of numba's inner parts: linking, the cache, and what is emitted for LLVM."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any, NamedTuple

import numba
import numpy as np

from leafwise.envs.core.compile import emitted
from leafwise.envs.core.compile.held import hold
from leafwise.envs.core.compile.linking import Function, compiled
from leafwise.envs.core.errors import UserError


class _Tables(NamedTuple):
    factor: float
    leaf: Any


def _rule(S, T):
    return S[0] * T.factor


def check(folder: Path, flags: dict[str, Any]) -> None:
    """Compiles, links, keeps and loads functions in `folder`; raises whatever goes wrong."""
    S, T = np.array([3.0]), _Tables(2.0, (np.array([1.0]),))
    for loaded in range(2):
        rule: Any = compiled(_rule, folder, flags)
        rule.ignores_leaf = rule.door = True
        copied: Any = compiled(_copied(rule), folder, flags, inline=True, bound="selfcheck")
        play: Any = compiled(_play(copied), folder, flags, bound="selfcheck")
        _expect(play(S, T), 7.0)
        _expect(rule(S, T._replace(leaf=())), 6.0)
        held: Any = compiled(_held(rule), folder, flags, bound="selfcheck")
        call = hold(held, S, T)
        _expect(call(), 12.0)
        S[0], before = 5.0, S[0]
        _expect(call(), 20.0)
        S[0] = before
        other: Any = compiled(_other(copied), folder, flags, bound=f"selfcheck {loaded}")  # copies what was kept
        _expect(other(S, T), 8.0)
        for function in (rule, play, held):
            _expect(sum(function._cache_hits.values()), loaded)
        for function in (rule, copied, play, held, other):
            function.forget()
    _check_emitted()


def _copied(rule: Function) -> Any:
    def copied(S, T):
        return rule(S, T) + T.leaf[0][0]

    return copied


def _play(copied: Function) -> Any:
    def play(S, T):
        return copied(S, T)

    return play


def _other(copied: Function) -> Any:
    def other(S, T):
        return copied(S, T) + 1.0

    return other


def _held(rule: Function) -> Any:
    def play_held(held):
        S, T = held[0], held[1]
        return rule(S, T) * T.factor * T.leaf[0][0]

    return play_held


def _check_emitted() -> None:
    """Compiles what is emitted for LLVM, and compares it with NumPy."""
    own: Any = emitted  # what is emitted takes other arguments than the functions that emit it
    prefetch, sum_rows, dense, read_clock = own.prefetch, own.sum_rows, own.dense, own.read_clock

    @numba.njit
    def run(out, rows, which, weights, number):
        prefetch(rows, 0)
        sum_rows(out[0], rows[0], rows, which, which.shape[0])
        dense(out[1], out[0], weights, 0, 4, 4)
        return read_clock(number)

    rows, weights = np.arange(20, dtype=np.float32).reshape(5, 4) - 30, np.arange(20, dtype=np.float32)
    out, which = np.zeros((2, 4), dtype=np.float32), np.array([1, 4])
    rows[4] = 90.0
    now = run(out, rows, which, weights, time.CLOCK_MONOTONIC if emitted.READABLE else 0)
    first = rows[0] + rows[which].sum(axis=0)
    _expect(out[0].tolist(), first.tolist())
    _expect(out[1].tolist(), (np.maximum(first, 0) @ weights[:16].reshape(4, 4) + weights[16:]).tolist())
    if emitted.READABLE:
        _expect(abs(time.clock_gettime_ns(time.CLOCK_MONOTONIC) - now) < 60 * emitted.NANOSECONDS, True)


def _expect(got: Any, expected: Any) -> None:
    if got != expected:
        raise UserError(f"expected {expected!r}, got {got!r}")
