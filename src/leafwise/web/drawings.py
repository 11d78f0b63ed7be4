"""Learns a game's drawings of positions, SVG and text, as sums of cells, so that a page draws without Python.

A cell is a set of bits of a row. A text is a sum of cells if each of its parts depends on one cell alone. Then each cell's part is
written once for each value of the cell, by changing its bits in one position. `static/alone/rows.js` joins the parts.

A row with changed bits may not be a position. So this runs in a process without compiled code, where a wrong index raises an error
instead of reading foreign memory.
"""

from __future__ import annotations

import json
import re
import sys
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from difflib import SequenceMatcher
from functools import cmp_to_key, partial
from itertools import combinations, islice, pairwise
from typing import Any

import numpy as np

from leafwise.envs.core.arrays import Array
from leafwise.envs.core.contract.game import Game
from leafwise.envs.core.contract.state import State
from leafwise.envs.core.contract.stream import new_stream
from leafwise.envs.core.play.by_name import outcome_names
from leafwise.envs.registry import game as find_game

COMPARED = 200
"""Number of positions to learn a sum of cells from, and of others to compare it with."""

MOST_BITS, SPARE_BITS = 12, 8
"""Maximum bits of a cell; maximum size of a cell that gets a bit which no position had set."""
BASES, MOST_WRITTEN = 16, 30_000
"""Maximum number of base positions to try, and of texts to write."""
LONGEST, MOST_NAMED = 300_000, 64
"""Maximum characters of a sum of cells as JSON; maximum outcomes of a chance node whose names are learned."""

Write = Callable[[Array], str]
Cell = frozenset[int]
Edit = tuple[int, int, str]
"""Begin and end of the replaced characters of a text, and the new characters."""


class _TooManyTexts(Exception):
    """The limit of written texts is reached."""


def learned(game: Game) -> dict[str, Any]:
    """Returns a game's drawing (`svg`) and lines (`board`) as sums of cells, each None if it is not one.

    `names` has the names of outcomes by stage, number of outcomes and index, or by the changed cells of `svg`; None if neither is
    unique.
    """
    states = list(islice(_positions(game, np.random.default_rng(0)), 2 * COMPARED * 4))[::4]
    rows = [state.row for state in states]
    sums: dict[str, Any] = {"svg": None, "board": None}
    for what in sums:
        if what == "board" or game.draw is not None:
            sums[what] = sum_of_cells(partial(_written, game, getattr(State, what)), rows[::2], rows[1::2])
    return {**sums, "names": _names(game, [state for state in states if state.is_chance], sums["svg"])}


def _written(game: Game, write: Callable[[State], str], row: Array) -> str:
    """Returns the text that a method of positions writes for a row, which may not be a position."""
    return write(State.unchecked(game, row))


def _positions(game: Game, rng: np.random.Generator) -> Iterator[State]:
    """Yields positions of random games, with chance nodes and final positions."""
    stream = new_stream(int(rng.integers(2**62)))
    while True:
        state = game.start()
        while not state.is_terminal:
            yield state
            state = state.sample(stream) if state.is_chance else state.play(int(rng.choice(state.legal_actions)))
        yield state


def _names(game: Game, states: Sequence[State], svg: Mapping[str, Any] | None) -> dict[str, str] | None:
    """Returns names of outcomes by the key of `static/alone/rows.js`; None if a key has two names."""
    by_place: dict[str, set[str]] = {}
    changes: dict[str, set[str]] = {}
    for state in states:
        after = [one for _, one in state.outcomes()]
        if len(after) > MOST_NAMED:
            return None
        for k, (name, one) in enumerate(zip(outcome_names(state, after), after, strict=True)):
            by_place.setdefault(f"{game.stages.index(state.stage)}/{len(after)}/{k}", set()).add(name)
            if svg is not None:
                before, now = (cell_values(svg, row) for row in (state.row, one.row))
                key = ",".join(f"{cell}={now[cell]}" for cell in range(len(now)) if now[cell] != before[cell])
                changes.setdefault(key, set()).add(name)
    for names_by_key in (by_place, changes):
        if names_by_key and all(len(names) == 1 for names in names_by_key.values()):
            return {key: name for key, (name,) in names_by_key.items()}
    return None


def sum_of_cells(write: Write, rows: Sequence[Array], compared: Sequence[Array]) -> dict[str, Any] | None:
    """Returns the sum of cells that writes like `write`, also on all of `compared`; None if there is none.

    `parts`: the pieces of the text, each a constant text or [cell, its texts by value]; `cells`: the [word, bit] pairs of each,
    lowest first; `fixed`: the bits of words that must equal those of `base`; `width`: the bits of a word.
    """
    bits = {bit for row in rows for bit in _bits(row ^ rows[0])}
    written = 0

    def counted(row: Array) -> str:
        nonlocal written
        written += 1
        if written > MOST_WRITTEN:
            raise _TooManyTexts
        return write(row)

    with suppress(_TooManyTexts):
        for base in rows[:BASES]:
            result = _BitEffects(counted, base).summed(bits)
            if result is not None and all(summed_text(result, row) == write(row) for row in compared):
                return result if len(json.dumps(result)) <= LONGEST else None
    return None


def cell_values(summed: Mapping[str, Any], row: Array) -> list[int]:
    """Returns the values of a sum's cells in a position."""
    words = _words(row)
    return [sum((words[word] >> bit & 1) << k for k, (word, bit) in enumerate(cell)) for cell in summed["cells"]]


def summed_text(summed: Mapping[str, Any], row: Array) -> str | None:
    """Returns the text of a position as the page writes it; None if the cells do not determine it."""
    known = zip(_words(row), summed["base"], summed["fixed"], strict=True)
    if any((word ^ int(base)) & int(fixed) for word, base, fixed in known):
        return None
    values = cell_values(summed, row)
    texts = [part if isinstance(part, str) else part[1][values[part[0]]] for part in summed["parts"]]
    return None if None in texts else "".join(texts)


@dataclass
class _BitEffects:
    """A position, its text, and the effects of changed bits on the text."""

    write: Write
    row: Array
    seen: dict[Cell, dict[int, list[Edit] | None]] = field(default_factory=dict)
    written: dict[Cell, list[tuple[int, int]]] = field(default_factory=dict)
    clashes: dict[tuple[Cell, Cell], bool] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.text = self.write(self.row)
        self.width = 8 * self.row.itemsize

    def edits(self, bits: Cell) -> list[Edit] | None:
        """Returns the changes of the text if these bits are flipped; None if no text can be written."""
        row = self.row.copy()
        words = row.view(f"u{row.itemsize}")
        for bit in bits:
            words[bit // self.width] ^= words.dtype.type(1 << bit % self.width)
        try:
            return _edits(self.text, self.write(row))
        except _TooManyTexts:
            raise
        except Exception:  # not a position, so any exception is possible
            return None

    def values(self, cell: Cell) -> dict[int, list[Edit] | None]:
        """Returns the edits of each value of a cell, by the flipped bits."""
        if cell not in self.seen:
            bits = sorted(cell)
            flips = [frozenset(bit for k, bit in enumerate(bits) if n >> k & 1) for n in range(1 << len(bits))]
            self.seen[cell] = {n: self.edits(flipped) for n, flipped in enumerate(flips)}
        return self.seen[cell]

    def spans(self, cell: Cell) -> list[tuple[int, int]]:
        """Returns the parts of the text that a cell writes."""
        if cell in self.written:
            return self.written[cell]
        merged: list[tuple[int, int]] = []
        for low, high in sorted({edit[:2] for edits in self.values(cell).values() for edit in edits or ()}):
            if merged and low <= merged[-1][1]:
                merged[-1] = merged[-1][0], max(high, merged[-1][1])
            else:
                merged.append((low, high))
        self.written[cell] = merged
        return merged

    def part(self, edits: list[Edit] | None, low: int, high: int) -> str | None:
        """Returns a part of the text after edits."""
        if edits is None:
            return None
        text, at = "", low
        for begin, end, new in edits:
            if low <= begin and end <= high:
                text, at = text + self.text[at:begin] + new, end
        return text + self.text[at:high]

    def order(self, one: Cell, other: Cell, at: int) -> int:
        """Returns -1 if the first cell writes before the other at an index, 1 if after it, 0 if neither."""
        for a, first in self.values(one).items():
            for b, second in self.values(other).items():
                x, y = self.part(first, at, at), self.part(second, at, at)
                if x and y and x != y:
                    both = self.edits(_flipped(one, a) | _flipped(other, b))
                    text = self.part(both, at, at)
                    return -1 if text == x + y else 1 if text == y + x else 0
        return -1

    def clash(self, one: Cell, other: Cell) -> bool:
        """Whether two cells write to the same part of the text."""
        if (one, other) not in self.clashes:
            self.clashes[one, other] = self._clash(one, other)
        return self.clashes[one, other]

    def _clash(self, one: Cell, other: Cell) -> bool:
        for low, high in self.spans(one):
            for begin, end in self.spans(other):
                if low == high == begin == end:
                    if not self.order(one, other, low):
                        return True
                elif max(low, begin) < min(high, end) or low < begin == end < high or begin < low == high < end:
                    return True
        return False

    def summed(self, varying: set[int]) -> dict[str, Any] | None:
        """Returns the sum of cells; None if a cell would need too many bits."""
        fixed = set(range(self.width * len(self.row))) - varying
        cells = [cell for cell in map(_single, sorted(varying)) if self.spans(cell)]
        while pair := next((pair for pair in combinations(cells, 2) if self.clash(*pair)), None):
            cells = [cell for cell in cells if cell not in pair] + [pair[0] | pair[1]]
            if len(cells[-1]) > MOST_BITS:
                return None
        for bit in sorted(fixed):  # a value that no position had, such as a larger tile
            edits = self.edits(_single(bit))
            if edits == []:
                fixed.discard(bit)
                continue
            near = [cell for cell in cells if len(cell) < SPARE_BITS and _within(edits, self.spans(cell))]
            if len(near) == 1:
                cells[cells.index(near[0])] = near[0] | {bit}
                fixed.discard(bit)
        return self.as_json(sorted(cells, key=min), fixed)

    def as_json(self, cells: list[Cell], fixed: set[int]) -> dict[str, Any]:
        """Returns the sum as JSON for the page."""

        def first(one: tuple[int, int, int], other: tuple[int, int, int]) -> int:
            if one[:2] != other[:2]:
                return -1 if one[:2] < other[:2] else 1
            return self.order(cells[one[2]], cells[other[2]], one[0])

        base = [int(word) for word in _words(self.row)]
        spans = [(low, high, k) for k, cell in enumerate(cells) for low, high in self.spans(cell)]
        spans.sort(key=cmp_to_key(first))
        parts: list[Any] = [self.text[: spans[0][0]] if spans else self.text]
        for (low, high, k), (after, _, _) in pairwise([*spans, (len(self.text), 0, 0)]):
            bits = sorted(cells[k])
            now = sum((base[bit // self.width] >> bit % self.width & 1) << n for n, bit in enumerate(bits))
            edits = self.values(cells[k])
            parts += [[k, [self.part(edits[n ^ now], low, high) for n in range(1 << len(bits))]], self.text[high:after]]
        masks = [sum(1 << bit % self.width for bit in fixed if bit // self.width == word) for word in range(len(base))]
        return {
            "parts": [part for part in parts if part],
            "cells": [[divmod(bit, self.width) for bit in sorted(cell)] for cell in cells],
            "base": [str(word) for word in base],
            "fixed": [str(mask) for mask in masks],
            "width": self.width,
        }


def _single(bit: int) -> Cell:
    return frozenset((bit,))


def _flipped(cell: Cell, n: int) -> Cell:
    return frozenset(bit for k, bit in enumerate(sorted(cell)) if n >> k & 1)


def _words(row: Array) -> list[int]:
    """Returns the words of a row as unsigned integers."""
    return [int(word) for word in row.view(f"u{row.itemsize}")]


def _bits(row: Array) -> list[int]:
    """Returns the bits that are set in a row."""
    return [
        8 * row.itemsize * k + bit
        for k, word in enumerate(_words(row))
        for bit in range(word.bit_length())
        if word >> bit & 1
    ]


def _within(edits: list[Edit] | None, spans: list[tuple[int, int]]) -> bool:
    """Whether all edits are inside these spans."""
    return bool(edits) and all(
        any(low <= begin and end <= high for low, high in spans) for begin, end, _ in edits or ()
    )


def _edits(text: str, other: str) -> list[Edit]:
    """Returns the edits from a text to another one, by lines, and by numbers and characters within them."""
    if text == other:
        return []
    lines, others = text.splitlines(keepends=True), other.splitlines(keepends=True)
    edits: list[Edit] = []
    for tag, a, b, c, d in SequenceMatcher(None, lines, others, autojunk=False).get_opcodes():
        at = sum(map(len, lines[:a]))
        if tag == "replace" and b - a == d - c:
            for line, new in zip(lines[a:b], others[c:d], strict=True):
                edits += _line_edits(at, line, new)
                at += len(line)
        elif tag != "equal":
            edits.append((at, at + sum(map(len, lines[a:b])), "".join(others[c:d])))
    return edits


def _line_edits(at: int, line: str, other: str) -> list[Edit]:
    """Returns the edits from a line, which begins at an index of the text, to another line."""
    words, others = (re.findall(r"\d+|\D", one) for one in (line, other))
    begins = [at]
    for word in words:
        begins.append(begins[-1] + len(word))
    codes = SequenceMatcher(None, words, others, autojunk=False).get_opcodes()
    return [(begins[a], begins[b], "".join(others[c:d])) for tag, a, b, c, d in codes if tag != "equal"]


def main(name: str, options: str) -> None:
    """Prints the learned drawing of a variant as JSON."""
    warnings.simplefilter("ignore")  # of overflows where bits are not a position
    print(json.dumps(learned(find_game(name).variant(**json.loads(options)))))


if __name__ == "__main__":
    main(*sys.argv[1:])
