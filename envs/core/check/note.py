"""A note that the checking process leaves in a file while it calls a rule, so that its death can be explained."""

from __future__ import annotations

import mmap
import struct
from pathlib import Path
from typing import NamedTuple

SIZE, RULE_AT, TEXT_AT = 4096, 16, 128
COMPILING = 1


class Said(NamedTuple):
    """What was said last."""

    calls: int
    """Calls so far; where it stands still, nothing happens."""
    compiling: bool
    rule: str
    position: str


class Note:
    """The file as memory: `position` is said once for each position, `calling` before each call."""

    def __init__(self, path: Path) -> None:
        if not path.exists():
            path.write_bytes(bytes(SIZE))
        with path.open("r+b") as file:
            self._memory = mmap.mmap(file.fileno(), SIZE)
        self._calls = 0

    def position(self, text: str) -> None:
        """Says at which position rules are called from now on."""
        self._write(TEXT_AT, text.encode(errors="replace")[: SIZE - TEXT_AT - 2])

    def calling(self, rule: str, *, compiling: bool = False) -> None:
        """Says which rule is called now."""
        self._calls += 1
        self._write(RULE_AT, rule.encode()[: TEXT_AT - RULE_AT - 2])
        struct.pack_into("<QQ", self._memory, 0, self._calls, COMPILING if compiling else 0)

    def _write(self, at: int, words: bytes) -> None:
        self._memory[at : at + 2 + len(words)] = struct.pack("<H", len(words)) + words

    def read(self) -> Said:
        """Returns what was said last, by whatever process."""
        calls, flags = struct.unpack_from("<QQ", self._memory, 0)
        return Said(calls, bool(flags & COMPILING), self._read(RULE_AT), self._read(TEXT_AT))

    def _read(self, at: int) -> str:
        (length,) = struct.unpack_from("<H", self._memory, at)
        return self._memory[at + 2 : at + 2 + length].decode(errors="replace")

    def close(self) -> None:
        """Lets go of the file."""
        self._memory.close()
