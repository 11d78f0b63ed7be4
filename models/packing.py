"""Small files of n-tuple networks: 16-bit entries, and only those that training has seen.

Each table becomes a bitmap of the entries that are not 0 and the low and high bytes of those, deflated. An entry is `scale`
times an integer, one scale a table; the integers are zigzag-coded, so that most high bytes are 0.
"""

from __future__ import annotations

import zlib
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from leafwise.envs.core.contract.game import Game
from leafwise.models.ntuple import NTupleNetwork, Shape, features

LEVEL = 9
MOST = 32767
PARTS = ("seen", "low", "high")


def quantised(network: NTupleNetwork, step: float) -> NTupleNetwork:
    """Returns a network of float32 with entries of int16, rounded to multiples of `step`, in the unit of the values.

    A table with entries beyond 32,767 steps gets the coarser step that holds them. Raises ValueError for a step of 0.
    """
    if not step > 0 or network.packed:
        raise ValueError(f"quantised: expected a network of float32 and a step above 0, got step {step!r}")
    shape, sizes = network.shape, network.shape.sizes(network.game)
    starts = np.cumsum([0, *sizes])
    table = np.zeros(network.weights.table.shape, dtype=np.int16)
    scales = []
    for t, start in enumerate(starts[:-1]):
        parts = [slice(start + k * starts[-1], starts[t + 1] + k * starts[-1]) for k in range(shape.copies)]
        largest = max(float(np.abs(network.weights.table[p]).max(initial=0.0)) for p in parts)
        scales.append(float(np.float32(max(step, largest / MOST))))
        for part in parts:
            table[part] = np.clip(np.rint(network.weights.table[part] / scales[-1]), -MOST, MOST)
    return NTupleNetwork.create(network.game, shape, table, scales)


def restored(network: NTupleNetwork) -> NTupleNetwork:
    """Returns a network of int16 with entries of float32, to be trained on; one of float32 as it is."""
    if not network.packed:
        return network
    units = np.repeat(network.weights.scales, network.shape.sizes(network.game))
    table = network.weights.table * np.tile(units, network.shape.copies)
    return NTupleNetwork.create(network.game, network.shape, table)


def merged(network: NTupleNetwork) -> NTupleNetwork:
    """Returns a network of equal values that adds each tuple whose cells all belong to another one to that one's table.

    It takes fewer look-ups, but its tables are full of entries that training has not seen: to be played with, not trained or
    packed. Tables stay apart where their units differ or their sums might not fit; a network of float32, whose sums would be
    rounded otherwise, is returned as it is.
    """
    tuples = network.shape.tuples
    if not network.packed or len(set(tuples)) < len(tuples):
        return network
    whole = NTupleNetwork.create(
        network.game, network.shape, network.weights.table.copy(), [float(s) for s in network.weights.scales]
    )
    stages = [whole.tables(k) for k in range(network.shape.copies)]
    units = dict(zip(tuples, whole.weights.scales, strict=False))
    most = {t: max(max(int(tables[t].max()), -int(tables[t].min())) for tables in stages) for t in tuples}
    kept = list(tuples)
    for t in sorted(tuples, key=len):
        fits = [u for u in kept if set(t) < set(u) and units[t] == units[u] and most[t] + most[u] <= MOST]
        if fits:
            kept.remove(t)
            most[fits[0]] += most[t]
            for tables in stages:
                tables[fits[0]].reshape((16,) * len(fits[0]))[:] += spread(tables[t], t, fits[0])
    small = features(network.game).extra_sizes
    names: list[tuple[int, ...] | str] = [*kept, *small]
    table = np.concatenate([tables[name] for tables in stages for name in names])
    scales = [float(units[t]) for t in kept] + [float(s) for s in whole.weights.scales[len(tuples) :]]
    return NTupleNetwork.create(network.game, replace(network.shape, tuples=tuple(kept)), table, scales)


def spread(table: NDArray[Any], cells: Sequence[int], wider: Sequence[int]) -> NDArray[Any]:
    """Returns a tuple's table with an axis for each cell of a wider tuple, last cell first, of length 1 for cells it lacks."""
    axes = [len(cells) - 1 - cells.index(c) for c in reversed(wider) if c in cells]
    shape = [16 if c in cells else 1 for c in reversed(wider)]
    return table.reshape((16,) * len(cells)).transpose(axes).reshape(shape)


def pack(network: NTupleNetwork) -> dict[str, NDArray[Any]]:
    """Returns the tensors of a network of int16; `unpack` makes the same network of them."""
    sizes = network.shape.sizes(network.game)
    tensors: dict[str, NDArray[Any]] = {"scales": network.weights.scales}
    starts = np.cumsum([0, *sizes * network.shape.copies])
    for k, (start, end) in enumerate(pairwise(starts)):
        entries = network.weights.table[start:end]
        seen = entries != 0
        wide = entries[seen].astype(np.int32)
        zigzag = ((wide << 1) ^ (wide >> 31)).astype("<u2").view(np.uint8)
        for part, data in zip(PARTS, (np.packbits(seen), zigzag[::2], zigzag[1::2]), strict=True):
            tensors[f"{part}_{k}"] = np.frombuffer(zlib.compress(data.tobytes(), LEVEL), dtype=np.uint8)
    return tensors


def unpack(game: Game, shape: Shape, tensors: Mapping[str, NDArray[Any]]) -> NTupleNetwork:
    """Returns the network that `pack` took apart; raises ValueError for tensors that are not of one."""
    shape = shape.check(game)
    sizes = shape.sizes(game) * shape.copies
    names = {f"{part}_{k}" for part in PARTS for k in range(len(sizes))} | {"scales"}
    if set(tensors) != names:
        raise ValueError(f"expected {len(names)} tensors, scales and {', '.join(PARTS)} of {len(sizes)} tables")
    scales = tensors["scales"]
    if scales.dtype != np.float32 or scales.ndim != 1 or not np.isfinite(scales).all() or not (scales > 0).all():
        raise ValueError("expected scales of float32 above 0")
    table = np.zeros(sum(sizes), dtype=np.int16)
    starts = np.cumsum([0, *sizes])
    for k, (start, end) in enumerate(pairwise(starts)):
        table[start:end] = inflated_entries([tensors[f"{part}_{k}"] for part in PARTS], int(end - start))
    return NTupleNetwork.create(game, shape, table, [float(s) for s in scales])


def inflated_entries(parts: list[NDArray[Any]], size: int) -> NDArray[np.int16]:
    """Returns one table from its bitmap, low bytes and high bytes; raises ValueError if they do not fit its size."""
    if any(part.dtype != np.uint8 or part.ndim != 1 for part in parts):
        raise ValueError("expected packed tables as bytes")
    bits, low, high = (np.frombuffer(inflate(part.tobytes(), 2 * size), dtype=np.uint8) for part in parts)
    entries = np.zeros(size, dtype=np.int16)
    if len(bits) != (size + 7) // 8:
        raise ValueError(f"expected a bitmap of {size} entries, got {8 * len(bits)}")
    seen = np.unpackbits(bits, count=size).view(np.bool_)
    if not len(low) == len(high) == np.count_nonzero(seen):
        raise ValueError(f"expected {np.count_nonzero(seen)} entries, got {len(low)} and {len(high)} bytes")
    zigzag = low.astype(np.uint16) | (high.astype(np.uint16) << 8)
    entries[seen] = (zigzag >> 1).astype(np.int16) ^ -(zigzag & 1).astype(np.int16)
    return entries


def inflate(data: bytes, most: int) -> bytes:
    """Returns deflated bytes as they were, at most `most`; raises ValueError for others."""
    worker = zlib.decompressobj()
    try:
        found = worker.decompress(data, most)
    except zlib.error as problem:
        raise ValueError(f"expected deflated tables: {problem}") from None
    if not worker.eof:
        raise ValueError(f"expected a deflated table of at most {most} bytes, got more, or not all of it")
    return found
