"""Small files of tables: 16-bit entries, and only those that training has seen.

Each table becomes a bitmap of the entries that are not 0 and the low and high bytes of those, deflated. An entry is `scale`
times an integer, one scale a table; the integers are zigzag-coded, so that most high bytes are 0.
"""

from __future__ import annotations

import zlib
from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from leafwise.envs.core.errors import UserError

LEVEL = 9
PARTS = ("seen", "low", "high")


def pack(table: NDArray[Any], scales: NDArray[np.float32], sizes: Sequence[int]) -> dict[str, NDArray[Any]]:
    """Returns the tensors of tables of int16 that stand one after another; `unpack` makes the same tables of them."""
    tensors: dict[str, NDArray[Any]] = {"scales": scales}
    starts = np.cumsum([0, *sizes])
    for k, (start, end) in enumerate(pairwise(starts)):
        entries = table[start:end]
        seen = entries != 0
        wide = entries[seen].astype(np.int32)
        zigzag = ((wide << 1) ^ (wide >> 31)).astype("<u2").view(np.uint8)
        for part, data in zip(PARTS, (np.packbits(seen), zigzag[::2], zigzag[1::2]), strict=True):
            tensors[f"{part}_{k}"] = np.frombuffer(zlib.compress(data.tobytes(), LEVEL), dtype=np.uint8)
    return tensors


def unpack(
    tensors: Mapping[str, NDArray[Any]], sizes: Sequence[int], copies: int
) -> tuple[NDArray[np.int16], NDArray[np.float32]]:
    """Returns the tables and their scales, `copies` of tables of these sizes; raises ValueError for other tensors."""
    names = {f"{part}_{k}" for part in PARTS for k in range(len(sizes) * copies)} | {"scales"}
    if set(tensors) != names:
        expected = f"{len(names)} tensors, scales and {', '.join(PARTS)} of {len(sizes) * copies} tables"
        raise UserError(f"expected {expected}, got {len(tensors)}")
    scales = tensors["scales"]
    if scales.dtype != np.float32 or scales.ndim != 1 or not np.isfinite(scales).all() or not (scales > 0).all():
        raise UserError("expected scales of float32 above 0")
    if len(scales) != len(sizes):
        raise UserError(f"expected {len(sizes)} scales, got {len(scales)}")
    table = np.zeros(sum(sizes) * copies, dtype=np.int16)
    for k, (start, end) in enumerate(pairwise(np.cumsum([0, *[*sizes] * copies]))):
        inflate_entries([tensors[f"{part}_{k}"] for part in PARTS], table[start:end])
    return table, scales


def inflate_entries(parts: list[NDArray[Any]], entries: NDArray[np.int16]) -> None:
    """Fills one table of zeros from its bitmap, low bytes and high bytes; raises ValueError if they do not fit its size."""
    size = len(entries)
    if any(part.dtype != np.uint8 or part.ndim != 1 for part in parts):
        raise UserError("expected packed tables as bytes")
    bits, low, high = (np.frombuffer(inflate(part.tobytes(), 2 * size), dtype=np.uint8) for part in parts)
    if len(bits) != (size + 7) // 8:
        raise UserError(f"expected a bitmap of {size} entries, got {8 * len(bits)}")
    seen = np.unpackbits(bits, count=size).view(np.bool_)
    if not len(low) == len(high) == np.count_nonzero(seen):
        raise UserError(f"expected {np.count_nonzero(seen)} entries, got {len(low)} and {len(high)} bytes")
    zigzag = low.astype(np.uint16) | (high.astype(np.uint16) << 8)
    entries[seen] = (zigzag >> 1).astype(np.int16) ^ -(zigzag & 1).astype(np.int16)


def inflate(data: bytes, most: int) -> bytes:
    """Returns deflated bytes as they were, at most `most`; raises ValueError for others."""
    worker = zlib.decompressobj()
    try:
        found = worker.decompress(data, most)
    except zlib.error as problem:
        raise UserError(f"expected deflated tables: {problem}") from None
    if not worker.eof:
        raise UserError(f"expected a deflated table of at most {most} bytes, got more, or not all of it")
    return found
