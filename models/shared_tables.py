"""Tables of 16 bits: how a model file packs them, and how processes share them in memory.

A model file holds a bitmap of the entries seen in training, and their low and high bytes. Large tables are unpacked once, into a
file beside compiled code that every process maps. If no file can be kept, each process unpacks its own.
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
    """Returns the tensors of tables of int16, given one after another; `PackedTables` reads them back."""
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
    """Tables of int16 as a model file stores them: `copies` of tables of these sizes."""

    def __init__(self, tensors: Mapping[str, Array], sizes: Sequence[int], copies: int) -> None:
        """Checks names and scales; raises ValueError for tensors of anything else."""
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
        """Unpacks a table; raises ValueError if its tensors do not fit its size."""
        parts = [self.tensors[f"{part}_{copy * len(self.sizes) + k}"] for part in PARTS]
        return inflate_entries(parts, self.sizes[k])


def concatenated(tables: Iterable[Entries], entries: int) -> Entries:
    """Returns tables of `entries` in all as one array; each is unpacked after the previous one is copied."""
    whole, end = np.empty(entries, dtype=np.int16), 0
    with waiting("unpacking the tables of a network"):
        for table in tables:
            start, end = end, end + len(table)
            whole[start:end] = table
    return whole


def inflate_entries(parts: list[Array], size: int) -> Entries:
    """Returns a table from its bitmap, low bytes and high bytes; raises ValueError if they do not fit its size."""
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
    """Inflates at most `most` bytes; raises ValueError for more, and for bytes that are not deflated."""
    worker = zlib.decompressobj()
    try:
        content = worker.decompress(data, most)
    except zlib.error as problem:
        raise UserError(f"expected deflated tables: {problem}") from None
    if not worker.eof:
        raise UserError(f"expected a deflated table of at most {most} bytes, got more, or not all of it")
    return content


FOLDER = "networks"
"""The folder for files of tables, beside compiled code."""
LARGE = 1 << 24
"""Minimum number of bytes of tables that are kept in a file."""
KEEP_FILES = 4
"""Number of files of tables that are kept; the least recently used are removed when a new one is written."""
PAGE = 1 << 21
"""Tables begin in a file at a multiple of so many bytes, so that the system can map it in large pages."""


class MergedTables(NamedTuple):
    """The tables left after merging, one after another."""

    which: list[int]
    """Their indices among the tables of the model file, for one copy."""
    entries: int
    """Number of entries of all tables and copies."""
    each: Iterator[Entries]
    """The tables, copy by copy."""


def kept_tables(name: str, make: Callable[[], MergedTables]) -> tuple[list[int], Entries] | None:
    """Returns `which` and the entries of merged tables, mapped from a file that all processes share.

    `name` identifies the tables. The file is written if it is missing or broken. Returns None, with a warning, if no file can be
    kept, or if other users could write it.
    """
    try:
        path = private_folder(cache_root() / FOLDER) / f"{name}.safetensors"
        try:
            which = load_metadata(path)["which"]
            with suppress(OSError):  # the cache is read-only
                os.utime(path)
        except UserError:
            with waiting("unpacking the tables of a network", path.parent):
                which, entries, each = make()
                write_parts(path, chain((header(which, entries),), each))
            drop_pages(path)
            remove_old(path.parent)
        memory = mapped(path)
    except OSError as problem:
        warn_not_kept(problem, "the tables of networks are not kept, every process unpacks its own")
        return None
    return which, np.frombuffer(memory, np.int16, offset=8 + int.from_bytes(memory[:8], "little"))


def header(which: list[int], entries: int) -> bytes:
    """Returns the header of the file of tables, a `.safetensors` of one tensor."""
    tensor = {"dtype": "I16", "shape": [entries], "data_offsets": [0, 2 * entries]}
    text = json.dumps({"__metadata__": {KEY: json.dumps({"which": which})}, "tables": tensor}).encode()
    text += b" " * (-(8 + len(text)) % PAGE)
    return struct.pack("<Q", len(text)) + text


def drop_pages(path: Path) -> None:
    """Drops a file from the system's page cache: it is read back in large pages when it is mapped, but not written in them."""
    if hasattr(os, "posix_fadvise"):
        with open(path, "rb") as file:
            os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)


def remove_old(folder: Path) -> None:
    """Removes all but the most recently used files, also unfinished ones of killed processes."""
    with suppress(OSError):  # another process removes them too
        for old in sorted(folder.iterdir(), key=lambda path: path.stat().st_mtime, reverse=True)[KEEP_FILES:]:
            old.unlink(missing_ok=True)
