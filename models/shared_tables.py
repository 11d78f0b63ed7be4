"""Tables of 16 bits: how a model file packs them, and how processes that search have them once in memory.

A model file holds a bitmap of the entries that training has seen, and the low and high bytes of those. Large tables are unpacked
once, into a file beside compiled code that every process maps; where none can be kept, each process unpacks its own.
"""

from __future__ import annotations

import json
import os
import struct
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from itertools import chain, pairwise
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from leafwise.envs.core.arrays import Array, Floats32
from leafwise.envs.core.compile.cache import cache_root, warn_not_kept
from leafwise.envs.core.errors import UserError
from leafwise.envs.core.files import mapped, private_folder, write_parts
from leafwise.envs.core.waiting import waiting
from leafwise.models.tensors import KEY, load_metadata

LEVEL = 9
PARTS = ("seen", "low", "high")
Entries = NDArray[np.int16]


def pack(table: Array, scales: Floats32, sizes: Sequence[int]) -> dict[str, Array]:
    """Returns the tensors of tables of int16 that stand one after another; `unpack` makes the same tables of them."""
    tensors: dict[str, Array] = {"scales": scales}
    starts = np.cumsum([0, *sizes])
    for k, (start, end) in enumerate(pairwise(starts)):
        entries = table[start:end]
        seen = entries != 0
        wide = entries[seen].astype(np.int32)
        zigzag = ((wide << 1) ^ (wide >> 31)).astype("<u2").view(np.uint8)
        for part, data in zip(PARTS, (np.packbits(seen), zigzag[::2], zigzag[1::2]), strict=True):
            tensors[f"{part}_{k}"] = np.frombuffer(zlib.compress(data.tobytes(), LEVEL), dtype=np.uint8)
    return tensors


class PackedTables:
    """Tables of int16 as a model file holds them, `copies` of tables of these sizes."""

    def __init__(self, tensors: Mapping[str, Array], sizes: Sequence[int], copies: int) -> None:
        """Raises ValueError for tensors that are none of these."""
        names = {f"{part}_{k}" for part in PARTS for k in range(len(sizes) * copies)} | {"scales"}
        if set(tensors) != names:
            expected = f"{len(names)} tensors, scales and {', '.join(PARTS)} of {len(sizes) * copies} tables"
            raise UserError(f"expected {expected}, got {len(tensors)}")
        scales = tensors["scales"]
        if scales.dtype != np.float32 or scales.ndim != 1 or not np.isfinite(scales).all() or not (scales > 0).all():
            raise UserError(f"expected scales of float32 above 0, got {scales.dtype} {scales[:3].tolist()}")
        if len(scales) != len(sizes):
            raise UserError(f"expected {len(sizes)} scales, got {len(scales)}")
        self.scales: Floats32 = scales
        self.tensors, self.sizes, self.copies = tensors, sizes, copies

    def read(self, copy: int, k: int) -> Entries:
        """Returns a table; raises ValueError if what the file holds does not fit its size."""
        parts = [self.tensors[f"{part}_{copy * len(self.sizes) + k}"] for part in PARTS]
        return inflate_entries(parts, self.sizes[k])


def joined(tables: Iterable[Entries], entries: int) -> Entries:
    """Returns tables of so many entries in all one after another; each is asked for as the one before is copied."""
    whole, end = np.empty(entries, dtype=np.int16), 0
    with waiting("unpacking the tables of a network"):
        for table in tables:
            start, end = end, end + len(table)
            whole[start:end] = table
    return whole


def inflate_entries(parts: list[Array], size: int) -> Entries:
    """Returns one table from its bitmap, low bytes and high bytes; raises ValueError if they do not fit its size."""
    if any(part.dtype != np.uint8 or part.ndim != 1 for part in parts):
        raise UserError(f"expected packed tables as bytes, got {', '.join(str(part.dtype) for part in parts)}")
    bits, low, high = (np.frombuffer(inflate(part.tobytes(), 2 * size), dtype=np.uint8) for part in parts)
    if len(bits) != (size + 7) // 8:
        raise UserError(f"expected a bitmap of {size} entries, got {8 * len(bits)}")
    seen = np.unpackbits(bits, count=size).view(np.bool_)
    if not len(low) == len(high) == np.count_nonzero(seen):
        raise UserError(f"expected {np.count_nonzero(seen)} entries, got {len(low)} and {len(high)} bytes")
    zigzag = low.astype(np.uint16) | (high.astype(np.uint16) << 8)
    entries = np.zeros(size, dtype=np.int16)
    entries[seen] = (zigzag >> 1).astype(np.int16) ^ -(zigzag & 1).astype(np.int16)
    return entries


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


FOLDER = "networks"
"""The folder beside compiled code with files of tables."""
LARGE = 1 << 24
"""Bytes of tables from which on they are kept in a file."""
KEPT = 4
"""Files of tables that are kept, those that were used last; older ones are removed when a new one is written."""
PAGE = 1 << 21
"""Bytes at a multiple of which tables begin in a file: a large page, so that the system keeps and maps it in large pages."""


class Tables(NamedTuple):
    """Tables of a network, one after another."""

    which: list[int]
    """What they are: their numbers among the tables of the model file, for one copy of them."""
    entries: int
    """How many entries they have in all."""
    each: Iterator[Entries]


def kept_tables(name: str, make: Callable[[], Tables]) -> tuple[list[int], Entries] | None:
    """Returns the `Tables.which` and the entries of tables, in the memory of their file, which all processes share.

    The file, of a name that tells the tables from all others, is written where there is none, or one of another size. None, with a
    warning, where no file can be kept, or others can write it.
    """
    try:
        path = private_folder(cache_root() / FOLDER) / f"{name}.safetensors"
        try:
            which = load_metadata(path)["which"]
            with suppress(OSError):  # a cache that can only be read
                os.utime(path)
        except UserError:
            with waiting("unpacking the tables of a network", path.parent):
                which, entries, each = make()
                write_parts(path, chain((header(which, entries),), each))
            forget(path)
            prune(path.parent)
        memory = mapped(path)
    except OSError as problem:
        warn_not_kept(problem, "the tables of networks are not kept, every process unpacks its own")
        return None
    return which, np.frombuffer(memory, np.int16, offset=8 + int.from_bytes(memory[:8], "little"))


def header(which: list[int], entries: int) -> bytes:
    """Returns what stands before the tables in their file, which is a `.safetensors` of one tensor."""
    tensor = {"dtype": "I16", "shape": [entries], "data_offsets": [0, 2 * entries]}
    told = json.dumps({"__metadata__": {KEY: json.dumps({"which": which})}, "tables": tensor}).encode()
    told += b" " * (-(8 + len(told)) % PAGE)
    return struct.pack("<Q", len(told)) + told


def forget(path: Path) -> None:
    """Has the system read a file from the disk when it is mapped: in large pages then, which it does not write it in."""
    if hasattr(os, "posix_fadvise"):
        with open(path, "rb") as file:
            os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)


def prune(folder: Path) -> None:
    """Removes all but the files that were used last, also those that a process which was killed had begun."""
    with suppress(OSError):  # another process removes them too
        for old in sorted(folder.iterdir(), key=lambda path: path.stat().st_mtime, reverse=True)[KEPT:]:
            old.unlink(missing_ok=True)
