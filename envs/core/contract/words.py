"""What the rooms' texts share: words `name=value`, whole numbers, boards of marks, and refusals in one line.

`Game.parse` puts the game's name before a refusal.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from leafwise.envs.core.contract.typed_board import EMPTY, Alphabet, typed_cells
from leafwise.envs.core.errors import UserError

SIDES = ".xo"
"""Marks of boards on which two take turns: empty, the first player's, the second's."""


SIDES_BY_NUMBER: tuple[Alphabet, ...] = ({"0": 0, "1": 1, "2": 2}, {"0": 0, "1": 1, "-1": 2})
"""Numbers that stand for them in arrays."""


def need(ok: object, expected: str, got: object = None, text: str | None = None) -> None:
    """Raises ValueError, `expected ..., got ...`, unless `ok`; `got` is None where nothing was, `text` is where it stood."""
    if not ok:
        offender = "none" if got is None else repr(got[:80] if isinstance(got, str) else got)
        raise UserError(f"expected {expected}, got {offender}" + ("" if text is None else f" in {text!r}"))


def whole_number(word: str, what: str, digits: int = 6) -> int:
    """Returns a whole number of at most so many digits; raises ValueError for anything else."""
    need(word.isascii() and word.isdigit() and len(word) <= digits, f"{what} as a whole number", word)
    return int(word)


def words_by_name(words: Iterable[str], names: Collection[str]) -> dict[str, str]:
    """Returns the values of words `name=value`; raises ValueError for another name, or one that comes twice."""
    found: dict[str, str] = {}
    for word in words:
        name, equals, value = word.partition("=")
        need(equals and name in names and name not in found, f"fields among {', '.join(names)}, each once", word[:40])
        found[name] = value
    return found


def written(words: dict[str, Any]) -> str:
    """Returns `name=value` for every word that has a value, the inverse of `words_by_name`."""
    return " ".join(f"{name}={value}" for name, value in words.items() if value)


def marked(
    text: str, lengths: Sequence[int], marks: str, shape: str, what: str, also: Sequence[Alphabet] = SIDES_BY_NUMBER
) -> list[int]:
    """Returns which of `marks`, the first of them an empty cell's, stands in each cell of rows separated by '/', one row after the
    other; or of a board in another of the shapes of `typed_board`, also in the symbols of `also`.

    `shape` and `what` say in a refusal what the rows, and what the cells, should be.
    """
    rows = text.strip().split("/")
    if [len(row) for row in rows] != list(lengths) or not set("".join(rows)) <= set(marks):
        own = {**dict.fromkeys(EMPTY, 0), **{mark: k for k, mark in enumerate(marks)}}
        cells = typed_cells(text, lengths, (own, *also))
        if cells is not None:
            return cells
    need([len(row) for row in rows] == list(lengths), f"{shape} separated by '/'", text)
    for mark in "".join(rows):
        need(mark in marks, f"{what} among {', '.join(map(repr, marks))}", mark, text)
    return [marks.index(mark) for mark in "".join(rows)]


def last_player(
    sides: NDArray[np.uint64], loose: int, holds: Callable[[Any], bool], figure: str, closing: str, text: str
) -> int:
    """Returns who marked last on a board on which a figure of marks ends the game; raises ValueError if no game leads there.

    `sides` [2] are the players' marks as bits (uint64), `loose` those of them that may have come last, and `holds` tells whether
    some marks hold a figure. `figure` and `closing` say in a refusal what that is, and what closes it.
    """
    first, second = (int(side).bit_count() for side in sides)
    if first - second not in (0, 1):
        raise UserError(f"expected as many x as o, or one more, got {first} x and {second} o in {text!r}")
    last = 0 if first > second else 1
    need(not holds(sides[1 - last]), f"no move after a {figure} of {SIDES[2 - last]}", text)
    own = [1 << bit for bit in range(64) if int(sides[last]) & loose & 1 << bit]
    sound = not holds(sides[last]) or any(not holds(sides[last] ^ np.uint64(mark)) for mark in own)
    need(sound, f"one last {closing} every {figure}", text)
    return last
