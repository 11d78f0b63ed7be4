"""Arrays of plain Python that refuse an index outside, a negative one, a word that does not fit, and a row of somebody else's.

Plain Python counts a negative index from the end and cuts words off in silence; compiled code reads and writes whatever lies there.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray


class Misuse(Exception):
    """An index or a value that an array refuses; its message is "expected ..., got ..."."""


class Guard:
    """What an array is called, and what may be done with it."""

    def __init__(self, label: str, *, writable: bool = True, exact: bool = False) -> None:
        self.label, self.writable, self.exact = label, writable, exact
        self.reads: frozenset[int] | None = None
        """Rows that may be read; None: all."""
        self.writes: frozenset[int] | None = None

    def check(self, shape: tuple[int, ...], key: Any, write: bool) -> None:
        """Raises Misuse for an index that the array refuses."""
        if write and not self.writable:
            raise Misuse(f"expected only arrays named in `scratch` to be written, got a write to {self.label}")
        keys = key if isinstance(key, tuple) else (key,)
        if len(keys) > len(shape):
            raise Misuse(f"expected at most {len(shape)} indices for {self.label}, got {len(keys)}")
        for axis, k in enumerate(keys):
            if k is Ellipsis or k is None:
                return
            if isinstance(k, (int, np.integer)) and not isinstance(k, (bool, np.bool_)):
                if not 0 <= k < shape[axis]:
                    raise Misuse(self._outside(axis, int(k), shape, write))
            elif isinstance(k, (float, np.floating, bool, np.bool_)):
                raise Misuse(f"expected a whole number as index of {self.label}, got {k!r}")
        if self.reads is not None and isinstance(keys[0], (int, np.integer)):
            self._check_row(int(keys[0]), write)

    def _outside(self, axis: int, k: int, shape: tuple[int, ...], write: bool) -> str:
        place = "index" if len(shape) == 1 else "row" if axis == 0 else f"index {axis}"
        verb = "written" if write else "read"
        return f"expected {place} 0 to {shape[axis] - 1} of {self.label} to be {verb}, got {k}"

    def _check_row(self, row: int, write: bool) -> None:
        allowed = self.writes if write else self.reads
        if allowed is not None and row not in allowed:
            some = ", ".join(map(str, sorted(allowed)[:3])) + (", ..." if len(allowed) > 3 else "")
            verb = "written" if write else "read"
            raise Misuse(f"expected only rows ({some}) of {self.label} to be {verb}, got row {row}")

    def fits(self, array: NDArray[Any], key: Any, value: Any) -> None:
        """Raises Misuse for a number that a word of the array cannot hold."""
        if not self.exact or array.dtype.kind not in "iu" or not np.isscalar(value):
            return
        number: Any = value
        if isinstance(value, (float, np.floating)) and value != np.floor(value):  # nan is not equal to itself
            raise Misuse(f"expected a whole number in {self.label}{_shown(key)}, got {value}")
        low, high = np.iinfo(array.dtype).min, np.iinfo(array.dtype).max
        if not low <= int(number) <= high:
            raise Misuse(
                f"expected a number in {low}..{high} ({array.dtype}) in {self.label}{_shown(key)}, got {number}"
            )


def _shown(key: Any) -> str:
    keys = key if isinstance(key, tuple) else (key,)
    return f"[{', '.join(str(int(k)) if isinstance(k, (int, np.integer)) else ':' for k in keys)}]"


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
            found.guard = _part(guard, key)
        return found

    def __setitem__(self, key: Any, value: Any) -> None:
        guard = self.guard
        if guard is not None:
            guard.check(self.shape, key, True)
            guard.fits(self, key, value)
        super().__setitem__(key, value)


def _part(guard: Guard, key: Any) -> Guard:
    """Returns the guard of a part: of row k of `S`, which may be written if that row may."""
    first = key[0] if isinstance(key, tuple) else key
    known = guard.writes is not None and isinstance(first, (int, np.integer))
    writable = guard.writable and (not known or int(first) in (guard.writes or ()))
    part = Guard(f"{guard.label}{_shown(key)}", writable=writable, exact=guard.exact)
    if not known:
        part.reads, part.writes = None, None
    return part


def guarded(array: NDArray[Any], guard: Guard) -> NDArray[Any]:
    """Returns a view of an array that asks `guard`."""
    view = array.view(Guarded)
    view.guard = guard
    return view


def guarded_tables(T: Any, scratch: frozenset[str], path: str = "") -> Any:
    """Returns a NamedTuple, or a tuple, with every array in it guarded; only those that `scratch` names may be written."""
    if isinstance(T, np.ndarray):
        return guarded(T, Guard(f"T.{path}", writable=path in scratch))
    if hasattr(T, "_fields"):
        parts = {name: guarded_tables(getattr(T, name), scratch, f"{path}.{name}".lstrip(".")) for name in T._fields}
        return T._replace(**parts)
    if isinstance(T, tuple):
        return tuple(guarded_tables(part, scratch, path) for part in T)
    return T
