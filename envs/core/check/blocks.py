"""Arrays in the middle of larger ones, whose ends tell whether somebody wrote beyond."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from leafwise.envs.core.check.fault import RuleFault
from leafwise.envs.core.check.guards import Guard, guarded

MARGIN = 64
"""Words before and behind."""
KINDS = 2
"""Kinds of junk: what depends on it was not written, or was read before it was."""


def junk(dtype: Any, kind: int) -> Any:
    """Returns a word that no game would write."""
    kind_of = np.dtype(dtype)
    if kind_of.kind == "f":
        return kind_of.type((-12345.5, 54321.25)[kind])
    if kind_of.kind == "b":
        return kind_of.type(kind)
    bits = (0x5A5A5A5A5A5A5A5A, 0x2525252525252525)[kind] & ((1 << (8 * kind_of.itemsize)) - 1)
    return kind_of.type(bits)


class Block:
    """An array of a shape with margins; `array` is what rules are given, `plain` the same without a guard."""

    def __init__(self, shape: tuple[int, ...], dtype: Any, label: str, *, is_guarded: bool, exact: bool = True) -> None:
        size = int(np.prod(shape))
        self.label = label
        self.whole = np.empty(size + 2 * MARGIN, dtype=dtype)
        self.plain: NDArray[Any] = self.whole[MARGIN : MARGIN + size].reshape(shape)
        self.guard = Guard(label, exact=exact)
        self.array = guarded(self.plain, self.guard) if is_guarded else self.plain

    def clear(self, kind: int) -> None:
        """Fills everything with junk, the margins too."""
        self.whole.fill(junk(self.whole.dtype, kind))

    def check_margins(self, rule: str, kind: int) -> None:
        """Raises RuleFault if anything was written beyond the array since it was cleared."""
        word, end = junk(self.whole.dtype, kind), len(self.whole) - MARGIN
        if (self.whole[:MARGIN] != word).any() or (self.whole[end:] != word).any():
            raise RuleFault(
                rule, f"expected writes within {self.label}, got one beyond its {'x'.join(map(str, self.plain.shape))}"
            )
