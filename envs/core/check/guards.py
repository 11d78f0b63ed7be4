"""Arrays that refuse an index outside, a negative one, a word that does not fit, and a row of somebody else's, in plain Python.

Plain Python counts a negative index from the end and cuts words off in silence; compiled code reads and writes whatever lies there.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

MARGIN = 64
"""Words before and behind a block."""


WHOLE_NUMBERS = {int, *(np.dtype(code).type for code in np.typecodes["AllInteger"])}


class Misuse(Exception):
    """An index or a value that an array refuses; its message is "expected ..., got ..."."""


class Guard:
    """What an array is called, and what may be done with it."""

    def __init__(self, label: str, *, writable: bool = True, exact: bool = False) -> None:
        self.label, self.writable, self.exact = label, writable, exact
        """`exact`: numbers that a word cannot hold are refused."""
        self.reads: frozenset[int] | None = None
        """Rows that may be read; None: all."""
        self.writes: frozenset[int] | None = None

    def permit(self, reads: frozenset[int], writes: frozenset[int]) -> None:
        """Says which rows may be read and written; what may be written may be read."""
        self.reads, self.writes = reads | writes, writes

    def check(self, shape: tuple[int, ...], key: Any, write: bool) -> None:
        """Raises Misuse for an index that the array refuses."""
        if write and not self.writable:
            raise Misuse(f"expected only arrays named in `scratch` to be written, got a write to {self.label}")
        keys, verb = key if isinstance(key, tuple) else (key,), "written" if write else "read"
        if len(keys) > len(shape):
            raise Misuse(f"expected at most {len(shape)} indices for {self.label}, got {len(keys)}")
        for axis, k in enumerate(keys):
            if type(k) in WHOLE_NUMBERS:
                if 0 <= k < shape[axis]:
                    continue
                place = "index" if len(shape) == 1 else "row" if axis == 0 else f"index {axis}"
                raise Misuse(f"expected {place} 0 to {shape[axis] - 1} of {self.label} to be {verb}, got {int(k)}")
            if k is Ellipsis or k is None:
                return
            if isinstance(k, (bool, float, np.bool_, np.floating)):
                raise Misuse(f"expected a whole number as index of {self.label}, got {k!r}")
        allowed = self.writes if write else self.reads
        if allowed is not None and type(keys[0]) in WHOLE_NUMBERS and int(keys[0]) not in allowed:
            some = ", ".join(map(str, sorted(allowed)[:3])) + (", ..." if len(allowed) > 3 else "")
            raise Misuse(f"expected only rows ({some}) of {self.label} to be {verb}, got row {int(keys[0])}")

    def fits(self, array: NDArray[Any], key: Any, value: Any) -> None:
        """Raises Misuse for a number that a word of the array cannot hold."""
        if not self.exact or array.dtype.kind not in "iu" or not np.isscalar(value):
            return
        number: Any = value
        if isinstance(value, (float, np.floating)) and value != np.floor(value):  # nan is not equal to itself
            raise Misuse(f"expected a whole number in {self.label}{_shown(key)}, got {value}")
        low, high = np.iinfo(array.dtype).min, np.iinfo(array.dtype).max
        if not low <= int(number) <= high:
            fitting = f"a number in {low}..{high} ({array.dtype})"
            raise Misuse(f"expected {fitting} in {self.label}{_shown(key)}, got {number}")

    def part(self, key: Any) -> Guard:
        """Returns the guard of a part: of row k of `S`, which may be written if that row may."""
        first = key[0] if isinstance(key, tuple) else key
        known = self.writes is not None and type(first) in WHOLE_NUMBERS
        writable = self.writable and (not known or int(first) in (self.writes or ()))
        return Guard(f"{self.label}{_shown(key)}", writable=writable, exact=self.exact)


def _shown(key: Any) -> str:
    keys = key if isinstance(key, tuple) else (key,)
    return f"[{', '.join(str(int(k)) if type(k) in WHOLE_NUMBERS else ':' for k in keys)}]"


class Guarded(np.ndarray[Any, Any]):
    """An array with a guard; what is computed from it has none, a part of it keeps it."""

    guard: Guard | None

    def __array_finalize__(self, source: Any) -> None:
        self.guard = None

    def __getitem__(self, key: Any) -> Any:
        guard = self.guard
        if guard is None:
            return super().__getitem__(key)
        guard.check(self.shape, key, False)
        found = super().__getitem__(key)
        if isinstance(found, Guarded):
            found.guard = guard.part(key)
        return found

    def __setitem__(self, key: Any, value: Any) -> None:
        guard = self.guard
        if guard is not None:
            guard.check(self.shape, key, True)
            guard.fits(self, key, value)
        super().__setitem__(key, value)


def guarded(array: NDArray[Any], guard: Guard) -> NDArray[Any]:
    """Returns a view of an array that asks `guard`."""
    view = array.view(Guarded)
    view.guard = guard
    return view


def arrays_of(T: Any, path: str = "") -> Iterator[tuple[str, NDArray[Any]]]:
    """Yields every array of a NamedTuple, or a tuple, with its path; those of a tuple without names share the tuple's."""
    if isinstance(T, np.ndarray):
        yield path, T
    for k, part in enumerate(T if isinstance(T, tuple) else ()):
        yield from arrays_of(part, f"{path}.{T._fields[k]}".lstrip(".") if hasattr(T, "_fields") else path)


def guarded_tables(T: Any, scratch: frozenset[str], path: str = "") -> Any:
    """Returns a NamedTuple, or a tuple, with every array in it guarded; only those that `scratch` names may be written."""
    if isinstance(T, np.ndarray):
        return guarded(T, Guard(f"T.{path}", writable=path in scratch))
    if not isinstance(T, tuple):
        return T
    names = getattr(T, "_fields", [""] * len(T))
    parts = [guarded_tables(part, scratch, f"{path}.{name}".strip(".")) for name, part in zip(names, T, strict=True)]
    return T._make(parts) if hasattr(T, "_make") else tuple(parts)


class Block:
    """An array with margins that tell whether somebody wrote beyond it; rules are given `array`, `plain` is without a guard.

    There are two kinds of junk, words that no game would write: what depends on the kind was not written, or was read before.
    """

    def __init__(self, shape: tuple[int, ...], dtype: Any, label: str, *, is_guarded: bool) -> None:
        size, dtype = int(np.prod(shape)), np.dtype(dtype)
        bits, kind = (1 << (8 * dtype.itemsize)) - 1, dtype.kind
        words = (
            (-12345.5, 54321.25) if kind == "f" else (0, 1) if kind == "b" else (0x5A5A5A5A5A5A5A5A, 0x2525252525252525)
        )
        self.junk = [dtype.type(word if kind in "fb" else word & bits) for word in words]
        self.label, self._whole = label, np.empty(size + 2 * MARGIN, dtype=dtype)
        self._margins = [np.full(MARGIN, word).tobytes() for word in self.junk]
        self.plain: NDArray[Any] = self._whole[MARGIN : MARGIN + size].reshape(shape)
        self.guard = Guard(label, exact=True)
        self.array = guarded(self.plain, self.guard) if is_guarded else self.plain

    def clear(self, kind: int) -> None:
        """Fills everything with junk, the margins too."""
        self._whole.fill(self.junk[kind])

    def is_junk(self, rows: Any) -> bool:
        """Whether rows are as `clear` left them."""
        return bool((self.plain[rows] == self._whole[0]).all())

    def overrun(self, kind: int) -> bool:
        """Whether anything was written beyond the array since it was cleared."""
        margin = self._margins[kind]
        return self._whole[:MARGIN].tobytes() != margin or self._whole[-MARGIN:].tobytes() != margin
