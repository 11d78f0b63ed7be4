"""Reads the system's clocks in compiled code, so that a search can end itself when its time is up."""

from __future__ import annotations

import time
from typing import Any

from leafwise.envs.core.compile import emitted
from leafwise.envs.core.compile.emitted import NANOSECONDS
from leafwise.envs.core.compile.jit import DISABLED, PLAIN, jit

READABLE = emitted.READABLE and not PLAIN
"""Whether compiled code can read a clock here."""
NUMBERS: dict[str, int] = {"wall": time.CLOCK_MONOTONIC, "cpu": time.CLOCK_THREAD_CPUTIME_ID} if READABLE else {}
"""What the system calls the clocks: time that passes, and time for which the thread that asks has computed."""


def _read_plain(number: int) -> int:
    """Returns the nanoseconds on a clock."""
    return time.clock_gettime_ns(int(number))


@jit(inline=True)
def _read_nothing(number):
    """Stands in where compiled code cannot read a clock; never asked."""
    return 0


read: Any = _read_plain if DISABLED else emitted.read_clock if READABLE else _read_nothing


@jit(inline=True)
def is_late(deadline):
    """Whether a deadline has passed: a clock's number and the nanoseconds on it, of which 0 are no deadline."""
    return deadline[1] > 0 and read(deadline[0]) >= deadline[1]


def after(seconds: float, clock: str) -> tuple[int, int]:
    """Returns the deadline for a time from now on, at least a nanosecond; the calling thread's on the clock "cpu"."""
    number = NUMBERS[clock]
    return number, time.clock_gettime_ns(number) + max(1, int(NANOSECONDS * seconds))
