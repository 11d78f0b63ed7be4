"""Bit counting for bitboards."""

from __future__ import annotations

from leafwise.envs.core.compile.jit import jit
from leafwise.envs.core.contract.stream import u64

PAIRS = u64(0x5555555555555555)
NIBBLE_PAIRS = u64(0x3333333333333333)
NIBBLES = u64(0x0F0F0F0F0F0F0F0F)
BYTES = u64(0x0101010101010101)
S1, S2, S4, S56 = u64(1), u64(2), u64(4), u64(56)


@jit(inline=True)
def count_bits(x):
    """Counts the bits of a uint64; the compiler knows this form and makes one instruction of it."""
    x = x - ((x >> S1) & PAIRS)
    x = (x & NIBBLE_PAIRS) + ((x >> S2) & NIBBLE_PAIRS)
    x = (x + (x >> S4)) & NIBBLES
    return (x * BYTES) >> S56
