"""Reads the system's clocks in compiled code, so that a search can end itself when its time is up."""

from __future__ import annotations

import sys
import time
from typing import Any

from llvmlite import ir
from numba.core import cgutils, types
from numba.extending import intrinsic

from leafwise.envs.core.compile.jit import DISABLED, jit

READABLE = hasattr(time, "clock_gettime_ns") and sys.maxsize > 1 << 32
"""Whether compiled code can read a clock here: by `clock_gettime` of POSIX, with its times in 64 bits."""
NUMBERS: dict[str, int] = {"wall": time.CLOCK_MONOTONIC, "cpu": time.CLOCK_THREAD_CPUTIME_ID} if READABLE else {}
"""What the system calls the clocks: time that passes, and time for which the thread that asks has computed."""
NANOSECONDS = 1_000_000_000


def _read_plain(number: int) -> int:
    """Returns the nanoseconds on a clock."""
    return time.clock_gettime_ns(int(number))


@intrinsic
def _read(typing: Any, number: Any) -> Any:
    """The same, compiled."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        word = ir.IntType(64)
        if not READABLE:
            return word(0)
        told = cgutils.alloca_once(builder, ir.ArrayType(word, 2))
        which = builder.trunc(context.cast(builder, arguments[0], signature.args[0], types.int64), ir.IntType(32))
        kind = ir.FunctionType(ir.IntType(32), [ir.IntType(32), told.type])
        builder.call(cgutils.get_or_insert_function(builder.module, kind, "clock_gettime"), [which, told])
        whole, rest = (builder.extract_value(builder.load(told), k) for k in range(2))
        return builder.add(builder.mul(whole, word(NANOSECONDS)), rest)

    return types.int64(number), generate


read: Any = _read_plain if DISABLED else _read


@jit(inline=True)
def is_late(deadline):
    """Whether a deadline has passed: a clock's number and the nanoseconds on it, of which 0 are no deadline."""
    return deadline[1] > 0 and read(deadline[0]) >= deadline[1]


def after(seconds: float, clock: str) -> tuple[int, int]:
    """Returns the deadline for a time from now on, at least a nanosecond; the calling thread's on the clock "cpu"."""
    number = NUMBERS[clock]
    return number, time.clock_gettime_ns(number) + max(1, int(NANOSECONDS * seconds))
