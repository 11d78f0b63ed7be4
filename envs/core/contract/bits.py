"""Words of 64 bits as boards: counting bits, and boards of 4 by 4 cells with four bits each.

Cell (y, x) of such a board has its lowest bit at 4 * (4 * y + x). A line is four cells, lowest bits first.
"""

from __future__ import annotations

from leafwise.envs.core.compile.jit import jit
from leafwise.envs.core.contract.stream import u64

PAIRS = u64(0x5555555555555555)
PAIRS_OF_NIBBLES = u64(0x3333333333333333)
LOW_NIBBLES = u64(0x0F0F0F0F0F0F0F0F)
BYTES = u64(0x0101010101010101)
S56 = u64(56)

ZERO, ONE, TWO, THREE, FOUR = u64(0), u64(1), u64(2), u64(3), u64(4)
S8, S12, S16, S24, S32, S48 = u64(8), u64(12), u64(16), u64(24), u64(32), u64(48)
LINE = u64(0xFFFF)
"""The first row of a board."""
NIBBLES = u64(0x1111111111111111)
"""The lowest bit of every cell."""


@jit(inline=True)
def count_bits(x):
    """Counts the bits of a uint64; the compiler turns this form into one instruction."""
    x = x - ((x >> ONE) & PAIRS)
    x = (x & PAIRS_OF_NIBBLES) + ((x >> TWO) & PAIRS_OF_NIBBLES)
    x = (x + (x >> FOUR)) & LOW_NIBBLES
    return (x * BYTES) >> S56


@jit(inline=True)
def transpose(b):
    """Swaps rows and columns of a board (uint64)."""
    a = (b & u64(0xF0F00F0FF0F00F0F)) | ((b & u64(0x0000F0F00000F0F0)) << S12) | ((b & u64(0x0F0F00000F0F0000)) >> S12)
    return (
        (a & u64(0xFF00FF0000FF00FF)) | ((a & u64(0x00FF00FF00000000)) >> S24) | ((a & u64(0x00000000FF00FF00)) << S24)
    )


@jit(inline=True)
def mirror(b):
    """Reverses every row of a board (uint64)."""
    b = ((b & u64(0x00FF00FF00FF00FF)) << S8) | ((b >> S8) & u64(0x00FF00FF00FF00FF))
    return ((b & u64(0x0F0F0F0F0F0F0F0F)) << FOUR) | ((b >> FOUR) & u64(0x0F0F0F0F0F0F0F0F))


@jit(inline=True)
def flip(b):
    """Reverses the order of the rows of a board (uint64)."""
    b = (b << S32) | (b >> S32)
    return ((b & u64(0x0000FFFF0000FFFF)) << S16) | ((b >> S16) & u64(0x0000FFFF0000FFFF))


@jit(inline=True)
def occupied(b):
    """Returns a word with the lowest bit of every cell of a board (uint64) that is not 0."""
    b = b | (b >> TWO)
    return (b | (b >> ONE)) & NIBBLES


@jit(inline=True)
def highest_rank(b):
    """Returns the highest rank on a board (uint64), 0 to 15, as a uint64."""
    cells = NIBBLES
    rank = ZERO
    for bit in (THREE, TWO, ONE, ZERO):
        having = (b >> bit) & cells
        if having:
            cells = having
            rank |= ONE << bit
    return rank


@jit(inline=True)
def looked_up(b, lines):
    """Returns a board whose rows are entries of a table [65536], indexed by the rows of the board `b` (uint64)."""
    return (
        u64(lines[b & LINE])
        | (u64(lines[(b >> S16) & LINE]) << S16)
        | (u64(lines[(b >> S32) & LINE]) << S32)
        | (u64(lines[b >> S48]) << S48)
    )


@jit(inline=True)
def sum_of_rows(b, table):
    """Returns the sum of the entries of a table [65536] for the four rows of a board (uint64)."""
    return table[b & LINE] + table[(b >> S16) & LINE] + table[(b >> S32) & LINE] + table[b >> S48]


@jit(inline=True)
def symmetric_boards(S, i, T):
    """Returns the board in word 0 of row i of S [rows, width] under its eight symmetries, the identity first."""
    b = S[i, 0]
    m = mirror(b)
    f = flip(b)
    fm = flip(m)
    return b, m, f, fm, transpose(b), transpose(m), transpose(f), transpose(fm)
